/// Settings for the whole test suite: `DAYBOOK_ACCESS=buffered swift test` reads files with `pread`, and `DAYBOOK_MEMORY=plain
/// swift test` does not poison freed memory.
///
/// The first changes the default of the options, and makes ring, cache and windows so small that pages are evicted while a
/// reader might still use them. Only debug builds read these variables. They exist because the suite makes its options in
/// hundreds of places.
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
    /// Whether freed memory is poisoned unless options say something else: see `DirtyPages`.
    package static let poisonsFreedMemory: Bool = {
      // Safe: as above.
      guard let name = unsafe getenv("DAYBOOK_MEMORY") else { return true }
      return unsafe String(cString: name) != "plain"
    }()
  #else
    /// Whether options read with `pread` unless they say something else.
    @inlinable package static var isBuffered: Bool { false }
    /// Whether freed memory is poisoned unless options say something else.
    @inlinable package static var poisonsFreedMemory: Bool { false }
  #endif
}
