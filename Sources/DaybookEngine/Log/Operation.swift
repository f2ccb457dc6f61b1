/// One result inside a commit: a kind, and a payload that only the layer above understands.
///
///     offset  size  field
///          0     8  checksum of the rest, seeded with salt and the operation's own offset in the file
///          8     4  payload length
///         12     1  kind: 255 forgets operations (engine), others belong to the layer above
///         13     3  zero
///         16     n  payload
///
/// Operations lie end to end in the payloads of part and commit frames. Each can be read by its place alone and has a checksum,
/// so a flipped byte of a record body is never returned as data, wherever it was flipped.
package enum Operation {
  package static let headerByteCount = 16
  /// Takes back the operations of this transaction from number k on: it was rolled back to a savepoint after parts had been
  /// written.
  static let rollbackKind: UInt8 = 255

  @inlinable @inline(__always)
  package static func kind(_ bytes: ByteView) -> UInt8 { bytes[12] }
  @inlinable @inline(__always)
  package static func payload(_ bytes: ByteView) -> ByteView { bytes.dropFirst(headerByteCount) }

  /// Completes an operation whose payload is in a buffer, with room for the header before it.
  static func seal(_ buffer: ByteBuffer, from start: Int, kind: UInt8, salt: UInt64, offset: UInt64) {
    buffer.set(uint32: UInt32(buffer.count - start - headerByteCount), at: start + 8)
    buffer.set(uint32: UInt32(kind), at: start + 12)
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
