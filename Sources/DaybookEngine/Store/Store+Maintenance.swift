/// When a store needs maintenance, and the parts of it that are no checkpoint: zeros ahead, and notes of what is durable. The thread that
/// does it is `MaintenanceThread`.
extension Store {
  /// Requests what a commit has made necessary.
  @inline(__always)
  func ask(_ maintenance: MaintenanceThread, afterCommit header: FrameHeader, _: borrowing Turn.Hold) {
    if options.durability == .relaxed {
      maintenance.ask([.sync, .note])
    } else {
      maintenance.ask(.note)
      // A large append extends the file itself; zeros ahead of it would be written twice.
      if log.needsZeros, header.payloadByteCount < LogWriter.smallFrameByteCount { maintenance.ask(.zeros) }
    }
    if wantsCheckpoint { maintenance.ask(.checkpoint) }
  }

  /// Whether a sync at `.relaxed` is due, in a store that should have a background thread but got none from the system.
  func mustSyncWithoutMaintenance(_: borrowing Turn.Hold) -> Bool {
    guard options.durability == .relaxed, options.hasBackgroundThread else { return false }
    let now = SystemClock.monotonicNanoseconds()
    if now &- lastOwnSync < MaintenanceThread.syncIntervalNanoseconds, log.unsyncedByteCount < MaintenanceThread.syncByteCount {
      return false
    }
    lastOwnSync = now
    return true
  }

  /// In an unfinished file no commits wait, so the checkpoint need not begin early.
  private var wantsCheckpoint: Bool { hasUsed(quarters: isUnfinished ? 4 : 2) }

  /// Whether the file is much larger than its live bytes.
  package var isCompactionDue: Bool {
    withTurnForBackground { _ in
      isUsable && Store.isCompactionDue(byteCount: Int(log.tail.offset), liveByteCount: liveByteCount) && hasOnlyName
    }
  }

  /// The rule: larger than so many bytes, and than twice the live data.
  static func isCompactionDue(byteCount: Int, liveByteCount: Int) -> Bool {
    byteCount > leastCompactedByteCount && byteCount - liveByteCount > liveByteCount
  }

  /// Bytes of the file that the newest version needs.
  var liveByteCount: Int {
    FileHeader.byteCount + Int(clamping: head.pageCount) * Page.byteCount + head.liveByteCount
  }
  /// A smaller file is not worth the work.
  package static let leastCompactedByteCount = 64 << 20

  func askForCompaction() {
    if let ask = options.onCompactionDue, isCompactionDue { ask() }
  }

  /// Whether the committing thread must make the checkpoint: if there is no background thread, or if that thread has not got to
  /// it on an overloaded machine and the budget is used up.
  func needsCheckpointNow(_: borrowing Turn.Hold) -> Bool {
    if !options.hasBackgroundThread { return true }
    return replayByteCount > logBudgetByteCount && !turn.monitor.withLock { isCheckpointing }
  }

  /// Makes a checkpoint if one is due. A failure is kept for those who ask: see `BackgroundFailures`, which says who tries again.
  func tryCheckpoint() {
    // A full disk does no harm: the log goes on, and the next attempt may find room. So it is with whatever else the disk says,
    // but for a failed sync: that has ended the writer, and every later call says so.
    if withTurnForBackground({ _ in isUsable && wantsCheckpoint }) { try? checkpoint() }
  }

  /// Whether an open had to replay far more than the log's budget: no writer could make a checkpoint for a while.
  package var isCheckpointOverdue: Bool { recovery.replayedByteCount > 2 * UInt64(logBudgetByteCount) }

  /// Writes zeros ahead of the log.
  package func prepareZeros() {
    let claim = withTurnForBackground { (hold) -> Range<UInt64>? in
      guard isUsable, !life.isSuspended.load(ordering: .acquiring), fileLock.isHeld else { return nil }
      guard let claim = log.claimZeros(hold) else { return nil }
      // They are written outside the turn, so the file lock must be kept meanwhile.
      _ = fileLock.retain(hold)
      return claim
    }
    guard let claim else { return }
    log.writeZeros(claim)
    releaseRetainedFileLock()
  }

  private var isUsable: Bool {
    log.isAlive && !life.isClosed.load(ordering: .acquiring) && laterFeatures.load(ordering: .acquiring) == 0
  }

  /// Appends a frame without data whose `durableThrough` covers everything durable. For the maintenance thread; other threads
  /// access the maintenance thread only with the turn.
  package func appendNote() {
    if !tryNote() { maintenance?.ask(.note) }
  }

  /// Appends a note if no writer waits, and if it says anything. False when it should be tried again, because the turn is taken
  /// or a commit is being synced.
  func tryNote() -> Bool {
    guard let hold = turn.tryTake() else { return false }
    return turn.holding(hold) { hold in
      guard isUsable, fileLock.isHeld else { return true }
      // Nobody syncs the parts of a transaction that was rolled back; the commits before them are acknowledged.
      let last = isDurable(log.tail.lastDataNumber) ? log.tail.lastDataNumber : head.frameNumber
      // At `.relaxed` the sync comes later and requests the note then.
      if !isDurable(last) { return options.durability == .relaxed }
      // A note is optional: if there is no room for it, the next frame says the same.
      try? log.appendNote(covering: last, hold)
      return true
    }
  }

  /// Whether someone else has the file open for reading: another process, or another open in this one.
  var isReadByOthers: Bool { (try? file.isLockedByOthers(.readers)) ?? false }

  func writeNoteNow() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in try log.appendNote(hold) }
  }
}
