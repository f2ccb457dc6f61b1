#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A place in which each thread keeps an object of its own; it is released when the thread ends.
///
/// Always true: what a thread finds here, it has put here itself.
@safe struct ThreadKey<Object: AnyObject>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    // Safe: under the key are objects that `set` has retained, and nothing else.
    #if canImport(Darwin)
      let code = unsafe pthread_key_create(&key) { object in unsafe Unmanaged<AnyObject>.fromOpaque(object).release() }
    #else
      let code = unsafe pthread_key_create(&key) { object in
        if let object = unsafe object { unsafe Unmanaged<AnyObject>.fromOpaque(object).release() }
      }
    #endif
    precondition(code == 0, "a process has room for one key more")
    self.key = key
  }

  /// The object of the present thread; nil until `set` was called on it.
  @inline(__always) var object: Object? {
    // Safe: put there by `set`, for this thread.
    guard let known = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(known).takeUnretainedValue()
  }

  /// Calls `body` with the object of the present thread, without counting a reference; nil until `set` was called on it.
  @inline(__always) func withObject<R>(_ body: (Object) -> R) -> R? {
    // Safe: the thread keeps it as long as it runs.
    guard let known = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(known)._withUnsafeGuaranteedRef { body($0) }
  }

  /// Keeps an object for the present thread, which has none yet.
  func set(_ object: Object) {
    // Safe: the key's destructor gives this reference back when the thread ends.
    let code = unsafe pthread_setspecific(key, Unmanaged.passRetained(object).toOpaque())
    precondition(code == 0, "a thread has room for one pointer more")
  }
}
