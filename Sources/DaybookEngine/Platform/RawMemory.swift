/// Large runs of zeroed memory from the system, which cost nothing until they are touched.
///
/// For what must not move while it grows: the content of a file in memory, the pages of a long transaction.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

package enum RawMemory {
  /// Zeroed, readable and writable memory, aligned to a page; nil when the system refuses that much.
  package static func reserveZeroed(byteCount: Int) -> UnsafeMutableRawPointer? {
    precondition(byteCount > 0, "nothing cannot be reserved")
    return unsafe SystemCall.mapZeroed(byteCount: byteCount)
  }

  /// The same for memory that is used throughout, in large pages where the system has them. The length is a multiple of 2 MB.
  static func reserveZeroedInLargePages(byteCount: Int) -> UnsafeMutableRawPointer? {
    unsafe SystemCall.mapZeroedInLargePages(byteCount: byteCount)
  }

  /// The same, but halves the request until it is a quarter of what is left over the spare bytes; the last request, before it would be
  /// less than `least`, need leave nothing.
  package static func reserveZeroed(
    upTo most: Int, least: Int
  ) -> (base: UnsafeMutableRawPointer, byteCount: Int)? {
    var byteCount = most
    while byteCount >= least {
      if isMutant("cache-takes-all") || byteCount / 2 < least
        || AddressSpace.leavesEnough(after: byteCount.multipliedReportingOverflow(by: 4).overflow ? .max : byteCount * 4),
        let base = unsafe reserveZeroed(byteCount: byteCount)
      {
        return unsafe (base, byteCount)
      }
      byteCount /= 2
    }
    return nil
  }

  /// Called before large values are copied into memory of the C library's allocator, which are freed soon.
  ///
  /// Glibc's returns the end of its heap to the system, from 128 KB on, so that the next copy meets pages that are not there:
  /// nine tenths of a read of 100 KB. It learns from a mapping that is freed how much a process takes and frees: as much comes from the
  /// heap from then on, of which it keeps twice as much. So one is made and freed, once; no page of it is touched. Where an
  /// application has set this itself, nothing changes.
  package static func expectLargeValues() {
    #if canImport(Glibc)
      _ = hasFreedMapping
    #endif
  }

  #if canImport(Glibc)
    private static let hasFreedMapping: Bool = {
      var memory: UnsafeMutableRawPointer?
      // Safe: freed at once, and not looked at. Not `malloc`: the compiler leaves out memory that is not used.
      guard unsafe posix_memalign(&memory, 16, 4 << 20) == 0 else { return false }
      unsafe free(memory)
      return true
    }()
  #endif

  /// Gives back what `reserveZeroed` returned, as a whole.
  package static func release(_ base: UnsafeMutableRawPointer, byteCount: Int) {
    unsafe SystemCall.unmap(base, byteCount: byteCount)
  }

  /// Makes a range of a reservation zero again; whole pages of it go back to the system.
  package static func clear(_ base: UnsafeMutableRawPointer, _ range: Range<Int>) {
    let page = SystemCall.memoryPageByteCount
    let wholePages = (range.lowerBound + page - 1) / page * page
    let pagesEnd = range.upperBound / page * page
    guard wholePages < pagesEnd else {
      // Safe: the caller owns the range; the same holds for the lines below.
      return unsafe zero(base + range.lowerBound, byteCount: range.count)
    }
    unsafe zero(base + range.lowerBound, byteCount: wholePages - range.lowerBound)
    unsafe zero(base + pagesEnd, byteCount: range.upperBound - pagesEnd)
    let byteCount = pagesEnd - wholePages
    if unsafe !SystemCall.remapZeroed(base + wholePages, byteCount: byteCount) {
      unsafe zero(base + wholePages, byteCount: byteCount)
    }
  }

  /// Zeroes memory that the caller owns. The standard library's loop is as fast in a release build, but in a debug
  /// build, which tests run in, it takes a thousand times as long.
  package static func zero(_ target: UnsafeMutableRawPointer, byteCount: Int) {
    // Safe: the caller owns `byteCount` bytes at `target`.
    _ = unsafe memset(target, 0, byteCount)
  }

  /// Whether every byte of memory has one value. Uses the C library's comparison, for the same reason.
  static func isFilled(_ memory: UnsafeMutableRawPointer, byteCount: Int, with byte: UInt8) -> Bool {
    // Safe: the caller owns `byteCount` bytes at `memory`; each is compared with the one before it.
    unsafe memory.load(as: UInt8.self) == byte && memcmp(memory, memory + 1, byteCount - 1) == 0
  }

  /// Fills memory with one byte.
  static func fill(_ target: UnsafeMutableRawPointer, byteCount: Int, with byte: UInt8) {
    // Safe: as above.
    _ = unsafe memset(target, Int32(byte), byteCount)
  }
}
