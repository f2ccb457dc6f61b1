/// Who of several actors goes on, decided at each of their calls of the disk: a thread for each, one awake at a time.
///
///     actor 0   ━━━━call━┓          ┏━━━━━call━━ …
///                        ┃ hand-over┃
///     actor 1            ┗━call━━━━━┛
///
/// An actor that calls the disk asks `point` first, which returns when it is its turn again. So what happens is decided by the
/// calls and the schedule alone: the same script and the same schedule give the same run on every machine. The thread that
/// called `run` wakes one actor after the other, and looks at the disk while all of them stand still.
///
/// Time is simulated: each call takes some of it, and an actor that sleeps is passed over until it is up.
///
/// Always true: whoever touches the state here has the baton, which is handed on under a lock.
import DaybookEngine
import Synchronization

/// One change of who goes on: at a call of a step of an actor, by the number of the step and of the call in it, so that it
/// means the same when steps before it or of others are left out.
package struct HandOver: Hashable, Sendable, CustomStringConvertible {
  package var actor: Int
  package var step: Int
  package var call: Int
  package var to: Int

  package var description: String { "actor \(actor), step \(step), before call \(call): actor \(to) goes on" }
}

/// How the next actor is chosen while the present one could go on.
package enum Schedule: Sendable {
  /// At one point in so many another one goes on, as the seed decides.
  case random(seed: UInt64, oneIn: Int)
  /// At these points and no others.
  case handOvers([HandOver])
}

package final class Scheduler: @unchecked Sendable {
  private enum Life: Equatable {
    case ready
    case sleeping(until: UInt64)
    /// Until everybody stands still, for the world to change.
    case resting
    case ended
  }

  private struct Place {
    var life = Life.ready
    var step = 0
    var call = 0
    let baton = Baton()
  }

  /// What a call costs on the simulated clock.
  private static let nanosecondsPerCall: UInt64 = 20_000
  /// More calls than any run needs: whoever makes so many runs in circles.
  private static let mostCalls = 200_000
  /// Real seconds without a call: somebody waits for what never comes.
  private static let hangNanoseconds: UInt64 = 40_000_000_000

  private var places: [Place] = []
  private let own = Baton()
  private var byPoint: [Point: Int] = [:]
  private var generator = SeededGenerator(seed: 0)
  private var oneIn = Int.max
  private var next = 0
  private var present = 0
  private var now: UInt64 = 1_000_000_000
  private var isFree = true
  private var wantsLook = false

  /// How often anybody could have been chosen, and what was chosen.
  private(set) var pointCount = 0
  private(set) var handOvers: [HandOver] = []
  private(set) var hasRunInCircles = false
  /// Asked before each call of an actor, on its thread; true to stop the world for `look`.
  var wantsLookBefore: ((SimulatedCall) -> Bool)?
  /// Everybody stands still before the call that asked.
  var look: (() -> Void)?
  /// All who have not ended rest.
  var changeWorld: (() -> Void)?

  private struct Point: Hashable {
    let actor: Int
    let step: Int
    let call: Int
  }

  init(_ schedule: Schedule) {
    switch schedule {
    case .random(let seed, let oneIn):
      generator = SeededGenerator(seed: seed)
      self.oneIn = max(1, oneIn)
    case .handOvers(let list):
      for entry in list { byPoint[Point(actor: entry.actor, step: entry.step, call: entry.call)] = entry.to }
    }
  }

  // MARK: the thread that runs it

  /// Runs all bodies to their ends, one at a time. False when they hang; their threads are left behind then.
  func run(_ bodies: [@Sendable () -> Void]) -> Bool {
    places = bodies.map { _ in Place() }
    isFree = false
    let threads = bodies.indices.map { index in
      BackgroundThread(name: "actor \(index)", stackByteCount: 4 << 20) { [self] in
        places[index].baton.wait()
        SystemClock.simulate(ActorTime(scheduler: self, actor: index))
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
    for thread in threads { thread?.join() }
    isFree = true
    return true
  }

  /// Who goes on; nil when all have ended.
  private func nextAwake() -> Int? {
    while true {
      if isAwake(next) { return next }
      for offset in 1...places.count where isAwake((next + offset) % places.count) { return (next + offset) % places.count }
      var earliest: UInt64?
      for case .sleeping(let until) in places.map(\.life) { earliest = min(earliest ?? .max, until) }
      if let earliest {
        now = max(now, earliest)
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
    case .sleeping(let until): until <= now
    case .resting, .ended: false
    }
  }

  // MARK: the threads of actors

  func beginStep(_ step: Int, of actor: Int) {
    places[actor].step = step
    places[actor].call = 0
  }

  /// Before a call of the disk. Returns when the actor goes on.
  func point(_ actor: Int, _ call: SimulatedCall) {
    if isFree { return }
    now += Scheduler.nanosecondsPerCall
    places[actor].call += 1
    pointCount += 1
    if pointCount > Scheduler.mostCalls { hasRunInCircles = true }
    wantsLook = wantsLookBefore?(call) ?? false
    next = choose(actor)
    if next != actor {
      handOvers.append(HandOver(actor: actor, step: places[actor].step, call: places[actor].call, to: next))
    }
    if next != actor || wantsLook { park(actor) }
  }

  private func choose(_ actor: Int) -> Int {
    if let to = byPoint[Point(actor: actor, step: places[actor].step, call: places[actor].call)] {
      return to < places.count && isAwake(to) ? to : actor
    }
    guard oneIn != .max, places.count > 1, Int.random(in: 0..<oneIn, using: &generator) == 0 else { return actor }
    let to = (actor + Int.random(in: 1..<places.count, using: &generator)) % places.count
    return isAwake(to) ? to : actor
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

  /// Until all others rest too, or have ended.
  func rest(_ actor: Int) {
    places[actor].life = .resting
    next = (actor + 1) % places.count
    park(actor)
  }

  func time() -> UInt64 {
    // Somebody who looks again and again must see it go on.
    now += 1_000
    return now
  }

  private func park(_ actor: Int) {
    own.give()
    places[actor].baton.wait()
  }
}

/// The clock of one actor's thread.
private final class ActorTime: SimulatedTime {
  private let scheduler: Scheduler
  private let actor: Int

  init(scheduler: Scheduler, actor: Int) {
    self.scheduler = scheduler
    self.actor = actor
  }

  func monotonicNanoseconds() -> UInt64 { scheduler.time() }
  func sleep(nanoseconds: UInt64) { scheduler.sleep(actor, nanoseconds: nanoseconds) }
}

/// Given to one thread, which waits for it.
private final class Baton: Sendable {
  private let monitor = Monitor()
  private let isGiven = Atomic<Bool>(false)

  func give() {
    monitor.withLock {
      isGiven.store(true, ordering: .relaxed)
      monitor.signal()
    }
  }

  func wait() { _ = wait(nanoseconds: .max) }

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
