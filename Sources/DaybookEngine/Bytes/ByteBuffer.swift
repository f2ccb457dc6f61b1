/// A growing run of bytes in raw memory: what a transaction encodes its results into.
///
/// An array would work, but it checks exclusive access and uniqueness for every field, and at a million records a second both
/// checks show. The buffer belongs to one thread at a time (the holder of the turn) and frees its memory with itself.
/// `removeAll` keeps the capacity up to a limit, so that the next transaction does not allocate.
///
/// Its stored properties, like those of the other objects that only the holder of the turn touches, are exempt from the
/// run-time check of exclusive access: the check was 39 % of the instructions of a put (row: kv-load-random-unsynced).
@safe public final class ByteBuffer: @unchecked Sendable {
  @exclusivity(unchecked) public var base: UnsafeMutableRawPointer
  @safe @exclusivity(unchecked) public private(set) var capacity: Int
  @safe @exclusivity(unchecked) public var count = 0

  public init(capacity: Int = 4096) {
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    self.capacity = capacity
  }

  deinit { unsafe base.deallocate() }

  /// Memory and count together, for a writer in another module: there, access to the properties is checked for exclusivity, and
  /// inlined methods are not (row: record-insert).
  @inlinable @inline(__always)
  public var extent: (base: UnsafeMutableRawPointer, capacity: Int, count: Int) {
    unsafe (base, capacity, count)
  }

  /// Counts bytes that the caller has written behind the old end.
  @inlinable @inline(__always)
  public func setCount(_ newCount: Int) {
    guard newCount >= 0, newCount <= capacity else { preconditionFailure("a buffer holds what it has room for") }
    count = newCount
  }

  /// What has been written so far; valid until the next append.
  @inlinable public var view: ByteView { unsafe ByteView(UnsafeRawPointer(base), count: count) }

  @inlinable @inline(__always)
  public func reserve(_ byteCount: Int) {
    if count &+ byteCount > capacity { grow(to: count + byteCount) }
  }

  public func grow(to needed: Int) {
    let wanted = max(needed, capacity * 2)
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    // Safe: both allocations hold at least `count` bytes.
    unsafe bigger.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe base = bigger
    capacity = wanted
  }

  // Not through `reserve`, which is one more call without optimisation: a method of a class cannot be `@_transparent`.
  @inlinable @inline(__always)
  public func append(_ byte: UInt8) {
    if count &+ 1 > capacity { grow(to: count + 1) }
    // Safe: there is room; the same holds for every append below.
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  @inlinable @inline(__always)
  public func append(uint16 value: UInt16) {
    if count &+ 2 > capacity { grow(to: count + 2) }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt16.self)
    count &+= 2
  }

  @inlinable @inline(__always)
  public func append(uint32 value: UInt32) {
    if count &+ 4 > capacity { grow(to: count + 4) }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt32.self)
    count &+= 4
  }

  @inlinable @inline(__always)
  public func append(uint64 value: UInt64) {
    if count &+ 8 > capacity { grow(to: count + 8) }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt64.self)
    count &+= 8
  }

  @inlinable @inline(__always)
  public func append(_ bytes: ByteView) {
    reserve(bytes.count)
    unsafe (base + count).copyMemory(from: bytes.base, byteCount: bytes.count)
    count &+= bytes.count
  }

  @inlinable public func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append(ByteView($0)) }
  }

  /// Appends the UTF-8 of a string, without an intermediate copy.
  @inlinable public func append(utf8 string: String) {
    var string = string
    string.withUTF8 { unsafe append(ByteView(UnsafeRawBufferPointer($0))) }
  }

  @inlinable public func append(zeros byteCount: Int) {
    reserve(byteCount)
    unsafe (base + count).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    count &+= byteCount
  }

  @inlinable @inline(__always)
  public func set(uint16 value: UInt16, at offset: Int) {
    guard offset >= 0, offset <= count - 2 else { preconditionFailure("a buffer was patched outside its bytes") }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt16.self)
  }

  @inlinable @inline(__always)
  public func set(uint32 value: UInt32, at offset: Int) {
    guard offset >= 0, offset <= count - 4 else { preconditionFailure("a buffer was patched outside its bytes") }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
  }

  @inlinable @inline(__always)
  public func set(uint64 value: UInt64, at offset: Int) {
    guard offset >= 0, offset <= count - 8 else { preconditionFailure("a buffer was patched outside its bytes") }
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
  }

  /// Moves everything from `offset` on by four bytes.
  public func insert(uint32 value: UInt32, at offset: Int) {
    precondition(offset >= 0 && offset <= count, "a buffer grows inside its bytes")
    let moved = count - offset
    append(uint32: 0)
    // Safe: the line above made room for four bytes more; the copy allows that both places overlap.
    unsafe (base + offset + 4).copyMemory(from: base + offset, byteCount: moved)
    set(uint32: value, at: offset)
  }

  /// Drops everything behind `newCount`.
  @inlinable public func truncate(to newCount: Int) {
    guard newCount >= 0, newCount <= count else { preconditionFailure("a buffer is only ever cut back") }
    count = newCount
  }

  /// Drops everything; memory beyond `keeping` bytes goes back to the system.
  public func removeAll(keeping: Int = 1 << 20) {
    count = 0
    if capacity > keeping {
      unsafe base.deallocate()
      unsafe base = UnsafeMutableRawPointer.allocate(byteCount: keeping, alignment: 16)
      capacity = keeping
    }
  }
}
