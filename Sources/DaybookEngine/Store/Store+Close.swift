import Synchronization

/// Closing: makes everything durable, writes a `closed` frame and the length of the log, and releases the file.
extension Store {
  /// Makes everything durable, writes the `closed` frame, trims, and releases the file. Closing twice is allowed. Errors are
  /// thrown after the file has been released; what was acknowledged is safe either way.
  /// - Parameter lastly: work to do while the file is still locked; it is told whether everything is durable. A copy gets its
  ///   name there, and only then a `closed` frame and the length of a closed file: they say that it is finished
  ///   (`UnfinishedMark`). If they cannot be written, the copy is as whole; its header says the least length anyway.
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
    // Between transactions everything is durable, and another process may have the file lock. From here on the lock is kept: a
    // commit of another thread may end in the meantime, and would release it.
    let mayWrite = !options.isReadOnly && lost == nil && retainFileLockToClose()
    let writesClosed = mayWrite && (log.hasWritten || isDirtySinceOpen || lastly != nil) && log.isAlive
    if writesClosed {
      do {
        try syncWritten()
        // The next open replays commits and walks over page frames, which costs a hundredth as much.
        let walkByteCount = Int(log.tail.offset) - Int(freeze.offset)
        if replayByteCount > options.closeCheckpointByteCount || walkByteCount / 100 > options.closeCheckpointByteCount {
          // If there is no room for its pages, the log still holds everything.
          do { try checkpoint(isClosing: true) } catch .disk {}
        }
        try tellOfDamagedPage()
        if lastly == nil {
          try writeClosed()
        } else {
          // Readers see all of it as soon as it has its name.
          try writeNoteNow()
          try syncWritten()
        }
      } catch { failure = error }
    } else if mayWrite, options.durability == .relaxed, !log.isAlive, !isDurable(log.tail.lastDataNumber) {
      // At other levels, each commit that waited was told. Here none waited: this is the last chance to report that commits
      // which returned may be lost.
      do { try checkAlive() } catch { failure = error }
    }
    if let lastly {
      do {
        try lastly(failure == nil)
        if failure == nil, writesClosed { try? writeClosed() }
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

  private func writeClosed() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in
      // Then the checkpoint frame is durable, too.
      try syncWritten()
      let durableEnd = durableEnd
      let closed = try log.appendClosed(through: file, hold)
      let failure = writeClosedLength(durableEnd)
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
    }
  }
}
