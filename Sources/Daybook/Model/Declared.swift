import DaybookEngine

/// One declaration in memory: its bytes, and what reading a body needs of them. It lies in a block of its own that never moves, so that
/// any thread may read it without a count.
///
///     offset  size  field
///          0    32  `Facts`
///         32     n  the declaration
///                m  of a shape: field count, rows and keys as a spelled body has them, with the ends that they would have if all values
///                   were empty that may be of any length
///
/// Always true: the declaration is sound. Valid as long as the dictionary that it is in.
@safe struct Declared: Sendable {
  private struct Facts {
    var number: UInt32
    var byteCount: UInt32
    var tableByteCount: UInt32
    /// How many fields have values of any length.
    var variableCount: UInt16
    var fieldCount: UInt16
    /// How many fields are in front of the first of those; their ends are the same in each body.
    var fixedCount: UInt16
    var typeByteCount: UInt8
    /// The `FieldIndex` of a shape with many fields, which the block owns; else zero.
    var index: UInt
  }

  private static let factsByteCount = 32
  private nonisolated(unsafe) let base: UnsafeRawPointer

  /// What is at an address that `address` gave.
  @_transparent
  init?(address: UInt) {
    guard let base = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    unsafe self.base = base
  }

  /// Takes memory for a declaration, until `free`.
  init(copying bytes: ByteView, number: UInt32) {
    var facts = Facts(
      number: number, byteCount: UInt32(bytes.count), tableByteCount: 0, variableCount: 0, fieldCount: 0, fixedCount: 0,
      typeByteCount: 0, index: 0)
    let table = ByteBuffer(capacity: 16)
    defer { withExtendedLifetime(table) {} }
    if bytes[0] == Declaration.Kind.shape.rawValue {
      facts.typeByteCount = bytes[1]
      let start = 2 + Int(bytes[1])
      facts.fieldCount = bytes.uint16(at: start)
      table.append(uint16: facts.fieldCount)
      let keysStart = start + 2 + 2 * Int(facts.fieldCount)
      var end: UInt32 = 0
      for row in stride(from: start + 2, to: keysStart, by: 2) {
        if FieldMark(rawValue: bytes[row]).isOfEightBytes {
          end += 8
          if facts.variableCount == 0 { facts.fixedCount += 1 }
        } else {
          facts.variableCount += 1
        }
        table.append(uint16: bytes.uint16(at: row))
        table.append(uint32: end)
      }
      table.append(bytes.dropFirst(keysStart))
    }
    facts.tableByteCount = UInt32(table.count)
    if Int(facts.fieldCount) >= FieldIndex.leastFieldCount {
      facts.index = unsafe UInt(bitPattern: Unmanaged.passRetained(FieldIndex(table.view)).toOpaque())
    }
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: Declared.factsByteCount + bytes.count + table.count, alignment: 16)
    // Safe: the block was made for the three.
    unsafe block.storeBytes(of: facts, as: Facts.self)
    unsafe (block + Declared.factsByteCount).copyMemory(from: bytes.base, byteCount: bytes.count)
    unsafe (block + Declared.factsByteCount + bytes.count).copyMemory(from: table.view.base, byteCount: table.count)
    unsafe base = UnsafeRawPointer(block)
  }

  func free() {
    unsafe ownedIndex?.release()
    unsafe UnsafeMutableRawPointer(mutating: base).deallocate()
  }

  var address: UInt { unsafe UInt(bitPattern: base) }

  // Safe: a block begins with its facts and is as long as they say.
  @_transparent private var facts: Facts { unsafe base.assumingMemoryBound(to: Facts.self).pointee }
  @_transparent var number: UInt32 { facts.number }
  /// The declaration.
  @_transparent var bytes: ByteView {
    unsafe ByteView(base + Declared.factsByteCount, count: Int(facts.byteCount))
  }
  @_transparent var kind: UInt8 { unsafe base.load(fromByteOffset: Declared.factsByteCount, as: UInt8.self) }

  // MARK: a shape

  @_transparent var type: ByteView {
    unsafe ByteView(base + Declared.factsByteCount + 2, count: Int(facts.typeByteCount))
  }
  @_transparent var fieldCount: Int { Int(facts.fieldCount) }
  @_transparent var variableCount: Int { Int(facts.variableCount) }
  @_transparent var fixedCount: Int { Int(facts.fixedCount) }
  /// Field count, rows and keys, as a spelled body begins with them.
  @_transparent var table: ByteView {
    let facts = facts
    return unsafe ByteView(base + Declared.factsByteCount + Int(facts.byteCount), count: Int(facts.tableByteCount))
  }
  /// What finds a field of a body that has all fields of this shape; nil when there are few.
  @inline(__always) var index: FieldIndex? { unsafe ownedIndex?.takeUnretainedValue() }
  private var ownedIndex: Unmanaged<FieldIndex>? {
    // Safe: the address of an object that the block retains, or zero.
    unsafe UnsafeRawPointer(bitPattern: facts.index).map { unsafe Unmanaged.fromOpaque($0) }
  }
  /// The fields of a shape.
  var fields: [(key: [UInt8], mark: UInt8)] {
    let table = table
    var keyStart = 2 + RecordBody.tableStride * fieldCount
    return (0..<fieldCount).map { index in
      let row = 2 + RecordBody.tableStride * index
      let end = keyStart + Int(table[row + 1])
      defer { keyStart = end }
      return (table.slice(keyStart..<end).array, table[row])
    }
  }

  // MARK: a zone

  var epoch: UInt64 { bytes.uint64(at: 1) }
  @_transparent var zoneKey: ByteView { bytes.dropFirst(9) }

  // MARK: a user or a device

  @_transparent var text: ByteView { bytes.dropFirst(1) }
}

extension Declared {
  /// A walk over the fields of a shape, beside one over a body's: both ascend.
  struct Walk {
    private let table: ByteView
    private let count: Int
    private var index = -1
    private var keyStart: Int
    private var keyEnd: Int

    init(_ shape: Declared) {
      table = shape.table
      count = shape.fieldCount
      keyStart = 2 + RecordBody.tableStride * count
      keyEnd = keyStart
    }

    /// The index of a field; nil when the shape does not have it, and then the walk is over. Fields are asked for in the order of their
    /// keys.
    mutating func index(of field: FieldCursor.Field) -> Int? {
      while index + 1 < count {
        index += 1
        let row = 2 + RecordBody.tableStride * index
        keyStart = keyEnd
        keyEnd += Int(table[row + 1])
        let order = UTF8Order.compare(table.slice(keyStart..<keyEnd), field.key)
        if order == 0 { return table[row] == field.mark.rawValue ? index : nil }
        if order > 0 { return nil }
      }
      return nil
    }
  }

  /// Whether a shape has all fields of a body.
  func covers(_ body: ByteView, _ layout: RecordBody.Layout) -> Bool {
    guard fieldCount >= layout.fieldCount else { return false }
    var walk = Walk(self)
    var cursor = FieldCursor(body, layout)
    while let field = cursor.next() {
      if walk.index(of: field) == nil { return false }
    }
    return true
  }
}
