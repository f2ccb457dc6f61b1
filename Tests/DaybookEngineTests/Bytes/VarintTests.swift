import DaybookEngine
import Testing

@Suite("Varints")
struct VarintTests {
  static let values: [UInt64] =
    [0, 1, 127, 128, 300, 16_383, 16_384, .max, .max - 1, 1 << 63]
    + (0..<64).flatMap { [UInt64(1) << $0, (UInt64(1) << $0) &- 1] }

  @Test("a number comes back, from as many bytes as announced", arguments: values)
  func roundTrip(value: UInt64) {
    let buffer = ByteBuffer(capacity: 16)
    buffer.append(0xff)
    buffer.append(varint: value)
    var offset = 1
    #expect(buffer.view.varint(at: &offset) == value)
    #expect(offset == buffer.count)
    #expect(varintByteCount(value) == buffer.count - 1)
  }

  @Test("a number cut short is no number, and the offset stays", arguments: values)
  func cutShort(value: UInt64) {
    let buffer = ByteBuffer(capacity: 16)
    buffer.append(varint: value)
    for byteCount in 0..<buffer.count {
      var offset = 0
      #expect(buffer.view.prefix(byteCount).varint(at: &offset) == nil)
      #expect(offset == 0)
    }
  }

  @Test(
    "a number spelled longer than needed, or beyond 64 bits, is refused",
    arguments: [
      [0x80, 0x00], [0xff, 0x80, 0x00], [0x80, 0x80, 0x80, 0x00],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x00],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    ] as [[UInt8]])
  func malformed(bytes: [UInt8]) {
    let buffer = ByteBuffer(capacity: 16)
    buffer.append(bytes)
    var offset = 0
    #expect(buffer.view.varint(at: &offset) == nil)
    #expect(offset == 0)
  }

  @Test("an offset outside the bytes gives nil", arguments: [-1, 3, Int.max])
  func outside(offset: Int) {
    let buffer = ByteBuffer(capacity: 16)
    buffer.append([1, 2, 3])
    var moving = offset
    #expect(buffer.view.varint(at: &moving) == nil)
  }

  @Test("signed numbers come back, small ones in one byte", arguments: [0, -1, 1, -64, 63, 64, .min, .max] as [Int64])
  func signed(value: Int64) {
    #expect(ZigZag.decode(ZigZag.encode(value)) == value)
    let buffer = ByteBuffer(capacity: 16)
    buffer.append(signedVarint: value)
    var offset = 0
    #expect(buffer.view.signedVarint(at: &offset) == value)
    #expect((buffer.count == 1) == (-64...63).contains(value))
  }
}
