/// Opening the file again, when its name or its log has changed, or a writer has died without handing it over: the new store replaces
/// the old one, as after a compaction. And suspending, which ends with a look at what others have done.
extension StoreSwitch {
  /// Opens the file again and replaces this store by the new one. Called with `replacing`.
  ///
  /// With the turn: otherwise a commit of the old store could be acknowledged that the new one does not show.
  /// - Parameters:
  ///   - resumes: whether the store is suspended, and is not to be any more.
  ///   - start: when the caller began to wait for others.
  func reload(
    _ store: Store, _ cause: StoreError.Moved, resumes: Bool = false, since start: UInt64? = nil
  ) throws(StoreError) {
    guard self.store === store else { return }
    // Another thread may have closed or suspended this store meanwhile. The new one would be open.
    if !isMutant("reload-what-is-closed") {
      if store.life.isClosed.load(ordering: .acquiring) { throw store.closedError }
      if !resumes, store.life.isSuspended.load(ordering: .acquiring) { throw .suspended }
    }
    do { guard try replaceByNewOpen(store, cause, since: start) else { return } } catch {
      // That was for less work only. Where the file cannot be opened, for want of rights or descriptors or because another has the
      // lock by now, the store goes on with the file that it has.
      switch error {
      case .disk, .locked, .alreadyOpen: guard cause == .outgrown else { throw error }
      default: throw error
      }
      store.life.appliesAll.store(true, ordering: .relaxed)
      return
    }
    store.retire()
  }

  /// False if another thread has taken the lock: then the cause no longer exists.
  private func replaceByNewOpen(
    _ store: Store, _ cause: StoreError.Moved, since start: UInt64?
  ) throws(StoreError) -> Bool {
    try store.withTurnForBackground { (hold) throws(StoreError) in
      if !store.options.isReadOnly, store.fileLock.isHeld { return false }
      let next = try Store.open(
        store.path, known: store.header, since: start, disk: store.disk, options: store.options, applier: makeApplier())
      // A writer whose disk is full may have taken back the frames that proved our last commits, and will write such frames again.
      // Until then an open shows less than this store does: keep this store.
      if cause == .outgrown, next.lastSequence < store.lastSequence, !isMutant("outgrown-goes-back") {
        try? next.close()
        return false
      }
      // What older snapshots show may have been written over.
      if cause == .otherLog { store.revokeSnapshots() }
      // With both turns: nobody commits to the new store before listeners know where it starts.
      next.withTurnForBackground { nextHold in
        next.commitSyncs = store.commitSyncs
        replace(by: next, nextHold)
        store.supersede(hold)
        // What a dead writer wrote but did not publish may be gone; if it is not, it counts as a commit of others.
        let known = store.log.isAlive ? store.head.sequence : store.versions.publishedSequence.load(ordering: .acquiring)
        store.options.onOthers?(OthersCommits(known: known, last: next.head.sequence, isReopened: true), next)
      }
      return true
    }
  }

  /// Releases every lock until `resume`; until then, writes throw `.suspended`.
  /// - Parameter lastly: done before a resume can begin, also when a sync has failed.
  package func suspend(lastly: () -> Void = {}) throws(StoreError) {
    try checkCaller()
    endRequests.begin(.suspension)
    defer { endRequests.finish(.suspension) }
    replacing.lock()
    defer { replacing.unlock() }
    defer { lastly() }
    endRequests.setSuspended(true)
    try store.suspend()
    kept.releases.hurry()
  }

  /// - Parameter lastly: done before a suspension can begin, when the database is resumed.
  package func resume(lastly: () -> Void = {}) throws(StoreError) {
    try checkCaller()
    replacing.lock()
    defer { replacing.unlock() }
    try resumeStore()
    endRequests.setSuspended(false)
    lastly()
  }

  /// Called with `replacing`.
  private func resumeStore() throws(StoreError) {
    let store = self.store
    let wasSuspended = store.life.isSuspended.load(ordering: .acquiring)
    let start = SystemClock.monotonicNanoseconds()
    do { try store.resume(since: start) } catch {
      guard case .moved(let cause) = error else { throw error }
      try reload(store, cause, resumes: true, since: start)
      if self.store !== store { return }
      try store.resume(since: start)
    }
    // A process that keeps the lock has caught up by taking it. If the refresh fails, the store is not resumed, because the
    // database's other work would not be, either. A database that was not suspended stays so.
    do { _ = try refresh(store) } catch {
      if wasSuspended { try? self.store.suspend() }
      throw error
    }
  }
}
