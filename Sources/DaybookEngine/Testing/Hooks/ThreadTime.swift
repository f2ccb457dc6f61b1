import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SystemClock {
  /// From here on, the present thread takes its time from `time`.
  package static func simulate(_ time: any SimulatedTime) { ThreadTime.set(time) }
}

/// The time that a simulation has given to the present thread, under a key of the thread.
///
/// Always true: a thread gets its time once. As long as no thread has one, asking costs one load.
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
  /// The scheduler that decides about the waits of the present thread; nil for the system.
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
