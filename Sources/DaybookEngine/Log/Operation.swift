/// One result inside a commit: a kind, and a payload that only the layer above understands.
///
///     offset  size  field
///          0     8  checksum of the rest, seeded with salt and the operation's own offset in the file
///          8     3  payload length, or 2²⁴ − 1 for all that are not shorter than that
///         11     1  kind: 255 forgets operations (engine), others belong to the layer above
///         12     4  payload length, only if the three bytes above have 2²⁴ − 1
///   12 or 16     n  payload
///
/// Operations lie end to end in the payloads of part and commit frames. Each can be read by its place alone and has a checksum,
/// so a flipped byte of a record body is never returned as data, wherever it was flipped.
package enum Operation {
  /// Of all but those with a long payload.
  package static let headerByteCount = 12
  package static let longHeaderByteCount = 16
  /// The shortest payload that has its length after the usual header.
  package static let longPayloadByteCount = 0xFF_FFFF
  /// Takes back the operations of this transaction from number k on: it was rolled back to a savepoint after parts had been
  /// written.
  static let rollbackKind: UInt8 = 255

  @inlinable @_transparent
  package static func kind(_ bytes: ByteView) -> UInt8 { bytes[11] }
  @inlinable @_transparent
  package static func payload(_ bytes: ByteView) -> ByteView {
    bytes.dropFirst(headerByteCount(ofOperation: bytes.count))
  }

  /// The header of an operation that is so long in all. Its length says that, so nothing in a forged file can say otherwise.
  @inlinable @_transparent
  package static func headerByteCount(ofOperation byteCount: Int) -> Int {
    byteCount < headerByteCount &+ longPayloadByteCount ? headerByteCount : longHeaderByteCount
  }

  /// What an operation says of itself before its payload. Nothing of it is checked.
  package struct Head {
    package let checksum: UInt64
    package let kind: UInt8
    /// Of the whole operation.
    package let byteCount: Int

    /// - Parameter bytes: from the start of the operation on, `longHeaderByteCount` of them if there are so many.
    /// - Returns: nil where there is no whole header, or a length that no writer writes so.
    @inline(__always)
    package init?(_ bytes: ByteView) {
      guard bytes.count >= headerByteCount else { return nil }
      checksum = bytes.uint64(at: 0)
      let word = bytes.uint32(at: 8)
      kind = UInt8(truncatingIfNeeded: word >> 24)
      let count = Int(word & UInt32(longPayloadByteCount))
      if count < longPayloadByteCount {
        byteCount = headerByteCount + count
      } else {
        guard bytes.count >= longHeaderByteCount else { return nil }
        let count = Int(bytes.uint32(at: 12))
        guard count >= longPayloadByteCount else { return nil }
        byteCount = longHeaderByteCount + count
      }
    }
  }

  /// Completes an operation whose payload is in a buffer, with room for the usual header before it. A long payload is moved.
  static func seal(_ buffer: ByteBuffer, from start: Int, kind: UInt8, salt: UInt64, offset: UInt64) {
    let count = buffer.count - start - headerByteCount
    if count >= longPayloadByteCount { buffer.insert(uint32: UInt32(count), at: start + headerByteCount) }
    buffer.set(uint32: UInt32(min(count, longPayloadByteCount)) | UInt32(kind) << 24, at: start + 8)
    let sum = checksum(buffer.view.slice(start..<buffer.count), salt: salt, offset: offset)
    buffer.set(uint64: sum, at: start)
  }

  static func checksum(_ bytes: ByteView, salt: UInt64, offset: UInt64) -> UInt64 {
    XXH3.hash(bytes.dropFirst(8), seed: FrameHeader.seed(salt: salt, offset: offset))
  }

  /// Whether an operation is what its checksum says. Asked of a copy in memory of our own: bytes of a mapped file may
  /// change after any check.
  @inline(__always)
  static func isSound(_ copy: ByteView, salt: UInt64, offset: UInt64) -> Bool {
    let isSound = checksum(copy, salt: salt, offset: offset) == copy.uint64(at: 0) || isMutant("accept-body-checksum")
    if isSound { VerifiedBytes.tell(salt: salt, offset: offset) }
    return isSound
  }
}
