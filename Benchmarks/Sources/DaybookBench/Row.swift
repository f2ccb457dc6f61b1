/// A row of the table: one piece of work, given to several engines in turn.
///
/// Its name is stable: plots and the guard against regressions look rows up by it.
struct Row {
  let name: String
  /// What one operation is, for the reader of `--list`.
  let summary: String
  var contenders: [Contender]
  /// What the machine itself allows; takes its turn behind the contenders.
  var floors: [Contender] = []
  /// Contenders must return the same sum in the same repetition: they read the same data.
  var hasEqualSums = false
  /// What the row is about. Time is measured in all of them.
  var measure = Measure.time
  /// The bytes that the device wrote are counted.
  var countsDeviceBytes = false
  /// Short work is repeated more often.
  var minimumRepetitionCount = 1
  /// Called when the row has been measured: gives back what only it needed.
  var afterwards: () throws -> Void = {}
}

/// What a row compares.
enum Measure: String, Codable {
  case time
  /// Size of the files.
  case fileBytes
  /// Peak of the memory that belongs to no file, in a process of its own.
  case anonymousBytes
}

/// One engine with one promise in a row.
struct Contender {
  /// daybook, sqlite, lmdb, rocksdb, leveldb, floor.
  let engine: String
  /// The promise it keeps: `full`, `unsynced`, `writemap`, …
  let variant: String
  /// Keeps the same promise as Daybook in this row, so a ratio means something.
  let isComparable: Bool
  let operationCount: Int
  /// Gets everything ready; not measured.
  let prepare: (_ repetition: Int) throws -> Void
  /// The work that is measured; returns a sum of what it read.
  let run: (_ repetition: Int) throws -> UInt64
  /// Looks how many bytes it came to; not measured.
  let weigh: ((_ repetition: Int) throws -> Int?)?
  /// What counts instead of the time that passed: a percentile of what `run` has measured itself.
  let seconds: (() -> Double?)?
  /// Cleans up after a repetition; not measured.
  let finish: (_ repetition: Int) throws -> Void

  init(
    _ engine: String, _ variant: String, isComparable: Bool = true, operations: Int,
    prepare: @escaping (Int) throws -> Void = { _ in }, run: @escaping (Int) throws -> UInt64,
    weigh: ((Int) throws -> Int?)? = nil, seconds: (() -> Double?)? = nil,
    finish: @escaping (Int) throws -> Void = { _ in }
  ) {
    self.engine = engine
    self.variant = variant
    self.isComparable = isComparable
    operationCount = operations
    self.prepare = prepare
    self.run = run
    self.weigh = weigh
    self.seconds = seconds
    self.finish = finish
  }
}

/// What was measured of one contender in one row.
struct Outcome: Codable {
  let row: String
  let records: Int
  let engine: String
  let variant: String
  let comparable: Bool
  let operations: Int
  let medianSeconds: Double
  let minimumSeconds: Double
  let maximumSeconds: Double
  let runs: Int
  /// Median of what the process used of all processors, its background threads included. On a machine that others use
  /// as well this repeats better than the time that passed; where the disk is waited for it says little.
  let processorSeconds: Double
  /// What the row is about.
  let measure: Measure
  /// Size of the files afterwards, in rows about it and where it belongs to the result.
  let fileBytes: Int?
  /// Peak of anonymous memory, in rows about it; nil where the system does not tell.
  let anonymousBytes: Int?
  /// What the device under the directory wrote in one repetition, by the block layer's count; nil in rows that do not write
  /// and where the system does not tell.
  let deviceBytes: Int?

  var secondsPerOperation: Double { medianSeconds / Double(operations) }
  var processorSecondsPerOperation: Double { processorSeconds / Double(operations) }

  /// What the row compares, of one operation: less is better.
  var cost: Double? {
    switch measure {
    case .time: secondsPerOperation
    case .fileBytes: fileBytes.map { Double($0) / Double(operations) }
    case .anonymousBytes: anonymousBytes.map(Double.init)
    }
  }
}

/// A benchmark that measured something else than it says.
struct BenchmarkFault: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
