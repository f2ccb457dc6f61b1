import Synchronization

/// The turn: one transaction at a time changes a store, or one piece of background work.
///
///     writers ── look for a while ──► in line ──► take ──► give: somebody awake takes it, or one of the line is woken
///     background work ── take where nobody waits, or urgently
///
/// Whoever has it has a `Hold`, which only this type makes and takes back. What must happen within a turn asks for one, so
/// that the compiler knows who may call it.
final class Turn: @unchecked Sendable {
  /// Proof of having the turn. It can be lent, and be given back once.
  struct Hold: ~Copyable {
    fileprivate init() {}
  }

  /// What a writer finds that could have the turn now.
  enum Gate {
    case open
    /// A checkpoint must get on first: in line, where whoever ends it wakes the next.
    case inLine
    /// A compaction must get on first, and background work with it: not in line, where nobody would wake this writer, and
    /// not among those for whom background work waits.
    case aside
  }

  /// Guards what is here, and the store's facts about checkpoints and keepers of the file lock, which those wait for who
  /// have no turn.
  let monitor = Monitor()
  /// Written with `monitor` locked; writers look at it without.
  private let isTakenWord = Atomic<Bool>(false)
  /// The thread that has the turn; 0 while nobody has it. A thread looks for its own number only, which nobody else puts here.
  private let holder = Atomic<UInt>(0)
  /// Writers that wait, in line or awake. Guarded by `monitor`.
  @safe @exclusivity(unchecked) private(set) var waitingWriterCount = 0
  @safe @exclusivity(unchecked) private var spinningWriterCount = 0
  /// Turns in a row after which nobody in line was woken.
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

  /// Whether the thread that asks has the turn, and would wait for itself.
  @inline(__always)
  var isHeldByCaller: Bool { holder.load(ordering: .relaxed) == currentThreadNumber() }

  /// Called with `monitor` locked and the turn free.
  private func begin() -> Hold {
    isTaken = true
    holder.store(currentThreadNumber(), ordering: .relaxed)
    return Hold()
  }

  /// Waits for the turn as a writer, who goes before background work.
  /// - Parameter gate: asked with `monitor` locked while nobody has the turn.
  func take(_ gate: () -> Gate) -> Hold {
    monitor.lock()
    var hasHovered = false
    while true {
      if isTaken, !hasHovered {
        hasHovered = true
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
        hasHovered = false
      case .aside:
        // Whoever is in line goes on: this writer was woken, and will not give the turn.
        monitor.signalLine()
        monitor.wait()
      }
    }
  }

  /// Waits for the turn awake: most turns are over in less time than falling asleep and waking up take (row:
  /// kv-commit-durable-32, 34 to 15 µs with what `GroupCommit` does). `monitor` is locked, but not meanwhile.
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

  /// Takes the turn for background work as soon as whoever has it gives it.
  func takeForBackground() -> Hold {
    monitor.lock()
    while isTaken { monitor.wait() }
    let hold = begin()
    monitor.unlock()
    return hold
  }

  /// Takes the turn for background work; nil where somebody has it or writers wait.
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
    // Nobody in line is woken where somebody awake takes the turn, and gives it back, too; but not for ever.
    let wakesNobody = spinningWriterCount > 0 && turnsWithoutLine < Turn.maximumTurnsWithoutLine
    turnsWithoutLine = wakesNobody ? turnsWithoutLine + 1 : 0
    monitor.unlock()
    // One writer: with 32 of them, waking all for one turn took more time than the commits (row: kv-commit-durable-32).
    if wakesNobody { monitor.wakeOutsideLine() } else { monitor.wakeNext() }
  }

  /// Gives the turn back after a piece of work.
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
