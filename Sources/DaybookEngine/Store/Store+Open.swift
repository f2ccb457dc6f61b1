import Synchronization

/// Opening: lock, read the header, decide what is valid (`RecoveryPlan`), replay, repair the file, publish.
///
/// Nothing is written before the trees are complete. A read-only open changes no content. If it is alone with frames that nothing
/// proves durable, it writes the same bytes again, because after a failed sync another sync proves nothing. A crash may
/// interrupt recovery at any step; then it starts over: it writes only bytes that it has verified, and zeros behind the last
/// frame that counts.
extension Store {
  /// Opens an existing database.
  /// - Parameters:
  ///   - name: the final name of the file, if it has a temporary one.
  ///   - made: the open file that the caller has just made under this path. Any other file is left alone: `.exists`, or
  ///     `.notRegular` for a link.
  ///   - born: the file of a new database that the caller has just made. Another process may have found it before, and given its
  ///     name to a compacted one; any other database is left alone, `.exists`.
  ///   - known: the header of the database that has been open under this path; any other is left alone, `.replaced`.
  ///   - start: when the caller began to wait for others; nil for one that begins now.
  package static func open(
    _ path: String, as name: String? = nil, made: (any DiskFile)? = nil, born: (any DiskFile)? = nil, known: FileHeader? = nil,
    since start: UInt64? = nil, disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    options.isReadOnly
      ? try openForReading(path, known, disk: disk, options: options, applier: applier)
      : try openForWriting(path, as: name ?? path, made, born, known, start, disk: disk, options: options, applier: applier)
  }

  /// Opens the file itself: links were followed when the path was resolved, and one that has the name since then leads somewhere
  /// else.
  static func openFile(_ path: String, _ mode: OpenMode, disk: any Disk) throws(DiskFailure) -> any DiskFile {
    let folder: any DiskFolder
    do { folder = try disk.folder(holding: path) } catch {
      // In a sandbox the right to a file need not be one to its folder.
      guard error.kind == .permission else { throw error }
      return try disk.open(path, mode)
    }
    return isMutant("follow-late-links") ? try disk.open(path, mode) : try folder.open(lastName(of: path), mode)
  }

  /// Checks the file before it is read, locked or written: another file could belong to anyone, and would get the content of
  /// this one.
  private static func openFile(
    _ path: String, _ made: (any DiskFile)?, disk: any Disk
  ) throws(StoreError) -> any DiskFile {
    try onDisk { () throws(DiskFailure) in
      let file = try openFile(path, .readWrite, disk: disk)
      guard let made, file.identity != made.identity, !isMutant("open-any-made-file") else { return file }
      file.close()
      throw DiskFailure(.open, path: path, code: ErrorNumber.exists)
    }
  }

  /// Throws where the name leads to another database by now: before anything of that is repaired.
  private static func check(
    _ file: any DiskFile, _ header: FileHeader, _ born: (any DiskFile)?, _ known: FileHeader?, _ options: StoreOptions
  ) throws(StoreError) {
    if isMutant("open-any-made-file") { return }
    if let known, !known.isOfSameDatabase(as: header) { throw .replaced(path: file.path) }
    guard let born, born.identity != file.identity, try !readHeader(born, options).isOfSameDatabase(as: header) else { return }
    throw .disk(DiskFailure(.open, path: file.path, code: ErrorNumber.exists))
  }

  private static func openForWriting(
    _ path: String, as name: String, _ made: (any DiskFile)?, _ born: (any DiskFile)?, _ known: FileHeader?, _ start: UInt64?,
    disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    while true {
      do throws(StoreError) {
        return try openNamedFile(path, as: name, made, born, known, start, disk: disk, options: options, applier: applier)
      } catch {
        guard case .moved(.otherFile) = error else { throw error }
      }
    }
  }

  /// - Throws: `.moved(.otherFile)` when a file of the same database has taken the name meanwhile, a backup for instance: then that is
  ///   to be opened.
  private static func openNamedFile(
    _ path: String, as name: String, _ made: (any DiskFile)?, _ born: (any DiskFile)?, _ known: FileHeader?, _ start: UInt64?,
    disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    let (file, claim) = try lockForWriting(path, made, start, disk: disk, options: options)
    var background: (any DiskFile)?
    do throws(StoreError) {
      let header = try readHeader(file, options)
      try check(file, header, born, known, options)
      let opened = try openFile(path, made, disk: disk)
      background = opened
      // The name may lead elsewhere by now, and pages of this file would be written there.
      guard opened.identity == file.identity else {
        if made == nil, !isMutant("open-half-of-two-files"), try readHeader(opened, options).isOfSameDatabase(as: header) {
          throw .moved(.otherFile)
        }
        throw .disk(.nameLost(.open, path: path, to: .another))
      }
      let log = try log(of: file, header, options)
      var plan = try onDisk { () throws(DiskFailure) in try options.rebuildsTrees ? log.planFromStart() : log.plan() }
      plan.compare(with: header, fileEnd: log.end)
      let store = try Store(
        path: name, header: header, options: options, disk: disk, file: file, backgroundFile: opened,
        applier: applier, plan: plan)
      try plan.checkUndamaged(header)
      var used = try store.load(plan, log: log)
      // Older trees need more of the log than the newest did, and that part may be corrupt.
      used.compare(with: header, fileEnd: log.end)
      try used.checkUndamaged(header)
      try used.checkNumbers()
      // On a full disk it may be what fills it.
      try? removeLeftover(of: name, file, disk: disk)
      try store.repair(used, log: log, isMade: made != nil)
      let isUntold = made == nil && header.unfinishedName != 0 && store.isFinishedUntold(isClosed: used.isClosed)
      let tellsFinished = isUntold ? try store.makeNameOfFinishedDurable() : false
      store.startWriting(used)
      store.fileLock.hand(over: claim)
      // On a full disk a commit says it later.
      if tellsFinished { try? store.tellFinished() }
      // A file that does not have its final name yet stays locked until it does.
      if name != path { store.withTurnForBackground { hold in _ = store.fileLock.retain(hold) } }
      if name == path { try? store.removeUnfinishedNames() }
      store.releaseFileLockIfIdle()
      return store
    } catch {
      file.close()
      background?.close()
      claim.release()
      throw error
    }
  }

  private static func openForReading(
    _ path: String, _ known: FileHeader?, disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    let file = try onDisk { () throws(DiskFailure) in try openFile(path, .readOnly, disk: disk) }
    do throws(StoreError) {
      // Take the readers' lock before reading the size: a writer trims only when nobody reads.
      try lockReaders(file, options)
      let header = try readHeader(file, options)
      try check(file, header, nil, known, options)
      // A shared lock on the writer's byte is granted when no writer is there.
      let isAlone = try onDisk { () throws(DiskFailure) in try file.tryLock(.writer, .shared) }
      var holdsWriterByte = isAlone
      defer { if holdsWriterByte { file.unlock(.writer) } }
      let log = try log(of: file, header, options)
      var plan = try onDisk { () throws(DiskFailure) in
        try isAlone ? log.plan() : RecoveryPlan.besideWriter { () throws(DiskFailure) in try log.plan() }
      }
      // Before the plan is limited to what a live writer has proven, which may be less than a close has made durable.
      plan.compare(with: header, fileEnd: log.end)
      let written = plan.lastSequence
      if isAlone {
        // What nothing proves durable may still be lost: first make it durable, then show it.
        if plan.hasUnprovenData, !isMutant("show-unproven-frames") {
          try onDisk { () throws(DiskFailure) in try makeDurable(plan, log: log, of: file, at: path, disk: disk) }
        }
      } else if !isMutant("read-beyond-proof") {
        try onDisk { () throws(DiskFailure) in try plan.cut(to: log) }
      }
      let store = try Store(
        path: path, header: header, options: options, disk: disk, file: file, backgroundFile: file,
        applier: applier, plan: plan)
      // From here on, only what the plan has found counts, and no writer changes that. So writers need not wait for a long
      // replay.
      if holdsWriterByte, !isMutant("replay-under-lock") {
        file.unlock(.writer)
        holdsWriterByte = false
      }
      let used = try store.load(plan, log: log, isBesideWriter: !isAlone)
      store.recovery.isBesideWriter = !isAlone
      if written > used.lastSequence, store.lost == nil { store.recovery.unprovenSequence = written }
      store.withTurnForBackground { hold in
        store.finishRecovery(after: used, hold)
        store.publishFirst(hold)
      }
      return store
    } catch {
      file.close()
      throw error
    }
  }

  /// Takes the readers' lock. Waits for a writer that is cutting off zeros, which it does only when nobody reads: a walk over
  /// them could touch bytes that are no longer there.
  static func lockReaders(_ file: any DiskFile, _ options: StoreOptions) throws(StoreError) {
    if isMutant("lock-not-taken") { return }
    let start = SystemClock.monotonicNanoseconds()
    while true {
      if try onDisk({ () throws(DiskFailure) in try file.tryLock(.readers, .shared) }) { return }
      if SystemClock.nanoseconds(since: start) >= options.lockTimeoutNanoseconds { throw .locked(path: file.path) }
      try options.endRequests?.check()
      SystemClock.sleep(nanoseconds: 1_000_000)
    }
  }

  /// Opens the file and takes the writer's lock; loops while the name moves to another file.
  private static func lockForWriting(
    _ path: String, _ made: (any DiskFile)?, _ start: UInt64?, disk: any Disk, options: StoreOptions
  ) throws(StoreError) -> (any DiskFile, WriterClaim) {
    let start = start ?? SystemClock.monotonicNanoseconds()
    while true {
      let file = try openFile(path, made, disk: disk)
      do {
        if let claim = try waitForLock(of: file, path, start, disk: disk, options: options) {
          do {
            if try disk.identity(of: path) == file.identity || isMutant("skip-inode-check") { return (file, claim) }
          } catch {
            claim.release()
            throw error
          }
          claim.release()
        }
      } catch {
        file.close()
        throw StoreError(diskOrStore: error)
      }
      file.close()
    }
  }

  /// Waits for a file's lock, in this process as in others: says so in the file, or threads that always write would never leave it.
  /// Nil where the file has lost its name, so that its lock must not hold us up.
  private static func waitForLock(
    of file: any DiskFile, _ path: String, _ start: UInt64, disk: any Disk, options: StoreOptions
  ) throws -> WriterClaim? {
    let isKept = !options.locksPerTransaction
    var saysSo = false
    defer { if saysSo { file.unlock(.waiting) } }
    var pause: UInt64 = 50_000
    while true {
      if let claim = WriterClaim(file.identity) {
        do {
          if try file.tryLock(.writer, .exclusive) || isMutant("ignore-file-lock") {
            if isKept { claim.keep() }
            return claim
          }
        } catch {
          claim.release()
          throw error
        }
        claim.release()
      } else if isKept, WriterClaim.isKept(file.identity) {
        throw StoreError.alreadyOpen(path: path)
      }
      if SystemClock.nanoseconds(since: start) >= options.lockTimeoutNanoseconds {
        throw WriterClaim.isKept(file.identity) ? StoreError.alreadyOpen(path: path) : .locked(path: path)
      }
      try options.endRequests?.check()
      if try disk.identity(of: path) != file.identity { return nil }
      if !saysSo { saysSo = try file.tryLock(.waiting, .shared) }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(pause + pause / 4, 2_000_000)
    }
  }

  private static func readHeader(_ file: any DiskFile, _ options: StoreOptions) throws(StoreError) -> FileHeader {
    do {
      let byteCount = try file.byteCount()
      guard byteCount >= FileHeader.byteCount else { throw FileHeader.Fault.tooShort(byteCount: byteCount) }
      return try withFirstPage(of: file, options) { (page) throws(FileHeader.Fault) in try FileHeader(page) }
    } catch let fault as FileHeader.Fault {
      throw .header(fault == .notADatabase && hasFirstFrame(file) ? .checksum : fault)
    } catch {
      throw .disk(error as! DiskFailure)
    }
  }

  /// Whether a log begins where one would: then the first page is a damaged one.
  private static func hasFirstFrame(_ file: any DiskFile) -> Bool {
    let bytes = ByteBuffer(capacity: 4)
    // Safe: the buffer has room for it.
    bytes.count = (try? unsafe file.read(into: bytes.base, count: 4, at: FileHeader.byteCount)) ?? 0
    return bytes.count == 4 && bytes.view.uint32(at: 0) == FrameHeader.magic
  }

  private static func log(
    of file: any DiskFile, _ header: FileHeader, _ options: StoreOptions
  ) throws(StoreError) -> LogReader {
    try onDisk { () throws(DiskFailure) in
      try log(of: file, header, byteCount: try file.byteCount(), options)
    }
  }

  /// Carries out calls of the disk; their failure becomes `.disk`.
  static func onDisk<R>(_ body: () throws(DiskFailure) -> R) throws(StoreError) -> R {
    do { return try body() } catch { throw .disk(error) }
  }

  /// The same for a single call.
  static func onDisk<R>(call: @autoclosure () throws(DiskFailure) -> R) throws(StoreError) -> R {
    do { return try call() } catch { throw .disk(error) }
  }

  private func startWriting(_ plan: RecoveryPlan) {
    log.setDurable(plan.repairedThrough)
    // Trees that had to be rebuilt deserve a checkpoint even if nobody writes.
    isDirtySinceOpen = !recovery.wasClosed || plan.basis == .olderCheckpoint || plan.passesCheckpoint
    withTurnForBackground { hold in publishFirst(hold) }
    startMaintenance()
    // Readers in other processes see what a frame proves durable, and recovery has proven more.
    if plan.hasUnprovenData { maintenance?.ask(.note) }
  }

  func startMaintenance() {
    guard options.hasBackgroundThread else { return }
    let maintenance = MaintenanceThread()
    if maintenance.start(self) { self.maintenance = maintenance }
  }

  private func publishFirst(_ hold: borrowing Turn.Hold) {
    versions.enqueue(head, of: self, hold)
    _ = versions.publish(regardless: true)
  }
}

extension RecoveryPlan {
  /// Throws if a writer could reach the end of the numbers.
  func checkNumbers() throws(StoreError) {
    guard max(end.number, end.sequence) < FrameHeader.limitForWriting else { throw .numbersUsedUp(sequence: end.sequence) }
  }
}
