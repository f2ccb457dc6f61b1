import Synchronization

/// Closing: everything durable, a mark that says so beside the length of what is, and the file given back.
extension Store {
  /// Makes everything durable, writes the `closed` frame, trims, and gives the file back. Closing twice is allowed.
  /// Errors are thrown after the file has been given back; what was acknowledged is safe either way.
  /// - Parameter lastly: what has to be done while the file is still locked, told whether everything is durable and the mark
  ///   is written.
  package func close(lastly: (_ isSound: Bool) throws(StoreError) -> Void = { _ in }) throws(StoreError) {
    try checkProcess()
    closing.lock()
    defer { closing.unlock() }
    if life.isClosed.load(ordering: .acquiring) { return }
    // From here on nobody begins to read or write. Whoever has begun finishes first.
    life.isClosed.store(true, ordering: .sequentiallyConsistent)
    keeper?.stop()
    withTurnForBackground { _ in }
    waitForCheckpoint()
    var failure: StoreError?
    // Between transactions everything is durable, and the file may be another's now. From here on the lock stays: a commit of
    // another thread may end meanwhile, and would give it back.
    let mayWrite = !options.isReadOnly && lost == nil && keepFileLockToClose()
    if mayWrite && (log.hasWritten || isDirtySinceOpen) && log.isAlive {
      do {
        try syncWritten()
        // The next open replays commits, and walks over frames of pages: that costs it a hundredth.
        let walkByteCount = Int(log.tail.offset) - Int(freeze.offset)
        if replayByteCount > options.closeCheckpointByteCount || walkByteCount / 100 > options.closeCheckpointByteCount {
          // Without room for its pages the log still holds everything.
          do { try checkpoint(isClosing: true) } catch .disk {}
        }
        try tellOfDamagedPage()
        try writeClosed()
      } catch { failure = error }
    } else if mayWrite, options.durability == .relaxed, !log.isAlive, !isDurable(log.tail.lastTruthNumber) {
      // Other levels have told each commit that waited. Here nobody waited: this is the last chance to say that commits
      // which returned may be gone.
      do { try checkAlive() } catch { failure = error }
    }
    do { try lastly(failure == nil) } catch { failure = failure ?? error }
    if versions.haveReaders {
      // A read goes on, and its memory must not go away; the files are given back with this object.
      file.unlock(.writer)
      file.unlock(.readers)
    } else {
      backgroundFile.close()
      file.close()
      // Now, and not with this object: whoever closes a database and opens it again would wait for it then.
      releasePages()
    }
    fileLock.releaseClaim()
    if let failure { throw failure }
  }

  private func writeClosed() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in
      // The checkpoint frame is durable, and covered too.
      try syncWritten()
      let durableEnd = durableEnd
      let frame = ByteBuffer(capacity: 256)
      frame.append(zeros: FrameHeader.byteCount)
      let closed = try log.append(.closed, frame, sequence: log.tail.sequence, keepsReserve: false, hold)
      let failure = writeClosedLength(durableEnd)
      try log.sync(file)
      if let failure { throw .disk(failure) }
      do throws(DiskFailure) {
        // Nobody maps the zeros that are cut off, unless a reader is there.
        if try file.tryLock(.readers, .exclusive) || isMutant("trim-under-readers") {
          defer { file.unlock(.readers) }
          let end = Int(closed.next) + (log.hasMetFullDisk ? options.reserveByteCount : 0)
          if try file.byteCount() > end { try file.truncate(to: end) }
        }
      } catch { throw .disk(error) }
    }
  }
}
