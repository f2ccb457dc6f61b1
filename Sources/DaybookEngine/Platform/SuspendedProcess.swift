#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

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
