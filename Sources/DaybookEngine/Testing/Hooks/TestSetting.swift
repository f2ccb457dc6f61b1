/// Settings for the whole test suite: `DAYBOOK_ACCESS=buffered swift test` reads files with `pread`, `DAYBOOK_ACCESS=partly swift
/// test` all but their first 32 KB, and `DAYBOOK_MEMORY=plain swift test` does not poison freed memory.
///
/// The first changes the default of the options. It and the second make ring, cache and windows so small that pages are evicted
/// while a reader might still use them. Only debug builds read these variables. They exist because the suite makes its options in
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
    private static let access: String = {
      // Safe: nobody changes the environment of the tests; the text is copied at once.
      guard let name = unsafe getenv("DAYBOOK_ACCESS") else { return "" }
      return unsafe String(cString: name)
    }()
    /// Whether options read with `pread` unless they say something else.
    package static let isBuffered = access == "buffered"
    /// How much of a file is mapped at most, as if the process had no more address space.
    package static let mappedByteCount = access == "partly" ? 32 << 10 : Int.max
    /// Whether what is kept for reads is kept for as short as can be.
    package static let keepsLittle = !["", "mapped"].contains(access)
    /// Whether freed memory is poisoned unless options say something else: see `DirtyPages`.
    package static let poisonsFreedMemory: Bool = {
      // Safe: as above.
      guard let name = unsafe getenv("DAYBOOK_MEMORY") else { return true }
      return unsafe String(cString: name) != "plain"
    }()
  #else
    /// Whether options read with `pread` unless they say something else.
    @inlinable package static var isBuffered: Bool { false }
    /// How much of a file is mapped at most.
    @inlinable package static var mappedByteCount: Int { .max }
    /// Whether what is kept for reads is kept for as short as can be.
    @inlinable package static var keepsLittle: Bool { false }
    /// Whether freed memory is poisoned unless options say something else.
    @inlinable package static var poisonsFreedMemory: Bool { false }
  #endif
}
