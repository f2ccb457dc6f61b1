/// How the whole test suite runs on another way of reading: `DAYBOOK_ACCESS=buffered swift test`.
///
/// The variable changes what options say before anybody sets them, and makes ring, cache and windows so small that pages
/// leave while somebody might still look at them. Only debug builds look at it: it is for the suite, which makes its options
/// in hundreds of places.
///
/// Always true: in a release build this is `false` at compile time.
#if DEBUG
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif
#endif

package enum TestSetting {
  #if DEBUG
    /// Whether options read with `pread` unless they say something else.
    package static let isBuffered: Bool = {
      // Safe: nobody changes the environment of the tests; the text is copied at once.
      guard let name = unsafe getenv("DAYBOOK_ACCESS") else { return false }
      return unsafe String(cString: name) == "buffered"
    }()
  #else
    /// Whether options read with `pread` unless they say something else.
    @inlinable package static var isBuffered: Bool { false }
  #endif
}
