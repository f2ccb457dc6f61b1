/// A row of the table: one piece of work, given to several engines in turn.
///
/// Its name is stable: plots and the guard against regressions look rows up by it.
struct Row {
  let name: String
  /// What one operation is, for the reader of `--list`.
  let summary: String
  var contenders: [Contender]
  /// Contenders must return the same sum in the same repetition: they read the same data.
  var hasEqualSums = false
}

/// One engine with one promise in a row.
struct Contender {
  /// daybook, lmdb, sqlite, floor.
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
  /// Cleans up after a repetition; not measured.
  let finish: (_ repetition: Int) throws -> Void

  init(
    _ engine: String, _ variant: String, isComparable: Bool = true, operations: Int,
    prepare: @escaping (Int) throws -> Void = { _ in }, run: @escaping (Int) throws -> UInt64,
    finish: @escaping (Int) throws -> Void = { _ in }
  ) {
    self.engine = engine
    self.variant = variant
    self.isComparable = isComparable
    operationCount = operations
    self.prepare = prepare
    self.run = run
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

  var secondsPerOperation: Double { medianSeconds / Double(operations) }
  var processorSecondsPerOperation: Double { processorSeconds / Double(operations) }
}

/// A benchmark that measured something else than it says.
struct BenchmarkFault: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
