import Synchronization

/// How far the life of a store has come. Readers look at it without a lock, right behind the version that they have pinned.
///
///     open ──► closed                        `close`
///          ──► superseded, closed ──► retired ──► released     another store has taken its place; snapshots of it go on
struct StoreLife: ~Copyable {
  let isSuspended = Atomic<Bool>(false)
  /// Nobody begins to read or write any more.
  let isClosed = Atomic<Bool>(false)
  /// This is a child's copy of a parent's store: it is closed and dead, too.
  let isForked = Atomic<Bool>(false)
  /// A compaction has put another file in this one's place; snapshots of this one go on until `isFinished`.
  let isSuperseded = Atomic<Bool>(false)
  let isFinished = Atomic<Bool>(false)
  /// Its background work has ended: the last reader may give the file back.
  let isRetired = Atomic<Bool>(false)
  /// What snapshots show may have been written over.
  let isOverwritten = Atomic<Bool>(false)
}
