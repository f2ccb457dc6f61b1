/// The commits that wait for one sync: who leads it, who is covered by it, and whom it wakes (`GroupCommit`).
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
    if let newestPublished { options.onPublish?(newestPublished, self.number) }
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
      // Once the store closes, no thread comes back with another commit.
      if let patience = groupCommit.begin(commitCount: commitCount.load(ordering: .acquiring)),
        !life.isClosed.load(ordering: .acquiring)
      {
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
