/// A borrowed run of bytes: a pointer and a count, every access checked against the count.
///
/// Pages, log bodies and keys travel through the engine as views, because a view costs two registers and no reference
/// count. A view keeps nothing alive: it is valid as long as the snapshot, the transaction or the closure that it
/// came from. Nothing that leaves the library is a view; what leaves is copied.
///
/// Always true: `count` is not negative, and `base ..< base + count` was readable when the view was made.
@safe public struct ByteView: Sendable {
  public nonisolated(unsafe) let base: UnsafeRawPointer
  public let count: Int

  @inlinable @_transparent
  public init(_ base: UnsafeRawPointer, count: Int) {
    assert(count >= 0, "a view never has a negative length")
    unsafe self.base = base
    self.count = count
  }

  @inlinable @_transparent
  public init(_ buffer: UnsafeRawBufferPointer) {
    // Safe: an empty buffer may have no base address; a view of no bytes is never dereferenced.
    unsafe self.base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
    self.count = buffer.count
  }

  @inlinable public var isEmpty: Bool { count == 0 }

  /// The bytes as a buffer, for the few callers that call C.
  @inlinable public var buffer: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: base, count: count)
  }

  @inlinable
  public subscript(index: Int) -> UInt8 {
    @_transparent
    get {
      precondition(index >= 0 && index < count, "a view was read outside its bytes")
      // Safe: the line above.
      return unsafe base.load(fromByteOffset: index, as: UInt8.self)
    }
  }

  @inlinable @_transparent
  public func uint16(at offset: Int) -> UInt16 {
    precondition(offset >= 0 && offset <= count - 2, "a view was read outside its bytes")
    // Safe: the line above.
    return unsafe UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inlinable @_transparent
  public func uint32(at offset: Int) -> UInt32 {
    precondition(offset >= 0 && offset <= count - 4, "a view was read outside its bytes")
    // Safe: the line above.
    return unsafe UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inlinable @_transparent
  public func uint64(at offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset <= count - 8, "a view was read outside its bytes")
    // Safe: the line above.
    return unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Eight bytes as a big-endian number, for ordered keys.
  @inlinable @_transparent
  public func bigEndianUInt64(at offset: Int) -> UInt64 { uint64(at: offset).byteSwapped }

  @inlinable @_transparent
  public func bigEndianUInt32(at offset: Int) -> UInt32 { uint32(at: offset).byteSwapped }

  @inlinable @_transparent
  public func slice(_ range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "a view was cut outside its bytes")
    // Safe: the line above.
    return unsafe ByteView(base + range.lowerBound, count: range.upperBound &- range.lowerBound)
  }

  @inlinable @_transparent
  public func dropFirst(_ byteCount: Int) -> ByteView { slice(byteCount..<count) }

  @inlinable @_transparent
  public func prefix(_ byteCount: Int) -> ByteView { slice(0..<byteCount) }

  /// The index of the first such byte; nil when there is none.
  public func firstIndex(of byte: UInt8) -> Int? { (0..<count).first { self[$0] == byte } }

  /// A copy of the bytes, for keeping.
  @inlinable public var array: [UInt8] {
    // All empty arrays are one, and making it with a count would write that count into it, from any thread.
    if count == 0 { return [] }
    // Not `[UInt8](buffer)`: of a copy that is not used, the optimizer releases the memory first and fills it then. Nor with an
    // uninitialized capacity: that asks the runtime for the type of the memory, 400 instructions an array (row: query-equal).
    var bytes: [UInt8] = []
    unsafe bytes.append(contentsOf: buffer)
    return bytes
  }
}

extension [UInt8] {
  /// The bytes as a view that is valid inside `body`. Inlined: as a call of a generic function of another module it took a hundred
  /// instructions for each key that is compared (row: query-equal).
  @inlinable @inline(__always)
  package func withView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeBufferPointer { (bytes) throws(E) in
      // Safe: the view is used only while the closure runs.
      try body(unsafe ByteView(UnsafeRawBufferPointer(bytes)))
    }
  }
}
