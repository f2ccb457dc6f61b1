/// Time on threads that a simulation runs: what the clock says there, and what sleeping means.
///
/// The engine waits for other processes by sleeping and looking again. Where a scheduler decides who goes on, such a wait must
/// let the others go on, take no real time, and end at the same call in each run.
///
/// Always true: a thread that nobody has given a time of its own sees the system's clock; where no thread has one, looking for
/// it costs one load.
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

package protocol SimulatedTime: AnyObject, Sendable {
  func monotonicNanoseconds() -> UInt64
  func sleep(nanoseconds: UInt64)
}

/// Time on a thread of which a scheduler decides also when it gets a lock and who wakes it: several threads of one database.
///
/// Only monitors that were made on such a thread ask (`Monitor.isScheduled`), and only threads like it answer to it.
package protocol ScheduledWaits: SimulatedTime {
  func lock(_ monitor: Monitor)
  func unlock(_ monitor: Monitor)
  /// Lets go of the lock until woken, then holds it again; false when the time is over.
  func wait(_ monitor: Monitor, at condition: Int, nanoseconds: UInt64?) -> Bool
  /// Wakes one waiter, or all.
  func wake(_ monitor: Monitor, at condition: Int, all: Bool)
  /// Whoever looks again and again lets others go on.
  func yield()
}

extension SystemClock {
  /// From here on the present thread asks `time`, until it ends.
  package static func simulate(_ time: any SimulatedTime) { ThreadTime.set(time) }
}

@safe final class ThreadTime {
  private let time: any SimulatedTime
  private let waits: (any ScheduledWaits)?
  private static let isUsed = Atomic<Bool>(false)

  private init(_ time: any SimulatedTime) {
    self.time = time
    waits = time as? any ScheduledWaits
  }

  /// The time of the present thread; nil for the system's.
  static var current: (any SimulatedTime)? { isUsed.load(ordering: .relaxed) ? known?.time : nil }
  /// Who decides about the waits of the present thread; nil for the system.
  static var waits: (any ScheduledWaits)? { isUsed.load(ordering: .relaxed) ? known?.waits : nil }

  fileprivate static func set(_ time: any SimulatedTime) {
    isUsed.store(true, ordering: .relaxed)
    precondition(known == nil, "a thread gets its time once")
    // Safe: the key's destructor gives this reference back when the thread ends.
    let code = unsafe pthread_setspecific(key, Unmanaged.passRetained(ThreadTime(time)).toOpaque())
    precondition(code == 0, "a thread has room for one pointer more")
  }

  private static var known: ThreadTime? {
    // Safe: what stands under the key was put there by `set`, for this thread.
    guard let known = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<ThreadTime>.fromOpaque(known).takeUnretainedValue()
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    #if canImport(Darwin)
      let code = unsafe pthread_key_create(&key) { time in unsafe Unmanaged<ThreadTime>.fromOpaque(time).release() }
    #else
      let code = unsafe pthread_key_create(&key) { time in
        if let time = unsafe time { unsafe Unmanaged<ThreadTime>.fromOpaque(time).release() }
      }
    #endif
    precondition(code == 0, "a process has room for one key more")
    return key
  }()
}
