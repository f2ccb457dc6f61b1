import DaybookEngine

/// The end of a byte buffer, held in registers while one record is written.
///
/// A buffer is an object of another module: each append to it is a call and an exclusivity check, and a record of ten
/// fields makes eighty of them. A writer takes the buffer's end once, writes through a pointer, and gives the new end
/// back with `finish`. Measured with ten fields: half the time of appending to the buffer.
///
/// Nothing else may use the buffer between the two; without `finish` nothing was written. The caller keeps the buffer:
/// the writer counts no reference to it (row: use-insert-1-fields).
/// Always true: `offset` is at most `capacity`, and that many bytes of `base` are the buffer's.
@safe struct ByteWriter {
  private unowned(unsafe) let buffer: ByteBuffer
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var offset: Int

  init(_ buffer: ByteBuffer) {
    unsafe self.buffer = buffer
    unsafe (base, capacity, offset) = buffer.extent
  }

  /// Makes what was written part of the buffer.
  func finish() { unsafe buffer.setCount(offset) }

  /// Makes room for so many bytes more.
  @_transparent
  mutating func reserve(_ byteCount: Int) {
    if byteCount > capacity &- offset { grow(byteCount) }
  }

  @inline(never)
  private mutating func grow(_ byteCount: Int) {
    // The buffer copies what it counts; its count is put back, because the bytes are not its yet.
    let buffer = unsafe buffer
    let count = buffer.count
    buffer.count = offset
    buffer.reserve(byteCount)
    buffer.count = count
    unsafe base = buffer.base
    capacity = buffer.capacity
  }

  @_transparent
  mutating func append(_ byte: UInt8) {
    reserve(1)
    // Safe: reserved above, as in every append below.
    unsafe base.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    offset &+= 1
  }

  @_transparent
  mutating func append(uint16 value: UInt16) {
    reserve(2)
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt16.self)
    offset &+= 2
  }

  @_transparent
  mutating func append(uint32 value: UInt32) {
    reserve(4)
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    offset &+= 4
  }

  @_transparent
  mutating func append(uint64 value: UInt64) {
    reserve(8)
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    offset &+= 8
  }

  @_transparent
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    unsafe (base + offset).copyMemory(from: source, byteCount: bytes.count)
    offset &+= bytes.count
  }

  @_transparent
  mutating func append(_ bytes: ByteView) {
    reserve(bytes.count)
    unsafe (base + offset).copyMemory(from: bytes.base, byteCount: bytes.count)
    offset &+= bytes.count
  }

  mutating func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  @_transparent
  mutating func append(utf8 string: String) {
    // Not a copy of the string, which would be counted (row: use-insert-1-fields).
    UTF8Order.withView(of: string) { append($0) }
  }

  /// A field's row whose end is not known yet: mark and key byte count.
  @_transparent
  mutating func append(mark: UInt8, keyByteCount: UInt8) {
    append(uint64: UInt64(mark) | UInt64(keyByteCount) &<< 8)
    offset &-= 8 &- RecordBody.tableStride
  }

  /// Makes room for bytes that are set later, every one.
  @_transparent
  mutating func skip(_ byteCount: Int) {
    reserve(byteCount)
    offset &+= byteCount
  }

  /// Takes back what was appended.
  mutating func cut(to start: Int) {
    precondition(start >= 0 && start <= offset, "a writer is only ever cut back")
    offset = start
  }

  /// A key whose first eight bytes are known: few are longer.
  @_transparent
  mutating func append(key: String, head: UInt64) {
    let count = key.utf8.count
    if count > 8 {
      append(utf8: key)
    } else {
      append(number: head.byteSwapped, byteCount: count)
    }
  }

  /// A whole number as a value, for which eight bytes were reserved.
  @_transparent
  mutating func append(reserved number: Int64) {
    guard offset &+ 8 <= capacity else { preconditionFailure("a number was written where no room was made") }
    // Safe: the line above.
    let raw = ZigZag.encode(number)
    unsafe base.storeBytes(of: raw.littleEndian, toByteOffset: offset, as: UInt64.self)
    offset &+= ValueCoding.byteCount(ofZigZag: raw)
  }

  /// The low bytes of a number.
  @_transparent
  mutating func append(number: UInt64, byteCount: Int) {
    append(uint64: number)
    offset &-= 8 &- byteCount
  }

  /// A pointer to room for so many bytes; `setEnd` says how many were filled.
  @_transparent
  mutating func room(_ byteCount: Int) -> UnsafeMutableRawPointer {
    reserve(byteCount)
    return unsafe base + offset
  }

  @_transparent
  mutating func setEnd(_ end: UnsafeMutableRawPointer) {
    let newOffset = unsafe end - base
    guard newOffset >= offset, newOffset <= capacity else { preconditionFailure("a writer ends within its room") }
    offset = newOffset
  }

  @_transparent
  mutating func append(varint value: UInt64) {
    if value < 0x80 { append(UInt8(truncatingIfNeeded: value)) } else { append(longVarint: value) }
  }

  @inline(never)
  private mutating func append(longVarint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Adds bits to a byte that was appended before.
  func set(bits: UInt8, at position: Int) {
    precondition(position >= 0 && position < offset, "a byte is patched after it was appended")
    // Safe: the line above.
    let old = unsafe base.load(fromByteOffset: position, as: UInt8.self)
    unsafe base.storeBytes(of: old | bits, toByteOffset: position, as: UInt8.self)
  }

  /// A field's row.
  @_transparent
  func set(mark: UInt8, keyByteCount: UInt8, end: UInt32, at position: Int) {
    guard position >= 0, position <= offset &- RecordBody.tableStride else {
      preconditionFailure("a row is patched after it was appended")
    }
    // Safe: the line above.
    let head = (UInt16(mark) | UInt16(keyByteCount) &<< 8).littleEndian
    unsafe base.storeBytes(of: head, toByteOffset: position, as: UInt16.self)
    unsafe base.storeBytes(of: end.littleEndian, toByteOffset: position &+ 2, as: UInt32.self)
  }

  @_transparent
  func set(uint32 value: UInt32, at position: Int) {
    guard position >= 0, position <= offset &- 4 else { preconditionFailure("a row is patched after it was appended") }
    // Safe: the line above.
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt32.self)
  }
}
