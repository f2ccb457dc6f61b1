import Synchronization

extension SystemClock {
  /// From here on, the present thread takes its time from `time`.
  package static func simulate(_ time: any SimulatedTime) { ThreadTime.set(time) }
}

/// The time that a simulation has given to the present thread, under a key of the thread.
///
/// Always true: a thread gets its time once. As long as no thread has one, asking costs one load.
final class ThreadTime {
  private let time: any SimulatedTime
  private let waits: (any ScheduledWaits)?
  private static let isUsed = Atomic<Bool>(false)

  private init(_ time: any SimulatedTime) {
    self.time = time
    waits = time as? any ScheduledWaits
  }

  /// The time of the present thread; nil for the system's.
  static var current: (any SimulatedTime)? { isUsed.load(ordering: .relaxed) ? known?.time : nil }
  /// The scheduler that decides about the waits of the present thread; nil for the system.
  static var waits: (any ScheduledWaits)? { isUsed.load(ordering: .relaxed) ? known?.waits : nil }

  fileprivate static func set(_ time: any SimulatedTime) {
    isUsed.store(true, ordering: .relaxed)
    precondition(known == nil, "a thread gets its time once")
    key.set(ThreadTime(time))
  }

  private static let key = ThreadKey<ThreadTime>()
  private static var known: ThreadTime? { key.object }
}
