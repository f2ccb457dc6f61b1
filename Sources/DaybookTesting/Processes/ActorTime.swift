import DaybookEngine

/// The clock of one actor's thread.
class ActorTime: SimulatedTime, @unchecked Sendable {
  let scheduler: Scheduler
  let actor: Int

  required init(scheduler: Scheduler, actor: Int) {
    self.scheduler = scheduler
    self.actor = actor
  }

  func monotonicNanoseconds() -> UInt64 { scheduler.time() }
  func sleep(nanoseconds: UInt64) { scheduler.sleep(actor, nanoseconds: nanoseconds) }
}
