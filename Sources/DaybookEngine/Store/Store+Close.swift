import Synchronization

/// Closing: makes everything durable, writes a `closed` frame and the length of the log, and releases the file.
extension Store {
  /// Makes everything durable, writes the `closed` frame, trims, and releases the file. Closing twice is allowed. Errors are
  /// thrown after the file has been released; what was acknowledged is safe either way.
  /// - Parameter lastly: work to do while the file is still locked; it is told whether everything is durable and the `closed`
  ///   frame is written. A copy gets its name there, and only then the length of a closed file, so that what a crash leaves
  ///   under the other name is known for a leftover (`requireLeftover`). Its header says the least length anyway.
  package func close(lastly: ((_ isSound: Bool) throws(StoreError) -> Void)? = nil) throws(StoreError) {
    try checkProcess()
    closing.lock()
    defer { closing.unlock() }
    if life.isClosed.load(ordering: .acquiring) { return }
    // From here on, no read or write begins. Those that have begun finish first.
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
    maintenance?.stop()
    withTurnForBackground { _ in }
    waitForCheckpoint()
    var failure: StoreError?
    var lateLength: UInt64?
    // Between transactions everything is durable, and another process may have the file lock. From here on the lock is kept: a
    // commit of another thread may end in the meantime, and would release it.
    let mayWrite = !options.isReadOnly && lost == nil && retainFileLockToClose()
    if mayWrite && (log.hasWritten || isDirtySinceOpen) && log.isAlive {
      do {
        try syncWritten()
        // The next open replays commits and walks over page frames, which costs a hundredth as much.
        let walkByteCount = Int(log.tail.offset) - Int(freeze.offset)
        if replayByteCount > options.closeCheckpointByteCount || walkByteCount / 100 > options.closeCheckpointByteCount {
          // If there is no room for its pages, the log still holds everything.
          do { try checkpoint(isClosing: true) } catch .disk {}
        }
        // A checkpoint is followed by one. If there is no room for the copy, the commits still have them.
        do {
          try withTurnForBackground { (hold) throws(StoreError) in
            if haveDeclarationsGrown(hold) { try repeatDeclarations(hold) }
          }
        } catch .disk {}
        try tellOfDamagedPage()
        lateLength = try writeClosed(writesLength: lastly == nil)
      } catch { failure = error }
    } else if mayWrite, options.durability == .relaxed, !log.isAlive, !isDurable(log.tail.lastDataNumber) {
      // At other levels, each commit that waited was told. Here none waited: this is the last chance to report that commits
      // which returned may be lost.
      do { try checkAlive() } catch { failure = error }
    }
    if let lastly {
      do {
        try lastly(failure == nil)
        // If it fails, the file has its least length all the same.
        if failure == nil, lateLength != nil, writeClosedLength(lateLength) == nil { try? file.sync(.full) }
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

  /// - Returns: the length of the log, if it is known to be durable.
  private func writeClosed(writesLength: Bool) throws(StoreError) -> UInt64? {
    try withTurnForBackground { (hold) throws(StoreError) in
      // Then the checkpoint frame is durable, too.
      try syncWritten()
      let durableEnd = durableEnd
      let frame = ByteBuffer(capacity: 256)
      frame.append(zeros: FrameHeader.byteCount)
      let closed = try log.append(.closed, frame, sequence: log.tail.sequence, keepsReserve: false, hold)
      let failure = writesLength ? writeClosedLength(durableEnd) : nil
      try log.sync(file)
      if let failure { throw .disk(failure) }
      do throws(DiskFailure) {
        // Nobody maps the zeros that are cut off, unless there is a reader.
        if try file.tryLock(.readers, .exclusive) || isMutant("trim-under-readers") {
          defer { file.unlock(.readers) }
          let end = Int(closed.next) + (log.hasMetFullDisk ? options.reserveByteCount : 0)
          if try file.byteCount() > end { try file.truncate(to: end) }
        }
      } catch { throw .disk(error) }
      return durableEnd
    }
  }
}
