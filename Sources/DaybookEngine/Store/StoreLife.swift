import Synchronization

/// The stages in the life of a store. Readers test them without a lock, right after they have pinned a version.
///
///     open ──► closed                        `close`
///          ──► superseded, closed ──► retired ──► released     another store has taken its place; snapshots of it go on
struct StoreLife: ~Copyable {
  let isSuspended = Atomic<Bool>(false)
  /// No read or write may begin any more.
  let isClosed = Atomic<Bool>(false)
  /// This is a child's copy of its parent's store after `fork`: it is closed and dead, too.
  let isForked = Atomic<Bool>(false)
  /// The file could not be opened again though that was less work: the next look at what others have written applies all of it.
  let appliesAll = Atomic<Bool>(false)
  /// Another store has taken its place, after a compaction or a reload; its snapshots go on until `hasEndedSnapshots`.
  let isSuperseded = Atomic<Bool>(false)
  let hasEndedSnapshots = Atomic<Bool>(false)
  /// Its background work has ended: the last reader may release the file.
  let isRetired = Atomic<Bool>(false)
  /// What snapshots show may have been overwritten.
  let isOverwritten = Atomic<Bool>(false)
}
