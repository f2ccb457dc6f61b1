/// How a store behaves; set once, when it is opened.
package struct StoreOptions: Sendable {
  /// What a commit waits for before it is acknowledged and seen.
  package enum Durability: Sendable {
    /// Until the drive has it: survives power loss.
    case full
    /// Until its order is fixed, though it may still be in the drive's cache (Apple platforms); elsewhere the same as `full`.
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
  package var pageCacheByteCount = TestSetting.keepsLittle ? 256 << 10 : 64 << 20
  /// The cache itself, once a store of the database is open: those that replace it share it.
  var pageCache: BlockCache.Shared?
  /// What work in the background failed at; a store that replaces another keeps it.
  package let failures = BackgroundFailures()
  /// Whether the database is about to end, once a store of it is open; a store that replaces it uses the same.
  var endRequests: EndRequests?
  /// How many reads may run at the same time, and how many snapshots there may be.
  package var readerLimit = 65_536
  /// The slots of readers, once a store of the database is open; a store that replaces it uses the same.
  var readerSlots: ReaderSlots?
  /// Whether the file lock is held only during each transaction, not from open to close, so that several processes may write
  /// alternately.
  package var locksPerTransaction = false
  /// How long an open waits for another writer to release the file lock.
  package var lockTimeoutNanoseconds: UInt64 = 5_000_000_000
  /// How long a read-only open waits for a live writer to prove what is in the log.
  package var proofTimeoutNanoseconds: UInt64 = 250_000_000
  /// Bytes of log between checkpoints: twice the trees, within these limits. A checkpoint starts at half of it.
  package var minimumLogBudgetByteCount = 64 << 20
  package var maximumLogBudgetByteCount = 512 << 20
  /// Memory for pages that are not in the file; at half of it a checkpoint starts early, and one transaction may
  /// use all of it.
  package var checkpointMemoryByteCount = 512 << 20
  /// Memory that snapshots may hold back; beyond it the oldest is revoked.
  package var snapshotMemoryByteCount = 256 << 20
  /// With this many bytes of replaced pages, it is worth finding out which are still needed. With 0, each commit frees all that
  /// is not needed, so that tests notice stale addresses.
  package var reclaimByteCount = 1 << 20
  /// With this much log since the last checkpoint, `close` writes another one.
  package var closeCheckpointByteCount = 32 << 10
  /// A transaction's operations are written in parts of this size.
  package var partByteCount = 8 << 20
  /// Memory for operations that a replay gathers before it applies them in the order of their keys; 0 applies each at once.
  package var replayByteCount = 64 << 20
  /// The longest operation, header included.
  package var maximumOperationByteCount = 1 << 30
  /// Zeros that every commit leaves behind the log's end, so that a commit that only deletes finds room on a full disk.
  package var reserveByteCount = 24 << 10
  /// Whether an open for writing ignores the pages of the file and rebuilds the trees from the log.
  package var rebuildsTrees = false
  /// Whether each frame starts on a fresh sector of 4096 bytes, for disks that may damage a whole sector at power loss.
  package var startsBatchesOnFreshSector = false
  /// Whether freed page memory is filled with a pattern and kept unused for a while: see `DirtyPages`.
  package var poisonsFreedMemory = TestSetting.poisonsFreedMemory
  /// Whether checkpoints, zeros and notes have a thread of their own. Off in simulations, where they run inside `commit`.
  package var hasBackgroundThread = true
  /// Makes the random numbers of a new file: its identity and its salt.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  /// Called after each change of what readers see, with the newest visible commit sequence. Any thread; must not block.
  package var onPublish: (@Sendable (_ sequence: UInt64, _ store: Int) -> Void)?
  /// Called when commits of other processes become visible: in the order of all commits, each reported once, whatever found
  /// them; with the store that shows them. Within the turn: it may read pages, and must not wait for other threads.
  package var onOthers: (@Sendable (OthersCommits, Store) -> Void)?
  /// Called on a background thread when the file is much larger than its live bytes. Must not block.
  package var onCompactionDue: (@Sendable () -> Void)?
  package init() {}
}
