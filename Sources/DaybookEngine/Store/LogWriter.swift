import Synchronization

/// The log as one open file writes it: where it ends, what of it is written and durable, the zeros behind it, and whether it
/// may be written at all.
///
///     offset   │ frames, durable │ frames, written │ a frame that is being written │ reserve, zeros ahead │
///                     durableThrough        writtenNumber, tail                              zerosEnd
///
/// Commits go through `file` and background work through `backgroundFile`: a description reports an error of writing back
/// only once, and no other's sync may take it for its own. All syncs but a group's go through `sync`: one that fails is the
/// end of this writer.
final class LogWriter: @unchecked Sendable {
  let path: String
  let salt: UInt64
  /// Commits are written and synced through this description.
  let file: any DiskFile
  /// Pages, notes, zeros and checkpoints.
  let backgroundFile: any DiskFile
  private let isMapped: Bool
  private let reserveByteCount: Int
  private let fillsSectors: Bool
  private let turn: Turn
  private let fileLock: FileLock

  // Unchecked, as in the other parts of a store: the turn sees to it that one thread is at it, and looking at each access took a
  // tenth of a commit's instructions (row: kv-commit-durable).

  /// Where the log ends. Moved with the turn.
  @safe @exclusivity(unchecked) private(set) var tail: LogTail
  /// The end of the zeros that are prepared behind the tail, and the stretch where more are being written right now, which
  /// the turn's monitor guards.
  let zerosEnd = Atomic<UInt64>(0)
  private var claimedZeros: Range<UInt64>?
  /// There was no room for a frame: `close` leaves the reserve where it is.
  private(set) var hasMetFullDisk = false
  @safe @exclusivity(unchecked) private(set) var hasWritten = false
  /// Frames at the very end were written over half way: before another frame stands behind them, a walk ends in front of them.
  @safe @exclusivity(unchecked) private(set) var hasDamagedEnd = false

  /// Every frame up to this one is durable; `GroupCommit` and repairs move it, with `syncMonitor`.
  let durableThrough = Atomic<UInt64>(0)
  let writtenNumber = Atomic<UInt64>(0)
  let writtenOffset = Atomic<UInt64>(0)
  let syncedOffset = Atomic<UInt64>(0)
  private let deathCause = Locked<DiskFailure?>(nil)
  let isDead = Atomic<Bool>(false)

  init(
    path: String, salt: UInt64, file: any DiskFile, backgroundFile: any DiskFile, isMapped: Bool, options: StoreOptions,
    turn: Turn, fileLock: FileLock, plan: RecoveryPlan
  ) {
    self.path = path
    self.salt = salt
    self.file = file
    self.backgroundFile = backgroundFile
    self.isMapped = isMapped
    reserveByteCount = options.reserveByteCount
    fillsSectors = options.startsBatchesOnFreshSector
    self.turn = turn
    self.fileLock = fileLock
    tail = LogTail(plan)
  }

  // MARK: the end of a writer

  var isAlive: Bool { !isDead.load(ordering: .acquiring) }

  func checkAlive() throws(StoreError) {
    if isAlive { return }
    if let cause = deathCause.withLock({ $0 }) { throw .outcomeUnknown(cause) }
    // Only a child process has a log that is dead without a cause.
    throw .forked
  }

  /// Makes durable what was written through a description, or ends this writer: after a sync that failed nobody knows what
  /// is on the disk, and another that works says nothing about it.
  func sync(_ description: any DiskFile) throws(StoreError) {
    try orDie { () throws(DiskFailure) in try description.sync(.full) }
  }

  /// Carries out calls behind whose failure nobody knows what is on the disk: it ends this writer.
  func orDie(_ body: () throws(DiskFailure) -> Void) throws(StoreError) {
    do { try body() } catch {
      die(error)
      throw .outcomeUnknown(error)
    }
  }

  /// The writer is dead until the file is opened again.
  private func die(_ failure: DiskFailure) {
    deathCause.withLock { cause in if cause == nil { cause = failure } }
    isDead.store(true, ordering: .releasing)
  }

  // MARK: the end of the log

  func isDurable(_ number: UInt64) -> Bool { durableThrough.load(ordering: .acquiring) >= number }

  /// An open has found the log's end.
  func begin(at plan: RecoveryPlan, _: borrowing Turn.Hold) { tail = LogTail(plan) }

  /// Others have gone on, or a reader follows.
  func move(to place: LogPosition, provenThrough: UInt64, _: borrowing Turn.Hold) {
    tail.move(to: place, provenThrough: provenThrough)
  }

  /// A checkpoint is durable and its trees serve: frames to come name it.
  func name(_ checkpoint: FrameHeader, _: borrowing Turn.Hold) { tail.name(checkpoint) }

  /// Everything up to a frame is durable, and up to the tail it is written: an open has repaired the log, or others have
  /// handed it over. Called with the monitor of syncs.
  func setDurable(through number: UInt64) {
    durableThrough.store(max(durableThrough.load(ordering: .acquiring), number), ordering: .releasing)
    writtenNumber.store(max(writtenNumber.load(ordering: .acquiring), number), ordering: .releasing)
    writtenOffset.store(tail.offset, ordering: .releasing)
    syncedOffset.store(tail.offset, ordering: .releasing)
  }

  /// A sync of commits has ended. Called with the monitor of syncs.
  func noteSync(through number: UInt64, offset: UInt64) {
    syncedOffset.store(offset, ordering: .releasing)
    durableThrough.store(max(durableThrough.load(ordering: .acquiring), number), ordering: .releasing)
  }

  /// Seals a frame and writes it at the end of the log.
  /// - Parameter keepsReserve: the reserve must stand behind the frame afterwards, or there is no room for it.
  func append(
    _ kind: FrameHeader.Kind, _ frame: ByteBuffer, sequence: UInt64, hasParts: Bool = false, isImage: Bool = false,
    keepsReserve: Bool = true, through target: (any DiskFile)? = nil, _ hold: borrowing Turn.Hold
  ) throws(StoreError) -> FrameHeader {
    try checkAlive()
    // Another process may be writing there.
    if !fileLock.isHeld { throw .refused(reason: "the file lock is not held") }
    var header = FrameHeader(
      kind: kind, offset: tail.offset, number: tail.number, sequence: sequence, previous: tail.previous,
      durableThrough: isMutant("prove-too-much") ? tail.number - 1 : durableThrough.load(ordering: .acquiring),
      newestCheckpoint: kind == .checkpoint ? tail.offset : tail.newestCheckpoint,
      olderCheckpoint: kind == .checkpoint ? tail.newestCheckpoint : tail.olderCheckpoint)
    header.hasParts = hasParts
    header.isImage = isImage
    header.fillsSectors = fillsSectors
    header.seal(into: frame, salt: salt)
    let byteCount = frame.count
    frame.append(zeros: Int(header.next - header.end))
    waitForZeros(through: header.next, hold)
    let reserve = keepsReserve ? reserveToWrite(behind: header.next) : 0
    frame.append(zeros: reserve)
    let writtenEnd = header.next + UInt64(reserve)
    defer { frame.truncate(to: byteCount) }
    do {
      try (target ?? file).write(frame.view, at: Int(header.offset))
      if isMapped { try file.map(through: Int(header.next)) }
    } catch {
      if error.kind == .full { hasMetFullDisk = true }
      // What could not be erased may be found whole by the next open: then nobody can say that it failed.
      try eraseUnfinished(from: header.offset, through: writtenEnd)
      try checkAlive()
      throw .disk(error)
    }
    if reserve > 0 { zerosEnd.store(writtenEnd, ordering: .relaxed) }
    tail.move(over: header)
    hasDamagedEnd = false
    hasWritten = true
    writtenNumber.store(header.number, ordering: .releasing)
    writtenOffset.store(header.next, ordering: .releasing)
    return header
  }

  /// A note, where the last frame does not cover the frames up to `number` (those that carry truth), and they are durable.
  func appendNote(covering number: UInt64? = nil, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let number = number ?? tail.lastTruthNumber
    guard number > tail.provenThrough, isDurable(number) else { return }
    let frame = ByteBuffer(capacity: 256)
    frame.append(zeros: FrameHeader.byteCount)
    _ = try append(.note, frame, sequence: tail.sequence, keepsReserve: false, through: backgroundFile, hold)
  }

  /// A write failed half way: what it left is zeroed before anything else is appended, or the writer is dead. Synced, so
  /// that a whole frame whose transaction was told that it failed does not come back from the disk after a crash; through
  /// the background's description, because the commit path's reports a write-back error only once.
  private func eraseUnfinished(from offset: UInt64, through end: UInt64) throws(StoreError) {
    if isMutant("keep-failed-write") { return }
    try orDie { () throws(DiskFailure) in
      let byteCount = try file.byteCount()
      guard byteCount > Int(offset) else { return }
      try file.writeZeros(Int(offset)..<min(byteCount, Int(end)))
      try backgroundFile.sync(.full)
    }
  }

  // MARK: taking frames back

  /// Writes zeros over everything behind a place, and makes them durable: nothing of it is found again after a crash.
  /// - Returns: false where that did not work. Then the frames stay, whole or not; nothing names them.
  func erase(behind place: LogTail, _ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    try checkAlive()
    waitForZeros(through: .max, hold)
    do { try file.writeZeros(Int(place.offset)..<Int(tail.offset)) } catch {
      hasDamagedEnd = true
      return false
    }
    try sync(backgroundFile)
    return true
  }

  /// The log ends where it did before, and the numbers behind are given again: what a sync has said of them is forgotten. Called
  /// with the monitor of syncs, while none is under way, after `erase`.
  func moveBack(to place: LogTail, _: borrowing Turn.Hold) {
    zerosEnd.store(max(zerosEnd.load(ordering: .relaxed), tail.offset), ordering: .relaxed)
    tail = place
    let last = place.number - 1
    durableThrough.store(min(durableThrough.load(ordering: .acquiring), last), ordering: .releasing)
    writtenNumber.store(min(writtenNumber.load(ordering: .acquiring), last), ordering: .releasing)
    writtenOffset.store(min(writtenOffset.load(ordering: .acquiring), place.offset), ordering: .releasing)
    syncedOffset.store(min(syncedOffset.load(ordering: .acquiring), place.offset), ordering: .releasing)
  }

  /// Cuts off zeros behind a place, but not the reserve; none where a reader walks over them. They are room for commits then.
  func cutZeros(behind place: UInt64, _ hold: borrowing Turn.Hold) throws(DiskFailure) {
    waitForZeros(through: .max, hold)
    let target = max(place, tail.offset + UInt64(2 * reserveByteCount))
    guard try file.byteCount() > Int(target), try file.tryLock(.readers, .exclusive) else { return }
    defer { file.unlock(.readers) }
    try file.truncate(to: Int(target))
    zerosEnd.store(min(zerosEnd.load(ordering: .relaxed), target), ordering: .relaxed)
  }

  // MARK: zeros behind the log

  /// How many zeros to write with a frame, so that the reserve stands behind it; none where zeros were prepared already,
  /// or are being written right now. Twice the reserve, so that the next small commits need none.
  private func reserveToWrite(behind next: UInt64) -> Int {
    let reserve = UInt64(reserveByteCount)
    if zerosEnd.load(ordering: .relaxed) >= next + reserve { return 0 }
    return turn.monitor.withLock { claimedZeros == nil ? Int(2 * reserve) : 0 }
  }

  /// No writer prepares more of them behind what it has written.
  static let mostZeros: UInt64 = 4 << 20
  /// Zeros are written near the tail.
  static let smallFrameByteCount: UInt64 = 64 << 10

  /// The next commits will reach the end of the zeros.
  var needsZeros: Bool { zerosEnd.load(ordering: .relaxed) < tail.offset + LogWriter.smallFrameByteCount }

  /// Says where zeros are going to be written, beside the commits that go on; nil where there are enough.
  func claimZeros(_: borrowing Turn.Hold) -> Range<UInt64>? {
    let wanted = min(max(tail.offset / 2, 128 << 10), LogWriter.mostZeros / 2)
    let start = max(zerosEnd.load(ordering: .relaxed), (tail.offset + 4095) & ~4095)
    guard start < tail.offset + LogWriter.smallFrameByteCount * 2 else { return nil }
    claimedZeros = start..<start + wanted
    return claimedZeros
  }

  /// Writes zeros where they were claimed, so that durable commits change neither the file's size nor its extents.
  func writeZeros(_ claim: Range<UInt64>) {
    let zeros = ByteBuffer(capacity: claim.count)
    zeros.append(zeros: claim.count)
    var isWritten = true
    do { try backgroundFile.write(zeros.view, at: Int(claim.lowerBound)) } catch { isWritten = false }
    turn.monitor.withLock {
      claimedZeros = nil
      if isWritten { zerosEnd.store(claim.upperBound, ordering: .relaxed) }
      turn.monitor.broadcast()
    }
    // Who comes next asks whether the writer is alive.
    if isWritten { try? sync(backgroundFile) }
  }

  /// Whoever reaches space where zeros are being written waits for them.
  func waitForZeros(through end: UInt64, _: borrowing Turn.Hold) {
    turn.monitor.lock()
    while let claim = claimedZeros, end > claim.lowerBound { turn.monitor.wait() }
    turn.monitor.unlock()
  }

  /// Cuts off the zeros behind the log, the reserve among them; false where a reader keeps them, or there are none. The
  /// next commit prepares new ones.
  func trimZeros(_ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    waitForZeros(through: .max, hold)
    do {
      guard try file.byteCount() > Int(tail.offset), try file.tryLock(.readers, .exclusive) else { return false }
      defer { file.unlock(.readers) }
      try file.truncate(to: Int(tail.offset))
    } catch { throw .disk(error) }
    zerosEnd.store(tail.offset, ordering: .relaxed)
    return true
  }
}

extension DiskFile {
  /// Writes zeros over a range, in pieces.
  func writeZeros(_ range: Range<Int>) throws(DiskFailure) {
    let zeros = ByteBuffer(capacity: 1 << 16)
    zeros.append(zeros: 1 << 16)
    var position = range.lowerBound
    while position < range.upperBound {
      let count = min(zeros.count, range.upperBound - position)
      try write(zeros.view.prefix(count), at: position)
      position += count
    }
  }
}
