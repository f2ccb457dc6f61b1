#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

extension Database {
  /// How a database behaves; set once, when it is opened.
  public struct Options: Sendable {
    /// What a commit waits for before it is acknowledged and visible.
    public enum Durability: String, Sendable, Codable, CaseIterable {
      /// The disk has it: an acknowledged commit survives power loss.
      case full
      /// The disk has it in order (Apple platforms); elsewhere the same as ``full``.
      case barrier
      /// Nothing: synced in the background at least every second or 16 MB. After a crash a prefix of the commits is
      /// there, never a part of one. With ``Lock/perTransaction`` each commit is synced, as with ``full``. If no background thread
      /// can be created, the first commit after that second or those bytes syncs; the last commits are durable only after `sync()`, `suspend()` or `close()`.
      case relaxed
    }

    /// How the file is read.
    public enum Access: String, Sendable, Codable, CaseIterable {
      /// In place, from a mapping of the file: nothing is faster. When the disk fails under it, or another program
      /// truncates the file, the system ends the process (SIGBUS).
      ///
      /// Where the process has little address space, a file gets room for twice its length at the open, 256 MB at least, or
      /// what is left. What that room does not hold is read as with ``buffered``.
      case mapped
      /// With `pread`, through a page cache of ``pageCacheByteCount`` bytes: a disk that fails makes the call throw
      /// `ioFailed`. For network volumes, removable media and small address spaces. A read costs about a microsecond more.
      case buffered
    }

    /// When a checkpoint is made, and how much memory it may take.
    public struct Checkpoint: Sendable, Hashable {
      /// Bytes of log between checkpoints are twice the size of the trees, but at least this many.
      public var minimumLogByteCount = 64 << 20
      /// … and at most this many: replay after a crash is bounded by it (some 100 MB of records a second).
      public var maximumLogByteCount = 512 << 20
      /// Memory for changed pages that are not in the file yet. One transaction that needs more is refused.
      public var memoryByteCount = 512 << 20
      /// The defaults.
      public init() {}
    }

    /// When the file is rewritten without dead data.
    public struct Compaction: Sendable, Hashable {
      /// In the background, when the file is larger than 64 MB and than twice its live data.
      public var isAutomatic = true
      /// How fast a compaction may write; nil for as fast as the disk. One that does not keep up with commits goes on as fast
      /// as the disk, so that it ends; if that is not enough either, commits wait for it as they do without a limit.
      /// Other databases of a file that is shared (``Lock/perTransaction``) wait for a compaction as for a transaction: where it
      /// takes longer than their `lockTimeout`, they throw `locked`.
      public var bytesPerSecond: Int?
      /// The defaults.
      public init() {}
    }

    /// When the lock is held that keeps other processes from writing.
    public enum Lock: String, Sendable, Codable, CaseIterable {
      /// From open to close: the fastest.
      case whileOpen
      /// For each transaction, so that several processes write in turn. Each commit is synced before it is published and the
      /// lock is released, at every durability; checkpoints are made within a transaction, and nothing is compacted unasked.
      ///
      /// Each transaction sees all that was committed before it. Reads outside of one take no lock and look for nothing:
      /// they show the others' commits from this database's next transaction on, an empty or failed one too, or from
      /// ``Database/refresh(to:)`` on. ``Database/commits(excluding:)`` reports them at the same moment.
      case perTransaction
    }

    /// What a commit waits for.
    public var durability = Durability.full
    /// Open for reading: changes no content and needs no other file. A writer waits for it only while it looks for the end of
    /// the log.
    ///
    /// If the last writer died, and nothing proves that its last frames are durable, they are written again, byte for byte, and
    /// synced before they are shown. Without permission to write the file it is only synced.
    ///
    /// What another process acknowledged before is there when the open returns. Where that process has just committed, the open
    /// waits some milliseconds until that process has said that the commit is durable, at most a quarter of a second: beside a
    /// process that is stopped, or busy with one long transaction, the last commits come with ``Database/refresh(to:)``.
    public var isReadOnly = false
    /// Opening makes the directory that the file is to be in, and those above it, where they are missing. Otherwise a missing
    /// directory is an error.
    public var createsDirectory = false
    /// How the file is read. Unless said otherwise: mapped where the process has address space for it, and buffered where
    /// it has only a few gigabytes, as on iOS. What a mapped file finds no address space for is read as a buffered one is.
    public var access = TestSetting.isBuffered || !AddressSpace.isAmple ? Access.buffered : .mapped
    /// Bytes of the file that `Access.buffered` keeps in memory, 64 MB unless said otherwise and at least 64 KB. Each thread
    /// that reads takes 100 to 400 KB besides, each walk over records a page a level, and each walk over the log 256 KB and
    /// its longest operation.
    public var pageCacheByteCount = TestSetting.keepsLittle ? 256 << 10 : 64 << 20
    /// When the lock is held that keeps other processes from writing.
    public var lock = Lock.whileOpen
    /// How long to wait for another process that writes.
    public var lockTimeout = Duration.seconds(5)
    /// When a checkpoint is made.
    public var checkpoint = Checkpoint()
    /// When the file is compacted.
    public var compaction = Compaction()
    /// Each commit starts on a fresh sector of 4096 bytes, for disks that may damage a whole sector at power loss. Such a file does not
    /// record its length when it is closed: a copy of it that was cut short is opened as of an earlier commit.
    public var padding = false
    /// Memory that long-lived snapshots may hold back, also those of a file that a compaction has replaced; past it the oldest
    /// throws `snapshotTooOld`. The room of such a file on the disk is free again when no snapshot reads it any more, and does
    /// not count here.
    public var snapshotMemory = 256 << 20
    /// How much one request and one record may be.
    public var limits = Limits()
    /// How strictly the database answers as CloudKit does.
    public var dialect = Dialect.extended
    /// What happens to types, fields and kinds that are new: see ``Database/schema()``.
    public var schema = SchemaMode.justInTime
    /// Assets of at most so many bytes are stored in their record; larger ones in a file of their own, once for all records
    /// that have the same bytes. 0 puts every asset into a file, also an empty one.
    ///
    /// An asset in a record is written and read with it each time, so this is small by default: about a fifteenth of
    /// what a record may have in its other values. It does not count towards `Limits.recordByteCount`. A change leaves
    /// alone what is stored.
    public var inlineAssetByteCount = 64 << 10
    /// How long the file of an asset stays after a collection has first found it unreferenced: readers in other processes may
    /// still look at a version that refers to it. Only time in which the system runs counts.
    public var assetGrace = Duration.seconds(600)
    /// The user that saves are attributed to; nil leaves it out.
    public var userID: String?
    /// The device that saves are attributed to; nil leaves it out.
    public var deviceID: String?
    /// Encrypts encrypted values at rest; nil stores them as they are.
    ///
    /// It is for values that are saved from now on; those that were stored without one are refused, see
    /// ``acceptsUnsealedValues``.
    public var cipher: (any FieldCipher)?
    /// Encrypted values that were stored without a cipher are read, too, and encrypted when their record is saved again. For a
    /// database that gets its ``cipher`` later, until every record was saved; older versions stay in the log as they were
    /// until a compaction.
    ///
    /// Without it an unencrypted value reads as nil, `value(_:forKey:)` throws `permissionFailure` with record and key, and
    /// saving other fields leaves it unchanged: anyone who can write the file could have put it there, without the key. That
    /// includes what programs without the cipher save, like `daybook import`. No effect without a cipher.
    public var acceptsUnsealedValues = false
    /// The clock. Dates decorate records; nothing is ordered by them.
    public var now: @Sendable () -> Date = { Date() } {
      didSet { uptime = nil }
    }
    /// For how many seconds the system has been up; nil beside a clock that is not the system's, which it would contradict.
    package var uptime: (@Sendable () -> Double)? = { Double(SystemClock.monotonicNanoseconds()) / 1_000_000_000 }
    /// Where random numbers come from: file identity, lineages, epochs. For tests that repeat.
    package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    /// Of a database that belongs to a container.
    package var role: (any DatabaseRole)?
    /// How long a read-only open waits for a live writer to prove its last commits.
    package var proofTimeout = Duration.milliseconds(250)
    /// Off in simulations.
    package var hasBackgroundThread = true
    /// How much of a commit is kept for those who watch.
    var watchLimits = ChangeRecorder.Limits()
    /// Bytes of operations that go out as one part of a large transaction.
    package var partByteCount = 8 << 20
    /// Bits of the numbers of declarations that count; fewer in tests, so that two have one number.
    package var declarationMask = UInt32.max
    package var poisonsFreedMemory = TestSetting.poisonsFreedMemory
    /// How many bytes of replaced pages gather before they are looked through for pages that no reader needs any more.
    package var reclaimByteCount = 1 << 20
    /// Memory for what a replay gathers to apply it in the order of names; 0 applies each operation at once.
    package var replayByteCount = 64 << 20
    /// Log since the last checkpoint that makes `close` write one.
    package var closeCheckpointByteCount = 32 << 10
    /// Zeros kept after the log, so that deletes find room on a full disk.
    package var reserveByteCount = 24 << 10
    /// An index is used wherever one can be, however many records it leaves: in tests of plans, whose databases are small.
    package var prefersIndexes = false
    /// Leaves the pages of the file aside when it is opened for writing.
    package var rebuildsTrees = false
    /// How many reads may run at a time, and how many snapshots there may be.
    package var readerLimit = 65_536

    /// The defaults: every commit durable, no user and no device.
    public init() {}

    /// With less memory no transaction could be made.
    private static let minimumMemoryByteCount = 32 << 10

    /// The byte counts are those of a caller, of any sign: from here on they are sizes.
    var storeOptions: StoreOptions {
      var options = StoreOptions()
      options.durability =
        switch durability {
        case .full: .full
        case .barrier: .barrier
        case .relaxed: .relaxed
        }
      options.isReadOnly = isReadOnly
      options.proofTimeoutNanoseconds = UInt64(max(0, min(proofTimeout / .nanoseconds(1), 1e18)))
      options.access = access == .mapped ? .mapped : .buffered
      options.pageCacheByteCount = max(0, pageCacheByteCount)
      let (seconds, attoseconds) = lockTimeout.components
      // More than a century is as good as no limit, and the nanoseconds of one fit.
      options.lockTimeoutNanoseconds =
        min(UInt64(clamping: seconds), 100 * 365 * 86_400) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000)
      options.minimumLogBudgetByteCount = max(0, checkpoint.minimumLogByteCount)
      options.maximumLogBudgetByteCount = max(options.minimumLogBudgetByteCount, checkpoint.maximumLogByteCount)
      options.checkpointMemoryByteCount = max(Options.minimumMemoryByteCount, checkpoint.memoryByteCount)
      options.snapshotMemoryByteCount = max(0, snapshotMemory)
      options.startsBatchesOnFreshSector = padding
      options.locksPerTransaction = lock == .perTransaction && !isReadOnly
      // Such commits are synced in any case. One that was published before its sync could be lost with its writer, and another
      // process reuse its number in the same lineage: tokens would match both.
      if options.locksPerTransaction, options.durability == .relaxed { options.durability = .full }
      options.hasBackgroundThread = hasBackgroundThread && lock == .whileOpen
      options.partByteCount = partByteCount
      options.poisonsFreedMemory = poisonsFreedMemory
      options.reclaimByteCount = reclaimByteCount
      options.replayByteCount = replayByteCount
      options.closeCheckpointByteCount = closeCheckpointByteCount
      options.reserveByteCount = reserveByteCount
      options.rebuildsTrees = rebuildsTrees
      options.readerLimit = readerLimit
      options.random = random
      return options
    }

    /// Whether others may write while the database is open.
    var mayLag: Bool { isReadOnly || lock == .perTransaction }

    /// Texts of user and device go into every record they are in charge of, so they are limited.
    func validate() throws(DatabaseError) {
      for (key, text) in [("userID", userID), ("deviceID", deviceID)] {
        if let text, text.utf8.count > 255 {
          throw DatabaseError(.invalidArguments, facts: .init(key: key, size: text.utf8.count, limit: 255))
        }
      }
    }
  }
}
