/// The first 4096 bytes of a database, written before the file gets its name. Each close rewrites one sector of them.
///
///     offset  size  field
///          0     8  magic "Daybook\n"
///          8     4  format version, 1
///         12     4  page size, 4096
///         16    16  database UUID: stays through compaction and in copies
///         32     8  generation: grows by one with each compaction
///         40     8  salt: random, seeds every checksum of this file
///         48     8  least length: the log is at least that long; 0 where the file was empty when it got its name
///         56     8  number of the folder of assets: random, another one in each copy, stays through compaction
///         64  1984  zero
///       2048   512  how long the log was when the file was last closed: see `ClosedLength`
///       2560   512  the name under which the file was made: see `UnfinishedMark`
///       3072  1016  zero
///       4088     8  checksum of bytes 0 ..< 4088, with 2048 ..< 3072 as zeros
///
/// Every checkpoint frame repeats bytes 0 ..< 48, and each frame the salt, so salvage can do without this page. Spec: FORMAT.md §2.
package struct FileHeader: Sendable, Equatable {
  package static let byteCount = 4096
  package static let meaningfulByteCount = 48
  package static let formatVersion: UInt32 = 1
  static let saltOffset = 40
  private static let folderNumberOffset = 56
  static let magic: UInt64 = 0x0A6B_6F6F_6279_6144  // "Daybook\n"

  package var formatVersion: UInt32
  package var pageByteCount: UInt32
  package var uuidHigh: UInt64
  package var uuidLow: UInt64
  package var generation: UInt64
  package var salt: UInt64
  /// A shorter log means that the file was cut. The larger of two lengths: the header's, and the one of the last close.
  package var leastByteCount: UInt64 = 0
  /// What this database's folder of assets is marked with (`FolderMark`).
  package var folderNumber: UInt64 = 0
  /// The number of the name under which the file was made; 0 for one that was made under its own.
  package var unfinishedName: UInt64 = 0
  /// What it was made for, where it has such a number.
  package var maker = UnfinishedMark.Maker.compaction

  /// Why the first bytes of a file are not a header.
  package enum Fault: Error, Sendable, Equatable {
    case tooShort(byteCount: Int)
    case notADatabase
    case checksum
    case formatTooNew(version: UInt32)
    case pageByteCount(UInt32)
  }

  /// The header of a new database, or of a copy.
  /// - Parameter addend: how many generations to add for a copy.
  package init(
    random: inout some RandomNumberGenerator, copying original: FileHeader? = nil, generations addend: UInt64 = 0
  ) {
    formatVersion = FileHeader.formatVersion
    pageByteCount = UInt32(Page.byteCount)
    uuidHigh = random.next()
    uuidLow = random.next()
    generation = 1
    // With a salt of zero, zeroed bytes could pass for salted ones.
    salt = random.next() | 1
    // RFC 9562: version 4, variant 1.
    uuidHigh = (uuidHigh & ~0xF000) | 0x4000
    uuidLow = (uuidLow & ~(3 << 62)) | (2 << 62)
    if let original {
      uuidHigh = original.uuidHigh
      uuidLow = original.uuidLow
      generation = original.generation &+ addend
      // A compacted file is the same one to all that is outside; a copy has a folder of its own.
      if addend > 0, original.folderNumber != 0 {
        folderNumber = original.folderNumber
        return
      }
    }
    folderNumber = random.next() | 1
  }

  package init(_ bytes: ByteView) throws(Fault) {
    guard bytes.count >= FileHeader.byteCount else { throw .tooShort(byteCount: bytes.count) }
    guard bytes.uint64(at: 0) == FileHeader.magic else { throw .notADatabase }
    let stored = bytes.uint64(at: FileHeader.byteCount - 8)
    guard stored == FileHeader.checksum(of: bytes) || isMutant("accept-file-header-checksum") else { throw .checksum }
    try self.init(meaningful: bytes)
    if !isMutant("forget-least-length") { leastByteCount = bytes.uint64(at: FileHeader.meaningfulByteCount) }
    if !isMutant("forget-closed-length") {
      leastByteCount = max(leastByteCount, ClosedLength.read(bytes, salt: salt) ?? 0)
    }
    folderNumber = bytes.uint64(at: FileHeader.folderNumberOffset)
    unfinishedName = UnfinishedMark.read(bytes)
    if unfinishedName != 0 { maker = UnfinishedMark.maker(bytes) }
  }

  /// The least length that a first page was given before its file had a name, whatever closes have written since; nil where the
  /// page does not match its checksum.
  static func firstLeastByteCount(_ page: ByteView) -> UInt64? {
    (try? FileHeader(page)) == nil ? nil : page.uint64(at: meaningfulByteCount)
  }

  /// The checksum of a first page. The two sectors that are written by themselves have their own checksums, and count as zeros
  /// here.
  static func checksum(of page: ByteView) -> UInt64 {
    let copy = ByteBuffer(capacity: FileHeader.byteCount)
    copy.append(page.prefix(ClosedLength.range.lowerBound))
    copy.append(zeros: ClosedLength.byteCount + UnfinishedMark.byteCount)
    copy.append(page.slice(UnfinishedMark.range.upperBound..<FileHeader.byteCount - 8))
    return XXH3.hash(copy.view, seed: 0)
  }

  /// The copy that a checkpoint carries; its frame's checksum vouches for it.
  init(meaningful bytes: ByteView) throws(Fault) {
    guard bytes.count >= FileHeader.meaningfulByteCount else { throw .tooShort(byteCount: bytes.count) }
    guard bytes.uint64(at: 0) == FileHeader.magic else { throw .notADatabase }
    formatVersion = bytes.uint32(at: 8)
    pageByteCount = bytes.uint32(at: 12)
    uuidHigh = bytes.uint64(at: 16)
    uuidLow = bytes.uint64(at: 24)
    generation = bytes.uint64(at: 32)
    salt = bytes.uint64(at: 40)
    guard formatVersion <= FileHeader.formatVersion else { throw .formatTooNew(version: formatVersion) }
    guard pageByteCount == UInt32(Page.byteCount) else { throw .pageByteCount(pageByteCount) }
  }

  func appendMeaningful(to buffer: ByteBuffer) {
    buffer.append(uint64: FileHeader.magic)
    buffer.append(uint32: formatVersion)
    buffer.append(uint32: pageByteCount)
    buffer.append(uint64: uuidHigh)
    buffer.append(uint64: uuidLow)
    buffer.append(uint64: generation)
    buffer.append(uint64: salt)
  }

  /// The whole 4096 bytes, without a closed length.
  package func encoded() -> ByteBuffer {
    let buffer = ByteBuffer(capacity: FileHeader.byteCount)
    appendMeaningful(to: buffer)
    buffer.append(uint64: leastByteCount)
    buffer.append(uint64: folderNumber)
    buffer.append(zeros: UnfinishedMark.offset - buffer.count)
    // A constant keeps it alive: a view of a temporary buffer would outlive it.
    let mark = UnfinishedMark.encoded(unfinishedName, maker, salt: salt)
    buffer.append(mark.view)
    buffer.append(zeros: FileHeader.byteCount - 8 - buffer.count)
    buffer.append(uint64: FileHeader.checksum(of: buffer.view))
    return buffer
  }
}

extension FileHeader {
  /// Whether another file is one of the same database: the same one, or a compacted or copied one.
  func isOfSameDatabase(as other: FileHeader) -> Bool { uuidHigh == other.uuidHigh && uuidLow == other.uuidLow }
}
