/// Time on threads that a simulation runs: what the clock says there, and what sleeping means.
///
/// The engine waits for other processes by sleeping and looking again. In a simulation such a wait lets the other actors go
/// on, takes no real time, and ends at the same call in each run.
///
/// A thread without a time of its own sees the system's clock.
package protocol SimulatedTime: AnyObject, Sendable {
  func monotonicNanoseconds() -> UInt64
  func sleep(nanoseconds: UInt64)
}
