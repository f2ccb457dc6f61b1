#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Work for the end of the process: files that only it needs go then. A process that is killed leaves them to the system.
package enum ProcessEnd {
  private static let works = PerProcess { Locked<[@Sendable () -> Void]>([]) }

  /// A child keeps what its parent has registered.
  private static let isRegistered = atexit { ProcessEnd.run() } == 0

  /// Performs a piece of work when the process exits by itself, on the thread that ends it. In a child after `fork` only what was
  /// asked for there is done.
  package static func perform(_ work: @escaping @Sendable () -> Void) {
    _ = isRegistered
    works.value.withLock { $0.append(work) }
  }

  private static func run() {
    let works = works.value.withLock { works in
      defer { works = [] }
      return works
    }
    for work in works { work() }
  }
}
