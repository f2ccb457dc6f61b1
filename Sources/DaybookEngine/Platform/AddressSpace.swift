/// How much address space a process has for files, and who has taken how much of it.
///
///     Linux, macOS                     64 TB at once    a file reserves up to 1 TB and grows in place
///     limits, tools that watch          32 GB at once    mapped, too; a file reserves 8 GB, or twice its length, less as they end
///     iOS                              a few GB         files are read with `pread`, unless somebody asks for a mapping
///
/// A reservation costs no memory, but addresses end: a process with one database for each of its users has hundreds open, and
/// a process without addresses cannot allocate memory either. So each file gets a part of what is left. A file that finds nothing,
/// or that outgrows what it got, is read with `pread` from there on (`PageSource`); nothing that is mapped ever moves.
///
/// Always true: the answers about the process are the same for its life; what is taken is counted by `take` and `giveBack`.
import Synchronization

package enum AddressSpace {
  /// Whether there is enough for files to be mapped unless options say otherwise.
  package static let isAmple = total >= 32 << 30

  /// What the system granted at once when it was first asked, a power of two; 0 where it is less than 32 GB.
  private static let total: Int = {
    var byteCount = 64 << 40
    while byteCount >= 32 << 30 {
      if let base = unsafe SystemCall.reserveAddresses(byteCount: byteCount) {
        // Safe: reserved on the line above, and known to this line alone.
        unsafe SystemCall.unmap(base, byteCount: byteCount)
        return byteCount
      }
      byteCount /= 2
    }
    return 0
  }()

  /// What files have reserved.
  private static let taken = Atomic<Int>(0)

  /// What one more file may have beyond its need: a sixteenth of what is left.
  private static var share: Int { max(0, total - taken.load(ordering: .relaxed)) / 16 }

  /// What files and caches leave to everything else of the process, however much there was at first: an allocation that fails ends the
  /// process.
  private static let spareByteCount = isAmple ? 1 << 30 : 256 << 20

  /// What to reserve for a file of this length.
  static func reservation(forFileOf byteCount: Int) -> Int {
    // Twice the length, because a file grows to twice its live bytes before it is compacted.
    let (twice, isTooMuch) = byteCount.multipliedReportingOverflow(by: 2)
    return max(leastReservation, isTooMuch ? byteCount : twice, min(1 << 40, share))
  }

  /// What a file gets that has nearly nothing in it: less where sixteen times as much cannot be had any more, or the first few files
  /// of a process with a limit would leave none to the others.
  private static var leastReservation: Int {
    var byteCount = isAmple ? 8 << 30 : 256 << 20
    if share >= byteCount || isMutant("files-take-all") { return byteCount }
    while byteCount > SystemFile.pieceByteCount, !canBeHad(16 * byteCount) { byteCount /= 2 }
    return byteCount
  }

  /// What to reserve at first for a file in memory whose final length is unknown. More comes in pieces, which are not in place.
  static var reservationForMemory: Int { isAmple ? max(leastReservation, min(64 << 30, share)) : 64 << 20 }

  /// Reserves as much as the system grants, halving the request down to `least`; what is granted is a multiple of `unit`, as
  /// both bounds are. `map` reserves so many bytes, or returns nil.
  static func take(
    upTo most: Int, least: Int, unit: Int, map: (_ byteCount: Int) -> UnsafeMutableRawPointer?
  ) -> (base: UnsafeMutableRawPointer, byteCount: Int)? {
    var byteCount = max(most, least)
    while true {
      if leavesEnough(after: byteCount) || isMutant("files-take-all") && isAmple, let base = unsafe map(byteCount) {
        taken.add(byteCount, ordering: .relaxed)
        return unsafe (base, byteCount)
      }
      if byteCount == least { return nil }
      byteCount = max(least, byteCount / 2 / unit * unit)
    }
  }

  /// Whether so many bytes can be had, and the spare bytes are left. Several threads may be told yes at once.
  static func leavesEnough(after byteCount: Int) -> Bool {
    let (both, isTooMuch) = byteCount.addingReportingOverflow(spareByteCount)
    return !isTooMuch && canBeHad(both)
  }

  private static func canBeHad(_ byteCount: Int) -> Bool {
    guard let base = unsafe SystemCall.reserveAddresses(byteCount: byteCount) else { return false }
    // Safe: reserved on the line above, and known to this line alone.
    unsafe SystemCall.unmap(base, byteCount: byteCount)
    return true
  }

  /// Releases what `take` returned, as a whole.
  static func giveBack(_ base: UnsafeMutableRawPointer, byteCount: Int) {
    // Safe: the caller owns the range, and uses it no more.
    unsafe SystemCall.unmap(base, byteCount: byteCount)
    taken.subtract(byteCount, ordering: .relaxed)
  }
}
