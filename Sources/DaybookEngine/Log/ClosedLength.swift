/// How long the log was when the file was last closed: a sector of the first page that each clean close rewrites.
///
///     offset  size  field
///       2048     8  length: the end of the frames that were durable when this was written
///       2056   496  zero
///       2552     8  checksum of bytes 2048 ..< 2552
///
/// The next open compares: a log that ends before this length has lost durable data. A crash may tear the sector while it is
/// written, so the header's checksum leaves it out, and a sector whose own checksum is wrong counts as missing. The length
/// covers only bytes that were durable before the sector was written, so it is right whatever else a crash destroyed. Spec:
/// FORMAT.md §2.
package enum ClosedLength {
  static let offset = 2048
  static let byteCount = 512
  static let range = offset..<offset + byteCount

  /// The length in a first page; nil where none was written, or its checksum is wrong.
  package static func read(_ page: ByteView, salt: UInt64) -> UInt64? {
    guard page.count >= range.upperBound else { return nil }
    let sector = page.slice(range)
    guard sector.uint64(at: byteCount - 8) == checksum(of: sector, salt: salt) else { return nil }
    return sector.uint64(at: 0)
  }

  /// Whether the sector was written and its checksum is wrong: a crash tore it, or it was damaged later.
  static func isDamaged(_ page: ByteView, salt: UInt64) -> Bool {
    guard page.count >= range.upperBound, read(page, salt: salt) == nil else { return false }
    return page.slice(range).array.contains { $0 != 0 }
  }

  static func encoded(_ length: UInt64, salt: UInt64) -> ByteBuffer {
    let sector = ByteBuffer(capacity: byteCount)
    sector.append(uint64: length)
    sector.append(zeros: byteCount - 8)
    sector.set(uint64: checksum(of: sector.view, salt: salt), at: byteCount - 8)
    return sector
  }

  /// Recomputes the checksum of a forged page, where the sector was written.
  static func seal(_ page: ByteBuffer, salt: UInt64) {
    guard isDamaged(page.view, salt: salt) else { return }
    page.set(uint64: checksum(of: page.view.slice(range), salt: salt), at: range.upperBound - 8)
  }

  private static func checksum(of sector: ByteView, salt: UInt64) -> UInt64 {
    XXH3.hash(sector.prefix(byteCount - 8), seed: FrameHeader.seed(salt: salt, offset: UInt64(offset)))
  }
}
