/// A value that only one thread at a time can reach.
///
/// Like the standard library's `Mutex`. The thread sanitizer cannot see that one on Linux: it would report every value that a
/// `Mutex` guards as a race, and true reports would drown among them.
package final class Locked<Value>: @unchecked Sendable {
  private let monitor: Monitor
  private var value: Value

  /// What guards no value is a `Monitor`: an empty value has no address of its own, and the thread sanitizer reports a race at it.
  /// - Parameter spansDiskCalls: the lock is held during disk calls, so a scheduler must decide about it. Other locks are held
  ///   for moments only, and never while their holder waits.
  package init(_ value: Value, spansDiskCalls: Bool = false) {
    assert(MemoryLayout<Value>.size > 0)
    monitor = spansDiskCalls ? Monitor() : Monitor(isScheduled: false)
    self.value = value
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return try body(&value)
  }
}
