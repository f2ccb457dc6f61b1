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
