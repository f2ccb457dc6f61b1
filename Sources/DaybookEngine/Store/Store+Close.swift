import Synchronization

/// Closing: makes everything durable, writes a `closed` frame and the length of the log, and releases the file.
extension Store {
  /// Makes everything durable, writes the `closed` frame, trims, and releases the file. Closing twice is allowed, and throws again
  /// if commits that returned are not durable. Errors are thrown after the file has been released; but for those commits, what was
  /// acknowledged is safe either way.
  /// - Parameter lastly: work to do while the file is still locked; it is told whether everything is durable, the `closed` frame,
  ///   too. A copy gets its name there. After that no byte of it is written: that it is finished is said by its size
  ///   (`UnfinishedMark`). If that cannot be said, the copy is as whole, and its next writer says it.
  package func close(lastly: ((_ isSound: Bool) throws(StoreError) -> Void)? = nil) throws(StoreError) {
    try checkProcess()
    closing.lock()
    defer { closing.unlock() }
    if life.isClosed.load(ordering: .acquiring) { return try requireAllDurable() }
    // From here on, no read or write begins. Those that have begun finish first.
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
    maintenance?.stop()
    withTurnForBackground { _ in }
    waitForCheckpoint()
    var failure: StoreError?
    /// The end of a copy.
    var closedEnd: Int?
    // Between transactions everything is durable, and another process may have the file lock. From here on the lock is kept: a
    // commit of another thread may end in the meantime, and would release it.
    let mayWrite =
      !options.isReadOnly && lost == nil && laterFeatures.load(ordering: .acquiring) == 0 && retainFileLockToClose()
    let writesClosed = mayWrite && (log.hasWritten || isDirtySinceOpen || lastly != nil) && log.isAlive
    if writesClosed {
      do {
        // The next open replays commits and walks over page frames, which costs a hundredth as much.
        let walkByteCount = Int(log.tail.offset) - Int(replayStart.offset)
        let isCheckpointDue =
          replayByteCount > options.closeCheckpointByteCount || walkByteCount / 100 > options.closeCheckpointByteCount
        // A copy's one sync comes with its zeros, because no thread waits for its commits.
        if lastly == nil || isCheckpointDue { try syncWritten() }
        if isCheckpointDue {
          // If there is no room for its pages, the log still holds everything.
          do { try checkpoint(isClosing: true) } catch .disk {}
        }
        // A checkpoint is followed by one. If there is no room for the copy, the commits still have them.
        do {
          try withTurnForBackground { (hold) throws(StoreError) in
            // Only what is new: a file that is opened and closed often would get all of them each time.
            if haveDeclarationsGrown(hold) { try repeatDeclarations(hold, from: repeated.count) }
          }
        } catch .disk {}
        try tellOfDamagedPage()
        if lastly == nil {
          if header.unfinishedName != 0 { _ = try makeNameOfFinishedDurable() }
          let end = try writeClosed()
          try trim(to: end + (log.hasMetFullDisk ? options.reserveByteCount : 0))
        } else if isMutant("close-copy-late") {
          closedEnd = .max
        } else {
          try writeZerosOfUnfinished()
          closedEnd = try writeClosed()
        }
      } catch { failure = error }
    } else {
      // Whatever the reason why nothing is written any more: this is the last chance to report that commits which returned may be
      // lost.
      do { try requireAllDurable() } catch { failure = error }
    }
    if let lastly {
      do {
        if isMutant("cut-zeros-before-name"), let closedEnd { tellNamed(closedEnd) }
        // Without its `closed` frame it gets no name, whatever the reason.
        try lastly(closedEnd != nil)
        if isMutant("close-copy-late") { closedEnd = try? writeClosed() }
        if let closedEnd { tellNamed(closedEnd) }
      } catch { failure = failure ?? error }
    }
    endSyncs()
    if versions.haveReaders {
      // A read is under way, and its memory must stay; the files are released with this object.
      file.unlock(.writer)
      file.unlock(.readers)
    } else {
      backgroundFile.close()
      file.close()
      // Now, and not with this object: a caller that closes a database and opens it again would have to wait for it.
      releasePages()
    }
    fileLock.releaseClaim()
    if let failure { throw failure }
  }

  // MARK: what was acknowledged

  /// Throws what ended this writer, unless every commit that returned is durable. A caller who is to be told that all is well asks
  /// this, not whether the writer is alive: a sync may have failed that no commit waited for, as those of a checkpoint and of a
  /// transaction that is taken back do at `.relaxed`.
  ///
  /// At other levels each commit has waited, and its caller was told.
  func requireDurable(_: borrowing Turn.Hold) throws(StoreError) {
    if options.durability != .relaxed || log.isDurable(head.frameNumber) || isMutant("forget-undurable") { return }
    try checkAlive()
  }

  private func requireAllDurable() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in try requireDurable(hold) }
  }

  /// - Returns: where the log ends now.
  private func writeClosed() throws(StoreError) -> Int {
    try withTurnForBackground { (hold) throws(StoreError) in
      // Then the checkpoint frame is durable, too.
      try syncWritten()
      let durableEnd = durableEnd
      let closed = try log.appendClosed(via: file, hold)
      let failure = writeClosedLength(durableEnd)
      try log.sync(file)
      if let failure { throw .disk(failure) }
      return Int(closed.next)
    }
  }

  /// Cuts off zeros after the log. No process maps them, unless there is a reader: then they stay.
  private func trim(to end: Int) throws(StoreError) {
    try withTurnForBackground { (_) throws(StoreError) in
      do throws(DiskFailure) {
        guard try file.tryLock(.readers, .exclusive) || isMutant("trim-under-readers") else { return }
        defer { file.unlock(.readers) }
        if try file.byteCount() > end { try file.truncate(to: end) }
      } catch { throw .disk(error) }
    }
  }

  // MARK: a copy

  /// Makes room for the `closed` frame of a copy, and zeros after it, durably: as long as they are there, the copy is
  /// unfinished (`Store+Leftover`). They are a hole, so a full disk has them, too.
  private func writeZerosOfUnfinished() throws(StoreError) {
    try withTurnForBackground { (_) throws(StoreError) in
      do throws(DiskFailure) {
        let end = Int(log.tail.offset) + 4 * FileHeader.byteCount
        if try file.byteCount() < end { try file.truncate(to: end) }
      } catch { throw .disk(error) }
      // Before the frame: a crash must not keep that without the zeros after it.
      if log.isDurable(log.writtenNumber) { try log.sync(file) } else { try syncWritten() }
    }
  }

  /// Says that a copy has its name: there is nothing after its `closed` frame. Only the size of the file changes.
  private func tellNamed(_ end: Int) {
    if (try? trim(to: end)) != nil { try? file.sync(.full) }
  }
}
