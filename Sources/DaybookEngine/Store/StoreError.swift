/// What can go wrong in the engine; the public layer turns it into `DatabaseError`.
package enum StoreError: Error, Sendable {
  case disk(DiskFailure)
  case header(FileHeader.Fault)
  case page(PageFault)
  case log(LogFault)
  /// An operation in the log fails its checksum.
  case operation(offset: UInt64)
  /// Acknowledged commits are damaged: nothing may be written to this file.
  case corrupt(lost: ClosedRange<UInt64>)
  /// The file has features, as bits, that this version would not keep up to date: it can only be read.
  case laterFeatures(UInt64)
  /// The file was cut: its last whole frame ends here, and durable bytes are missing. Nothing may be written to it.
  case cutShort(offset: UInt64, leastByteCount: UInt64, missingByteCount: UInt64)
  case locked(path: String)
  /// Opened a second time for writing by the same process.
  case alreadyOpen(path: String)
  case readOnly
  case closed
  /// Another file has replaced this one, and another store this store.
  case superseded
  /// A sync failed; whether the last commits survive is unknown until the file is opened again.
  case outcomeUnknown(DiskFailure)
  case tooLarge(byteCount: Int, limit: Int)
  case snapshotTooOld
  case tooManySnapshots(limit: Int)
  /// Used in a child process after `fork`.
  case forked
  case refused(reason: String)
  /// Called from within a transaction of this store, for whose end the call would wait.
  case withinTransaction
  /// The database is suspended: it holds no lock, and nothing can be written.
  case suspended
  /// The file must be opened again.
  case moved(Moved)
  /// Several names lead to the file, and the operation would change only one of them.
  case hardLinked(path: String, count: Int)
  /// A file that is made by this user would have another owner or group, or another list of rights.
  case ownerWouldChange(path: String)
  /// The name leads to another database.
  case replaced(path: String)
  /// The numbers of commits or frames are used up, as only in a forged file: nothing may be appended.
  case numbersUsedUp(sequence: UInt64)
}

extension StoreError {
  /// Why a file must be opened again.
  package enum Moved: Sendable {
    /// The name leads to another file.
    case otherFile
    /// The frames that were published are no longer there.
    case otherLog
    /// A writer has died, and what it left must be repaired before anyone sees it.
    case notHandedOver
    /// A follower has more changed pages in memory than it may, and the file has them in a newer checkpoint.
    case outgrown
  }
}
