import DaybookEngine
import DaybookTesting
import DaybookTool

/// The targets of the fuzzer: each takes any bytes, and asserts more than that it survives them.
///
/// A target of its own, because readers of rows are the tool's, and those who test with a simulated disk need no tool.
///
/// `Fuzz/` links one program for each; `FuzzReplayTests` runs what has been found before through the same functions. The
/// README there says what each target proves and how its input is read.
///
/// ```swift
/// try FuzzEntry.token.run([0x44, 0x54, 2, 0])
/// ```
public enum FuzzEntry: String, CaseIterable, Sendable {
  /// A file of any content is opened, read, checked, written to and opened again.
  case open
  /// Pages and trees are searched, walked and changed.
  case page
  /// Frames of a log are read, and recovery makes its plan.
  case frame
  /// The bytes of a record, of a tombstone, of archived system fields.
  case body
  /// The bytes of one value.
  case value
  /// The bytes of a change token, also handed to a database.
  case token
  /// Comma-separated rows become records.
  case csv
  /// JSON and lines of a dump become records.
  case json
  /// The text of a predicate, and its answers.
  case predicate
  /// A database and dictionaries in lockstep, through crashes.
  case operations

  /// Runs one input.
  /// - Throws: what was found, in words; no input should make it.
  public func run(_ input: [UInt8]) throws {
    switch self {
    case .open: try FuzzOpen.run(input)
    case .page: try FuzzForging.page(input)
    case .frame: try FuzzForging.frame(input)
    case .body: try FuzzRecords.body(input)
    case .value: try FuzzRecords.value(input)
    case .token: try FuzzToken.run(input)
    case .csv: try ImportFuzz.csv(input)
    case .json: try ImportFuzz.json(input)
    case .predicate: try FuzzPredicate.run(input)
    case .operations: try FuzzTrial.run(input)
    }
  }
}

extension FuzzEntry {
  /// Whether inputs are text, which people write at any length: then the time that one takes is limited, too.
  public var isText: Bool { self == .csv || self == .json || self == .predicate }

  /// Runs one input as the fuzzer does: a text that costs more time than its length explains is a finding, too.
  ///
  /// Generous, and looked at three times, because other programs take time as well. Only where somebody waits for it: what
  /// the test suite runs again is counted there, and not timed.
  public func runInTime(_ input: [UInt8]) throws {
    let limit = 1_000_000_000 + UInt64(input.count) * 20_000
    var least = UInt64.max
    for _ in 0..<3 {
      let start = SystemClock.monotonicNanoseconds()
      try run(input)
      least = min(least, SystemClock.monotonicNanoseconds() &- start)
      if least <= limit { return }
    }
    throw Forgery.Finding("\(input.count) bytes took \(least / 1_000_000) ms")
  }
}
