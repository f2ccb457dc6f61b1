/// The lock on the writer's byte of a file, and the claim that excludes other stores of this process: both are held, or
/// neither.
///
///     taken ── with the turn, by whoever writes first ──► held ──► given back ── with the turn, by whoever leaves last
///                                                          │
///                                                          └─ retained: work that lasts longer than a turn is counted
///
/// Always true: while it is retained, it is held; nothing is appended while it is not held.
final class FileLock: @unchecked Sendable {
  private let file: any DiskFile
  private let disk: any Disk
  private let path: String
  private let turn: Turn
  /// Not only for a transaction, but while the store is open.
  private let isKept: Bool
  private var claim: WriterClaim?
  /// False between transactions or while suspended; then another process may write. Changes with the turn.
  @safe @exclusivity(unchecked) private(set) var isHeld: Bool
  private var heldSince = SystemClock.monotonicNanoseconds()
  private var givenBackAt: UInt64 = 0
  /// How much work retains it; guarded by the turn's monitor.
  private var retainCount = 0

  /// - Parameter isHeld: the open has taken the lock already, and passes on the claim when it has succeeded.
  init(_ file: any DiskFile, disk: any Disk, path: String, turn: Turn, isKept: Bool, isHeld: Bool) {
    self.file = file
    self.disk = disk
    self.path = path
    self.turn = turn
    self.isKept = isKept
    self.isHeld = isHeld
  }

  func hand(over claim: WriterClaim) { self.claim = claim }

  // MARK: taking and giving back

  /// Waits for the lock and then calls `body`, which catches up with what others have done. Keeps the lock if `body` succeeds.
  /// - Parameter goOn: called while waiting; an error that it throws ends the wait.
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
    // A thread that writes continuously releases the lock and takes it again at once. Nobody else gets into the gap, so the
    // lock counts as held throughout.
    if !isRetaken { heldSince = SystemClock.monotonicNanoseconds() }
  }

  private func wait(
    atMost timeoutNanoseconds: UInt64, _ goOn: () throws(StoreError) -> Void
  ) throws(StoreError) -> WriterClaim {
    let start = SystemClock.monotonicNanoseconds()
    // Another process usually releases the lock within a fraction of a millisecond; after that, there is no hurry.
    var pause: UInt64 = 50_000
    var saysSo = false
    defer { if saysSo { file.unlock(.waiting) } }
    while true {
      if let claim = WriterClaim(file.identity) {
        do {
          if try file.tryLock(.writer, .exclusive) {
            if isKept { claim.keep() }
            return claim
          }
        } catch {
          claim.release()
          throw .disk(error)
        }
        claim.release()
      }
      if SystemClock.nanoseconds(since: start) >= timeoutNanoseconds { throw .locked(path: path) }
      try goOn()
      // If the file has lost its name, its lock must not hold us up.
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

  /// Called when the file was closed, and its locks with it, or when nobody will write it any more.
  func releaseClaim() {
    claim?.release()
    claim = nil
  }

  // MARK: retaining it longer than a turn

  /// Retains the lock until `release`; false when it is not held.
  func retain(_: borrowing Turn.Hold) -> Bool {
    guard isHeld else { return false }
    turn.monitor.withLock { retainCount += 1 }
    return true
  }

  func release() {
    turn.monitor.withLock {
      retainCount -= 1
      if retainCount == 0 { turn.monitor.broadcast() }
    }
  }

  var isRetained: Bool { turn.monitor.withLock { retainCount > 0 } }

  /// Waits until no work retains the lock.
  func waitUntilReleased() {
    turn.monitor.lock()
    while retainCount > 0 { turn.monitor.wait() }
    turn.monitor.unlock()
  }

  // MARK: others

  /// Whether it was released so recently that a waiting process may not have noticed.
  private var isRetaken: Bool { SystemClock.nanoseconds(since: givenBackAt) < FileLock.fairNanoseconds }

  /// Before it is taken again: lets others go first if they wait and it has been held for long, apart from such gaps.
  func letOthersGoFirstIfDue(_ hold: borrowing Turn.Hold) {
    if isRetaken, isDue(hold) { letOthersGoFirst(hold) }
  }

  /// After this time others get the lock. Threads of one process that always write would otherwise hold it forever.
  private static let fairNanoseconds: UInt64 = 10_000_000
  /// How long to leave the lock to others. A waiting process looks every two milliseconds, and on an overloaded machine gets a
  /// processor only some time later.
  private static let pauseNanoseconds: UInt64 = 100_000_000
  /// How often in a row nobody came to take it. The waiting processes may have been stopped. So each time it is offered half as
  /// often as before, and is idle for a twenty-fifth of the time at most.
  private(set) var missCount = 0
  private static let maximumMissCount = 8

  /// Whether it has been held for long and another process, or another open in this one, waits for it. Asks the system at most
  /// once in that time.
  func isDue(_: borrowing Turn.Hold) -> Bool {
    let now = SystemClock.monotonicNanoseconds()
    let limit = FileLock.fairNanoseconds << UInt64(missCount)
    guard SystemClock.nanoseconds(from: heldSince, to: now) >= limit else { return false }
    heldSince = now
    if (try? file.isLockedByOthers(.waiting)) ?? false { return true }
    missCount = 0
    return false
  }

  /// Called after `giveBack`. Waits until another process has taken the lock or none waits for it, a tenth of a second at most.
  /// A process that has died does not wait any more.
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
