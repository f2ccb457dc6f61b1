/// What a child process after `fork` must leave alone: the stores that its parent has open.
///
/// A child has the parent's memory and shares its open descriptions. Its bytes would go into the parent's log, and a lock that
/// it releases is released for both. It has none of the parent's threads, so waiting for one would never end. Therefore the
/// child's copy of every open store is marked as forked at the moment of the fork, before anything else runs there. The paths
/// of a read and a commit need no extra test: a forked store counts as closed and as dead, and says why when it refuses.
///
/// Nor does a child take a lock that was made before the fork: a thread of the parent may have held it then, and no thread would
/// release it here. What has such a lock asks first whose process this is, in `deinit`, too; what all of a process share is a
/// `PerProcess`. Only the lock of this type is held during each fork, and so free in the child.
///
/// Always true: in a child all stores that were open in the parent are forked. (A child made by a bare system call runs no such
/// code; so functions that write or wait also compare `processID()`.)

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif
import Synchronization

/// Something that is told of a fork, in the child.
protocol ForkObserver: AnyObject {
  /// Takes no lock and waits for nobody: a thread that held a lock in the parent does not exist here.
  func didFork()
}

@safe package enum ForkedProcess {
  /// How many forks lie between this process and the first one with stores.
  static let generation = Atomic<Int>(0)

  #if DEBUG
    /// How often a lock was taken here that was made in the parent: tests look.
    package static let inheritedLockCount = Atomic<Int>(0)
  #endif

  /// Held while the process forks, so that the child finds the set whole.
  private static let monitor = Monitor(isScheduled: false, isHeldAtFork: true)
  /// The observers, by address. Guarded by `monitor`.
  nonisolated(unsafe) private static var observers: [UInt: @Sendable () -> Void] = [:]

  private static let isWatching: Bool = {
    pthread_atfork(
      { ForkedProcess.monitor.lock() },
      { ForkedProcess.monitor.unlock() },
      {
        ForkedProcess.generation.add(1, ordering: .relaxed)
        // Safe: this thread holds the monitor since before the fork.
        for tell in unsafe ForkedProcess.observers.values { tell() }
        ForkedProcess.monitor.unlock()
      }) == 0
  }()

  /// The same where every fork counts that comes after the first question.
  static var watchedGeneration: Int {
    _ = isWatching
    return generation.load(ordering: .relaxed)
  }

  /// From here on the observer is told. It calls `remove` before it goes away.
  static func add(_ observer: some ForkObserver & Sendable) {
    precondition(isWatching, "the system has room for three addresses")
    // Safe: `remove` takes out the reference before the object goes away; the monitor guards the set.
    let reference = unsafe Unmanaged.passUnretained(observer)
    let address = unsafe UInt(bitPattern: reference.toOpaque())
    let told = unsafe reference
    monitor.withLock { unsafe observers[address] = { unsafe told._withUnsafeGuaranteedRef { $0.didFork() } } }
  }

  static func remove(_ observer: some ForkObserver) {
    // Safe: only the address is used.
    let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(observer).toOpaque())
    monitor.withLock { _ = unsafe observers.removeValue(forKey: address) }
  }
}
