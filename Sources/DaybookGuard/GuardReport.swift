import Foundation

/// What was counted, beside what may be.
///
/// Callgrind's file number n belongs to line n of DIRECTORY/counts. A thresholds file has one line a path; instructions may be
/// 5 % more than it says, allocations half a percent, syncs and writes not one.
struct GuardReport {
  struct Cost {
    let path: String
    let operations: Int
    var instructions: Int
    var allocations: Int
    var syncs: Int
    var writes: Int
  }

  private static let marginPercent = 5

  let costs: [Cost]

  init(directory: String) throws {
    let lines = try String(contentsOfFile: directory + "/counts", encoding: .utf8).split(separator: "\n")
    costs = try lines.enumerated().map { index, line in
      let fields = line.split(separator: " ")
      let numbers = fields.dropFirst().compactMap { Int($0) }
      guard fields.count == 5, numbers.count == 4 else {
        throw GuardFault("\(directory)/counts: cannot read line \(index + 1)")
      }
      return Cost(
        path: String(fields[0]), operations: numbers[0],
        instructions: try GuardReport.instructions("\(directory)/profile.\(index + 1)"), allocations: numbers[1],
        syncs: numbers[2], writes: numbers[3])
    }
    if costs.isEmpty { throw GuardFault("\(directory)/counts: nothing was counted") }
  }

  /// Instructions in one of callgrind's files.
  private static func instructions(_ path: String) throws -> Int {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw GuardFault("\(path): callgrind has not written it; does it know the counted function by another name?")
    }
    let line = text.split(separator: "\n").last { $0.hasPrefix("totals:") }
    guard let count = line.flatMap({ Int($0.dropFirst(7).trimmingCharacters(in: .whitespaces)) }), count > 0 else {
      throw GuardFault("\(path): no instructions were counted")
    }
    return count
  }

  // MARK: thresholds

  private static let head = """
    # What the hot paths may cost, for Scripts/guard.sh: counts of a whole loop, not times.
    # Instructions may be 5 % more; allocations half a percent, syncs and writes not one. Renew with: Scripts/guard.sh --write
    """

  private static var builder: String {
    #if arch(x86_64)
      let architecture = "x86_64"
    #elseif arch(arm64)
      let architecture = "arm64"
    #else
      let architecture = "other"
    #endif
    #if compiler(>=6.4)
      let compiler = "6.4 or later"
    #elseif compiler(>=6.3)
      let compiler = "6.3"
    #else
      let compiler = "6.2"
    #endif
    return "# Counted with Swift \(compiler) on \(architecture)."
  }

  func write(to path: String) throws {
    var lines = [GuardReport.head, GuardReport.builder, "# path operations instructions allocations syncs writes"]
    lines += costs.map {
      "\($0.path) \($0.operations) \($0.instructions) \($0.allocations) \($0.syncs) \($0.writes)"
    }
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    for cost in costs { print(GuardReport.line(cost, mark: "written")) }
  }

  private static func limits(_ text: String, _ path: String) throws -> [String: Cost] {
    var limits: [String: Cost] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let fields = line.split(separator: " ")
      let numbers = fields.dropFirst().compactMap { Int($0) }
      guard fields.count == 6, numbers.count == 5 else { throw GuardFault("\(path): cannot read \(line)") }
      limits[String(fields[0])] = Cost(
        path: String(fields[0]), operations: numbers[0], instructions: numbers[1], allocations: numbers[2],
        syncs: numbers[3], writes: numbers[4])
    }
    return limits
  }

  /// Prints a line a path: the instructions of this build, which is one without optimisation, beside those of a release build.
  func compareDebug(withRelease path: String) throws {
    let limits = try GuardReport.limits(String(contentsOfFile: path, encoding: .utf8), path)
    for cost in costs {
      guard let release = limits[cost.path], release.operations == cost.operations else {
        throw GuardFault("\(cost.path): no threshold for \(cost.operations) operations in \(path)")
      }
      let name = cost.path.padding(toLength: 26, withPad: " ", startingAt: 0)
      let ratio = String(format: "%.1f", Double(cost.instructions) / Double(max(1, release.instructions)))
      print(
        "\(name) \(GuardReport.each(cost.instructions, cost.operations)) instructions, \(ratio) times the "
          + "\(GuardReport.each(release.instructions, release.operations)) of a release build")
    }
  }

  /// Prints a line a path; false when one costs more than it may.
  func holds(against path: String) throws -> Bool {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var limits = try GuardReport.limits(text, path)
    var complaints: [String] = []
    for cost in costs {
      guard let limit = limits.removeValue(forKey: cost.path), limit.operations == cost.operations else {
        complaints.append("\(cost.path): no threshold for \(cost.operations) operations in \(path)")
        continue
      }
      let found = GuardReport.complaints(cost, limit)
      complaints += found
      print(GuardReport.line(cost, mark: found.isEmpty ? GuardReport.change(cost, limit) : "TOO MUCH"))
    }
    complaints += limits.keys.sorted().map { "\($0): in \(path), but was not counted" }
    if complaints.isEmpty { return true }
    print("")
    for complaint in complaints { print("guard: \(complaint)") }
    if !text.contains(GuardReport.builder) {
      print("guard: the thresholds were counted elsewhere; this is \(GuardReport.builder.dropFirst(2))")
    }
    return false
  }

  private static func complaints(_ cost: Cost, _ limit: Cost) -> [String] {
    var result: [String] = []
    func look(_ what: String, _ found: Int, _ allowed: Int, marginPermille: Int) {
      if found * 1000 <= allowed * (1000 + marginPermille) { return }
      result.append(
        "\(cost.path): \(each(found, cost.operations)) \(what) an operation, \(each(allowed, cost.operations)) allowed"
          + (marginPermille > 0 ? " and \(Double(marginPermille) / 10) %" : ""))
    }
    look("instructions", cost.instructions, limit.instructions, marginPermille: marginPercent * 10)
    // Two runs differ by one or two among thousands; one more for each operation is a multiple of what is allowed.
    look("allocations", cost.allocations, limit.allocations, marginPermille: 5)
    look("syncs", cost.syncs, limit.syncs, marginPermille: 0)
    look("writes", cost.writes, limit.writes, marginPermille: 0)
    return result
  }

  private static func change(_ cost: Cost, _ limit: Cost) -> String {
    String(format: "%+.1f %%", (Double(cost.instructions) / Double(max(1, limit.instructions)) - 1) * 100)
  }

  private static func each(_ count: Int, _ operations: Int) -> String {
    let value = Double(count) / Double(operations)
    return value >= 100 ? String(format: "%.0f", value) : String(format: "%.3f", value)
  }

  private static func line(_ cost: Cost, mark: String) -> String {
    let path = cost.path.padding(toLength: 26, withPad: " ", startingAt: 0)
    let numbers = [
      (cost.instructions, "instructions"), (cost.allocations, "allocations"), (cost.syncs, "syncs"),
      (cost.writes, "writes"),
    ]
    let words = numbers.map { "\(each($0.0, cost.operations)) \($0.1)" }.joined(separator: ", ")
    return "\(path) \(words)  \(mark)"
  }
}
