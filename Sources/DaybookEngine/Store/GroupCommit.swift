import Synchronization

/// One sync for all who wait: the part of a commit between its frame and its result.
///
///     frame written ─► somebody syncs? ── no ──► lead: wait for companions, sync, wake those it covers and the next leader
///                                     └─ yes ─► wait in the group of this sync, or of the next
///
/// A frame that was written before a sync began is covered by it; its thread waits in that sync's group. All others wait in
/// the other group, which is the next sync's: of them only one is woken, to lead it. With one group for all, each sync of 32
/// threads woke 16 in vain (row: kv-commit-durable-32).
///
/// Left alone, threads fall into two parts that take turns: one syncs while the other writes. So a leader waits for those
/// whom the last sync let go, as long as they come back soon: one sync for all instead of one for some (row:
/// kv-commit-durable-8, 33 to 26 µs). Where they do not come, it soon asks less and less often.
///
/// Guarded by the store's `syncMonitor`.
struct GroupCommit {
  /// Somebody leads a sync.
  private(set) var isSyncing = false
  /// The group that the present sync covers, 0 or 1; between two syncs, the one that the last covered.
  private(set) var covered = 0
  /// The last frame that the present sync covers; all, as long as its leader waits for companions.
  private var coveredThrough: UInt64 = 0
  /// Commits ever written when the newest sync began, and when all whom the one before let go have written their next.
  private var commitsWhenSyncing: UInt64 = 0
  private var commitsWithCompanions: UInt64 = 0
  private var lastSyncNanoseconds: UInt64 = 0
  /// Syncs that will not wait for companions, because the last ones waited in vain.
  private var hurriedCount = 0
  private var vainCount = 0

  /// A sync that takes less is over before anybody has been woken.
  private static let shortestSyncNanoseconds: UInt64 = 20_000
  /// Whoever takes longer from one commit to the next is not waiting for the disk.
  private static let maximumPatience: UInt64 = 200_000
  private static let maximumVainCount = 8

  /// How long a leader waits for companions, in nanoseconds, and the count of commits at which they are there.
  struct Patience: Equatable {
    let nanoseconds: UInt64
    let commitCount: UInt64
  }

  /// The group of a frame whose thread waits while another syncs.
  func group(ofFrame number: UInt64) -> Int { number <= coveredThrough ? covered : 1 - covered }

  /// A thread begins to lead a sync: the group of the next becomes that of this one.
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

  /// The companions are there, or the time is over.
  mutating func endPatience(commitCount: UInt64) {
    if commitCount >= commitsWithCompanions {
      vainCount = 0
    } else {
      vainCount = min(vainCount + 1, GroupCommit.maximumVainCount)
      hurriedCount = 1 << vainCount
    }
  }

  /// The system's call is about to be made, for this frame and all before it.
  /// - Returns: how many commits it covers that the one before did not.
  mutating func cover(through number: UInt64, commitCount: UInt64) -> UInt64 {
    coveredThrough = number
    defer { commitsWhenSyncing = commitCount }
    return commitCount - commitsWhenSyncing
  }

  /// The sync has failed.
  mutating func fail() { isSyncing = false }

  /// The sync has ended, and so many commits go on, which may come back.
  mutating func end(commitCount: UInt64, companionCount: UInt64, nanoseconds: UInt64) {
    isSyncing = false
    commitsWithCompanions = commitCount + companionCount
    lastSyncNanoseconds = nanoseconds
  }
}

extension Store {
  func isDurable(_ number: UInt64) -> Bool { log.isDurable(number) }

  /// Waits until a frame is durable, and syncs where nobody else does.
  func syncThrough(_ number: UInt64) throws(StoreError) {
    var newestShown: UInt64?
    var lastGroup: Int?
    syncMonitor.lock()
    // A frame that was taken back meanwhile is nothing to wait for.
    func isReached() -> Bool { log.isDurable(min(number, log.writtenNumber.load(ordering: .acquiring))) }
    while !isReached() {
      if !log.isAlive { break }
      if groupCommit.isSyncing {
        let group = groupCommit.group(ofFrame: number)
        lastGroup = group
        syncMonitor.wait(at: group)
      } else {
        newestShown = syncForGroup() ?? newestShown
      }
    }
    let isDurable = isReached()
    // Whoever was woken to lead hands that on where it does not.
    if !groupCommit.isSyncing, lastGroup == 1 - groupCommit.covered { syncMonitor.signal(at: 1 - groupCommit.covered) }
    if !isDurable { syncMonitor.broadcast() }
    // Another's sync may have covered our frame when it was written but its state not queued yet: nobody has shown it.
    if isDurable { newestShown = versions.publishLocked(regardless: false) ?? newestShown }
    syncMonitor.unlock()
    if let newestShown { options.onPublish?(newestShown) }
    // Also when another description's sync failed meanwhile: a failed sync is final, wherever it happens.
    if !isDurable { try checkAlive() }
  }

  /// Leads a sync. Called with `syncMonitor` locked, and lets go of it meanwhile. Returns the sequence that became visible.
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
    let targetOffset = log.writtenOffset.load(ordering: .acquiring)
    let target = log.writtenNumber.load(ordering: .acquiring)
    let companionCount = groupCommit.cover(through: target, commitCount: commits)
    syncMonitor.unlock()
    let start = SystemClock.monotonicNanoseconds()
    let hasWorked = syncCommits()
    let duration = SystemClock.nanoseconds(since: start)
    syncMonitor.lock()
    var shown: UInt64?
    let isAlive = log.isAlive
    if hasWorked && isAlive {
      let covered = isMutant("cover-late-frames") ? log.writtenNumber.load(ordering: .acquiring) : target
      log.noteSync(through: covered, offset: targetOffset)
      shown = versions.publishLocked(regardless: options.durability == .relaxed)
      groupCommit.end(
        commitCount: commitCount.load(ordering: .acquiring), companionCount: companionCount, nanoseconds: duration)
    } else {
      groupCommit.fail()
    }
    let covered = groupCommit.covered
    // Woken under the lock, they would all fall asleep again in front of it.
    syncMonitor.unlock()
    // First the one that leads the next sync.
    if !isAlive {
      syncMonitor.broadcast(at: 1 - covered)
    } else if !isMutant("forget-next-leader") {
      syncMonitor.signal(at: 1 - covered)
    }
    syncMonitor.broadcast(at: covered)
    syncMonitor.lock()
    return shown
  }

  /// False when the sync has failed, which is the end of this writer.
  private func syncCommits() -> Bool {
    func sync() throws(DiskFailure) {
      if !isMutant("skip-commit-sync") { try file.sync(options.durability == .barrier ? .barrier : .full) }
    }
    if isMutant("retry-failed-sync") { return (try? sync()) != nil }
    return (try? log.orDie(sync)) != nil
  }

  /// Awake: falling asleep and waking up takes as long as they do to come.
  private func waitForCompanions(_ patience: GroupCommit.Patience) {
    let end = SystemClock.monotonicNanoseconds() + patience.nanoseconds
    while commitCount.load(ordering: .acquiring) < patience.commitCount, SystemClock.monotonicNanoseconds() < end {
      yieldProcessor()
    }
  }
}
