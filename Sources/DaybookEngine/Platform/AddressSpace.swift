/// How much address space a process has for files.
///
///     Linux, macOS                     1 TB at once     each file reserves that and grows in place
///     limits, tools that watch          32 GB at once    mapped, too; each file reserves 8 GB, or twice its length
///     iOS                              a few GB         files are read with `pread`, unless somebody asks for a mapping
///
/// A reservation costs no memory. But where there are only a few gigabytes of addresses, a first file that reserved all it may
/// ever need would leave none for a second file, or for the file of a compaction.
///
/// Always true: the answers are the same for the life of the process. They decide what is asked for, never what is granted.
package enum AddressSpace {
  /// Whether there is enough for files to be mapped unless options say otherwise.
  package static let isAmple = isPlentiful || isGranted(32 << 30)

  private static let isPlentiful = isGranted(1 << 40)

  private static func isGranted(_ byteCount: Int) -> Bool {
    guard let base = unsafe SystemCall.reserveAddresses(byteCount: byteCount) else { return false }
    // Safe: reserved on the line above, and nobody else knows of it.
    unsafe SystemCall.unmap(base, byteCount: byteCount)
    return true
  }

  /// What to reserve for a file of this length.
  static func reservation(forFileOf byteCount: Int) -> Int {
    if isPlentiful { return 1 << 40 }
    // Twice the length, because a file grows to twice its live bytes before it is compacted.
    let (twice, isTooMuch) = byteCount.multipliedReportingOverflow(by: 2)
    return max(isAmple ? 8 << 30 : 256 << 20, isTooMuch ? byteCount : twice)
  }

  /// What to reserve for a file in memory whose final length is unknown.
  static var reservationForMemory: Int { isPlentiful ? 64 << 30 : isAmple ? 8 << 30 : 256 << 20 }
}
