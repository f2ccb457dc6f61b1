#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif
import Synchronization

/// A mutex and the two conditions that belong to it, numbered 0 and 1. Not recursive.
///
/// It is made of pthreads: the standard library's `Mutex` has no condition to wait for, and waits here are for disks, never for
/// tasks. Mutex and conditions live on the heap, because pthreads must never move.
///
/// Condition 0 is for everybody. Condition 1 is a line: of those who wait there, only one can go on at a time.
@safe package final class Monitor: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutablePointer<pthread_cond_t>
  private static let conditionCount = 2
  private static let everybody = 0
  private static let line = 1
  /// Made on a thread whose waits a scheduler decides; such threads ask their scheduler here. A flag beside the mutex, so that
  /// the test costs one well predicted branch.
  private let isScheduled: Bool
  /// In which generation of processes it was made, see `ForkedProcess`; -1 for one that is held during each fork.
  private let generation: Int

  package convenience init() { self.init(isScheduled: ThreadTime.waits != nil) }

  package init(isScheduled: Bool, isHeldAtFork: Bool = false) {
    self.isScheduled = isScheduled
    generation = isHeldAtFork ? -1 : ForkedProcess.generation.load(ordering: .relaxed)
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe conditions = .allocate(capacity: Monitor.conditionCount)
    // Safe: fresh memory that lives, unmoved, as long as this object; the same holds for every call below.
    let madeMutex = unsafe Monitor.initialize(mutex)
    precondition(madeMutex == 0, "making a mutex of given memory cannot fail")
    for number in 0..<Monitor.conditionCount {
      unsafe (conditions + number).initialize(to: pthread_cond_t())
      let madeCondition = unsafe Monitor.initialize(conditions + number)
      precondition(madeCondition == 0, "making a condition of given memory cannot fail")
    }
  }

  private var isInherited: Bool { generation >= 0 && generation != ForkedProcess.generation.load(ordering: .relaxed) }

  deinit {
    // In a child after `fork` the parent's threads wait there without end: the system's calls would wait for them.
    if isInherited { return }
    for number in 0..<Monitor.conditionCount { unsafe pthread_cond_destroy(conditions + number) }
    unsafe pthread_mutex_destroy(mutex)
    unsafe conditions.deallocate()
    unsafe mutex.deallocate()
  }

  package func lock() {
    if isScheduled, let waits = ThreadTime.waits { return waits.lock(self) }
    lockMutex()
  }

  package func unlock() {
    if isScheduled, let waits = ThreadTime.waits { return waits.unlock(self) }
    unlockMutex()
  }

  /// The lock itself, for schedulers.
  package func lockMutex() {
    #if DEBUG
      if isInherited { ForkedProcess.inheritedLockCount.add(1, ordering: .relaxed) }
    #endif
    let code = unsafe pthread_mutex_lock(mutex)
    precondition(code == 0, "a monitor is not locked twice by one thread")
  }

  package func unlockMutex() {
    let code = unsafe pthread_mutex_unlock(mutex)
    precondition(code == 0, "a monitor is unlocked by the thread that locked it")
  }

  package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Releases the lock until signalled, then takes it again. May return without a signal: test the state in a loop.
  package func wait(at number: Int = everybody) {
    if isScheduled, let waits = ThreadTime.waits {
      _ = waits.wait(self, at: number, nanoseconds: nil)
      return
    }
    _ = unsafe pthread_cond_wait(condition(number), mutex)
  }

  /// The same with a time limit; false when the time is over. Uses the monotonic clock.
  package func wait(nanoseconds: UInt64) -> Bool {
    if isScheduled, let waits = ThreadTime.waits {
      return waits.wait(self, at: Monitor.everybody, nanoseconds: nanoseconds)
    }
    // A century is long enough, and with it no sum below overflows.
    let limit = min(nanoseconds, 100 * 365 * 86_400 * 1_000_000_000)
    return unsafe Monitor.wait(condition(Monitor.everybody), mutex, nanoseconds: limit) != ETIMEDOUT
  }

  /// Waits in the line, where only one can go on at a time.
  package func waitInLine() { wait(at: Monitor.line) }

  /// Wakes one waiter in the line, and all who wait outside it.
  package func wakeNext() {
    signal(at: Monitor.line)
    broadcast(at: Monitor.everybody)
  }

  /// Wakes one waiter in the line.
  package func signalLine() { signal(at: Monitor.line) }

  /// Wakes all who wait outside the line.
  package func wakeOutsideLine() { broadcast(at: Monitor.everybody) }

  /// Wakes one waiter at a condition.
  package func signal(at number: Int = everybody) {
    if isScheduled, let waits = ThreadTime.waits { waits.wake(self, at: number, all: false) }
    _ = unsafe pthread_cond_signal(condition(number))
  }

  /// Wakes all waiters at a condition.
  package func broadcast(at number: Int) {
    if isScheduled, let waits = ThreadTime.waits { waits.wake(self, at: number, all: true) }
    _ = unsafe pthread_cond_broadcast(condition(number))
  }

  /// Wakes all waiters.
  package func broadcast() {
    for number in 0..<Monitor.conditionCount { broadcast(at: number) }
  }

  private func condition(_ number: Int) -> UnsafeMutablePointer<pthread_cond_t> {
    precondition((0..<Monitor.conditionCount).contains(number), "a monitor has the conditions 0 and 1")
    // Safe: it is one of them.
    return unsafe conditions + number
  }

  private static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 {
    #if canImport(Glibc)
      // A thread that finds it locked tries a few times more before it sleeps.
      var attributes = pthread_mutexattr_t()
      _ = unsafe pthread_mutexattr_init(&attributes)
      defer { _ = unsafe pthread_mutexattr_destroy(&attributes) }
      _ = unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
      return unsafe pthread_mutex_init(mutex, &attributes)
    #else
      return unsafe pthread_mutex_init(mutex, nil)
    #endif
  }

  private static func initialize(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 {
    #if canImport(Darwin)
      // Darwin cannot choose a condition's clock, but it can wait for a relative time, which serves as well.
      return unsafe pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      _ = unsafe pthread_condattr_init(&attributes)
      defer { _ = unsafe pthread_condattr_destroy(&attributes) }
      _ = unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      return unsafe pthread_cond_init(condition, &attributes)
    #endif
  }

  private static func wait(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
    nanoseconds: UInt64
  ) -> Int32 {
    #if canImport(Darwin)
      var limit = timespec(nanoseconds: nanoseconds)
      return unsafe pthread_cond_timedwait_relative_np(condition, mutex, &limit)
    #else
      var deadline = timespec(nanoseconds: SystemClock.monotonicNanoseconds() + nanoseconds)
      return unsafe pthread_cond_timedwait(condition, mutex, &deadline)
    #endif
  }
}

/// Lets another thread run, if one waits for this processor.
func yieldProcessor() {
  if let waits = ThreadTime.waits { return waits.yield() }
  _ = sched_yield()
}
