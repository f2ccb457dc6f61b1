import Synchronization

/// One sync for all waiting commits: the part of a commit between its frame and its result.
///
///     frame written ─► somebody syncs? ── no ──► lead: wait for companions, sync, wake those it covers and the next leader
///                                     └─ yes ─► wait in the group of this sync, or of the next
///
/// A sync covers every frame that was written before it began; the threads of those frames wait in its group. All others wait
/// in the other group, that of the next sync, and only one of them is woken, to lead it. With one group for all, each sync of
/// 32 threads woke 16 in vain (row: kv-commit-durable-32).
///
/// Without further measures, threads fall into two halves that alternate: one syncs while the other writes. So a leader waits
/// for the threads that the last sync released, its *companions*, as long as they come back soon: then one sync serves all of
/// them, not just half (row: kv-commit-durable-8, 33 to 26 µs). If they do not come back, leaders wait less and less often.
///
/// Guarded by the store's `syncMonitor`.
struct GroupCommit {
  /// Whether a thread leads a sync.
  private(set) var isSyncing = false
  /// The file is about to be closed: no sync begins any more.
  private(set) var hasEnded = false
  /// The group that the present sync covers, 0 or 1; between two syncs, the group of the last one.
  private(set) var covered = 0
  /// The last frame that the present sync covers; all frames as long as its leader waits for companions.
  private var coveredThrough: UInt64 = 0
  /// The count of all commits when the newest sync began, and the count at which all companions will have written their next.
  private var commitsWhenSyncing: UInt64 = 0
  private var commitsWithCompanions: UInt64 = 0
  private var lastSyncNanoseconds: UInt64 = 0
  /// Syncs that will not wait for companions, because the last ones waited in vain.
  private var hurriedCount = 0
  private var vainCount = 0

  /// A shorter sync is over before a waiting thread has woken up.
  private static let shortestSyncNanoseconds: UInt64 = 20_000
  /// Threads that take longer from one commit to the next do not wait for the disk.
  private static let maximumPatience: UInt64 = 200_000
  private static let maximumVainCount = 8

  /// How long a leader waits for companions, in nanoseconds, and the count of commits at which all have come.
  struct Patience: Equatable {
    let nanoseconds: UInt64
    let commitCount: UInt64
  }

  /// The group of a frame whose thread waits while another syncs.
  func group(ofFrame number: UInt64) -> Int { number <= coveredThrough ? covered : 1 - covered }

  /// A thread begins to lead a sync: the group of the next sync becomes the group of this one.
  mutating func begin(commitCount: UInt64) -> Patience? {
    isSyncing = true
    covered = 1 - covered
    coveredThrough = .max
    guard commitCount < commitsWithCompanions, lastSyncNanoseconds >= GroupCommit.shortestSyncNanoseconds else { return nil }
    if hurriedCount > 0 {
      hurriedCount -= 1
      return nil
    }
    return Patience(
      nanoseconds: min(lastSyncNanoseconds, GroupCommit.maximumPatience), commitCount: commitsWithCompanions)
  }

  /// The companions have come, or the time is over.
  mutating func endPatience(commitCount: UInt64) {
    if commitCount >= commitsWithCompanions {
      vainCount = 0
    } else {
      vainCount = min(vainCount + 1, GroupCommit.maximumVainCount)
      hurriedCount = 1 << vainCount
    }
  }

  /// Called just before the system call, which covers this frame and all before it.
  /// - Returns: how many commits it covers beyond the previous sync.
  mutating func cover(through number: UInt64, commitCount: UInt64) -> UInt64 {
    coveredThrough = number
    defer { commitsWhenSyncing = commitCount }
    return commitCount - commitsWhenSyncing
  }

  /// The sync has failed.
  mutating func fail() { isSyncing = false }

  /// From here on no sync begins.
  mutating func endSyncs() { hasEnded = true }

  /// The sync has ended, and so many threads continue, which may come back as companions.
  mutating func end(commitCount: UInt64, companionCount: UInt64, nanoseconds: UInt64) {
    isSyncing = false
    commitsWithCompanions = commitCount + companionCount
    lastSyncNanoseconds = nanoseconds
  }
}
