/// Locks and conditions of threads that a scheduler runs.
///
///     actor 0   lock ━━━━━━━━━ wait ┓                      ┏━ goes on, with the lock
///     actor 1                       ┗━ lock ━━ wake, unlock ┛
///
/// Before a lock is taken and before a thread is woken, another actor may go on. The scheduler knows the holders, so it skips
/// an actor that would block. The mutex itself is taken, too, for threads without a scheduler.
///
/// Waiters of one condition are woken in the order in which they came, and never without a signal.
import DaybookEngine

/// The clock and the waits of one actor's thread.
final class ActorWaits: ActorTime, ScheduledWaits, @unchecked Sendable {
  func lock(_ monitor: Monitor) {
    scheduler.point()
    scheduler.take(monitor, actor)
  }
  func unlock(_ monitor: Monitor) { scheduler.give(monitor) }
  func wait(_ monitor: Monitor, at condition: Int, nanoseconds: UInt64?) -> Bool {
    scheduler.wait(actor, monitor, at: condition, nanoseconds: nanoseconds)
  }
  func wake(_ monitor: Monitor, at condition: Int, all: Bool) {
    scheduler.point()
    scheduler.wake(monitor, at: condition, all: all)
  }
  func yield() {
    scheduler.point()
    // Others go on; otherwise it would poll forever.
    scheduler.sleep(actor, nanoseconds: 1_000)
  }
}

extension Scheduler {
  func take(_ monitor: Monitor, _ actor: Int) {
    let id = ObjectIdentifier(monitor)
    while holders[id] != nil { block(actor, .locking(id)) }
    holders[id] = actor
    monitor.lockMutex()
  }

  func give(_ monitor: Monitor) {
    holders[ObjectIdentifier(monitor)] = nil
    monitor.unlockMutex()
  }

  /// False when the time was over before it was woken.
  func wait(_ actor: Int, _ monitor: Monitor, at condition: Int, nanoseconds: UInt64?) -> Bool {
    let until = nanoseconds.map { $0 < .max - now ? now + $0 : .max } ?? .max
    waitCount += 1
    places[actor].waitNumber = waitCount
    give(monitor)
    block(actor, .waiting(ObjectIdentifier(monitor), condition: condition, until: until))
    let wasWoken = places[actor].waitNumber == 0
    take(monitor, actor)
    return wasWoken
  }

  func wake(_ monitor: Monitor, at condition: Int, all: Bool) {
    let id = ObjectIdentifier(monitor)
    let waiters = places.indices.filter {
      if case .waiting(id, condition, _) = places[$0].life { true } else { false }
    }.sorted { places[$0].waitNumber < places[$1].waitNumber }
    for actor in all ? waiters[...] : waiters.prefix(1) {
      places[actor].life = .ready
      places[actor].waitNumber = 0
    }
  }
}
