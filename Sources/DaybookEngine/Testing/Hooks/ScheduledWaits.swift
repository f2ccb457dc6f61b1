/// Time on a thread whose scheduler also decides when it gets a lock and who wakes it: for several threads of one database.
///
/// Only monitors that were made on such a thread ask the scheduler (`Monitor.isScheduled`), and only on such threads.
package protocol ScheduledWaits: SimulatedTime {
  func lock(_ monitor: Monitor)
  func unlock(_ monitor: Monitor)
  /// Releases the lock until woken, then takes it again; false when the time is over.
  func wait(_ monitor: Monitor, at condition: Int, nanoseconds: UInt64?) -> Bool
  /// Wakes one waiter, or all.
  func wake(_ monitor: Monitor, at condition: Int, all: Bool)
  /// Called by a thread that polls: lets others go on.
  func yield()
}
