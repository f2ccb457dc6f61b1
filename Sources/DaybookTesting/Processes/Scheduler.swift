/// Who of several actors goes on, decided at each of their calls of the disk: a thread for each, one awake at a time.
///
///     actor 0   ━━━━call━┓          ┏━━━━━call━━ …
///                        ┃ hand-over┃
///     actor 1            ┗━call━━━━━┛
///
/// An actor that calls the disk first calls `point`, which returns when the actor may go on. So the calls and the schedule
/// alone decide what happens: the same script and the same schedule give the same run on every machine. The thread that called
/// `run` wakes one actor after the other, and examines the disk while all of them wait.
///
/// Time is simulated: each call takes some, and an actor that sleeps is skipped until its time is over.
///
/// Actors that are threads of one database also share its locks (`Scheduler+Waits`): an actor that would block there is
/// skipped, and the scheduler decides who is woken. So a lock or a wake-up that never comes is noticed at once: no actor can go
/// on.
///
/// Always true: only the thread with the baton accesses this state; the baton is passed under a lock.
import DaybookEngine
import Synchronization

package final class Scheduler: @unchecked Sendable {
  enum Life: Equatable {
    case ready
    case sleeping(until: UInt64)
    /// Until nobody holds this lock.
    case locking(ObjectIdentifier)
    /// Until somebody wakes it, or the time is over; `.max` for never.
    case waiting(ObjectIdentifier, condition: Int, until: UInt64)
    /// Forever: it ran in circles.
    case stopped
    /// Until all actors wait, for the world to change.
    case resting
    case ended
  }

  struct Place {
    var life = Life.ready
    var step = 0
    var call = 0
    /// When it began to wait, among all waits.
    var waitNumber = 0
    fileprivate let baton = Baton()
  }

  /// The cost of a disk call, and of any other point, on the simulated clock.
  private static let nanosecondsPerCall: UInt64 = 20_000
  private static let nanosecondsPerPoint: UInt64 = 2_000
  /// More calls than any run needs: an actor that makes so many runs in circles.
  private static let mostCalls = 40_000
  /// So many more calls to unwind; then it is stopped where it is.
  private static let mostCallsOfUnwinding = 10_000
  /// Real time without a call: a thread waits for something that never comes.
  private static let hangNanoseconds: UInt64 = 40_000_000_000

  var places: [Place] = []
  private let own = Baton()
  private var byPoint: [Point: Int] = [:]
  private var generator = SeededGenerator(seed: 0)
  private var oneIn = Int.max
  private var next = 0
  private(set) var present = 0
  private(set) var now: UInt64 = 1_000_000_000
  private(set) var isFree = true
  /// Whether actors are threads that share locks, so that the scheduler decides about their waits.
  private let decidesWaits: Bool
  /// The holder of each lock.
  var holders: [ObjectIdentifier: Int] = [:]
  var waitCount = 0
  private var wantsLook = false

  /// How many points of choice there were, and what was chosen.
  private(set) var pointCount = 0
  private(set) var handOvers: [HandOver] = []
  private(set) var hasRunInCircles = false
  /// What all actors wait for, when none can go on.
  private(set) var standstill: String?
  /// Called before each call of an actor and at each other point (nil), on its thread; true stops the world for `look`.
  var wantsLookBefore: ((SimulatedCall?) -> Bool)?
  /// All actors wait, before the call that asked.
  var look: (() -> Void)?
  /// All actors that have not ended stand by.
  var changeWorld: (() -> Void)?

  private struct Point: Hashable {
    let actor: Int
    let step: Int
    let call: Int
  }

  init(_ schedule: Schedule, decidesWaits: Bool = false) {
    self.decidesWaits = decidesWaits
    switch schedule {
    case .random(let seed, let oneIn):
      generator = SeededGenerator(seed: seed)
      self.oneIn = max(1, oneIn)
    case .handOvers(let list):
      for entry in list { byPoint[Point(actor: entry.actor, step: entry.step, call: entry.call)] = entry.to }
    }
  }

  // MARK: the thread that runs it

  /// Runs all bodies to their ends, one at a time. False when they hang; then their threads are left behind.
  func run(_ bodies: [@Sendable () -> Void]) -> Bool {
    places = bodies.map { _ in Place() }
    isFree = false
    holders.removeAll()
    let batons = places.map(\.baton)
    let threads = bodies.indices.map { index in
      BackgroundThread(name: "actor \(index)", stackByteCount: 4 << 20) { [self] in
        batons[index].wait()
        SystemClock.simulate((decidesWaits ? ActorWaits.self : ActorTime.self).init(scheduler: self, actor: index))
        bodies[index]()
        places[index].life = .ended
        own.give()
      }
    }
    precondition(threads.allSatisfy { $0 != nil }, "the system has threads for a few actors")
    while let chosen = nextAwake() {
      present = chosen
      places[chosen].baton.give()
      guard own.wait(nanoseconds: Scheduler.hangNanoseconds) else { return false }
      if wantsLook {
        wantsLook = false
        look?()
      }
    }
    if standstill != nil { return false }
    for thread in threads { thread?.join() }
    isFree = true
    return true
  }

  /// The actor that goes on; nil when all have ended, or none can.
  private func nextAwake() -> Int? {
    while true {
      if isAwake(next) { return next }
      for offset in 1...places.count where isAwake((next + offset) % places.count) { return (next + offset) % places.count }
      var earliest: UInt64?
      for place in places {
        switch place.life {
        case .sleeping(let until): earliest = min(earliest ?? .max, until)
        case .waiting(_, _, let until) where until != .max: earliest = min(earliest ?? .max, until)
        default: break
        }
      }
      if let earliest {
        now = max(now, earliest)
      } else if let stuck = describeStandstill() {
        standstill = stuck
        return nil
      } else if places.contains(where: { $0.life == .resting }) {
        changeWorld?()
        for index in places.indices where places[index].life == .resting { places[index].life = .ready }
      } else {
        return nil
      }
    }
  }

  private func isAwake(_ actor: Int) -> Bool {
    switch places[actor].life {
    case .ready: true
    case .sleeping(let until), .waiting(_, _, let until): until <= now
    case .locking(let monitor): holders[monitor] == nil
    case .resting, .ended, .stopped: false
    }
  }

  private func describeStandstill() -> String? {
    let waits = places.indices.compactMap { actor -> String? in
      switch places[actor].life {
      case .locking(let monitor): "actor \(actor) waits for a lock that actor \(holders[monitor] ?? actor) holds"
      case .waiting(_, let condition, _): "actor \(actor) waits at condition \(condition) for somebody to wake it"
      case .stopped: "actor \(actor) runs in circles"
      default: nil
      }
    }
    return waits.isEmpty ? nil : "nobody can go on: " + waits.joined(separator: ", ")
  }

  // MARK: the threads of actors

  func beginStep(_ step: Int, of actor: Int) {
    places[actor].step = step
    places[actor].call = 0
    if decidesWaits { point() }
  }

  /// Before a call of the disk. Returns when the actor goes on.
  func point(_ call: SimulatedCall) {
    now += Scheduler.nanosecondsPerCall
    meet(call)
  }

  /// Any other point where another thread of the database may go on.
  func point() {
    guard decidesWaits else { return }
    now += Scheduler.nanosecondsPerPoint
    meet(nil)
  }

  private func meet(_ call: SimulatedCall?) {
    if isFree { return }
    let actor = present
    places[actor].call += 1
    pointCount += 1
    if pointCount > Scheduler.mostCalls { hasRunInCircles = true }
    if pointCount > Scheduler.mostCalls + Scheduler.mostCallsOfUnwinding { places[actor].life = .stopped }
    wantsLook = wantsLookBefore?(call) ?? false
    next = choose(actor)
    record(next, after: actor)
    if next != actor || wantsLook || places[actor].life == .stopped { park(actor) }
  }

  private func record(_ next: Int, after actor: Int) {
    if next == actor { return }
    handOvers.append(HandOver(actor: actor, step: places[actor].step, call: places[actor].call, to: next))
  }

  private func choose(_ actor: Int) -> Int {
    if let to = byPoint[Point(actor: actor, step: places[actor].step, call: places[actor].call)] {
      return to < places.count && isAwake(to) ? to : actor
    }
    guard oneIn != .max, places.count > 1, Int.random(in: 0..<oneIn, using: &generator) == 0 else { return actor }
    let to = (actor + Int.random(in: 1..<places.count, using: &generator)) % places.count
    return isAwake(to) ? to : actor
  }

  /// The actor cannot go on: others do, until its life says that it can.
  func block(_ actor: Int, _ life: Life) {
    places[actor].life = life
    places[actor].call += 1
    let to = byPoint[Point(actor: actor, step: places[actor].step, call: places[actor].call)]
    if let to, to < places.count {
      next = to
    } else {
      let distance = oneIn == .max || places.count < 2 ? 1 : Int.random(in: 1..<places.count, using: &generator)
      next = (actor + distance) % places.count
    }
    record(next, after: actor)
    park(actor)
    places[actor].life = .ready
  }

  func sleep(_ actor: Int, nanoseconds: UInt64) {
    if isFree {
      now += nanoseconds
      return
    }
    places[actor].life = .sleeping(until: now &+ nanoseconds)
    next = (actor + 1) % places.count
    park(actor)
    places[actor].life = .ready
  }

  /// Stands by until all others do, too, or have ended.
  func standBy(_ actor: Int) {
    places[actor].life = .resting
    next = (actor + 1) % places.count
    park(actor)
  }

  func time() -> UInt64 {
    // A thread that polls must see time pass.
    now += 1_000
    return now
  }

  private func park(_ actor: Int) {
    // The places belong to whoever runs: once the turn is given, this thread may not look at them.
    let baton = places[actor].baton
    own.give()
    baton.wait()
  }
}

/// A baton for one thread, which waits for it.
private final class Baton: Sendable {
  private let monitor = Monitor()
  private let isGiven = Atomic<Bool>(false)

  func give() {
    monitor.withLock {
      isGiven.store(true, ordering: .relaxed)
      monitor.signal()
    }
  }

  /// Without a time limit: a limit reads the clock, and an actor without the baton must not advance the scheduler's clock.
  func wait() {
    monitor.withLock {
      while !isGiven.exchange(false, ordering: .relaxed) { monitor.wait() }
    }
  }

  /// False when the time is over.
  func wait(nanoseconds: UInt64) -> Bool {
    monitor.withLock {
      while !isGiven.exchange(false, ordering: .relaxed) {
        if !monitor.wait(nanoseconds: nanoseconds), !isGiven.load(ordering: .relaxed) { return false }
      }
      return true
    }
  }
}
