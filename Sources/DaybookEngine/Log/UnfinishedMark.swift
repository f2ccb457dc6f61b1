/// Says that a file was made under a name that was not to be its own: a sector of the first page.
///
///     offset  size  field
///       2560     8  hash of the name under which it is made, its last component: XXH3, seed 0; never 0
///       2568     8  who makes it: 0 a compaction, 1 a copy
///       2576   488  zero
///       3064     8  checksum of bytes 2560 ..< 3064
///
/// A compaction makes NAME.compacted, a backup or a salvage NAME.unfinished. The next one removes such a file if no process has
/// locked it; but people give databases such names, too. So only a file is removed that says itself that it was made under the
/// name that it has, and does not say that it was finished.
///
/// The sector is written once, before the file has that name, and stays: where a disk may destroy more than it writes, nothing
/// is to be written into this page. What says that the file was finished comes later, and writes into no sector that has
/// what a caller was promised (`Store+Leftover`). A compaction says it by a frame of the log in which commits go on. A copy is
/// closed before it has its name, with zeros after the `closed` frame; without these it is finished:
///
///     compaction: made ── filled ── least length, sync ────────────────────────────── its name ── `closed` frame ── commits …
///     copy:       made ── filled ── least length, zeros, sync ── `closed` frame, sync ── its name ── zeros cut off ── …
///                 └────────────────────────── is a leftover here ────────────────────────────┘ └── or a frame more: is none
///
/// The sector has its own checksum and counts as zeros in the header's, so a damaged one costs nothing but that the file is
/// left alone. Spec: FORMAT.md §2.
package enum UnfinishedMark {
  static let offset = 2560
  static let byteCount = 512
  static let range = offset..<offset + byteCount

  /// What a file is made for.
  package enum Maker: Sendable {
    case compaction, copy
  }

  /// The number of a name.
  package static func number(of name: String) -> UInt64 {
    let bytes = ByteBuffer(capacity: 256)
    bytes.append(utf8: name)
    return max(1, XXH3.hash(bytes.view, seed: 0))
  }

  /// The number of the name under which a file was made; 0 when it is no such file. The header's checksum is not asked:
  /// the first page is written again while the file is made, and a crash may have torn that.
  package static func read(_ page: ByteView) -> UInt64 {
    guard page.count >= FileHeader.byteCount, page.uint64(at: 0) == FileHeader.magic else { return 0 }
    let sector = page.slice(range)
    let salt = page.uint64(at: FileHeader.saltOffset)
    guard sector.uint64(at: byteCount - 8) == checksum(of: sector, salt: salt) else { return 0 }
    return sector.uint64(at: 0)
  }

  /// Who made a file that `read` has found to be one.
  static func maker(_ page: ByteView) -> Maker { page.slice(range).uint64(at: 8) == 1 ? .copy : .compaction }

  /// Whether there is something in the sector that is no mark.
  static func isDamaged(_ page: ByteView) -> Bool {
    page.count >= FileHeader.byteCount && read(page) == 0 && page.slice(range).array.contains { $0 != 0 }
  }

  /// The sector of a file that is to be made; zeros for 0.
  static func encoded(_ number: UInt64, _ maker: Maker, salt: UInt64) -> ByteBuffer {
    let sector = ByteBuffer(capacity: byteCount)
    sector.append(uint64: number)
    sector.append(uint64: number != 0 && maker == .copy ? 1 : 0)
    sector.append(zeros: byteCount - 16)
    if number != 0 { sector.set(uint64: checksum(of: sector.view, salt: salt), at: byteCount - 8) }
    return sector
  }

  private static func checksum(of sector: ByteView, salt: UInt64) -> UInt64 {
    XXH3.hash(sector.prefix(byteCount - 8), seed: FrameHeader.seed(salt: salt, offset: UInt64(offset)))
  }
}
