#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A thread that runs one closure. Dropping the object lets the thread run on; `join` waits for its end.
package final class BackgroundThread: @unchecked Sendable {
  private let thread: ThreadNumber
  private let monitor = Monitor()
  private var isJoined = false
  private let process = processID()

  /// Starts the thread; nil when the system has no more threads to give.
  package init?(name: String, stackByteCount: Int = 1 << 20, body: @Sendable @escaping () -> Void) {
    let start = ThreadStart(name: name, body: body)
    guard let thread = ThreadNumber.create(stackByteCount: stackByteCount, start) else { return nil }
    self.thread = thread
  }

  deinit {
    // A thread is joined or detached, exactly once.
    if !isJoined, process == processID() { thread.detach() }
  }

  /// Waits until the closure has returned. Called from within the closure, it returns at once: it would wait for itself.
  package func join() {
    // A child after `fork` has none of its parent's threads, so it would wait forever.
    guard process == processID(), !thread.isCurrent else { return }
    monitor.withLock {
      guard !isJoined else { return }
      isJoined = true
      thread.join()
    }
  }
}

/// The number of the calling thread: never 0, and unique among threads that run.
@inline(__always)
func currentThreadNumber() -> UInt {
  #if canImport(Glibc)
    UInt(pthread_self())
  #else
    // Safe: only the address is used, as a number.
    unsafe UInt(bitPattern: pthread_self())
  #endif
}

/// A `pthread_t` as a number. Glibc has numbers, Darwin and Musl have pointers.
private struct ThreadNumber: Sendable {
  private let bits: UInt

  static func create(stackByteCount: Int, _ start: ThreadStart) -> ThreadNumber? {
    var attributes = pthread_attr_t()
    guard unsafe pthread_attr_init(&attributes) == 0 else { return nil }
    defer { _ = unsafe pthread_attr_destroy(&attributes) }
    // If the system refuses the size, its default stays, which is larger.
    _ = unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
    // Safe: the new thread takes over this reference; if there is none, it is released below.
    let argument = unsafe Unmanaged.passRetained(start).toOpaque()
    #if canImport(Glibc)
      var thread = pthread_t()
      let code = unsafe pthread_create(&thread, &attributes, { unsafe ThreadStart.run($0) }, argument)
      let bits = UInt(thread)
    #else
      var thread: pthread_t?
      let code = unsafe pthread_create(&thread, &attributes, { unsafe ThreadStart.run($0) }, argument)
      let bits = UInt(bitPattern: thread)
    #endif
    guard code == 0 else {
      unsafe Unmanaged<ThreadStart>.fromOpaque(argument).release()
      return nil
    }
    return ThreadNumber(bits: bits)
  }

  var isCurrent: Bool { currentThreadNumber() == bits }

  // Safe: the pointer came from `pthread_create`, and the thread is joined or detached exactly once.

  func join() {
    #if canImport(Glibc)
      _ = pthread_join(pthread_t(bits), nil)
    #else
      if let thread = unsafe pthread_t(bitPattern: bits) { _ = unsafe pthread_join(thread, nil) }
    #endif
  }

  func detach() {
    #if canImport(Glibc)
      _ = pthread_detach(pthread_t(bits))
    #else
      if let thread = unsafe pthread_t(bitPattern: bits) { _ = unsafe pthread_detach(thread) }
    #endif
  }
}

/// What a new thread is handed through C.
private final class ThreadStart: Sendable {
  private let name: String
  private let body: @Sendable () -> Void

  init(name: String, body: @Sendable @escaping () -> Void) {
    self.name = name
    self.body = body
  }

  static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    // Safe: `create` passed one retained reference, for this thread alone.
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    ThreadStart.nameThread(start.name)
    start.body()
    return nil
  }

  /// For debuggers and `top` only, so failures do not matter.
  private static func nameThread(_ name: String) {
    #if canImport(Darwin)
      _ = unsafe pthread_setname_np(name)
    #else
      // `pthread_setname_np` is a GNU function that Swift does not import; the kernel takes the name from here too.
      let descriptor = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      let bytes = Array(name.utf8.prefix(15))
      _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      _ = close(descriptor)
    #endif
  }
}
