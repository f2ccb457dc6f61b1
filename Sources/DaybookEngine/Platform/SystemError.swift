#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The errno of a call that failed.
package struct SystemError: Error {
  package let code: Int32
  package init(code: Int32) { self.code = code }
  static var last: SystemError { SystemError(code: errno) }
}
