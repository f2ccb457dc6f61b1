/// Reads frames in place from the mapped file. Nothing here changes anything or trusts a length.
@safe struct LogReader {
  let bytes: ByteView
  let salt: UInt64

  init(_ bytes: ByteView, salt: UInt64) {
    self.bytes = bytes
    self.salt = salt
  }

  var end: UInt64 { UInt64(bytes.count) }

  /// The header at an offset, if one holds there.
  func header(at offset: UInt64) -> FrameHeader? {
    guard offset >= UInt64(FileHeader.byteCount), offset & 7 == 0, offset < end,
      end - offset >= UInt64(FrameHeader.byteCount)
    else { return nil }
    let start = Int(offset)
    return FrameHeader(bytes.slice(start..<start + FrameHeader.byteCount), salt: salt, offset: offset)
  }

  /// The payload of a frame; nil when the file ends before it does.
  func payload(of header: FrameHeader) -> ByteView? {
    guard header.payloadByteCount <= end, header.end <= end else { return nil }
    return bytes.slice(Int(header.payloadOffset)..<Int(header.end))
  }

  func payloadHolds(_ header: FrameHeader) -> Bool {
    guard let payload = payload(of: header) else { return false }
    if isMutant("accept-payload-checksum") { return true }
    let salt = isMutant("ignore-salt") ? bytes.uint64(at: Int(header.offset) + 8) : salt
    return XXH3.hash(payload, seed: FrameHeader.seed(salt: salt, offset: header.offset)) == header.payloadChecksum
  }

  /// The first header that holds at or behind `offset`.
  func nextHeader(from offset: UInt64) -> FrameHeader? {
    var candidate = max((offset + 7) & ~7, UInt64(FileHeader.byteCount))
    while candidate + UInt64(FrameHeader.byteCount) <= end {
      if bytes.uint32(at: Int(candidate)) == FrameHeader.magic, let header = header(at: candidate) { return header }
      candidate += 8
    }
    return nil
  }

  /// The last header that holds, looking back from the end of the file.
  func lastHeader() -> FrameHeader? {
    guard end >= UInt64(FileHeader.byteCount + FrameHeader.byteCount) else { return nil }
    var candidate = (end - UInt64(FrameHeader.byteCount)) & ~7
    while candidate >= UInt64(FileHeader.byteCount) {
      if bytes.uint32(at: Int(candidate)) == FrameHeader.magic, let header = header(at: candidate) { return header }
      candidate -= 8
    }
    return nil
  }

  /// Whether anything but zero stands in `range`.
  func hasContent(in range: Range<UInt64>) -> Bool {
    var offset = Int(range.lowerBound)
    let upper = Int(range.upperBound)
    while offset + 8 <= upper {
      if bytes.uint64(at: offset) != 0 { return true }
      offset += 8
    }
    while offset < upper {
      if bytes[offset] != 0 { return true }
      offset += 1
    }
    return false
  }
}

extension LogReader {
  /// The first byte from `start` on behind which nothing but zeros stands.
  func contentEnd(from start: UInt64) -> UInt64 {
    var offset = Int(end)
    let lower = Int(min(start, end))
    while offset > lower, offset & 7 != 0 || offset - 8 < lower {
      if bytes[offset - 1] != 0 { return UInt64(offset) }
      offset -= 1
    }
    while offset - 8 >= lower, bytes.uint64(at: offset - 8) == 0 { offset -= 8 }
    while offset > lower, bytes[offset - 1] == 0 { offset -= 1 }
    return UInt64(offset)
  }
}

/// The parts that a commit frame names: the first 32 bytes of its payload when it has parts.
struct PartList: Equatable {
  static let encodedByteCount = 32
  var firstNumber: UInt64
  var firstOffset: UInt64
  var count: UInt64
  /// Checksum of the parts' payload checksums, in order.
  var checksum: UInt64

  init(firstNumber: UInt64, firstOffset: UInt64, count: UInt64, checksum: UInt64) {
    self.firstNumber = firstNumber
    self.firstOffset = firstOffset
    self.count = count
    self.checksum = checksum
  }

  init?(_ payload: ByteView) {
    guard payload.count >= PartList.encodedByteCount else { return nil }
    firstNumber = payload.uint64(at: 0)
    firstOffset = payload.uint64(at: 8)
    count = payload.uint64(at: 16)
    checksum = payload.uint64(at: 24)
  }

  static func checksum(_ payloadChecksums: [UInt64]) -> UInt64 {
    let buffer = ByteBuffer(capacity: max(64, payloadChecksums.count * 8))
    for sum in payloadChecksums { buffer.append(uint64: sum) }
    return XXH3.hash(buffer.view, seed: 0)
  }
}
