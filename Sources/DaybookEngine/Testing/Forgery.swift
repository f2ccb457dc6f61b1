/// Gives forged bytes valid checksums, so that a fuzzer gets past the first line of defence.
///
/// Random bytes never match a 64-bit checksum, and an input that fails at the header tests nothing more. `sealed` walks an
/// image of a file as far as it looks like one. It corrects salt, place, chain (also where a checkpoint names it) and
/// checksums, from the inside out: operations and pages, then payloads, then headers. All other fields stay as the fuzzer wants
/// them. Only for fuzz targets and tests; nothing in the library calls it.
package enum Forgery {
  /// What a fuzz target found: two answers that contradict each other.
  package struct Finding: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
  }

  /// The file header in front of forged logs.
  package static func header() -> [UInt8] {
    var generator = ClosureGenerator { 0x0123_4567_89AB_CDEF }
    let encoded = FileHeader(random: &generator).encoded()
    return encoded.view.array
  }

  /// The offsets of the frames of an image, as far as there are headers.
  package static func frameOffsets(of image: [UInt8]) -> [Int] {
    image.withView { view in
      var offsets: [Int] = []
      var offset = FileHeader.byteCount
      while offset + FrameHeader.byteCount <= view.count {
        if view.uint32(at: offset) == FrameHeader.magic {
          offsets.append(offset)
          offset = next(view, offset)
        } else {
          offset += 8
        }
      }
      return offsets
    }
  }

  /// The end of the payload of the frame at an offset, or the end of the image.
  package static func payloadEnd(of image: [UInt8], at offset: Int) -> Int {
    image.withView { payloadRange($0, offset).upperBound }
  }

  /// The image with valid checksums in everything that looks like a header, frame, operation or page.
  package static func sealed(_ image: [UInt8]) -> [UInt8] {
    let buffer = ByteBuffer(capacity: max(16, image.count))
    buffer.append(image)
    guard buffer.count >= FileHeader.byteCount else { return image }
    buffer.set(uint64: FileHeader.checksum(of: buffer.view), at: FileHeader.byteCount - 8)
    let salt = buffer.view.uint64(at: 40)
    ClosedLength.seal(buffer, salt: salt)
    var previous: UInt64 = 0
    // The checksum that the frame at an offset must repeat.
    var chain: [UInt64: UInt64] = [:]
    var parts: [(number: UInt64, checksum: UInt64)] = []
    for offset in frameOffsets(of: image) {
      let payload = payloadRange(buffer.view, offset)
      chain[UInt64(offset)] = previous
      switch FrameHeader.Kind(rawValue: buffer.view[offset + 4]) {
      case .commit:
        sealParts(buffer, offset, payload, parts)
        parts.removeAll()
        sealOperations(buffer, offset, payload, salt)
      case .part: sealOperations(buffer, offset, payload, salt)
      case .pages: sealPages(buffer, payload, salt)
      case .checkpoint where payload.count >= FileHeader.meaningfulByteCount:
        let copy = buffer.view.prefix(FileHeader.meaningfulByteCount).array
        for (index, byte) in copy.enumerated() { set(byte, buffer, payload.lowerBound + index) }
        sealFreeze(buffer, payload, chain)
      default: break
      }
      let seed = FrameHeader.seed(salt: salt, offset: UInt64(offset))
      let sum = XXH3.hash(buffer.view.slice(payload), seed: seed)
      if buffer.view[offset + 4] == FrameHeader.Kind.part.rawValue {
        parts.append((buffer.view.uint64(at: offset + 24), sum))
      }
      buffer.set(uint64: salt, at: offset + 8)
      buffer.set(uint64: UInt64(offset), at: offset + 16)
      buffer.set(uint64: previous, at: offset + 40)
      buffer.set(uint64: sum, at: offset + 80)
      previous = XXH3.hash(buffer.view.slice(offset..<offset + 88), seed: salt)
      buffer.set(uint64: previous, at: offset + 88)
    }
    return buffer.view.array
  }

  // MARK: pieces

  /// The payload of the frame at an offset, cut where the image ends.
  private static func payloadRange(_ view: ByteView, _ offset: Int) -> Range<Int> {
    let start = offset + FrameHeader.byteCount
    let wanted = view.uint64(at: offset + 72)
    return start..<start + Int(min(wanted, UInt64(view.count - start)))
  }

  private static func next(_ view: ByteView, _ offset: Int) -> Int {
    let end = payloadRange(view, offset).upperBound
    return view[offset + 5] & 2 != 0 ? (end + 4095) & ~4095 : (end + 7) & ~7
  }

  private static func sealOperations(_ buffer: ByteBuffer, _ offset: Int, _ payload: Range<Int>, _ salt: UInt64) {
    var position = payload.lowerBound + (buffer.view[offset + 5] & 1 != 0 ? PartList.encodedByteCount : 0)
    while position < payload.upperBound, let head = Operation.Head(buffer.view.slice(position..<payload.upperBound)) {
      let end = position + head.byteCount
      if end > payload.upperBound { return }
      let operation = buffer.view.slice(position..<end)
      buffer.set(uint64: Operation.checksum(operation, salt: salt, offset: UInt64(position)), at: position)
      position = end
    }
  }

  private static func sealPages(_ buffer: ByteBuffer, _ payload: Range<Int>, _ salt: UInt64) {
    var position = (payload.lowerBound + Page.byteCount - 1) & ~(Page.byteCount - 1)
    while position + Page.byteCount <= payload.upperBound {
      // Safe: a whole page lies inside the buffer.
      unsafe Page(buffer.base + position).sealChecksum(salt: salt, offset: UInt64(position))
      position += Page.byteCount
    }
  }

  /// Corrects the checksum of the list of parts, if the list begins at an existing part.
  private static func sealParts(
    _ buffer: ByteBuffer, _ offset: Int, _ payload: Range<Int>, _ parts: [(number: UInt64, checksum: UInt64)]
  ) {
    guard buffer.view[offset + 5] & 1 != 0, payload.count >= PartList.encodedByteCount else { return }
    let firstNumber = buffer.view.uint64(at: payload.lowerBound)
    guard let first = parts.firstIndex(where: { $0.number == firstNumber }) else { return }
    buffer.set(uint64: PartList.checksum(parts[first...].map(\.checksum)), at: payload.lowerBound + 24)
  }

  /// Corrects what a checkpoint says about the frame before the start of its replay; otherwise no open would use its trees.
  private static func sealFreeze(_ buffer: ByteBuffer, _ payload: Range<Int>, _ chain: [UInt64: UInt64]) {
    guard payload.count >= FileHeader.meaningfulByteCount + 32 else { return }
    let start = payload.lowerBound + FileHeader.meaningfulByteCount
    if let previous = chain[buffer.view.uint64(at: start)] { buffer.set(uint64: previous, at: start + 24) }
  }

  private static func set(_ byte: UInt8, _ buffer: ByteBuffer, _ offset: Int) {
    precondition(offset < buffer.count, "a forger writes inside the image")
    // Safe: the line above.
    unsafe buffer.base.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
  }
}
