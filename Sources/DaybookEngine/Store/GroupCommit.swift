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

extension Store {
  func isDurable(_ number: UInt64) -> Bool { log.isDurable(number) }

  /// Waits until a frame is durable; syncs if no other thread does.
  func syncThrough(_ number: UInt64) throws(StoreError) {
    var newestPublished: UInt64?
    var lastGroup: Int?
    syncMonitor.lock()
    // A frame that was taken back in the meantime needs no wait.
    func isReached() -> Bool { log.isDurable(min(number, log.writtenNumber)) }
    while !isReached() {
      if !log.isAlive { break }
      if groupCommit.isSyncing {
        let group = groupCommit.group(ofFrame: number)
        lastGroup = group
        syncMonitor.wait(at: group)
      } else if groupCommit.hasEnded {
        break
      } else {
        newestPublished = syncForGroup() ?? newestPublished
      }
    }
    let isDurable = isReached()
    // A thread that was woken to lead, and does not, wakes another one.
    if !groupCommit.isSyncing, lastGroup == 1 - groupCommit.covered { syncMonitor.signal(at: 1 - groupCommit.covered) }
    if !isDurable { syncMonitor.broadcast() }
    // Another thread's sync may have covered our frame after it was written but before its version was queued; then nobody has
    // published it yet.
    if isDurable { newestPublished = versions.publishLocked(regardless: false) ?? newestPublished }
    syncMonitor.unlock()
    if let newestPublished { options.onPublish?(newestPublished) }
    if isDurable { return }
    // Also if another description's sync failed in the meantime: a failed sync is final, wherever it happens.
    try checkAlive()
    // Commits were made durable before the file was given up; this frame is a note, or its caller only asked for a sync.
    throw closedError
  }

  /// Waits for the sync that is under way, and lets no other begin: the file is closed next, and its descriptor may become
  /// another file's.
  func endSyncs() {
    syncMonitor.lock()
    if !isMutant("close-under-sync") { groupCommit.endSyncs() }
    while groupCommit.isSyncing, !isMutant("close-under-sync") { syncMonitor.wait(at: groupCommit.covered) }
    syncMonitor.broadcast()
    syncMonitor.unlock()
  }

  /// Leads a sync. Called with `syncMonitor` locked, which is released during the sync. Returns the sequence that became
  /// visible.
  private func syncForGroup() -> UInt64? {
    if options.durability != .relaxed {
      commitSyncs.add()
      if let patience = groupCommit.begin(commitCount: commitCount.load(ordering: .acquiring)) {
        syncMonitor.unlock()
        waitForCompanions(patience)
        syncMonitor.lock()
        groupCommit.endPatience(commitCount: commitCount.load(ordering: .acquiring))
      }
    } else {
      _ = groupCommit.begin(commitCount: .max)
    }
    let commits = commitCount.load(ordering: .acquiring)
    let target = log.written
    let companionCount = groupCommit.cover(through: target.number, commitCount: commits)
    syncMonitor.unlock()
    let start = SystemClock.monotonicNanoseconds()
    let hasWorked = syncCommits()
    let duration = SystemClock.nanoseconds(since: start)
    syncMonitor.lock()
    var published: UInt64?
    let isAlive = log.isAlive
    if hasWorked && isAlive {
      let covered = isMutant("cover-late-frames") ? log.writtenNumber : target.number
      log.didSync(covered, offset: target.offset)
      published = versions.publishLocked(regardless: options.durability == .relaxed)
      groupCommit.end(
        commitCount: commitCount.load(ordering: .acquiring), companionCount: companionCount, nanoseconds: duration)
    } else {
      groupCommit.fail()
    }
    let covered = groupCommit.covered
    // Threads that were woken under the lock would all block on it again.
    syncMonitor.unlock()
    // First wake the one that leads the next sync.
    if !isAlive {
      syncMonitor.broadcast(at: 1 - covered)
    } else if !isMutant("forget-next-leader") {
      syncMonitor.signal(at: 1 - covered)
    }
    syncMonitor.broadcast(at: covered)
    syncMonitor.lock()
    return published
  }

  /// False when the sync has failed, which ends this writer.
  private func syncCommits() -> Bool {
    func sync() throws(DiskFailure) {
      if !isMutant("skip-commit-sync") { try file.sync(options.durability == .barrier ? .barrier : .full) }
    }
    if isMutant("retry-failed-sync") { return (try? sync()) != nil }
    return (try? log.orDie(sync)) != nil
  }

  /// Stays awake: to sleep and wake up takes as long as the companions take to come.
  private func waitForCompanions(_ patience: GroupCommit.Patience) {
    let end = SystemClock.monotonicNanoseconds() + patience.nanoseconds
    while commitCount.load(ordering: .acquiring) < patience.commitCount, SystemClock.monotonicNanoseconds() < end {
      yieldProcessor()
    }
  }
}
