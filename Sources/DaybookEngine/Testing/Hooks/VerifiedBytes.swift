import Synchronization

/// The moment after bytes of an operation were verified: a test changes the file there, and then looks at what came of them.
///
/// Always true: in a release build this is nothing at compile time.
package enum VerifiedBytes {
  #if DEBUG
    private static let isWatched = Atomic<Bool>(false)
    private static let watcher = Mutex<(@Sendable (_ salt: UInt64, _ offset: UInt64) -> Void)?>(nil)

    /// Calls `watcher` after each verification, on the thread that verified; nil ends it. One at a time in a process.
    package static func watch(_ watcher: (@Sendable (_ salt: UInt64, _ offset: UInt64) -> Void)?) {
      self.watcher.withLock { $0 = watcher }
      isWatched.store(watcher != nil, ordering: .releasing)
    }

    static func tell(salt: UInt64, offset: UInt64) {
      if isWatched.load(ordering: .acquiring) { watcher.withLock { $0 }?(salt, offset) }
    }
  #else
    @inline(__always)
    static func tell(salt: UInt64, offset: UInt64) {}
  #endif
}
