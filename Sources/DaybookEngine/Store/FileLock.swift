/// The writer's byte of a file, and the claim that keeps other stores of this process from it: both are held, or none.
///
///     taken ── with the turn, by whoever writes first ──► held ──► given back ── with the turn, by whoever leaves last
///                                                          │
///                                                          └─ kept: work that lasts longer than a turn counts itself
///
/// Always true: while it is kept it is held; nothing is appended while it is not.
final class FileLock: @unchecked Sendable {
  private let file: any DiskFile
  private let disk: any Disk
  private let path: String
  private let turn: Turn
  private var claim: WriterClaim?
  /// False between transactions, or while suspended: another process may write then. Changes with the turn.
  @safe @exclusivity(unchecked) private(set) var isHeld: Bool
  private var heldSince = SystemClock.monotonicNanoseconds()
  private var givenBackAt: UInt64 = 0
  /// Work that keeps it from being given back; guarded by the turn's monitor.
  private var keeperCount = 0

  /// - Parameter isHeld: whoever opens the file has taken it, and hands the claim over when the open has worked.
  init(_ file: any DiskFile, disk: any Disk, path: String, turn: Turn, isHeld: Bool) {
    self.file = file
    self.disk = disk
    self.path = path
    self.turn = turn
    self.isHeld = isHeld
  }

  func hand(over claim: WriterClaim) { self.claim = claim }

  // MARK: taking and giving back

  /// Waits for the lock, and keeps it when `body` succeeds, which catches up with what others have done meanwhile.
  /// - Parameter goOn: asked while it waits; what it throws ends the wait.
  func take(
    atMost timeoutNanoseconds: UInt64, _: borrowing Turn.Hold, goOn: () throws(StoreError) -> Void,
    _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let claim = try wait(atMost: timeoutNanoseconds, goOn)
    do { try body() } catch {
      file.unlock(.writer)
      claim.release()
      throw error
    }
    self.claim = claim
    isHeld = true
    // One thread that always writes gives it back and takes it again: nobody else meets the gap, so that counts as held.
    if !isRetaken { heldSince = SystemClock.monotonicNanoseconds() }
  }

  private func wait(
    atMost timeoutNanoseconds: UInt64, _ goOn: () throws(StoreError) -> Void
  ) throws(StoreError) -> WriterClaim {
    let start = SystemClock.monotonicNanoseconds()
    // Another process gives the lock back after a fraction of a millisecond; later there is no hurry.
    var pause: UInt64 = 50_000
    var saysSo = false
    defer { if saysSo { file.unlock(.waiting) } }
    while true {
      if let claim = WriterClaim(file.identity) {
        do {
          if try file.tryLock(.writer, .exclusive) { return claim }
        } catch {
          claim.release()
          throw .disk(error)
        }
        claim.release()
      }
      if SystemClock.nanoseconds(since: start) >= timeoutNanoseconds { throw .locked(path: path) }
      try goOn()
      // Whoever holds the lock of a file that has lost its name holds up nobody.
      let named: FileIdentity?
      do throws(DiskFailure) {
        named = try disk.identity(of: path)
        if !saysSo { saysSo = try file.tryLock(.waiting, .shared) }
      } catch { throw .disk(error) }
      if let named, named != file.identity { throw .moved(.otherFile) }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(pause + pause / 4, 2_000_000)
    }
  }

  func giveBack(_: borrowing Turn.Hold) {
    file.unlock(.writer)
    isHeld = false
    givenBackAt = SystemClock.monotonicNanoseconds()
    releaseClaim()
  }

  /// The file has been closed, and its locks with it; or nobody writes it any more.
  func releaseClaim() {
    claim?.release()
    claim = nil
  }

  // MARK: keeping it longer than a turn

  /// Nobody gives it back before `letGo`; false where it is not held.
  func keep(_: borrowing Turn.Hold) -> Bool {
    guard isHeld else { return false }
    turn.monitor.withLock { keeperCount += 1 }
    return true
  }

  func letGo() {
    turn.monitor.withLock {
      keeperCount -= 1
      if keeperCount == 0 { turn.monitor.broadcast() }
    }
  }

  var isKept: Bool { turn.monitor.withLock { keeperCount > 0 } }

  /// Waits until nobody keeps it.
  func waitForKeepers() {
    turn.monitor.lock()
    while keeperCount > 0 { turn.monitor.wait() }
    turn.monitor.unlock()
  }

  // MARK: others

  /// It was given back so short a time ago that whoever waits may not have looked.
  private var isRetaken: Bool { SystemClock.nanoseconds(since: givenBackAt) < FileLock.fairNanoseconds }

  /// Before it is taken again: others go first where it has been held for long, but for such gaps, and they wait.
  func letOthersGoFirstIfDue(_ hold: borrowing Turn.Hold) {
    if isRetaken, isDue(hold) { letOthersGoFirst(hold) }
  }

  /// Threads of one process, one of them always at it, would hold it for ever.
  private static let fairNanoseconds: UInt64 = 10_000_000
  /// Whoever waits looks every two milliseconds, and on a machine with too much to do gets a processor some time later.
  private static let pauseNanoseconds: UInt64 = 100_000_000
  /// How often in a row nobody came to take it. Those who wait may have been stopped: each time it is offered to them half as
  /// often as before, so that it lies idle for a twenty-fifth of the time.
  private(set) var missCount = 0
  private static let maximumMissCount = 8

  /// It has been held for long, and another process, or another open of this one, waits for it. Asks the system at most once
  /// in that time.
  func isDue(_: borrowing Turn.Hold) -> Bool {
    let now = SystemClock.monotonicNanoseconds()
    let limit = FileLock.fairNanoseconds << UInt64(missCount)
    guard SystemClock.nanoseconds(from: heldSince, to: now) >= limit else { return false }
    heldSince = now
    if (try? file.isLockedByOthers(.waiting)) ?? false { return true }
    missCount = 0
    return false
  }

  /// Behind `giveBack`: until another has taken it, which those who wait do soon, or nobody wants it; a tenth of a second at
  /// most. Who dies wants it no more.
  func letOthersGoFirst(_: borrowing Turn.Hold) {
    let start = SystemClock.monotonicNanoseconds()
    var pause: UInt64 = 50_000
    while SystemClock.nanoseconds(since: start) < FileLock.pauseNanoseconds {
      guard (try? file.isLockedByOthers(.waiting)) ?? false, !((try? file.isLockedByOthers(.writer)) ?? true) else {
        missCount = 0
        return
      }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(pause + pause / 4, 1_000_000)
    }
    missCount = min(missCount + 1, FileLock.maximumMissCount)
  }
}
