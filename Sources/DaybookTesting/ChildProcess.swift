/// Runs a closure in a child process, for tests of `fork` with open databases.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// `fork`: returns 0 in the child, where only the calling thread goes on. Looked up by name, because Swift does not import it.
/// A child may call little more than `_exit`.
package func forkProcess() -> Int32 {
  guard let symbol = unsafe dlsym(nil, "fork") else { return -1 }
  // Safe: the manual page has the function with exactly this type.
  let fork = unsafe unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
  return fork()
}

/// Ends a child without the work that a program does when it exits.
package func exitChild(_ code: Int32) -> Never { _exit(code) }

/// Ends a child that hangs.
package func limitChild(seconds: UInt32) { _ = alarm(seconds) }

/// The status that `waitpid` returns for a child: 0 when it ended with 0.
package func waitForChild(_ process: Int32) -> Int32 {
  var status: Int32 = -1
  // Safe: the number outlives the call.
  while unsafe waitpid(process, &status, 0) == -1, errno == EINTR {}
  return status
}

/// Runs a closure in a child process, whose exit code is the result. It must not use the test's expectations.
/// - Returns: 0 when the child has ended with 0.
package func inChild(_ body: () -> Int32) -> Int32 {
  let process = forkProcess()
  if process == 0 {
    limitChild(seconds: 30)
    exitChild(body())
  }
  return process < 0 ? -1 : waitForChild(process)
}

#if os(Linux)
  /// The same in a child that was made by the bare system call: no handler of a fork has run in it.
  package func inBareChild(_ body: () -> Int32) -> Int32 {
    guard let symbol = unsafe dlsym(nil, "syscall") else { return -1 }
    // Safe: a function that takes any number of words gets these in the registers in which it takes so many.
    let call = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int, Int, Int, Int, Int, Int) -> Int).self)
    #if arch(arm64)
      let clone = 220
    #else
      let clone = 56
    #endif
    let process = Int32(truncatingIfNeeded: call(clone, Int(SIGCHLD), 0, 0, 0, 0))
    if process == 0 {
      limitChild(seconds: 30)
      exitChild(body())
    }
    return process < 0 ? -1 : waitForChild(process)
  }

  /// Runs a closure in a descendant that has the number of this process, as one in a container of its own may have. It must not use
  /// the test's expectations.
  /// - Returns: the closure's result; nil where the system gives no such number, which takes the rights of root.
  package func inNamesake(_ body: () -> Int32) -> Int32? {
    guard let symbol = unsafe dlsym(nil, "unshare"), let other = unsafe dlsym(nil, "setns") else { return nil }
    // Safe: the manual pages have the functions with exactly these types.
    let unshare = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    let enter = unsafe unsafeBitCast(other, to: (@convention(c) (Int32, Int32) -> Int32).self)
    let own = unsafe open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)
    defer { close(own) }
    let newNumbers: Int32 = 0x2000_0000  // CLONE_NEWPID; the constant is not imported
    let number = getpid()
    guard own >= 0, unshare(newNumbers) == 0 else { return nil }
    let first = forkProcess()
    if first == 0 {
      limitChild(seconds: 40)
      // The next process here gets the number after this one.
      let last = unsafe open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC)
      var text = Array("\(number - 1)".utf8)
      guard last >= 0, unsafe write(last, &text, text.count) == text.count else { exitChild(254) }
      exitChild(inChild { getpid() == number ? body() : 254 } >> 8)
    }
    // Else this process could make no thread any more.
    guard enter(own, newNumbers) == 0, first > 0 else { return nil }
    let status = waitForChild(first) >> 8
    return status == 254 ? nil : status
  }
#endif
