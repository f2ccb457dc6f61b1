import Synchronization

/// The turn: the right to change a store, held by one transaction or one piece of background work at a time.
///
///     writers ── look for a while ──► in line ──► take ──► give: somebody awake takes it, or one of the line is woken
///     background work ── take where nobody waits, or urgently
///
/// Its holder has a `Hold`, which only this type makes and takes back. A function that must run within a turn requires one, so
/// the compiler checks its callers. It does not check whose turn it is: where one store replaces another there are two.
final class Turn: @unchecked Sendable {
  /// Proof that the caller has the turn. It can be lent, and given back once.
  struct Hold: ~Copyable {
    fileprivate init() {}
  }

  /// Whether a writer may take the free turn now.
  enum Gate {
    case open
    /// A checkpoint goes first. The writer waits in line, where the end of the checkpoint wakes the next.
    case inLine
    /// A compaction and its background work go first. The writer waits outside the line, because nobody would wake it there,
    /// and does not count as waiting, because background work would wait for it.
    case aside
  }

  /// Guards this object, and those facts about checkpoints and the file lock for which threads wait without the turn.
  let monitor = Monitor()
  /// Written with `monitor` locked; writers also read it without the lock.
  private let isTakenWord = Atomic<Bool>(false)
  /// The thread that has the turn; 0 while nobody has it. A thread only looks for its own number, which no other thread stores
  /// here.
  private let holder = Atomic<UInt>(0)
  /// Writers that wait, in line or spinning. Guarded by `monitor`.
  @safe @exclusivity(unchecked) private(set) var waitingWriterCount = 0
  @safe @exclusivity(unchecked) private var spinningWriterCount = 0
  /// How many turns in a row have ended without waking a writer in line.
  @safe @exclusivity(unchecked) private var turnsWithoutLine = 0
  private static let maximumTurnsWithoutLine = 15
  private static let yieldsBeforeSleep = 4
  private static let looksBeforeYield = 1000

  init() {}

  /// Guarded by `monitor`.
  private(set) var isTaken: Bool {
    get { isTakenWord.load(ordering: .relaxed) }
    set { isTakenWord.store(newValue, ordering: .relaxed) }
  }

  /// Whether the calling thread has the turn, and so would wait for itself.
  @inline(__always)
  var isHeldByCaller: Bool { holder.load(ordering: .relaxed) == currentThreadNumber() }

  /// Called with `monitor` locked and the turn free.
  private func begin() -> Hold {
    isTaken = true
    holder.store(currentThreadNumber(), ordering: .relaxed)
    return Hold()
  }

  /// Waits for the turn as a writer; writers go before background work.
  /// - Parameter gate: called with `monitor` locked while nobody has the turn.
  func take(_ gate: () -> Gate) -> Hold {
    monitor.lock()
    var hasSpun = false
    while true {
      if isTaken, !hasSpun {
        hasSpun = true
        spin()
        continue
      }
      switch isTaken ? .inLine : gate() {
      case .open:
        let hold = begin()
        monitor.unlock()
        return hold
      case .inLine:
        waitingWriterCount += 1
        monitor.waitInLine()
        waitingWriterCount -= 1
        hasSpun = false
      case .aside:
        // Wake another writer in line: this one was woken, but will not take the turn and give it back.
        monitor.signalLine()
        monitor.wait()
      }
    }
  }

  /// Spins until the turn is free, for a while: most turns are shorter than going to sleep and waking up (row:
  /// kv-commit-durable-32, 34 to 15 µs together with `GroupCommit`). Called with `monitor` locked, which is released meanwhile.
  private func spin() {
    waitingWriterCount += 1
    spinningWriterCount += 1
    monitor.unlock()
    for _ in 0..<Turn.yieldsBeforeSleep {
      var looks = Turn.looksBeforeYield
      while looks > 0, isTakenWord.load(ordering: .relaxed) { looks -= 1 }
      if looks > 0 { break }
      yieldProcessor()
    }
    monitor.lock()
    spinningWriterCount -= 1
    waitingWriterCount -= 1
  }

  /// Takes the turn for background work as soon as its holder gives it back.
  func takeForBackground() -> Hold {
    monitor.lock()
    while isTaken { monitor.wait() }
    let hold = begin()
    monitor.unlock()
    return hold
  }

  /// Takes the turn for background work; nil if it is taken or writers wait.
  func tryTake() -> Hold? {
    monitor.lock()
    defer { monitor.unlock() }
    if isTaken || waitingWriterCount > 0 { return nil }
    return begin()
  }

  func give(_ hold: consuming Hold) {
    monitor.lock()
    holder.store(0, ordering: .relaxed)
    isTaken = false
    // If a spinning writer is going to take the turn, and give it back, nobody in line is woken; but not forever.
    let wakesNobody = spinningWriterCount > 0 && turnsWithoutLine < Turn.maximumTurnsWithoutLine
    turnsWithoutLine = wakesNobody ? turnsWithoutLine + 1 : 0
    monitor.unlock()
    // Wake one writer only: with 32 of them, waking all for one turn took more time than the commits (row:
    // kv-commit-durable-32).
    if wakesNobody { monitor.wakeOutsideLine() } else { monitor.wakeNext() }
  }

  /// Runs a piece of work and then gives back the turn.
  func holding<Result, Failure: Error>(
    _ hold: consuming Hold, _ body: (borrowing Hold) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result: Result
    do { result = try body(hold) } catch {
      give(hold)
      throw error
    }
    give(hold)
    return result
  }
}
