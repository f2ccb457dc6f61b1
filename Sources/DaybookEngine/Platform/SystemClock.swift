/// Time, as the system tells it.
///
/// Only the outermost layer calls these; the layers below are handed a clock.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

package enum SystemClock {
  /// Nanoseconds since some fixed moment; unrelated to the date.
  package static func monotonicNanoseconds() -> UInt64 {
    if let simulated = ThreadTime.current { return simulated.monotonicNanoseconds() }
    #if canImport(Darwin)
      // Darwin's CLOCK_MONOTONIC is the date minus the time of boot, and steps back when the date is set back. This clock
      // counts while the device is awake, as Darwin's timed waits do.
      let time = read(CLOCK_UPTIME_RAW)
    #else
      let time = read(CLOCK_MONOTONIC)
    #endif
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// The time since `monotonicNanoseconds` was `start`.
  package static func nanoseconds(since start: UInt64) -> UInt64 { nanoseconds(from: start, to: monotonicNanoseconds()) }

  /// The time between two values of `monotonicNanoseconds`; 0 when the second is before the first. Clocks of virtual machines
  /// have stepped back, and a negative difference would end the process.
  package static func nanoseconds(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end - start : 0 }

  /// The date, as the user sets it: seconds since 1970 in UTC. May jump either way.
  package static func secondsSince1970() -> Double {
    let time = read(CLOCK_REALTIME)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  /// Sleeps at least this long, even when signals interrupt.
  package static func sleep(nanoseconds: UInt64) {
    if let simulated = ThreadTime.current { return simulated.sleep(nanoseconds: nanoseconds) }
    var request = timespec(nanoseconds: nanoseconds)
    var rest = timespec()
    // Safe: both structures outlive the call.
    while unsafe nanosleep(&request, &rest) != 0 && errno == EINTR { request = rest }
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // Safe: the structure outlives the call, which cannot fail for these two clocks.
    _ = unsafe clock_gettime(clock, &time)
    return time
  }
}

extension timespec {
  init(nanoseconds: UInt64) {
    self.init()
    tv_sec = time_t(nanoseconds / 1_000_000_000)
    tv_nsec = Int(nanoseconds % 1_000_000_000)
  }
}
