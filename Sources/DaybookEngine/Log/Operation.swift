/// One result inside a commit: a kind, and a payload that only the layer above understands.
///
///     offset  size  field
///          0     8  checksum of the rest, seeded with salt and the operation's own offset in the file
///          8     4  payload length
///         12     1  kind: 255 forgets operations (engine), others belong to the layer above
///         13     3  zero
///         16     n  payload
///
/// Operations lie end to end in the payloads of part and commit frames. Each can be read by its place alone and checks
/// itself, so one flipped byte of a record body is never returned as data, whatever the page cache does in the meantime.
package enum Operation {
  package static let headerByteCount = 16
  /// "Forget the operations of this transaction from number k on": a savepoint was rolled back after parts had gone out.
  static let rollbackKind: UInt8 = 255

  @inlinable @inline(__always)
  package static func kind(_ bytes: ByteView) -> UInt8 { bytes[12] }
  @inlinable @inline(__always)
  package static func payload(_ bytes: ByteView) -> ByteView { bytes.dropFirst(headerByteCount) }

  static func checksum(_ bytes: ByteView, salt: UInt64, offset: UInt64) -> UInt64 {
    XXH3.hash(bytes.dropFirst(8), seed: FrameHeader.seed(salt: salt, offset: offset))
  }
}
