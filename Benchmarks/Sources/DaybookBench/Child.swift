import Foundation

/// Work that needs a process of its own: memory that nothing else has touched, or a death without a farewell.
enum Child {
  /// The first argument of such a process.
  static let option = "--child"

  /// Reads at random and everything in order; returns the peak of anonymous memory, nil where the system does not tell.
  static func memoryOfReading(_ kind: KeyValueKind, in home: String, recordCount: UInt64) throws -> Int? {
    try number(run(["memory", kind.engine.rawValue, kind.promise.rawValue, home, String(recordCount)]))
  }

  static func memoryOfReadingRecords(isDaybook: Bool, in home: String, recordCount: UInt64) throws -> Int? {
    try number(run(["memory-records", isDaybook ? "daybook" : "sqlite", "unsynced", home, String(recordCount)]))
  }

  /// What a process needs that opens nothing.
  static func memoryOfNothing() throws -> Int? { try number(run(["nothing"])) }

  /// Puts keys, 1000 a transaction, leaves 64 MB of log, and kills itself when the last commit has returned.
  static func leaveLog(_ kind: KeyValueKind, in home: String, pairCount: UInt64) throws {
    _ = try run(["kill", kind.engine.rawValue, kind.promise.rawValue, home, String(pairCount)], dies: true)
  }

  /// Fills a file and closes it, then changes random keys until there are 64 MB of log, and kills itself.
  static func leaveLogOfUpdates(_ kind: KeyValueKind, in home: String, pairCount: UInt64) throws {
    _ = try run(["kill-updates", kind.engine.rawValue, kind.promise.rawValue, home, String(pairCount)], dies: true)
  }

  /// The same with records of ten fields, of which two are changed.
  static func leaveLogOfSaves(in home: String, recordCount: UInt64) throws {
    _ = try run(["kill-saves", "daybook", "unsynced", home, String(recordCount)], dies: true)
  }

  /// As the first, with records of ten fields.
  static func leaveLogOfRecords(isDaybook: Bool, in home: String, recordCount: UInt64) throws {
    _ = try run(
      ["kill-records", isDaybook ? "daybook" : "sqlite", "unsynced", home, String(recordCount)], dies: true)
  }

  private static func number(_ text: String) -> Int? {
    Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private static func run(_ arguments: [String], dies: Bool = false) throws -> String {
    guard let path = Bundle.main.executablePath else { throw BenchmarkFault("the benchmark does not find itself") }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = [option] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let ended =
      dies
      ? process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
      : process.terminationReason == .exit && process.terminationStatus == 0
    guard ended else { throw BenchmarkFault("a child ended otherwise than it should: \(arguments)") }
    return String(decoding: data, as: UTF8.self)
  }

  /// In the child.
  static func main(_ arguments: ArraySlice<String>) throws {
    let arguments = Array(arguments)
    if arguments == ["nothing"] { return report(try peakOfAnonymousMemory {}) }
    guard arguments.count == 5, let count = UInt64(arguments[4]) else { throw BenchmarkFault("a child of no kind") }
    let home = arguments[3]
    switch arguments[0] {
    case "kill-saves":
      let kind = RecordKind(isDaybook: true, isSynced: false)
      let filling = try kind.open(in: home)
      try filling.insert(0..<count, perTransaction: 1000)
      try filling.close()
      let engine = try kind.open(in: home, leavesLog: true)
      try engine.save(RecordRows.killedSaveCount, among: count, round: 1, perTransaction: 1000)
      die(keeping: engine)
    case "kill-updates":
      let kind = KeyValueKind(.daybook, .unsynced)
      let filling = try kind.open(in: home)
      try filling.put(0..<count, round: 0, isAscending: false, perTransaction: 1000)
      try filling.close()
      let store = try kind.open(in: home, leavesLog: true)
      try store.update(Int(KeyValueRows.killedPairCount), among: count, round: 1, perTransaction: 1000)
      die(keeping: store)
    case "memory-records", "kill-records":
      let kind = RecordKind(isDaybook: arguments[1] == "daybook", isSynced: false)
      if arguments[0] == "kill-records" {
        if kind.isDaybook {
          let engine = try kind.open(in: home, leavesLog: true)
          try engine.insert(0..<count, perTransaction: 1000)
          die(keeping: engine)
        } else {
          let filling = try kind.open(in: home)
          try filling.insert(0..<count, perTransaction: 1000)
          try filling.close()
          let engine = try kind.open(in: home, leavesLog: true)
          try fillLog(in: home) { try engine.insert($0, perTransaction: 1000) }
          die(keeping: engine)
        }
      }
      report(
        try peakOfAnonymousMemory {
          let engine = try kind.open(in: home)
          _ = try engine.fetchTenFields(Int(min(count, 1_000_000)), among: count, round: 0, ownSnapshots: true)
          _ = try engine.scan()
          try engine.close()
        })
    case "memory", "kill":
      guard let engine = KeyValueKind.Engine(rawValue: arguments[1]),
        let promise = KeyValueKind.Promise(rawValue: arguments[2])
      else { throw BenchmarkFault("a child of no kind") }
      let kind = KeyValueKind(engine, promise)
      if arguments[0] == "kill" {
        if kind.engine != .sqlite {
          let store = try kind.open(in: home, leavesLog: true)
          try store.put(0..<count, round: 0, isAscending: false, perTransaction: 1000)
          die(keeping: store)
        } else {
          let filling = try kind.open(in: home)
          try filling.put(0..<count, round: 0, isAscending: false, perTransaction: 1000)
          try filling.close()
          let store = try kind.open(in: home, leavesLog: true)
          try fillLog(in: home) { try store.put($0, round: 0, isAscending: false, perTransaction: 1000) }
          die(keeping: store)
        }
      }
      report(
        try peakOfAnonymousMemory {
          let store = try kind.open(in: home)
          _ = try store.get(Int(min(count, 1_000_000)), among: count, round: 0, ownSnapshots: true)
          _ = try store.scan()
          try store.close()
        })
    default: throw BenchmarkFault("a child of no kind")
    }
  }

  /// The engine must not be let go of before: that would close it.
  private static func die(keeping engine: AnyObject) -> Never {
    withExtendedLifetime(engine) { _ = kill(getpid(), SIGKILL) }
    fatalError("a process outlived SIGKILL")
  }

  /// SQLite's log holds whole pages: all that the others log would be gigabytes there. It is filled when all is there, with
  /// more of the same, which nobody asks for.
  private static func fillLog(in home: String, _ putSome: (_ numbers: Range<UInt64>) throws -> Void) throws {
    let before = try Files.byteCount(in: home)
    var first: UInt64 = 1 << 40
    while try Files.byteCount(in: home) < before + 64 << 20 {
      try putSome(first..<first + 1000)
      first += 1000
    }
  }

  private static func report(_ byteCount: Int?) { print(byteCount.map(String.init) ?? "unknown") }

  /// Looks at the memory every few milliseconds while `body` runs.
  private static func peakOfAnonymousMemory(_ body: () throws -> Void) throws -> Int? {
    let peak = Peak()
    peak.look()
    let thread = Thread {
      while !peak.isOver {
        peak.look()
        Thread.sleep(forTimeInterval: 0.002)
      }
    }
    thread.start()
    try body()
    peak.look()
    peak.end()
    return peak.byteCount
  }

  private final class Peak: @unchecked Sendable {
    private let lock = NSLock()
    private var highest: Int?
    private var over = false

    var byteCount: Int? { lock.withLock { highest } }
    var isOver: Bool { lock.withLock { over } }
    func end() { lock.withLock { over = true } }

    func look() {
      guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
        let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
        let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
      else { return }
      lock.withLock { highest = max(highest ?? 0, kilobytes * 1024) }
    }
  }
}
