/// The writer's byte of a file, and the claim that keeps other stores of this process from it: both are held, or none.
final class FileLock: @unchecked Sendable {
  private let file: any DiskFile
  private let path: String
  private var claim: WriterClaim?
  /// False between transactions, or while suspended: another process may write then. Changes with the turn.
  private(set) var isHeld: Bool
  /// Work that keeps it from being given back; guarded by the turn's monitor.
  var keeperCount = 0

  /// - Parameter isHeld: whoever opens the file has taken it, and hands the claim over when the open has worked.
  init(_ file: any DiskFile, path: String, isHeld: Bool) {
    self.file = file
    self.path = path
    self.isHeld = isHeld
  }

  func hand(over claim: WriterClaim) { self.claim = claim }

  /// Waits for the lock, and keeps it when `body` succeeds, which catches up with what others have done meanwhile.
  func take(
    atMost timeoutNanoseconds: UInt64, _: borrowing Turn.Hold, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    let claim = try wait(atMost: timeoutNanoseconds)
    do { try body() } catch {
      file.unlock(.writer)
      claim.release()
      throw error
    }
    self.claim = claim
    isHeld = true
  }

  private func wait(atMost timeoutNanoseconds: UInt64) throws(StoreError) -> WriterClaim {
    let start = SystemClock.monotonicNanoseconds()
    // Another process gives the lock back after a fraction of a millisecond; later there is no hurry.
    var pause: UInt64 = 50_000
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
      if SystemClock.monotonicNanoseconds() - start >= timeoutNanoseconds { throw .locked(path: path) }
      SystemClock.sleep(nanoseconds: pause)
      pause = min(pause + pause / 4, 2_000_000)
    }
  }

  func giveBack(_: borrowing Turn.Hold) {
    file.unlock(.writer)
    isHeld = false
    releaseClaim()
  }

  /// The file has been closed, and its locks with it.
  func releaseClaim() {
    claim?.release()
    claim = nil
  }
}
