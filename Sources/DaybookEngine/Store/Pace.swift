/// How fast background work may write, and whether it goes on.
///
/// A copy that commits outrun hurries up, step by step: first without its rate, then while commits wait for it.
///
/// Its writes are synced piece by piece, because the sync of a commit flushes them, too, and would otherwise wait for all of
/// them. While no commits are synced, the pieces are larger.
@safe package final class Pace {
  private let bytesPerSecond: Int?
  private let shouldGoOn: () -> Bool
  /// Asked now and then: while a copy sleeps for its rate, and while it catches up, nothing else asks whether it is still wanted.
  private let isWanted: () -> Bool
  private let startNanoseconds = SystemClock.monotonicNanoseconds()
  private var startOffset: UInt64?
  private var syncedOffset: UInt64 = 0
  private var askedOffset: UInt64 = 0
  /// Of all pauses: each may be shorter than a step.
  private var stepCount = 0
  private var others: CommitSyncs?
  /// Whether commits were being synced when it was last looked.
  private(set) var isBesideCommits = false
  /// With pieces of 256 KB the slowest hundredth of durable commits took 7 to 10 times the median (`daybook-bench latency`).
  static let syncByteCount: UInt64 = 96 << 10
  private static let largestSyncByteCount: UInt64 = 1 << 20

  package init(bytesPerSecond: Int?, isWanted: @escaping () -> Bool = { true }, shouldGoOn: @escaping () -> Bool) {
    self.bytesPerSecond = bytesPerSecond
    self.isWanted = isWanted
    self.shouldGoOn = shouldGoOn
    hurry = bytesPerSecond == nil ? .holdingCommits : .atItsRate
  }

  /// The pace of an attempt that begins now: time and offsets are those of one copy.
  func begun() -> Pace { Pace(bytesPerSecond: bytesPerSecond, isWanted: isWanted, shouldGoOn: shouldGoOn) }

  /// Names the store whose commits wait for the same disk.
  func goBeside(_ store: Store) { others = CommitSyncs(store) }

  /// What is done so that a copy comes to its end.
  private enum Hurry { case atItsRate, atFullSpeed, holdingCommits }
  private var hurry: Hurry

  /// Whether commits may have to wait for it. A limited rate says that it is in no hurry, and delays no commit at first.
  var holdsCommits: Bool { hurry == .holdingCommits }

  /// What it does is not enough: commits come as fast.
  func hurryUp() { hurry = hurry == .atItsRate ? .atFullSpeed : .holdingCommits }

  var goesOn: Bool { shouldGoOn() }

  private static var cancelled: StoreError { .refused(reason: "the copy was cancelled") }

  func check() throws(StoreError) {
    if !goesOn { throw Pace.cancelled }
  }

  func pause(writtenUpTo offset: UInt64, sync: () throws(StoreError) -> Void) throws(StoreError) {
    let start = startOffset ?? offset
    startOffset = start
    if offset &- syncedOffset >= Pace.syncByteCount {
      try check()
      isBesideCommits = others?.look() ?? false
      if isBesideCommits || offset &- syncedOffset >= Pace.largestSyncByteCount {
        if syncedOffset != 0 { try sync() }
        syncedOffset = offset
      }
    }
    // Not while commits wait for it: who is asked may commit something.
    if hurry != .holdingCommits, offset &- askedOffset >= Pace.largestSyncByteCount {
      askedOffset = offset
      if !isWanted() { throw Pace.cancelled }
    }
    guard hurry == .atItsRate, let bytesPerSecond, bytesPerSecond > 0 else { return }
    // At a byte a second a large file is due in more nanoseconds than there are numbers for.
    let due = UInt64(min(Double(offset - min(start, offset)) / Double(bytesPerSecond) * 1e9, 1e18))
    while SystemClock.nanoseconds(since: startNanoseconds) < due {
      try check()
      stepCount += 1
      if stepCount % 20 == 0, !isWanted() { throw Pace.cancelled }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
  }
}
