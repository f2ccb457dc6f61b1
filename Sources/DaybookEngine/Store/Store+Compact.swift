/// Compaction: live content is written into a new file, in key order, and the new file takes the old one's name.
///
///     image of a pinned version ─► checkpoint ─► catch-up, round by round ─► with the turn: the last commits, sync, the
///     length into the header, sync, `superseded` in the old file, rename, sync of the directory ─► commits go on in the new file
///
/// Meanwhile commits go on in the old file. Its snapshots read from it as long as they live. Sequences do not change; links to
/// older versions are dropped.
///
/// Always true: the name leads to a file with every acknowledged commit. A crash leaves at most the other file as a leftover,
/// which the next open for writing removes.
extension StoreSwitch {
  /// Compacts the current store; when this returns, a new one is current. One compaction at a time.
  package func compact(_ rewriter: some Rewriter, pace: Pace) throws(StoreError) {
    try checkCaller()
    replacing.lock()
    defer { replacing.unlock() }
    while true {
      let store = try retainFileLock()
      do throws(StoreError) {
        defer { self.store.releaseRetainedFileLock() }
        return try attempt(store, rewriter, pace)
      } catch {
        guard case .moved(let cause) = error else { throw error }
        try reload(store, cause)
      }
    }
  }

  /// On a full disk, replaced files that are being freed, or the zeros after the log, may be the space that the new file lacks: then
  /// once more.
  private func attempt(_ store: Store, _ rewriter: some Rewriter, _ pace: Pace) throws(StoreError) {
    do throws(StoreError) { return try store.compact(rewriter, in: self, pace: pace.begun()) } catch {
      guard case .disk(let failure) = error, failure.kind == .full else { throw error }
      let hasFreed = kept.releases.hurry()
      if try !store.trimZeros(), !hasFreed { throw error }
    }
    do throws(StoreError) { try store.compact(rewriter, in: self, pace: pace.begun()) } catch {
      // Before another program takes the room: transactions that only delete have it.
      if self.store === store { store.restoreReserve() }
      throw error
    }
  }
}

extension Store {
  /// The name under which the new file is made. Only the holder of the file lock makes one.
  package static func unfinishedPath(of path: String) -> String { path + ".compacted" }

  /// Compacts this store; when this returns, the new one is current.
  fileprivate func compact(
    _ rewriter: some Rewriter, in stores: StoreSwitch, pace: Pace
  ) throws(StoreError) {
    try checkUsable()
    // Not after everything has been copied, and not under a name that a compaction of the other file needs.
    if !isMutant("copy-without-name") { try checkHasName() }
    try checkOnlyName()
    let temporary = Store.unfinishedPath(of: path)
    try Store.onDisk(call: try Store.removeLeftover(of: path, file, disk: disk))
    let attributes = try Store.onDisk(call: try file.attributes())
    let made = try Store.make(
      temporary, disk: disk, options: options, copying: header, generations: 1, by: .compaction, like: attributes)
    defer { made.close() }
    let target: Store
    do {
      try checkBelongsToSame(made, as: attributes)
      target = try Store.open(
        temporary, as: path, made: made, disk: disk, options: options, applier: rewriter.makeApplier())
    } catch {
      removeUnfinished(temporary, made)
      throw error
    }
    do throws(StoreError) {
      // Until it is locked, everyone who may write to the database may write to this file, too.
      guard target.log.tail.sequence == 0 else {
        throw .disk(DiskFailure(.open, path: temporary, code: ErrorNumber.exists))
      }
      target.setUnfinished(true, beside: self)
      pace.goBeside(self)
      try checkpointBeforeImage()
      var position = try copyImage(to: target, rewriter, pace)
      if position.sequence > 0 { try target.checkpoint() }
      defer { limitCommits(upTo: .max) }
      try catchUpInRounds(target, &position, rewriter, pace)
      // Earlier checkpoints would have written the same pages again and again. From here on, the log may be replayed.
      target.setUnfinished(false, beside: self)
      limitCommits(upTo: !pace.holdsCommits ? .max : position.commitOffset + target.leadDuringCheckpoint)
      try target.checkpointBeforeUse()
      try catchUpInRounds(target, &position, rewriter, pace)
      try target.syncWritten()
      try Store.onDisk { () throws(DiskFailure) in try rewriter.willReplace(by: target.file.identity) }
      try replace(by: target, in: stores, temporary, from: position, rewriter)
      rewriter.didReplace()
    } catch {
      var error = error
      // Not after the rename: then the target is current, and the error has ended this store.
      if stores.store !== target {
        target.abandon()
        removeUnfinished(temporary, made)
        rewriter.didReplace()
        // Only the unfinished file has failed, and nothing in it was acknowledged.
        if case .outcomeUnknown(let failure) = error, log.isAlive { error = .disk(failure) }
      }
      guard case .disk(let failure) = error, failure.kind == .full else { throw error }
      // The compaction needs room for everything that lives, not just for the write that failed.
      throw .disk(
        DiskFailure(.write, path: path, kind: .full, code: failure.code, byteCount: liveByteCount))
    }
    // The old file is freed slowly while commits are being synced, so that they hardly notice.
    var others = CommitSyncs(self)
    retire {
      if others.look() { SystemClock.sleep(nanoseconds: 1_000_000) }
      return pace.goesOn
    }
  }

  /// Removes the name of the new file, unless another file has it by now.
  private func removeUnfinished(_ temporary: String, _ made: any DiskFile) {
    (try? disk.folder(holding: temporary))?.remove(lastName(of: temporary), ifStill: made)
  }

  fileprivate func trimZeros() throws(StoreError) -> Bool {
    try withTurnForBackground { (hold) throws(StoreError) in try log.trimZeros(hold) }
  }

  fileprivate func restoreReserve() { withTurnForBackground { hold in log.restoreReserve(hold) } }

  private func copyImage(
    to target: Store, _ rewriter: some Rewriter, _ pace: Pace
  ) throws(StoreError) -> LogPosition {
    let pin = try beginRead()
    defer { endRead(pin) }
    let position = pin.state.fields.position
    if position.sequence == 0 { return position }
    let writer = try ImageWriter(target, sequence: position.sequence, pace: pace)
    do throws(StoreError) {
      try rewriter.writeImage(of: pin, self, to: writer)
    } catch {
      writer.abort()
      throw error
    }
    try writer.finish()
    return position
  }

  /// Copies new commits, round by round, until so little is missing that a wait for it goes unnoticed. Each round is shorter
  /// than the one before: commits that come faster than they are copied must wait. They may get ahead by half of what the round
  /// has copied. A copy that was asked to be slow comes to that last: when a round is not much shorter, it goes on as fast as
  /// it can.
  private func catchUpInRounds(
    _ target: Store, _ position: inout LogPosition, _ rewriter: some Rewriter, _ pace: Pace
  ) throws(StoreError) {
    // The image is the round before the first: a copy at a rate may take long, and commits get far ahead meanwhile.
    var lastMissing = pace.holdsCommits ? UInt64.max : target.log.writtenOffset
    var roundCount = 0
    while roundCount < 16 {
      try pace.check()
      // Frames without effect may have been removed in front of the copy's position: then there is nothing to catch up with.
      let written = log.writtenOffset
      if written < position.offset + Store.unnoticedByteCount { return }
      let missing = written - position.offset
      if !pace.holdsCommits, missing > lastMissing / 4 * 3 { pace.hurryUp() }
      // Rounds that hold no commits up are not counted: they get shorter.
      if pace.holdsCommits { roundCount += 1 }
      lastMissing = missing
      let limitsCommits = pace.holdsCommits && !isMutant("never-catch-up")
      position = try catchUp(target, from: position, limitsCommits: limitsCommits, rewriter, pace)
    }
  }

  /// The log that commits may have to wait for at the end of a compaction: some 200 commits, two milliseconds. With a megabyte
  /// it was 40 to 150 ms for commits of a single key (`daybook-bench latency`).
  private static let unnoticedByteCount: UInt64 = 64 << 10

  /// How far commits may get ahead while the new file writes its checkpoint: they become its log.
  private var leadDuringCheckpoint: UInt64 { withTurnForBackground { _ in UInt64(logBudgetByteCount / 2) } }

  private func setUnfinished(_ isUnfinished: Bool, beside current: Store) {
    withTurnForBackground { _ in
      self.isUnfinished = isUnfinished
      commitSyncs = current.commitSyncs
    }
  }

  /// The image pins the pages of its version as long as it takes, so they should be in the file, where they take no memory. At
  /// ten million records they took half a gigabyte, in addition to newer pages.
  private func checkpointBeforeImage() throws(StoreError) {
    let isWorthIt = withTurnForBackground { _ in editor.pages.usedByteCount > options.checkpointMemoryByteCount / 8 }
    // If there is no room for its pages, there may still be room for the new file.
    if isWorthIt { do { try checkpoint() } catch .disk {} }
  }

  /// Makes a checkpoint if the log since the last one would soon require it.
  private func checkpointBeforeUse() throws(StoreError) {
    if withTurnForBackground({ _ in hasUsed(quarters: 1) }) { try checkpoint() }
  }

  private func limitCommits(upTo offset: UInt64) {
    turn.monitor.withLock {
      commitLimit = offset
      turn.monitor.broadcast()
    }
  }

  /// - Parameters:
  ///   - limitsCommits: whether the log may only grow by half of what is copied, and a little more, so that slow writers do not
  ///     wait.
  ///   - pace: nil while the turn is held; then the copy cannot be cancelled.
  private func catchUp(
    _ target: Store, from position: LogPosition, limitsCommits: Bool = false, _ rewriter: some Rewriter,
    _ pace: Pace?
  ) throws(StoreError) -> LogPosition {
    let pin = try beginRead()
    defer { endRead(pin) }
    let end = max(pin.state.fields.position.commitOffset, position.commitOffset)
    var copied: UInt64 = 0
    var allowed: UInt64 = 0
    let batch = CommitBatch(target)
    defer { batch.abandon() }
    if limitsCommits { limitCommits(upTo: end + Store.unnoticedByteCount / 4) }
    try forEachCommit(from: position, through: pin) { (_) throws(StoreError) in
      try pace?.check()
    } _: { (commit) throws(StoreError) in
      let sequence = try rewriter.copy(commit, to: batch)
      guard sequence == commit.sequence else { throw .log(.inconsistent) }
      copied += commit.byteCount
      if limitsCommits, copied >= allowed + Store.unnoticedByteCount / 4 {
        allowed = copied
        limitCommits(upTo: end + allowed / 2 + Store.unnoticedByteCount / 4)
      }
      if batch.isFlushed, !target.options.hasBackgroundThread { target.tryCheckpoint() }
      try pace?.pause(writtenUpTo: target.log.writtenOffset) { () throws(StoreError) in
        // Publishes what is durable, so that the pages it replaced are freed: a version's pages for each commit would take
        // hundreds of megabytes, and touching them the first time most of the time.
        try target.syncWritten()
      }
    }
    try batch.flush()
    return pin.state.fields.position
  }

  /// The last step, with the turn: after the `superseded` frame nothing is committed here.
  private func replace(
    by target: Store, in stores: StoreSwitch, _ temporary: String, from position: LogPosition, _ rewriter: some Rewriter
  ) throws(StoreError) {
    holdCheckpoints()
    defer { allowCheckpoints() }
    try withTurnForBackground { (hold) throws(StoreError) in
      try checkUsable()
      try syncWritten()
      if !isMutant("skip-last-commits") { _ = try catchUp(target, from: position, rewriter, nil) }
      if !isMutant("skip-compaction-sync") { try target.syncWritten() }
      try target.writeLeastLength()
      // Readers in other processes that switch to the new file must not see less there than here.
      if !isMutant("compact-without-note") { try target.writeNoteNow() }
      if !isMutant("skip-compaction-sync") {
        try Store.onDisk { () throws(DiskFailure) in try target.file.sync(.full) }
        try target.syncWritten()
      }
      try checkHasName()
      try checkOnlyName()
      let given = try takeOnAttributes(target)
      try checkBelongsToSame(target.file, as: given)
      let frame = FrameHeader.buffer()
      frame.append(uint64: target.header.generation)
      // Opened before the log mentions the new file, because a lack of descriptors must not end the writer.
      let folder: any DiskFolder
      do throws(DiskFailure) {
        folder = try disk.folder(holding: path)
        guard try folder.identity(of: lastName(of: temporary)) == target.file.identity else {
          throw DiskFailure(.rename, path: temporary, code: ErrorNumber.tooManyLinks)
        }
      } catch { throw .disk(error) }
      _ = try log.append(
        .superseded, frame, sequence: log.tail.sequence, keepsReserve: false, via: backgroundFile, hold)
      // After a failure nobody knows which file the name leads to after a crash.
      try log.orDie { () throws(DiskFailure) in
        try backgroundFile.sync(.full)
        try folder.rename(lastName(of: temporary), to: folder, lastName(of: path))
        if !isMutant("skip-directory-sync-after-compaction") { try folder.sync(holding: lastName(of: path)) }
      }
      target.hasDurableName = true
      followAttributes(given, target)
      // If that fails, the next commit or the next open says it.
      try? target.tellFinished()
      target.recovery = recovery
      if isMutant("replace-without-turn") {
        stores.replace(by: target, hold)
      } else {
        target.withTurnForBackground { targetHold in stores.replace(by: target, targetHold) }
      }
      supersede(hold)
    }
  }

  /// Gives up a store that never became current. Nothing in it is needed, so nothing is written.
  private func abandon() {
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
    maintenance?.stop()
    maintenance = nil
    waitForCheckpoint()
    fileLock.releaseClaim()
    life.isRetired.store(true, ordering: .releasing)
    releaseIfUnused()
  }
}
