import Synchronization

/// Opening: lock, read the header, decide what holds (`RecoveryPlan`), replay, mend the file, publish.
///
/// Nothing is written before the trees stand. A read-only open writes nothing at all. Recovery may be cut by a crash at any
/// of its steps and starts over: it writes only bytes that it has verified, and zeros behind the last frame that counts.
extension Store {
  /// Creates an empty database; throws `.disk` with kind `.exists` when there is a file already.
  ///
  /// The temporary file has one name for all who create this database, and whoever holds its writer's lock goes on. With
  /// names of their own, the slower of two creators would rename its empty file over the database in which the faster one
  /// has committed by then.
  /// - Parameters:
  ///   - original: the database of which the file will be a copy: it has the same UUID, and a salt of its own.
  ///   - generations: how many generations younger it is.
  package static func create(
    _ path: String, disk: any Disk, options: StoreOptions, copying original: FileHeader? = nil,
    generations: UInt64 = 0
  ) throws(StoreError) {
    let exists = DiskFailure(.create, path: path, kind: .exists, code: 17)
    let temporary = path + ".new"
    do throws(DiskFailure) {
      if try disk.exists(path) { throw exists }
    } catch { throw .disk(error) }
    let file = try lockForCreating(temporary, path: path, disk: disk, options: options)
    defer { file.close() }
    do throws(DiskFailure) {
      var generator = ClosureGenerator(draw: options.random)
      // A name of its own: a view of a buffer that nobody keeps would be read after it is gone.
      let header = FileHeader(random: &generator, copying: original, generations: generations).encoded()
      do throws(DiskFailure) {
        // Looked at again with the lock: another creator may have finished meanwhile.
        if try disk.exists(path) { throw exists }
        try file.truncate(to: 0)
        try file.write(header.view, at: 0)
        try file.sync(.full)
        // Whatever took the name meanwhile, a copied file for instance, is never replaced.
        try disk.renameWithoutReplacing(temporary, to: path)
      } catch {
        try? disk.remove(temporary)
        throw error
      }
      if !isMutant("skip-directory-sync-at-creation") { try disk.syncDirectory(holding: path) }
    } catch { throw .disk(error) }
  }

  /// Makes the temporary file and locks it. A leftover of a crash is locked by nobody, and removed rather than written to:
  /// the rename may have died between its two names, so it may be the content of a database that lives elsewhere by now.
  private static func lockForCreating(
    _ temporary: String, path: String, disk: any Disk, options: StoreOptions
  ) throws(StoreError) -> any DiskFile {
    let start = SystemClock.monotonicNanoseconds()
    while true {
      do throws(DiskFailure) {
        let file: any DiskFile
        var isLeftover = false
        do { file = try disk.open(temporary, .createNew) } catch {
          guard error.kind == .exists else { throw error }
          file = try disk.open(temporary, .readWrite)
          isLeftover = true
        }
        // It counts only if it is still the temporary file: the one before us may have renamed or removed it.
        if try file.tryLock(.writer, .exclusive),
          try disk.identity(of: temporary) == file.identity || isMutant("skip-inode-check-at-creation")
        {
          if !isLeftover { return file }
          defer { file.close() }
          try disk.remove(temporary)
          continue
        }
        file.close()
      } catch {
        // Renamed or removed between two calls: look again.
        if error.kind != .notFound { throw .disk(error) }
      }
      do throws(DiskFailure) {
        if try disk.exists(path) { throw DiskFailure(.create, path: path, kind: .exists, code: 17) }
      } catch { throw .disk(error) }
      if SystemClock.monotonicNanoseconds() - start >= options.lockTimeoutNanoseconds { throw .locked(path: path) }
      SystemClock.sleep(nanoseconds: 1_000_000)
    }
  }

  /// Opens an existing database.
  /// - Parameter name: the name that the file will have, when it has another one so far.
  package static func open(
    _ path: String, as name: String? = nil, disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    options.isReadOnly
      ? try openForReading(path, disk: disk, options: options, applier: applier)
      : try openForWriting(path, as: name ?? path, disk: disk, options: options, applier: applier)
  }

  private static func openForWriting(
    _ path: String, as name: String, disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    let (file, claim) = try lockForWriting(path, disk: disk, options: options)
    var background: (any DiskFile)?
    do throws(StoreError) {
      let header = try readHeader(file, options)
      let opened = try mapped { () throws(DiskFailure) in try disk.open(path, .readWrite) }
      background = opened
      let log = try log(of: file, header, options)
      let plan = try mapped { () throws(DiskFailure) in try options.rebuildsTrees ? log.planFromStart() : log.plan() }
      let store = try Store(
        path: name, header: header, options: options, disk: disk, file: file, backgroundFile: opened,
        applier: applier, plan: plan)
      if case .rotten(let lost) = plan.ending { throw StoreError.rotten(lost: lost) }
      let used = try store.load(plan, log: log)
      // Older trees need more of the log than the newest did, and that part may have rotted.
      if case .rotten(let lost) = used.ending { throw StoreError.rotten(lost: lost) }
      try store.mend(used, log: log)
      store.startWriting(used)
      store.writerClaim = claim
      // A file that will only later have its name stays locked until then.
      if name != path { store.fileLockKeeperCount = 1 }
      try? removeLeftover(of: name, disk: disk)
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
    _ path: String, disk: any Disk, options: StoreOptions, applier: any Applier
  ) throws(StoreError) -> Store {
    let file = try mapped { () throws(DiskFailure) in try disk.open(path, .readOnly) }
    do throws(StoreError) {
      // Says "somebody is reading" before the size is looked at: a writer trims only when nobody is.
      _ = try mapped { () throws(DiskFailure) in try file.tryLock(.readers, .shared) }
      let header = try readHeader(file, options)
      // A shared lock on the writer's byte is granted when no writer is there.
      let isAlone = try mapped { () throws(DiskFailure) in try file.tryLock(.writer, .shared) }
      defer { if isAlone { file.unlock(.writer) } }
      let log = try log(of: file, header, options)
      var plan = try mapped { () throws(DiskFailure) in
        try isAlone ? log.plan() : RecoveryPlan.besideWriter { () throws(DiskFailure) in try log.plan() }
      }
      if isAlone {
        // What nobody has proven durable may still be lost: first make it so, on this description, then show it.
        if plan.hasUnprovenTruth, !isMutant("show-unproven-frames") {
          try mapped { () throws(DiskFailure) in try file.sync(.full) }
        }
      } else if !isMutant("read-beyond-proof") {
        try mapped { () throws(DiskFailure) in try plan.cut(to: log) }
      }
      let store = try Store(
        path: path, header: header, options: options, disk: disk, file: file, backgroundFile: file,
        applier: applier, plan: plan)
      let used = try store.load(plan, log: log, isBesideWriter: !isAlone)
      try store.settleTail(used, log)
      store.recovery.isBesideWriter = !isAlone
      store.publishFirst()
      return store
    } catch {
      file.close()
      throw error
    }
  }

  /// Opens the file and takes the writer's lock; loops while the name moves to another file.
  private static func lockForWriting(
    _ path: String, disk: any Disk, options: StoreOptions
  ) throws(StoreError) -> (any DiskFile, WriterClaim) {
    let start = SystemClock.monotonicNanoseconds()
    while true {
      let file = try mapped { () throws(DiskFailure) in try disk.open(path, .readWrite) }
      guard let claim = WriterClaim(file.identity) else {
        file.close()
        // Another open of this process that takes turns gives it back soon.
        if options.locksPerTransaction, SystemClock.monotonicNanoseconds() - start < options.lockTimeoutNanoseconds {
          SystemClock.sleep(nanoseconds: 200_000)
          continue
        }
        throw .alreadyOpen(path: path)
      }
      do {
        while try !file.tryLock(.writer, .exclusive), !isMutant("ignore-file-lock") {
          if SystemClock.monotonicNanoseconds() - start >= options.lockTimeoutNanoseconds {
            throw StoreError.locked(path: path)
          }
          SystemClock.sleep(nanoseconds: 5_000_000)
        }
        if try disk.identity(of: path) == file.identity || isMutant("skip-inode-check") { return (file, claim) }
      } catch {
        file.close()
        claim.release()
        throw (error as? StoreError) ?? .disk(error as! DiskFailure)
      }
      file.close()
      claim.release()
    }
  }

  private static func readHeader(_ file: any DiskFile, _ options: StoreOptions) throws(StoreError) -> FileHeader {
    do {
      let byteCount = try file.byteCount()
      guard byteCount >= FileHeader.byteCount else { throw FileHeader.Fault.tooShort(byteCount: byteCount) }
      return try withFirstPage(of: file, options) { (page) throws(FileHeader.Fault) in try FileHeader(page) }
    } catch let fault as FileHeader.Fault {
      throw .header(fault)
    } catch {
      throw .disk(error as! DiskFailure)
    }
  }

  private static func log(
    of file: any DiskFile, _ header: FileHeader, _ options: StoreOptions
  ) throws(StoreError) -> LogReader {
    try mapped { () throws(DiskFailure) in
      try log(of: file, header, byteCount: try file.byteCount(), options)
    }
  }

  private static func mapped<R>(_ body: () throws(DiskFailure) -> R) throws(StoreError) -> R {
    do { return try body() } catch { throw .disk(error) }
  }

  // MARK: replay

  /// Builds the trees: from the plan's checkpoint if its pages hold, else from older ones, else from the log alone.
  private func load(
    _ first: RecoveryPlan, log: LogReader, isBesideWriter: Bool = false
  ) throws(StoreError) -> RecoveryPlan {
    var plan = first
    if plan.tellsOfDamagedPage && !isBesideWriter {
      let rebuilt = try Store.mapped { () throws(DiskFailure) in try log.planFromStart() }
      // A reader is better off with trees that miss a page than with a log that stops at a damaged commit.
      if case .rotten = rebuilt.ending, options.isReadOnly {} else { plan = rebuilt }
    }
    while true {
      do {
        try replay(plan, log: log)
        break
      } catch .page where plan.basis == .newestCheckpoint {
        plan = try Store.mapped { () throws(DiskFailure) in try log.plan(skipping: 1) }
      } catch .page where plan.basis == .olderCheckpoint {
        plan = try Store.mapped { () throws(DiskFailure) in try log.planFromStart() }
      }
      if isBesideWriter { try Store.mapped { () throws(DiskFailure) in try plan.cut(to: log) } }
      source.firstFault.withLock { $0 = nil }
    }
    tail = LogTail(plan)
    freezeOffset = plan.startOffset
    head.pageFrameByteCount = plan.pageFrameByteCount
    head.nextNumber = tail.number
    head.previous = tail.previous
    head.end = plan.end
    recovery.wasClosed = plan.isClosed || plan.last == nil && plan.ending == .clean
    recovery.basis =
      switch plan.basis {
      case .newestCheckpoint: .newestCheckpoint
      case .olderCheckpoint: .olderCheckpoint
      case .log: .log
      }
    recovery.replayedByteCount = plan.end - plan.startOffset - min(plan.pageFrameByteCount, plan.end - plan.startOffset)
    recovery.replayedCommitCount = plan.lastSequence - plan.startSequence
    if plan.ending != .clean { recovery.discardedByteCount = log.contentEnd(from: plan.end) - min(plan.end, log.end) }
    try Store.mapped { () throws(DiskFailure) in try log.checkRead() }
    if case .rotten(let lost) = plan.ending {
      recovery.lostSequences = lost
      recovery.discardedByteCount = 0
    }
    return plan
  }

  /// Applies the commits of a plan to its checkpoint's trees, in one edit that nobody sees before it ends.
  func replay(_ plan: RecoveryPlan, log: LogReader) throws(StoreError) {
    let transaction = reusableTransaction
    transaction.prepareReplay(plan)
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        try transaction.replay(operations, sequence: commit.sequence)
      }
      try applier.flush(transaction)
    } catch {
      applier.forget()
      transaction.rollBackAll()
      throw StoreError(error)
    }
    let balance = editor.pageBalance
    retire(editor.finishEdit(), newest: 2)
    head = StateRecord(
      version: 2, sequence: plan.lastSequence, end: plan.end, nextNumber: tail.number, previous: tail.previous,
      pageFrameByteCount: plan.pageFrameByteCount, frameNumber: plan.durableNumber,
      pageCount: UInt64(max(0, Int(plan.checkpoint?.pageCount ?? 0) + balance)),
      liveByteCount: transaction.liveByteCount, roots: transaction.roots)
  }

  // MARK: mending

  /// Makes the file what the plan says it is. Each step may be repeated after a crash.
  /// - Parameter isTakeover: the writer before us may live, and then a note of its tells what it has synced.
  func mend(_ plan: RecoveryPlan, log: LogReader, isTakeover: Bool = false) throws(StoreError) {
    do {
      var mustSync = false
      if plan.ending != .clean, plan.end < log.end {
        if plan.discardsFrames { try saveDiscarded(plan, log: log) }
        if !isMutant("keep-stale-bytes") { try writeZeros(from: plan.end, through: log.end) }
        mustSync = true
      }
      if !plan.isClosed, !(isTakeover && plan.isHandedOver), let first = plan.firstUnproven {
        if !isMutant("skip-recovery-rewrite") { try rewrite(from: first, through: plan, log: log) }
        mustSync = true
      }
      if mustSync {
        if !isMutant("skip-recovery-sync") { try file.sync(.full) }
        if !isMutant("skip-directory-sync-in-recovery") { try disk.syncDirectory(holding: path) }
        hasSyncedDirectory = true
      }
      zerosEnd.store(UInt64(try file.byteCount()), ordering: .relaxed)
    } catch { throw .disk(error) }
  }

  /// Whole frames stand in the part that is given up: a copy of it is kept beside the file.
  private func saveDiscarded(_ plan: RecoveryPlan, log: LogReader) throws(DiskFailure) {
    // A copy that is there already stays: an earlier recovery made it, and may have zeroed part of the original since.
    let name = "\(path).discarded-\(plan.lastSequence + 1)"
    var target = name
    var count = 1
    while try disk.exists(target) {
      count += 1
      target = "\(name)-\(count)"
    }
    let temporary = name + ".new"
    if try disk.exists(temporary) { try disk.remove(temporary) }
    let copy = try disk.open(temporary, .createNew)
    defer { copy.close() }
    let contentEnd = log.contentEnd(from: plan.end)
    try log.checkRead()
    var position = 0
    try log.forEachPiece(of: plan.end..<contentEnd) { (piece) throws(DiskFailure) in
      try copy.write(piece, at: position)
      position += piece.count
    }
    try copy.sync(.full)
    try disk.rename(temporary, to: target)
    try disk.syncDirectory(holding: target)
    recovery.discardedCopyPath = target
  }

  private func writeZeros(from start: UInt64, through end: UInt64) throws(DiskFailure) {
    let zeros = ByteBuffer(capacity: 1 << 16)
    zeros.append(zeros: 1 << 16)
    var position = Int(start)
    while position < Int(end) {
      let count = min(zeros.count, Int(end) - position)
      try file.write(zeros.view.prefix(count), at: position)
      position += count
    }
  }

  /// Frames that nothing proves durable are written again from a verified copy: after a kill or a failed sync, the page
  /// cache proves nothing about the disk.
  private func rewrite(from start: UInt64, through plan: RecoveryPlan, log: LogReader) throws(DiskFailure) {
    var offset = start
    let copy = ByteBuffer(capacity: 1 << 16)
    while offset < plan.end {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = log.header(at: offset) else { break }
      copy.removeAll()
      try log.forEachPiece(of: offset..<min(header.next, log.end)) { (piece) throws(DiskFailure) in copy.append(piece) }
      let payload = copy.view.slice(FrameHeader.byteCount..<FrameHeader.byteCount + Int(header.payloadByteCount))
      let sum = XXH3.hash(payload, seed: FrameHeader.seed(salt: self.header.salt, offset: offset))
      if sum == header.payloadChecksum {
        try file.write(copy.view, at: Int(offset))
      } else {
        // Pages are judged one by one when they are touched. Their header has been verified, and the walk needs it.
        guard header.kind == .pages else {
          throw DiskFailure(.read, path: path, kind: .other, code: 5, offset: Int(offset), byteCount: copy.count)
        }
        try file.write(copy.view.prefix(FrameHeader.byteCount), at: Int(offset))
      }
      recovery.rewrittenFrameCount += 1
      offset = header.next
    }
    try log.checkRead()
  }

  private func startWriting(_ plan: RecoveryPlan) {
    let number = plan.durableNumber
    durableNumber = number
    durableThrough.store(number, ordering: .releasing)
    writtenNumber.store(number, ordering: .releasing)
    writtenOffset.store(tail.offset, ordering: .releasing)
    syncedOffset.store(tail.offset, ordering: .releasing)
    tail.lastTruthNumber = plan.hasUnprovenTruth ? number : plan.provenThrough
    tail.lastDurableThrough = plan.provenThrough
    // Trees that had to be rebuilt are worth a checkpoint even if nobody writes.
    isDirtySinceOpen = !recovery.wasClosed || plan.basis != .newestCheckpoint && plan.newestCheckpoint != 0
    if let last = plan.last { lastShown = (last.offset, last.checksum) }
    publishFirst()
    startKeeper()
    // Readers beside us see what a frame proves durable, and recovery has proven more.
    if plan.hasUnprovenTruth { keeper?.ask(.note) }
  }

  func startKeeper() {
    guard options.hasBackgroundThread else { return }
    let keeper = Keeper()
    if keeper.start(self) { self.keeper = keeper }
  }

  private func publishFirst() {
    enqueue(head)
    syncMonitor.lock()
    _ = publishPending(regardless: true)
    syncMonitor.unlock()
  }

  // MARK: closing

  /// Makes everything durable, writes the `closed` frame, trims, and gives the file back. Closing twice is allowed.
  /// Errors are thrown after the file has been given back; what was acknowledged is safe either way.
  package func close() throws(StoreError) {
    closing.lock()
    defer { closing.unlock() }
    if isClosed.load(ordering: .acquiring) { return }
    // From here on nobody begins to read or write. Whoever has begun finishes first.
    isClosed.store(true, ordering: .sequentiallyConsistent)
    keeper?.stop()
    takeTurnForBackground()
    giveTurn()
    waitForCheckpoint()
    var failure: StoreError?
    // Between transactions everything is durable, and the file may be another's now.
    let mayWrite =
      !options.isReadOnly && lost == nil && openingProcess == processID() && (holdsFileLock || takeFileLockToClose())
    if mayWrite && (hasWritten || isDirtySinceOpen) && !isDead.load(ordering: .acquiring) {
      do {
        try syncThrough(writtenNumber.load(ordering: .acquiring))
        // The next open replays commits, and walks over frames of pages: that costs it a hundredth.
        let walkByteCount = Int(tail.offset &- freezeOffset)
        if replayByteCount > options.closeCheckpointByteCount || walkByteCount / 100 > options.closeCheckpointByteCount {
          // Without room for its pages the log still holds everything.
          do { try checkpoint(isClosing: true) } catch .disk {}
        }
        try tellOfDamagedPage()
        try writeClosed()
      } catch { failure = error }
    } else if mayWrite, options.durability == .relaxed, isDead.load(ordering: .acquiring),
      tail.lastTruthNumber > durableThrough.load(ordering: .acquiring)
    {
      // Other levels have told each commit that waited. Here nobody waited: this is the last chance to say that commits
      // which returned may be gone.
      do { try checkAlive() } catch { failure = error }
    }
    if slots.hasReaders {
      // A read goes on, and its memory must not go away; the files are given back with this object.
      file.unlock(.writer)
      file.unlock(.readers)
    } else {
      backgroundFile.close()
      file.close()
      // Now, and not with this object: whoever closes a database and opens it again would wait for it then.
      releasePages()
    }
    writerClaim?.release()
    writerClaim = nil
    if let failure { throw failure }
  }

  private func writeClosed() throws(StoreError) {
    takeTurnForBackground()
    defer { giveTurn() }
    // The checkpoint frame is durable, and covered too.
    try syncThrough(writtenNumber.load(ordering: .acquiring))
    let frame = ByteBuffer(capacity: 256)
    frame.append(zeros: FrameHeader.byteCount)
    let closed = try append(.closed, frame, sequence: tail.sequence, keepsReserve: false)
    do { try file.sync(.full) } catch {
      die(error)
      throw .outcomeUnknown(error)
    }
    do {
      // Nobody maps the zeros that are cut off, unless a reader is there.
      if try file.tryLock(.readers, .exclusive) || isMutant("trim-under-readers") {
        defer { file.unlock(.readers) }
        let end = Int(closed.next) + (hasMetFullDisk ? options.reserveByteCount : 0)
        if try file.byteCount() > end { try file.truncate(to: end) }
      }
    } catch { throw .disk(error) }
  }
}

extension StoreTransaction {
  func prepareReplay(_ plan: RecoveryPlan) {
    roots = RootSet(plan.checkpoint?.roots ?? [])
    liveByteCount = plan.checkpoint?.liveByteCount ?? 0
    editor.version = 2
    readsOnlyFile(through: plan.end)
    startReplay()
  }
}

extension RecoveryPlan {
  /// The highest frame number that is durable once the file is mended: all frames, but for a `closed` frame at the end. That
  /// one is left as it is, so that opening a closed database costs no sync; it becomes durable with the commit behind it.
  var durableNumber: UInt64 {
    let number = last?.number ?? 0
    return isClosed ? number - 1 : number
  }

  /// Beside a live writer only what it has proven durable counts.
  mutating func cut(to log: LogReader) throws(DiskFailure) {
    // What stands behind it may be a frame that is being written.
    if ending == .torn { ending = .clean }
    guard let last, last.number > provenThrough else { return }
    var offset = startOffset
    var sequence = startSequence
    var newest: FrameHeader?
    while offset < end {
      if let target = skips[offset] {
        offset = target
        continue
      }
      guard let header = log.header(at: offset), header.number <= provenThrough else { break }
      newest = header
      sequence = header.sequence
      offset = header.next
    }
    try log.checkRead()
    self.last = newest
    lastSequence = sequence
    // The checkpoint's pages were synced before its frame was written, proven or not, and must be readable.
    end = max(offset, startOffset, checkpointEnd)
  }
}

extension LogReader {
  /// The plan that starts from an older checkpoint than the last frame names first.
  func plan(skipping count: Int) throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    let last = lastHeader()
    try checkRead()
    guard count == 1, let last, last.olderCheckpoint != 0 else { return try planFromStart() }
    return try plan(from: [(.olderCheckpoint, last.olderCheckpoint)])
  }

  /// Calls `body` with the operations of each commit of a plan up to its last sequence, rolled back savepoints left out.
  func forEachCommit(
    of plan: RecoveryPlan, _ body: (FrameHeader, LoggedOperations) throws(LogFault) -> Void
  ) throws(LogFault) {
    var offset = plan.startOffset
    var parts: [FrameHeader] = []
    while offset < plan.end {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = header(at: offset) else {
        do { try checkRead() } catch { throw .page(PageFault(error, offset: offset)) }
        throw .inconsistent
      }
      offset = header.next
      if header.kind == .part { parts.append(header) }
      guard header.kind == .commit else { continue }
      if header.sequence > plan.lastSequence { return }
      var frames: [FrameHeader] = []
      if isMutant("replay-unnamed-parts") {
        frames = parts
      } else if header.hasParts, let payload = payload(of: header, limit: PartList.encodedByteCount),
        let list = PartList(payload)
      {
        frames = Array(parts.drop { $0.number != list.firstNumber })
      }
      parts.removeAll()
      try body(header, try operations(of: frames + [header]))
    }
  }
}

/// Refuses a second open for writing of one file in one process.
final class WriterClaim: Sendable {
  private static let claimed = Locked<Set<FileIdentity>>([])
  private let identity: FileIdentity

  init?(_ identity: FileIdentity) {
    self.identity = identity
    guard WriterClaim.claimed.withLock({ $0.insert(identity).inserted }) else { return nil }
  }

  func release() { _ = WriterClaim.claimed.withLock { $0.remove(identity) } }
}

/// Random numbers from the options' closure.
struct ClosureGenerator: RandomNumberGenerator {
  let draw: @Sendable () -> UInt64
  mutating func next() -> UInt64 { draw() }
}
