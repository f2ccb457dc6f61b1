import DaybookTesting
import Foundation

/// How the cost of one operation grows with what the database holds: 10 thousand, 31 thousand, 100 thousand … records, and
/// beside each the curve that the structure promises, drawn through the smallest size.
///
/// Trees promise log n for get, insert and update; a page of changes, an open and the memory of a reader promise a constant.
/// Above the curve is what the processor's caches no longer hold.
enum GrowthReport {
  enum Curve: String {
    case logarithm = "log n"
    case constant

    func value(at count: Int, from first: (count: Int, value: Double)) -> Double {
      switch self {
      case .logarithm: first.value * log(Double(count)) / log(Double(first.count))
      case .constant: first.value
      }
    }
  }

  /// What is measured at each size; names of the rows in the JSON.
  static let curves: [(name: String, title: String, curve: Curve)] = [
    ("growth-get", "get, own snapshot", .logarithm), ("growth-insert", "insert, 1000 a transaction", .logarithm),
    ("growth-update", "update, 100 a transaction", .logarithm), ("growth-changes-since-1000", "1000 changes", .constant),
    ("growth-open", "open after close", .constant), ("growth-memory", "anonymous memory, reading", .constant),
  ]

  static func run(in directory: String, recordCount: Int, repetitionCount: Int) throws -> [Outcome] {
    var outcomes: [Outcome] = []
    for line in head { print(line) }
    for count in sizes(upTo: recordCount) {
      let home = "\(directory)/growth"
      let measured =
        try keys(in: home + "/keys", count, repetitionCount) + records(in: home + "/records", count, repetitionCount)
      try Files.remove(home)
      outcomes += measured
      print(line(count, outcomes))
      fflush(nil)
    }
    return outcomes
  }

  private static var head: [String] {
    [
      "| records | " + curves.map { "\($0.title) (\($0.curve.rawValue))" }.joined(separator: " | ") + " |",
      "|--:|" + String(repeating: "--:|", count: curves.count),
    ]
  }

  /// A line a size; in parentheses what the curve expects.
  static func table(_ outcomes: [Outcome]) -> String {
    var counts: [Int] = []
    for outcome in outcomes where !counts.contains(outcome.records) { counts.append(outcome.records) }
    return (head + counts.map { line($0, outcomes) }).joined(separator: "\n") + "\n"
  }

  /// Half powers of ten, rounded down to thousands.
  private static func sizes(upTo recordCount: Int) -> [Int] {
    var sizes: [Int] = []
    var exponent = 4.0
    while true {
      let size = Int(pow(10, exponent) / 1000) * 1000
      if size > recordCount { return sizes }
      sizes.append(size)
      exponent += 0.5
    }
  }

  private static func line(_ count: Int, _ outcomes: [Outcome]) -> String {
    let cells = curves.map { name, _, curve in
      let points = outcomes.filter { $0.row == name }
      guard let point = points.first(where: { $0.records == count }), let first = points.first, let cost = first.cost
      else { return "–" }
      let expected = curve.value(at: count, from: (first.records, cost))
      return "\(Report.amount(point)) (\(point.measure == .time ? Report.time(expected) : Report.bytes(expected)))"
    }
    return "| \(count) | " + cells.joined(separator: " | ") + " |"
  }

  // MARK: measuring

  private static func keys(in home: String, _ count: Int, _ repetitionCount: Int) throws -> [Outcome] {
    let kind = KeyValueKind(.daybook, .unsynced)
    let all = UInt64(count)
    var store = try kind.open(in: home)
    try store.put(0..<all, round: 0, isAscending: false, perTransaction: 1000)
    try store.close()
    store = try kind.open(in: home)
    _ = try store.get(min(count, 200_000), among: all, round: 99, ownSnapshots: false)
    var outcomes: [Outcome] = []
    let getCount = 200_000
    outcomes.append(
      try measure("growth-get", count, getCount, repetitionCount) { repetition in
        _ = try store.get(getCount, among: all, round: repetition, ownSnapshots: true)
      })
    // Few beside what is there, so that the size stays what it is.
    let writeCount = max(1000, min(20_000, count / 10))
    outcomes.append(
      try measure("growth-insert", count, writeCount, repetitionCount) { repetition in
        let first = UInt64(1) << 40 + repetition * UInt64(writeCount)
        try store.put(first..<first + UInt64(writeCount), round: 0, isAscending: false, perTransaction: 1000)
      })
    outcomes.append(
      try measure("growth-update", count, writeCount, repetitionCount) { repetition in
        try store.update(writeCount, among: all, round: repetition + 1, perTransaction: 100)
      })
    try store.close()
    outcomes.append(
      try measure("growth-open", count, 1, max(9, repetitionCount)) { _ in
        store = try kind.open(in: home)
      } finish: {
        try store.close()
      })
    var peak: Int?
    let reading = try measure("growth-memory", count, 1, 1) { _ in
      peak = try Child.memoryOfReading(kind, in: home, recordCount: all)
    }
    outcomes.append(reading.weighing(peak))
    return outcomes
  }

  private static func records(in home: String, _ count: Int, _ repetitionCount: Int) throws -> [Outcome] {
    let kind = RecordKind(isDaybook: true, isSynced: false)
    let loading = try kind.open(in: home)
    try loading.insert(0..<UInt64(count), perTransaction: 1000)
    try loading.close()
    let database = try kind.open(in: home)
    try database.prepareChanges()
    _ = try database.scan()
    let pageCount = 50
    let outcome = try measure("growth-changes-since-1000", count, pageCount, repetitionCount) { repetition in
      _ = try database.changes(pageCount, round: repetition, areWhole: false)
    }
    try database.close()
    return [outcome]
  }

  private static func measure(
    _ row: String, _ recordCount: Int, _ operations: Int, _ repetitionCount: Int,
    _ body: @escaping (_ repetition: UInt64) throws -> Void, finish: @escaping () throws -> Void = {}
  ) throws -> Outcome {
    let contender = Contender(
      "daybook", "unsynced", operations: operations,
      run: { repetition in
        try body(UInt64(repetition))
        return 0
      }, finish: { _ in try finish() })
    let runner = Runner(
      recordCount: recordCount, repetitionCount: repetitionCount, settle: { sync() },
      device: DeviceWrites(of: NSTemporaryDirectory()))
    return try runner.measure(Row(name: row, summary: "", contenders: [contender]))[0]
  }
}

extension Outcome {
  /// The same as a row about memory.
  fileprivate func weighing(_ byteCount: Int?) -> Outcome {
    Outcome(
      row: row, records: records, engine: engine, variant: "warm", comparable: comparable, operations: operations,
      medianSeconds: medianSeconds, minimumSeconds: minimumSeconds, maximumSeconds: maximumSeconds, runs: runs,
      processorSeconds: processorSeconds, measure: .anonymousBytes, fileBytes: nil, anonymousBytes: byteCount,
      deviceBytes: nil)
  }
}

/// The same as a picture: one panel a curve, both axes logarithmic, the expected curve dashed.
enum GrowthPlot {
  private static let panelWidth = 280.0
  private static let panelHeight = 170.0

  static func document(_ outcomes: [Outcome]) -> String {
    var svg = SVG(width: 880)
    svg.text("title", x: 10, y: 20, "What one operation costs as a database grows; dashed: the expected curve")
    for (index, (name, title, curve)) in GrowthReport.curves.enumerated() {
      let points = outcomes.filter { $0.row == name && $0.cost != nil }
      guard let first = points.first, let firstCost = first.cost else { continue }
      let x = 10 + Double(index % 3) * (panelWidth + 10)
      let y = 40 + Double(index / 3) * (panelHeight + 65)
      svg.text("title", x: x, y: y + 12, title)
      svg.text("note", x: x, y: y + 25, "expected: \(curve.rawValue)")
      let costs = points.map { $0.cost ?? 0 }
      let expected = points.map { curve.value(at: $0.records, from: (first.records, firstCost)) }
      let across = LogScale(points.map { Double($0.records) }, start: x + 58, length: panelWidth - 90, isTight: true)
      let upwards = LogScale(costs + expected, start: y + 16 + panelHeight, length: -(panelHeight - 35))
      for decade in upwards.decades {
        let position = upwards.position(decade)
        svg.line("grid", from: (across.start - 8, position), to: (across.start + across.length + 12, position))
        svg.text(
          "note", x: across.start - 12, y: position + 3, anchor: "end",
          first.measure == .time ? short(decade) : Report.bytes(decade))
      }
      for point in points {
        svg.text(
          "note", x: across.position(Double(point.records)), y: upwards.start + 14, anchor: "middle",
          Report.rate(Double(point.records)).replacingOccurrences(of: ".00", with: ""))
      }
      svg.path("expected", through: zip(points, expected).map { (across.position(Double($0.records)), upwards.position($1)) })
      let line = zip(points, costs).map { (across.position(Double($0.records)), upwards.position($1)) }
      svg.path("measured", through: line)
      for (number, (point, place)) in zip(points, line).enumerated() {
        svg.dot("ours", x: place.0, y: place.1)
        // The others would stand on each other.
        if [0, points.count / 2, points.count - 1].contains(number) {
          svg.text("note", x: place.0, y: place.1 - 6, anchor: "middle", Report.amount(point))
        }
      }
    }
    return svg.document(title: "What one operation costs as a database grows")
  }

  private static func short(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.9e-6: String(format: "%.0f ns", seconds * 1e9)
    case ..<0.9e-3: String(format: "%.0f µs", seconds * 1e6)
    case ..<0.9: String(format: "%.0f ms", seconds * 1e3)
    default: String(format: "%.0f s", seconds)
    }
  }
}
