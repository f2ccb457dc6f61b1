/// A value that only one thread at a time can reach.
///
/// Like the standard library's `Mutex`, which on Linux the thread sanitizer cannot see: it would report every value
/// guarded by one as a race, and hide the true reports among them.
package final class Locked<Value>: @unchecked Sendable {
  private let monitor: Monitor
  private var value: Value

  /// - Parameter spansDiskCalls: it is held while the disk is asked, so a scheduler decides about it. Others are held for
  ///   moments, and never where anybody waits.
  package init(_ value: Value, spansDiskCalls: Bool = false) {
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
