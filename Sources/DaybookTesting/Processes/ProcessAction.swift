import DaybookEngine

package enum ProcessAction: Sendable, Hashable, CustomStringConvertible {
  /// A transaction with an operation of the crash searches: saves with assets and owners, deletes, parts, forgotten deletions.
  case commit(CrashOperation)
  /// A transaction with two savepoints, the first of which is rolled back.
  case savepoints(zone: Int, count: Int)
  /// A transaction that is rolled back.
  case abort(zone: Int, count: Int)
  case checkpoint
  /// What the background thread would do.
  case note, zeros
  case sync, compact, backup, collect
  case refresh
  /// Looks at everything.
  case read
  /// Takes a snapshot; tests whether it still shows the same.
  case hold, look
  /// Follows feeds with tokens; asks for several records in one call; reads the history of a record.
  case follow(limit: Int), lookUp(zone: Int, count: Int), lookBack(zone: Int, record: Int)
  case peek, salvage, numbers, prepare(content: Int), savePrepared(zone: Int, record: Int)
  case suspend, resume
  case close
  /// The process ends at its n-th call from here.
  case dieSoon(calls: Int)
  /// The n-th such call of this process from here fails.
  case fail(ProcessFault)
  /// How much space is left on the disk; nil for no limit.
  case limit(Int?)

  package var description: String {
    switch self {
    case .commit(let operation): "\(operation)"
    case .savepoints(let zone, let count): "save \(count) records in z\(zone), of which half go back"
    case .abort(let zone, let count): "abort after \(count) records in z\(zone)"
    case .checkpoint: "checkpoint"
    case .note: "note"
    case .zeros: "zeros"
    case .sync: "sync"
    case .compact: "compact"
    case .backup: "backup"
    case .collect: "collect assets"
    case .refresh: "refresh"
    case .read: "read"
    case .hold: "take a snapshot"
    case .look: "look at the snapshot"
    case .follow(let limit): "follow the feeds in pages of \(limit)"
    case .lookUp(let zone, let count): "look up \(count) records of z\(zone)"
    case .lookBack(let zone, let record): "read the history of z\(zone)/r\(record)"
    case .peek: "open the file a second time, to read"
    case .salvage: "salvage"
    case .numbers: "statistics"
    case .prepare(let content): "prepare content \(content)"
    case .savePrepared(let zone, let record): "save what was prepared as z\(zone)/r\(record)"
    case .suspend: "suspend"
    case .resume: "resume"
    case .close: "close"
    case .dieSoon(let calls): "be killed at call \(calls) from here"
    case .fail(let fault): "\(fault)"
    case .limit(let byteCount): byteCount.map { "\($0) bytes are left on the disk" } ?? "there is room on the disk"
    }
  }

  /// Whether a reading process may do it.
  var isForReaders: Bool {
    switch self {
    case .peek, .salvage, .numbers: true
    case .refresh, .read, .hold, .look, .follow, .lookUp, .lookBack, .suspend, .resume, .close, .dieSoon, .limit: true
    case .fail(let fault): fault.operation != .sync
    default: false
    }
  }
}
