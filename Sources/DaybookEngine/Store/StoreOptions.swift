/// How a store behaves; set once, when it is opened.
package struct StoreOptions: Sendable {
  /// What a commit waits for before it is acknowledged and seen.
  package enum Durability: Sendable {
    /// The drive has it: survives power loss.
    case full
    /// The drive has it in order, maybe not on the platter (Apple platforms); elsewhere the same as `full`.
    case barrier
    /// Nothing; synced in the background at least every second or 16 MB. A prefix of the commits survives.
    case relaxed
  }

  package var durability = Durability.full
  package var isReadOnly = false
  /// How the file is read.
  package enum Access: Sendable {
    /// In place, from a mapping of the file.
    case mapped
    /// With `pread`, through a page cache: for disks that may fail or go away, where a mapping ends the process.
    case buffered
  }
  package var access = TestSetting.isBuffered || !AddressSpace.isAmple ? Access.buffered : .mapped
  /// Bytes of the file that `.buffered` keeps in memory.
  package var pageCacheByteCount = TestSetting.isBuffered ? 256 << 10 : 64 << 20
  /// The cache itself, once a store of the database is open: a compaction shares it.
  var pageCache: BlockCache?
  /// How many reads may run at a time, and how many snapshots there may be.
  package var readerLimit = 65_536
  /// Who reads, once a store of the database is open: the store that takes its place goes on with them.
  var readerSlots: ReaderSlots?
  /// The file lock is held for each transaction, not from open to close, so that several processes may write in turn.
  package var locksPerTransaction = false
  /// How long an open waits for another writer to let go.
  package var lockTimeoutNanoseconds: UInt64 = 5_000_000_000
  /// How long a read-only open waits for a live writer to prove what stands in the log.
  package var proofTimeoutNanoseconds: UInt64 = 250_000_000
  /// Bytes of log between checkpoints: twice the trees, within these limits. A checkpoint starts at half of it.
  package var minimumLogBudgetByteCount = 64 << 20
  package var maximumLogBudgetByteCount = 512 << 20
  /// Memory for pages that are not in the file; past it a checkpoint starts early, and one transaction may use half.
  package var checkpointMemoryByteCount = 512 << 20
  /// Memory that snapshots may hold back; past it the oldest is revoked.
  package var snapshotMemoryByteCount = 256 << 20
  /// Replaced pages of so many bytes are worth looking who still needs them. With 0 all that nobody needs is freed by the next
  /// commit, so that an address which has outlived its page shows.
  package var reclaimByteCount = 1 << 20
  /// Log since the last checkpoint that makes `close` write another one.
  package var closeCheckpointByteCount = 32 << 10
  /// A transaction's operations go out in parts of this size.
  package var partByteCount = 8 << 20
  /// Memory for operations that a replay gathers before it applies them in the order of their keys; 0 applies each at once.
  package var replayByteCount = 64 << 20
  /// The longest operation, header included.
  package var maximumOperationByteCount = 1 << 30
  /// Zeros that every commit leaves behind the log's end, so that one which only deletes finds room on a full disk.
  package var reserveByteCount = 24 << 10
  /// An open for writing leaves the pages of the file aside and makes the trees anew from the log.
  package var rebuildsTrees = false
  /// Each frame starts on a fresh sector of 4096 bytes, for disks that may damage a whole sector at power loss.
  package var startsBatchesOnFreshSector = false
  /// Memory of pages that were freed is filled with a pattern and not used again soon: see `DirtyPages`.
  package var poisonsFreedMemory = TestSetting.poisonsFreedMemory
  /// Checkpoints, zeros and notes on a thread of their own. Off in simulations, where they run inside `commit`.
  package var hasBackgroundThread = true
  /// Makes the random numbers of a new file: its identity and its salt.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  /// Called after each change of what readers see, with the newest visible commit sequence. Any thread; must not block.
  package var onPublish: (@Sendable (UInt64) -> Void)?
  /// Called when commits of others become visible: in the order of all commits, each told once, whatever found them. Within
  /// the turn; must not block.
  package var onOthers: (@Sendable (OthersCommits) -> Void)?
  /// Called on a background thread when the file is much larger than what lives in it. Must not block.
  package var onCompactionDue: (@Sendable () -> Void)?
  package init() {}
}

/// Commits of others that have just become visible.
package struct OthersCommits: Sendable {
  /// The last commit that was known before.
  package let known: UInt64
  /// The last one that is visible now; less than `known` where an older copy has taken the file's name.
  package let last: UInt64
  /// The file was opened again: something was discarded or rewritten, or it is another file or log.
  package let isReopened: Bool
}

/// What can go wrong in the engine; the public layer turns it into `DatabaseError`.
package enum StoreError: Error, Sendable {
  case disk(DiskFailure)
  case header(FileHeader.Fault)
  case page(PageFault)
  case log(LogFault)
  /// An operation in the log fails its checksum.
  case operation(offset: UInt64)
  /// Acknowledged commits are damaged: nothing may be written to this file.
  case rotten(lost: ClosedRange<UInt64>)
  /// The file was cut: whole frames end here, and bytes that were durable are missing. Nothing may be written to it.
  case cutShort(offset: UInt64, leastByteCount: UInt64, missingByteCount: UInt64)
  case locked(path: String)
  /// Opened a second time for writing by the same process.
  case alreadyOpen(path: String)
  case readOnly
  case closed
  /// Another file has taken this one's place, and its store this store's.
  case superseded
  /// A sync failed; whether the last commits survive is unknown until the file is opened again.
  case outcomeUnknown(DiskFailure)
  case tooLarge(byteCount: Int, limit: Int)
  case snapshotTooOld
  case tooManySnapshots(limit: Int)
  /// Used in a child process after `fork`.
  case forked
  case refused(reason: String)
  /// Asked for by a transaction of this store, which would wait for its own end.
  case withinTransaction
  /// The database is suspended: it holds no lock, and nothing can be written.
  case suspended
  /// The file must be opened again.
  case moved(Moved)
  /// Several names lead to the file, and what was asked for would leave all but one behind.
  case hardLinked(path: String, count: Int)
  /// The name leads to another database.
  case replaced(path: String)
  /// The numbers of commits or frames are used up, which only a forged file claims: nothing may be appended.
  case numbersUsedUp(sequence: UInt64)
}

extension StoreError {
  /// Why a file has to be opened again.
  package enum Moved: Sendable {
    /// The name leads to another file.
    case otherFile
    /// The frames that were shown are not there any more.
    case otherLog
    /// A writer has died, and what it left has to be repaired before anybody sees it.
    case notHandedOver
    /// Who follows has more changed pages in memory than it may, and the file has them in a newer checkpoint.
    case outgrown
  }
}

/// What open found and did.
package struct RecoveryReport: Sendable, Equatable {
  /// The file ended with a `closed` frame: nothing had to be recovered.
  package var wasClosed = true
  /// How far open had to go back for trees that hold.
  package enum Basis: String, Sendable { case newestCheckpoint, olderCheckpoint, log }
  package var basis = Basis.log
  package var replayedCommitCount: UInt64 = 0
  package var replayedByteCount: UInt64 = 0
  /// Bytes behind the last commit that were thrown away: an unacknowledged write.
  package var discardedByteCount: UInt64 = 0
  /// Where whole frames among them were saved.
  package var discardedCopyPath: String?
  /// There were some, and no room for a copy, or no right to make one.
  package var isDiscardedCopyMissing = false
  /// Frames that nothing proved to be on the disk, written and synced again.
  package var rewrittenFrameCount = 0
  /// Sequences of acknowledged commits that are damaged; nil when none are.
  package var lostSequences: ClosedRange<UInt64>?
  /// Bytes at the end of the file that were durable once and are not there any more.
  package var missingByteCount: UInt64 = 0
  /// A file that is open elsewhere was read up to what its writer says is durable.
  package var isBesideWriter = false
  /// The last commit that stood in the log then, where the writer had not said so of it.
  var unprovenSequence: UInt64?
  /// The writer did not say so in time: commits that it has acknowledged may not be shown yet.
  package var isBehindWriter = false
  /// Recovery threw something away, or made sure of what nothing proved.
  package var hasChangedLog: Bool { discardedByteCount > 0 || rewrittenFrameCount > 0 }
  package init() {}
}
