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
