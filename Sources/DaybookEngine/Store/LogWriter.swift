import Synchronization

/// The log as its writer knows it: where it ends, how far it is written and durable, the zeros behind it, and whether it may be
/// written at all.
///
///     offset   │ frames, durable │ frames, written │ a frame that is being written │ reserve, zeros ahead │
///                  durableNumber            written, tail                                    zerosEnd
///
/// Commits use `file`, background work uses `backgroundFile`: a description reports a write-back error only once, and one kind
/// of work must not receive the other's errors. Syncs of commits go through `GroupCommit`, those of checkpoints through `sync`; one
/// that fails ends this writer. What is synced elsewhere has no acknowledged commit that waits for it: a new file, a repair before
/// the store is used, lengths.
final class LogWriter: @unchecked Sendable {
  let path: String
  let salt: UInt64
  /// Commits are written and synced through this description.
  let file: any DiskFile
  /// Pages, notes, zeros and checkpoints.
  let backgroundFile: any DiskFile
  private let source: PageSource
  private let reserveByteCount: Int
  private let fillsSectors: Bool
  private let turn: Turn
  private let fileLock: FileLock

  // Unchecked, as in the other parts of a store: the turn ensures that only one thread accesses it, and run-time checks of each
  // access took a tenth of a commit's instructions (row: kv-commit-durable).

  /// Where the log ends. Moved with the turn.
  @safe @exclusivity(unchecked) private(set) var tail: LogTail
  /// Where the log ended when it was opened.
  @safe @exclusivity(unchecked) private var beginning: UInt64
  /// The end of the zeros that are prepared after the tail.
  let zerosEnd = Atomic<UInt64>(0)
  /// Where more are being written now. Set with the turn, cleared under the turn's monitor.
  private var claimedZeros: Range<UInt64>?
  /// There was no room for a frame; so `close` leaves the reserve in place.
  private(set) var hasMetFullDisk = false
  @safe @exclusivity(unchecked) private(set) var hasWritten = false
  /// Frames at the very end were partly overwritten. As long as no frame follows them, a walk ends in front of them.
  @safe @exclusivity(unchecked) private(set) var hasDamagedEnd = false

  private let progress = LogProgress()
  /// Guards what is durable and what is published.
  let syncMonitor = Monitor()
  private let deathCause = Locked<DiskFailure?>(nil)
  let isDead = Atomic<Bool>(false)

  init(
    path: String, salt: UInt64, file: any DiskFile, backgroundFile: any DiskFile, source: PageSource, options: StoreOptions,
    turn: Turn, fileLock: FileLock, plan: RecoveryPlan
  ) {
    self.path = path
    self.salt = salt
    self.file = file
    self.backgroundFile = backgroundFile
    self.source = source
    reserveByteCount = options.reserveByteCount
    fillsSectors = options.startsBatchesOnFreshSector
    self.turn = turn
    self.fileLock = fileLock
    tail = LogTail(plan)
    beginning = tail.offset
  }

  // MARK: the end of a writer

  var isAlive: Bool { !isDead.load(ordering: .acquiring) }

  func checkAlive() throws(StoreError) {
    if isAlive { return }
    if let cause = deathCause.withLock({ $0 }) { throw .outcomeUnknown(cause) }
    // Only in a child process is a log dead without a cause.
    throw .forked
  }

  /// Makes durable what was written through a description, or ends this writer. After a failed sync nobody knows what is on the
  /// disk, and a later sync that succeeds proves nothing.
  func sync(_ description: any DiskFile) throws(StoreError) {
    try orDie { () throws(DiskFailure) in try description.sync(.full) }
  }

  /// Carries out calls after whose failure nobody knows what is on the disk; a failure ends this writer.
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

  /// Every frame up to this one is durable.
  var durableNumber: UInt64 { progress.durableNumber }
  func isDurable(_ number: UInt64) -> Bool { progress.durableNumber >= number }
  /// The last frame that is written, and where it ends.
  var writtenNumber: UInt64 { progress.writtenNumber }
  var writtenOffset: UInt64 { progress.writtenOffset }
  /// Both. Called with `syncMonitor`.
  var written: (number: UInt64, offset: UInt64) { progress.written }
  /// How many bytes were written since the last sync of commits.
  var unsyncedByteCount: Int { max(0, Int(progress.writtenOffset) - Int(progress.syncedOffset)) }

  /// An open has found the log's end.
  func begin(at plan: RecoveryPlan, _: borrowing Turn.Hold) {
    tail = LogTail(plan)
    beginning = tail.offset
  }

  /// Other processes have appended, or this reader follows a writer.
  func move(to position: LogPosition, provenThrough: UInt64, _: borrowing Turn.Hold) {
    tail.move(to: position, provenThrough: provenThrough)
  }

  /// A checkpoint is durable and its trees are in use: new frames name it.
  func name(_ checkpoint: FrameHeader, _: borrowing Turn.Hold) { tail.name(checkpoint) }

  /// Everything up to a frame is durable, and everything up to the tail is written: an open has repaired the log, or others
  /// have handed it over. Syncs of commits move it on from there (`syncForGroup`).
  func setDurable(_ number: UInt64) {
    syncMonitor.withLock { progress.begin(durable: number, writtenOffset: tail.offset) }
  }

  /// A sync of commits has ended. Called with `syncMonitor`.
  func didSync(_ number: UInt64, offset: UInt64) { progress.didSync(number, offset: offset) }

  /// Completes a frame and writes it at the end of the log.
  /// - Parameters:
  ///   - keepsReserve: the reserve must follow the frame afterwards; otherwise there is no room for the frame.
  ///   - hasNoZeros: the zeros after the log were cut off for it, so there is nothing more to gain.
  func append(
    _ kind: FrameHeader.Kind, _ frame: ByteBuffer, sequence: UInt64, hasParts: Bool = false, isImage: Bool = false,
    keepsReserve: Bool = true, via target: (any DiskFile)? = nil, hasNoZeros: Bool = false, _ hold: borrowing Turn.Hold
  ) throws(StoreError) -> FrameHeader {
    try checkAlive()
    // Another process may be writing there.
    if !fileLock.isHeld { throw .refused(reason: "the file lock is not held") }
    var header = FrameHeader(
      kind: kind, offset: tail.offset, number: tail.number, sequence: sequence, previous: tail.previous,
      durableThrough: isMutant("prove-too-much") ? tail.number - 1 : progress.durableNumber,
      newestCheckpoint: kind == .checkpoint ? tail.offset : tail.newestCheckpoint,
      olderCheckpoint: kind == .checkpoint ? tail.newestCheckpoint : tail.olderCheckpoint)
    header.hasParts = hasParts
    header.isImage = isImage
    header.fillsSectors = fillsSectors
    header.seal(into: frame, salt: salt)
    let byteCount = frame.count
    frame.append(zeros: Int(header.next - header.end))
    waitForZeros(upTo: header.next, hold)
    let reserve = keepsReserve ? reserveToWrite(after: header) : 0
    frame.append(zeros: reserve)
    let writtenEnd = header.next + UInt64(reserve)
    defer { frame.truncate(to: byteCount) }
    do {
      try (target ?? file).write(frame.view, at: Int(header.offset))
      try source.admit(Int(header.next), of: file)
      if !source.isBuffered { try file.map(upTo: Int(header.next)) }
    } catch {
      if error.kind == .full { hasMetFullDisk = true }
      let copiesOnWrite = refusesOverwriting(error)
      // If it cannot be erased, the next open may find the frame whole; so it must not be reported as failed.
      try eraseUnfinished(error, from: header.offset, upTo: writtenEnd, hold)
      try checkAlive()
      guard copiesOnWrite, !keepsReserve, !hasNoZeros else { throw .disk(error) }
      _ = try? trimZeros(hold)
      frame.truncate(to: byteCount)
      return try append(
        kind, frame, sequence: sequence, hasParts: hasParts, isImage: isImage, keepsReserve: false, via: target,
        hasNoZeros: true, hold)
    }
    if reserve > 0 { zerosEnd.store(writtenEnd, ordering: .relaxed) }
    tail.move(over: header)
    hasDamagedEnd = false
    hasWritten = true
    progress.didWrite(header)
    return header
  }

  /// Appends a note, if the frames up to `number` (by default the last that carries data) are durable and the last frame does
  /// not cover them.
  func appendNote(covering number: UInt64? = nil, _ hold: borrowing Turn.Hold) throws(StoreError) {
    let number = number ?? tail.lastDataNumber
    guard number > tail.provenThrough, isDurable(number) else { return }
    try appendNoteAfterParts(hold)
  }

  /// Appends a note in any case: a frame of another kind says that no commit of the parts in front of it follows.
  func appendNoteAfterParts(_ hold: borrowing Turn.Hold) throws(StoreError) {
    let frame = FrameHeader.buffer()
    _ = try append(.note, frame, sequence: tail.sequence, keepsReserve: false, via: backgroundFile, hold)
  }

  /// Appends a `closed` frame: everything before it is durable.
  func appendClosed(via target: any DiskFile, _ hold: borrowing Turn.Hold) throws(StoreError) -> FrameHeader {
    let frame = FrameHeader.buffer()
    return try append(.closed, frame, sequence: tail.sequence, keepsReserve: false, via: target, hold)
  }

  /// A write failed half way: what it left is zeroed before anything else is appended, or the writer ends. The zeros are
  /// synced, so that a frame of a transaction that was told of failure cannot come back after a crash. The sync uses the
  /// background description, because the commit path's description reports a write-back error only once.
  ///
  /// A full disk says where it stopped: what lies after that is as it was. If it copies on write, zeros need room as any bytes
  /// do; then what was written is cut off, with the zeros after it.
  private func eraseUnfinished(
    _ failure: DiskFailure, from offset: UInt64, upTo end: UInt64, _ hold: borrowing Turn.Hold
  ) throws(StoreError) {
    if isMutant("keep-failed-write") { return }
    let stop = failure.kind == .full && failure.operation == .write ? failure.offset : nil
    if stop == Int(offset) { return }
    try orDie { () throws(DiskFailure) in
      let byteCount = try file.byteCount()
      guard byteCount > Int(offset) else { return }
      do throws(DiskFailure) { try file.writeZeros(Int(offset)..<min(byteCount, stop ?? Int(end))) } catch {
        guard error.kind == .full, (try? cutOff(after: offset, hold)) == true else { throw error }
      }
      try backgroundFile.sync(.full)
    }
  }

  /// Whether a full disk has refused to overwrite what is there: it copies on write. There the reserve is no room for a commit,
  /// but cutting it off makes room.
  private func refusesOverwriting(_ failure: DiskFailure) -> Bool {
    guard failure.kind == .full, failure.operation == .write, let offset = failure.offset, let byteCount = try? file.byteCount()
    else { return false }
    return offset < byteCount
  }

  /// Cuts off everything after an offset; false where there is nothing, or a reader may walk over it.
  private func cutOff(after offset: UInt64, _ hold: borrowing Turn.Hold) throws(DiskFailure) -> Bool {
    waitForZeros(upTo: .max, hold)
    guard try file.byteCount() > Int(offset), try file.tryLock(.readers, .exclusive) else { return false }
    defer { file.unlock(.readers) }
    try file.truncate(to: Int(offset))
    zerosEnd.store(offset, ordering: .relaxed)
    return true
  }

  // MARK: taking frames back

  /// Writes zeros over everything behind a former end, or cuts it off where the disk has no room for them, and makes that
  /// durable, so that a crash brings nothing of it back.
  /// - Returns: false when that failed. Then the frames stay, whole or not, and nothing refers to them.
  func erase(after earlier: LogTail, _ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    try checkAlive()
    waitForZeros(upTo: .max, hold)
    do {
      try file.writeZeros(Int(earlier.offset)..<Int(tail.offset))
      zerosEnd.store(max(zerosEnd.load(ordering: .relaxed), tail.offset), ordering: .relaxed)
    } catch {
      guard error.kind == .full, (try? cutOff(after: earlier.offset, hold)) == true else {
        hasDamagedEnd = true
        return false
      }
    }
    try sync(backgroundFile)
    return true
  }

  /// The same of much that was written: what follows the reserve is not zeroed but cut off, which costs no writing and spares
  /// the disk what it has not written yet.
  /// - Returns: false when the frames stay, whole or not, and nothing refers to them: then a reader may walk over them, or the disk
  ///   has failed.
  func cut(after earlier: LogTail, _ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    try checkAlive()
    waitForZeros(upTo: .max, hold)
    let kept = earlier.offset + UInt64(2 * reserveByteCount)
    do {
      guard try file.tryLock(.readers, .exclusive) else { return false }
    } catch { return false }
    do {
      // Readers wait for this, not for the sync: one that comes then finds the shorter file.
      defer { file.unlock(.readers) }
      try file.writeZeros(Int(earlier.offset)..<Int(kept))
      if try file.byteCount() > Int(kept) { try file.truncate(to: Int(kept)) }
    } catch {
      hasDamagedEnd = true
      return false
    }
    zerosEnd.store(kept, ordering: .relaxed)
    try sync(backgroundFile)
    return true
  }

  /// Moves the end of the log back. Called with `syncMonitor`, while no sync is under way, after `erase` or `cut`.
  func moveBack(to earlier: LogTail, _: borrowing Turn.Hold) {
    tail = earlier
    progress.moveBack(to: earlier.number - 1, offset: earlier.offset)
  }

  /// Cuts off zeros behind an offset, but not the reserve. Cuts nothing while a reader walks over them; then they remain as space
  /// for commits.
  func cutZeros(after offset: UInt64, _ hold: borrowing Turn.Hold) throws(DiskFailure) {
    waitForZeros(upTo: .max, hold)
    let target = max(offset, tail.offset + UInt64(2 * reserveByteCount))
    guard try file.byteCount() > Int(target), try file.tryLock(.readers, .exclusive) else { return }
    defer { file.unlock(.readers) }
    try file.truncate(to: Int(target))
    zerosEnd.store(min(zerosEnd.load(ordering: .relaxed), target), ordering: .relaxed)
  }

  // MARK: zeros behind the log

  /// How many zeros to write with a frame, so that the reserve follows it. None if zeros are prepared already, or being written
  /// right now. Otherwise twice the reserve, so that the next small commits need none; after a large frame only the reserve, because one
  /// that is as large goes beyond any zeros.
  private func reserveToWrite(after header: FrameHeader) -> Int {
    let reserve = UInt64(reserveByteCount)
    if zerosEnd.load(ordering: .relaxed) >= header.next + reserve { return 0 }
    let wanted = header.payloadByteCount < LogWriter.smallFrameByteCount ? 2 * reserve : reserve
    return turn.monitor.withLock { claimedZeros == nil ? Int(wanted) : 0 }
  }

  /// Frames up to this size need zeros near the tail.
  static let smallFrameByteCount: UInt64 = 64 << 10

  /// How much the log has grown since it was opened.
  private var grownByteCount: UInt64 { tail.offset &- min(beginning, tail.offset) }

  /// Whether the next commits will reach the end of the zeros. They are taken to write as much as those before them: an open for
  /// a save or two leaves it at what their frames brought along.
  var needsZeros: Bool {
    let expected = min(UInt64(reserveByteCount) &+ 2 &* grownByteCount, LogWriter.smallFrameByteCount)
    return zerosEnd.load(ordering: .relaxed) < tail.offset &+ expected
  }

  /// Claims the range where zeros are going to be written while commits go on; nil if there are enough.
  func claimZeros(_: borrowing Turn.Hold) -> Range<UInt64>? {
    let wanted = min(max(grownByteCount / 2 & ~4095, 128 << 10), LogTail.mostZeros / 2)
    let start = max(zerosEnd.load(ordering: .relaxed), (tail.offset + 4095) & ~4095)
    guard start < tail.offset + LogWriter.smallFrameByteCount * 2 else { return nil }
    claimedZeros = start..<start + wanted
    return claimedZeros
  }

  /// Writes zeros in the claimed range, so that durable commits change neither the file's size nor its extents.
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
    // A failure shows in the next call, which asks whether the writer is alive.
    if isWritten { try? sync(backgroundFile) }
  }

  /// Waits for zeros that are being written where a frame is about to go.
  func waitForZeros(upTo end: UInt64, _: borrowing Turn.Hold) {
    turn.monitor.lock()
    while let claim = claimedZeros, end > claim.lowerBound { turn.monitor.wait() }
    turn.monitor.unlock()
  }

  /// Cuts off the zeros behind the log, the reserve included. False if a reader keeps them, or there are none. The next commit
  /// prepares new ones.
  func trimZeros(_ hold: borrowing Turn.Hold) throws(StoreError) -> Bool {
    do { return try cutOff(after: tail.offset, hold) } catch { throw .disk(error) }
  }

  /// Writes the reserve that `trimZeros` has cut off, if there is room for it.
  func restoreReserve(_ hold: borrowing Turn.Hold) {
    waitForZeros(upTo: .max, hold)
    // A commit that only deletes may have gone over the end of the zeros meanwhile.
    let start = max(zerosEnd.load(ordering: .relaxed), tail.offset)
    let end = tail.offset + UInt64(2 * reserveByteCount)
    guard isAlive, fileLock.isHeld, start < end else { return }
    do { try file.writeZeros(Int(start)..<Int(end)) } catch { return }
    zerosEnd.store(end, ordering: .relaxed)
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
