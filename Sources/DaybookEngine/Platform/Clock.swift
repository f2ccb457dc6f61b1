/// Time and identity of the process, as the system tells them.
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

/// Processes that are suspended by their system, and how others know that they are still there.
package enum SuspendedProcess {
  /// Whether the system ends a suspended process that has a lock: Apple's does, for files that applications share.
  package static var mayKeepLocks: Bool {
    #if canImport(Darwin)
      false
    #else
      true
    #endif
  }

  /// What such a process leaves in a file in place of a lock: its number, and the system in which that means something. The system
  /// is one from its start to its end; without it, numbers of other machines, and of earlier starts, would be taken for its own.
  package static var note: String { "\(getpid()) \(system ?? "-")\n" }

  /// Whether the process that wrote a note is still there; nil where that cannot be known here.
  package static func isAlive(_ note: String) -> Bool? {
    let parts = note.split(separator: "\n").first?.split(separator: " ") ?? []
    guard parts.count == 2, let process = Int32(parts[0]), process > 0, let system, parts[1] == system else { return nil }
    return kill(process, 0) == 0 || errno == EPERM
  }

  /// Nil where processes of one system have several numbers: a container does not see those of another one.
  private static let system: String? = {
    #if canImport(Darwin)
      var bytes = [UInt8](repeating: 0, count: 64)
      var count = bytes.count
      // Safe: the array has room for `count` bytes, which is updated.
      let code = unsafe bytes.withUnsafeMutableBytes {
        unsafe sysctlbyname("kern.bootsessionuuid", $0.baseAddress, &count, nil, 0)
      }
      guard code == 0 else { return nil }
      return String(decoding: bytes.prefix(count).prefix { $0 != 0 }, as: UTF8.self)
    #else
      return nil
    #endif
  }()
}

extension timespec {
  init(nanoseconds: UInt64) {
    self.init()
    tv_sec = time_t(nanoseconds / 1_000_000_000)
    tv_nsec = Int(nanoseconds % 1_000_000_000)
  }
}
