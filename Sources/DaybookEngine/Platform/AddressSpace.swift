/// How much address space a process has for files.
///
///     a process on     Linux, macOS    128 TB          each file reserves 1 TB and grows in place
///                      iOS             a few GB        files are read with `pread`, unless somebody asks for a mapping
///
/// A reservation costs no memory, but where there are only a few gigabytes, the first file that took what it may ever need
/// would leave nothing for the second, or for the file of a compaction.
///
/// Always true: the answer is one for the life of the process. It decides what is asked for, never what is granted.
package enum AddressSpace {
  /// What a file may grow to in its place, where there is plenty.
  static let fileByteCount = 1 << 40

  /// Whether the system grants so much at once that nobody has to count.
  package static let isAmple: Bool = {
    guard let base = unsafe SystemCall.reserveAddresses(byteCount: fileByteCount) else { return false }
    // Safe: reserved on the line above, and nobody else knows of it.
    unsafe SystemCall.unmap(base, byteCount: fileByteCount)
    return true
  }()

  /// What to reserve for a file of this length.
  static func wish(forFileOf byteCount: Int) -> Int {
    // Twice the length, because a file becomes twice as long as what lives in it before it is compacted.
    isAmple ? fileByteCount : max(256 << 20, byteCount.multipliedReportingOverflow(by: 2).partialValue)
  }

  /// What to reserve for a file in memory, of which nobody knows how long it will be.
  static var wishForMemory: Int { isAmple ? 64 << 30 : 256 << 20 }
}
