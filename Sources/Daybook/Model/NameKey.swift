import DaybookEngine

/// The key of a record's name in a zone's trees by name and of tombstones. A UUID takes 17 bytes instead of 36.
///
///     a UUID in capitals       1, then its 16 bytes
///     a UUID in small letters  2, then its 16 bytes
///     any other name           as it is: names have no control characters
///
/// So the order of names is: UUIDs in capitals, those in small letters, all others, each by their bytes. One name has one key, and the
/// other way round. In other trees names are as they are: there a zero byte ends a target.
package enum NameKey {
  static let uuidByteCount = 17
  private static let capitals: UInt8 = 1
  private static let smallLetters: UInt8 = 2
  private static let textByteCount = 36

  /// Whether it may be a name: no key of one looks like that of another.
  @_transparent
  static func isName(_ name: ByteView) -> Bool { name.count > 0 && name[0] >= 0x20 }

  /// The key; it lies in `scratch`, or where the name does.
  @inline(__always)
  static func view(of name: ByteView, in scratch: ByteBuffer) -> ByteView {
    guard name.count == textByteCount, let key = UUIDKey(name) else { return name }
    scratch.truncate(to: 0)
    key.append(to: scratch)
    return scratch.view
  }

  /// Calls `body` with the key, which ends with the call.
  @inline(__always)
  static func withView<R, E: Error>(of name: ByteView, _ body: (ByteView) throws(E) -> R) throws(E) -> R {
    guard name.count == textByteCount, let key = UUIDKey(name) else { return try body(name) }
    return try key.withView(body)
  }

  /// Whether a key is that of a name.
  @inline(__always)
  static func matches(_ key: ByteView, _ name: ByteView) -> Bool {
    guard name.count == textByteCount, let own = UUIDKey(name) else { return UTF8Order.equal(key, name) }
    return own.withView { UTF8Order.equal(key, $0) }
  }

  /// The key of a name, to keep.
  package static func key(of name: String) -> [UInt8] {
    UTF8Order.withView(of: name) { name in withView(of: name) { (key) throws(Never) in key.array } }
  }

  /// The order of names.
  package static func precedes(_ left: String, _ right: String) -> Bool {
    key(of: left).lexicographicallyPrecedes(key(of: right))
  }

  /// Whether the key of a name is that of a UUID.
  @_transparent
  static func isUUID(_ key: ByteView, of name: ByteView) -> Bool {
    key.count == uuidByteCount && name.count == textByteCount
  }

  /// Writes the 36 bytes of a UUID's text.
  /// - Parameter target: room for them.
  @inline(__always)
  static func writeUUID(_ bytes: ByteView, inSmallLetters: Bool, to target: UnsafeMutableRawPointer) {
    precondition(bytes.count == 16, "a UUID has 16 bytes")
    // Safe: the caller has room; text is put where it is between the dashes.
    let small: UInt64 = inSmallLetters ? 0x20 : 0
    let dash = UInt8(ascii: "-")
    unsafe target.storeBytes(of: text(of: bytes.uint32(at: 0), small), as: UInt64.self)
    let second = text(of: bytes.uint32(at: 4), small)
    let third = text(of: bytes.uint32(at: 8), small)
    unsafe target.storeBytes(of: dash, toByteOffset: 8, as: UInt8.self)
    unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: second), toByteOffset: 9, as: UInt32.self)
    unsafe target.storeBytes(of: dash, toByteOffset: 13, as: UInt8.self)
    unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: second &>> 32), toByteOffset: 14, as: UInt32.self)
    unsafe target.storeBytes(of: dash, toByteOffset: 18, as: UInt8.self)
    unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: third), toByteOffset: 19, as: UInt32.self)
    unsafe target.storeBytes(of: dash, toByteOffset: 23, as: UInt8.self)
    unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: third &>> 32), toByteOffset: 24, as: UInt32.self)
    unsafe target.storeBytes(of: text(of: bytes.uint32(at: 12), small), toByteOffset: 28, as: UInt64.self)
  }

  /// Four bytes as eight hexadecimal digits, the first in the lowest byte.
  @_transparent
  private static func text(of bytes: UInt32, _ small: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var spread = UInt64(bytes)
    spread = (spread | spread &<< 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread &<< 8) & 0x00FF_00FF_00FF_00FF
    let digits = ((spread &>> 4) & 0x000F_000F_000F_000F) | ((spread & 0x000F_000F_000F_000F) &<< 8)
    let letters = ((digits &+ ones &* 6) &>> 4) & ones
    return (digits &+ ones &* 0x30 &+ letters &* 7 &+ letters &* small).littleEndian
  }

  /// The name that a key stands for.
  package static func name(of key: ByteView) -> [UInt8] {
    guard key.count == uuidByteCount, key[0] == capitals || key[0] == smallLetters else { return key.array }
    let digits = Array((key[0] == capitals ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
    var name: [UInt8] = []
    name.reserveCapacity(textByteCount)
    for index in 1..<uuidByteCount {
      if index == 5 || index == 7 || index == 9 || index == 11 { name.append(UInt8(ascii: "-")) }
      name.append(digits[Int(key[index] >> 4)])
      name.append(digits[Int(key[index] & 15)])
    }
    return name
  }

  /// A UUID as 17 bytes in three words.
  private struct UUIDKey {
    private var form: UInt8
    private var high: UInt64
    private var low: UInt64

    /// Nil when the 36 bytes are no UUID, or one with letters of both kinds.
    init?(_ name: ByteView) {
      let dash = UInt8(ascii: "-")
      guard name[8] == dash, name[13] == dash, name[18] == dash, name[23] == dash else { return nil }
      let second = UInt64(name.uint32(at: 9)) | UInt64(name.uint32(at: 14)) << 32
      let third = UInt64(name.uint32(at: 19)) | UInt64(name.uint32(at: 24)) << 32
      var seen = Letters()
      let parts = (
        UUIDKey.number(name.uint64(at: 0), &seen), UUIDKey.number(second, &seen), UUIDKey.number(third, &seen),
        UUIDKey.number(name.uint64(at: 28), &seen)
      )
      guard seen.isSound else { return nil }
      form = seen.areSmall ? smallLetters : capitals
      high = parts.0 | parts.1 << 32
      low = parts.2 | parts.3 << 32
    }

    /// What kinds of letters the digits have had so far.
    private struct Letters {
      var mayBeCapital = true
      var mayBeSmall = true
      var isSound: Bool { mayBeCapital || mayBeSmall }
      var areSmall: Bool { !mayBeCapital }
    }

    /// Eight hexadecimal digits, the first in the lowest byte, as four bytes in the same order. They are right if they are below
    /// 16 and come back when they are written again.
    @inline(__always)
    private static func number(_ text: UInt64, _ seen: inout Letters) -> UInt64 {
      let ones: UInt64 = 0x0101_0101_0101_0101
      let digits = (text & (ones &* 0x0F)) &+ ((text &>> 6) & ones) &* 9
      let letters = ((digits &+ ones &* 6) &>> 4) & ones
      let capital = digits &+ ones &* 0x30 &+ letters &* 7
      let areDigits = digits & (ones &* 0xF0) == 0
      seen.mayBeCapital = seen.mayBeCapital && areDigits && text == capital
      seen.mayBeSmall = seen.mayBeSmall && areDigits && text == capital &+ letters &* 0x20
      var packed = ((digits &<< 4) | (digits &>> 8)) & 0x00FF_00FF_00FF_00FF
      packed = (packed | packed &>> 8) & 0x0000_FFFF_0000_FFFF
      return (packed | packed &>> 16) & 0xFFFF_FFFF
    }

    func append(to buffer: ByteBuffer) {
      buffer.append(form)
      buffer.append(uint64: high)
      buffer.append(uint64: low)
    }

    @inline(__always)
    func withView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
      var bytes: (UInt64, UInt64, UInt64) = (0, 0, 0)
      let result = unsafe withUnsafeMutableBytes(of: &bytes) { bytes in
        // Safe: 17 bytes of 24, and the view ends with the call.
        unsafe bytes.storeBytes(of: form, toByteOffset: 0, as: UInt8.self)
        unsafe bytes.storeBytes(of: high.littleEndian, toByteOffset: 1, as: UInt64.self)
        unsafe bytes.storeBytes(of: low.littleEndian, toByteOffset: 9, as: UInt64.self)
        let view = unsafe ByteView(UnsafeRawBufferPointer(rebasing: bytes[0..<uuidByteCount]))
        return Result { () throws(E) in try body(view) }
      }
      return try result.get()
    }
  }
}
