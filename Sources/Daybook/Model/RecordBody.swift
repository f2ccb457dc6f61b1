import DaybookEngine

/// One copy of a record's bytes: what a save operation carries in the log, and what a record that was read is made of.
///
///     offset  size  field (numbers are little-endian)
///          0     1  version = 1
///          1     1  flags: 1 parent, 2 creator, 4 modifier, 8 modifier is the creator, 16 device, 32 tag is a text,
///                   128 a plain field holds references
///          2     2  byte count of the zone key; 0xFFFF = the default zone, no bytes
///          4     1  byte count of the type
///          5     1  byte count of the name
///          6     8  change tag; 0 = never saved
///         14     8  modification date: seconds since 2001-01-01 UTC, a double
///         22     8  creation date
///         30     8  offset of the previous version in the log
///         38     4  its byte count; 0 = none
///         42        zone key, type, name
///                   as flagged: tag text, creator, modifier, device (2-byte count + bytes each);
///                   parent's name (1-byte count + bytes)
///                2  field count
///                   field table, sorted by key: {1 mark (kind, flags), 1 key byte count, 4 end of value} each
///                   key heap, value heap
///
/// Keys ascend strictly over the whole table, plain and encrypted together: so no key can be both.
/// An end counts from the start of the value heap; a value begins where the one before it ends.
///
/// Always true of a body in memory: header and table were checked, so every length stays within the bytes. What is
/// inside a value is checked when it is read, and a value that makes no sense reads as nil. The bytes never change.
///
/// `previous` and `tag` are facts of the log; the rest is the record. Values: `ValueCoding`. Writing: `RecordBodyEncoder`.
@safe package struct RecordBody: @unchecked Sendable {
  /// Where things are; computed once from the bytes.
  struct Layout {
    var byteCount = 0
    /// Behind the name.
    var optionalsStart = 0
    /// At the field count.
    var fieldsStart = 0
    var fieldCount = 0
    var keysStart = 0
    var valuesStart = 0
    /// Whether everything was checked, values and UTF-8 included.
    var isChecked = false
  }

  private struct Header {
    let layout: Layout
    let services: RecordServices?
  }

  static let version: UInt8 = 1
  static let fixedByteCount = 42
  /// Where the link to the version before stands.
  static let previousOffset = 30
  static let defaultZoneMark: UInt16 = 0xFFFF
  static let tableStride = 6

  enum Flags {
    static let parent: UInt8 = 1
    static let creator: UInt8 = 2
    static let modifier: UInt8 = 4
    static let modifierIsCreator: UInt8 = 8
    static let device: UInt8 = 16
    static let tagText: UInt8 = 32
    /// A field names an asset whose content is not in the body: who counts those looks here first.
    static let assets: UInt8 = 64
    /// A plain field is a reference or a list of them; an empty list counts.
    static let references: UInt8 = 128
    static let all: UInt8 = 255
    /// Those that announce a text with a 2-byte count.
    static let counted: UInt8 = tagText | creator | modifier | device
  }

  // One allocation: the layout, and behind it the bytes.
  private let storage: ManagedBuffer<Header, UInt8>

  init(copying view: ByteView, layout: Layout, services: RecordServices? = nil) {
    storage = ManagedBuffer<Header, UInt8>.create(minimumCapacity: view.count) { _ in
      Header(layout: layout, services: services)
    }
    unsafe storage.withUnsafeMutablePointerToElements { target in
      // Safe: the buffer was made for this many bytes.
      unsafe UnsafeMutableRawPointer(target).copyMemory(from: view.base, byteCount: view.count)
    }
  }

  /// A body whose bytes are made in their place, from zeros.
  init(layout: Layout, _ fill: (Target) -> Void) {
    storage = ManagedBuffer<Header, UInt8>.create(minimumCapacity: layout.byteCount) { _ in
      Header(layout: layout, services: nil)
    }
    unsafe storage.withUnsafeMutablePointerToElements { elements in
      let target = unsafe Target(UnsafeMutableRawBufferPointer(start: elements, count: layout.byteCount))
      // Safe: the buffer was made for this many bytes, and the target checks every write against them.
      unsafe RawMemory.zero(UnsafeMutableRawPointer(elements), byteCount: layout.byteCount)
      fill(target)
    }
  }

  /// The bytes of a body while they are made.
  @safe struct Target {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ bytes: UnsafeMutableRawBufferPointer) { unsafe self.bytes = bytes }

    @inline(__always)
    func set(_ byte: UInt8, at offset: Int) {
      precondition(unsafe offset >= 0 && offset < bytes.count, "a body is filled inside its bytes")
      // Safe: the line above.
      unsafe bytes.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    }

    @inline(__always)
    func copy(_ source: ByteView, to offset: Int) {
      precondition(unsafe offset >= 0 && source.count <= bytes.count - offset, "a body is filled inside its bytes")
      guard let base = unsafe bytes.baseAddress else { return }
      // Safe: the precondition above.
      unsafe (base + offset).copyMemory(from: source.base, byteCount: source.count)
    }
  }

  /// A body from bytes that nobody vouches for: everything is checked, every value and all text included.
  package init(copying view: ByteView, services: RecordServices? = nil) throws(BodyFault) {
    var layout = try Self.layout(of: view)
    try Self.validateContents(of: view, layout: layout)
    layout.isChecked = true
    self.init(copying: view, layout: layout, services: services)
  }

  /// A body from bytes whose checksum was or will be verified: header and table are checked, values when read.
  ///
  /// Costs one allocation and one pass over the field table.
  package init(trusted view: ByteView, services: RecordServices? = nil) throws(BodyFault) {
    self.init(copying: view, layout: try Self.layout(of: view), services: services)
  }

  /// Bytes that this module has just encoded from checked parts.
  init(encoded view: ByteView, services: RecordServices?) throws(BodyFault) {
    var layout = try Self.layout(of: view)
    layout.isChecked = true
    self.init(copying: view, layout: layout, services: services)
  }

  /// Read through the pointer: `storage.header` is checked for exclusive access each time (row: record-fetch-ten-fields).
  @inline(__always)
  var layout: Layout {
    // Safe: the header was made with the storage and never changes.
    unsafe storage.withUnsafeMutablePointerToHeader { unsafe $0.pointee.layout }
  }
  package var services: RecordServices? {
    // Safe: as above.
    unsafe storage.withUnsafeMutablePointerToHeader { unsafe $0.pointee.services }
  }
  package var byteCount: Int { layout.byteCount }
  package var fieldCount: Int { layout.fieldCount }
  var isChecked: Bool { layout.isChecked }

  /// Whether bytes are a part of these.
  func holds(_ bytes: ByteView) -> Bool {
    withBytes { all in
      // Safe: addresses are compared, nothing is read.
      unsafe bytes.base >= all.base && bytes.base < all.base + all.count
    }
  }

  /// Whether both are the same object, hence the same bytes.
  package func isIdentical(to other: RecordBody) -> Bool { storage === other.storage }

  /// Calls `body` with all the bytes; the view ends with the call.
  @inline(__always)
  package func withBytes<R, E>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    // Safe: the elements live as long as the storage, which is kept until the closure has returned, and
    // `byteCount` of them were filled when the body was made.
    let elements = unsafe storage.withUnsafeMutablePointerToElements { unsafe $0 }
    defer { withExtendedLifetime(storage) {} }
    return try body(unsafe ByteView(UnsafeRawPointer(elements), count: layout.byteCount))
  }
}

/// What a record needs from the database it was read from: where assets are, and the cipher.
package final class RecordServices: Sendable {
  /// The contents of assets that are not in their records.
  package let assets: AssetLibrary?
  /// Seals and opens encrypted values; nil stores them as they are.
  let sealer: FieldSealer?

  package init(assets: AssetLibrary? = nil, cipher: (any FieldCipher)? = nil) {
    self.assets = assets
    sealer = cipher.map { FieldSealer(cipher: $0) }
  }
}

extension RecordBody {
  /// Checks header and table, and says where things are.
  static func layout(of view: ByteView) throws(BodyFault) -> Layout {
    guard view.count >= fixedByteCount else { throw .truncated }
    let flags = view[1]
    guard view[0] == version, flags & ~Flags.all == 0 else { throw .unknownVersion }
    var layout = Layout()
    layout.byteCount = view.count
    layout.optionalsStart =
      fixedByteCount + zoneKeyByteCount(of: view) + Int(view[4]) + Int(view[5])
    guard layout.optionalsStart <= view.count else { throw .truncated }
    // Identity has no "absent", so it must make sense before anything is read.
    let name = nameBytes(of: view)
    guard !name.isEmpty, UTF8Order.isASCII(name) else { throw .badName }
    let type = typeBytes(of: view)
    guard !type.isEmpty, UTF8Order.isASCII(type) else { throw .badType }
    if view.uint16(at: 2) != defaultZoneMark, !Zone.ID.isSound(key: zoneKey(of: view)) { throw .badZoneKey }
    var end = layout.optionalsStart
    // Tag text, creator, modifier, device: all alike, so only their number matters here.
    var texts = (flags & Flags.counted).nonzeroBitCount
    while texts > 0 {
      guard end + 2 <= view.count else { throw .truncated }
      end += 2 + Int(view.uint16(at: end))
      texts -= 1
    }
    if flags & Flags.parent != 0 {
      guard end < view.count else { throw .truncated }
      end += 1 + Int(view[end])
    }
    guard end + 2 <= view.count else { throw .truncated }
    layout.fieldsStart = end
    layout.fieldCount = Int(view.uint16(at: end))
    layout.keysStart = end + 2 + tableStride * layout.fieldCount
    guard layout.keysStart <= view.count else { throw .truncated }
    var keyEnd = layout.keysStart
    var valueEnd = 0
    var row = end + 2
    while row < layout.keysStart {
      keyEnd &+= Int(view[row &+ 1])
      let next = Int(view.uint32(at: row &+ 2))
      guard next >= valueEnd else { throw .badLength }
      valueEnd = next
      row &+= tableStride
    }
    layout.valuesStart = keyEnd
    guard keyEnd + valueEnd <= view.count else { throw .truncated }
    guard keyEnd + valueEnd == view.count else { throw .trailingBytes }
    return layout
  }

  private static func zoneKeyByteCount(of view: ByteView) -> Int {
    let count = view.uint16(at: 2)
    return count == defaultZoneMark ? 0 : Int(count)
  }

  /// Checks what `layout(of:)` leaves open: names, order, kinds, every value.
  private static func validateContents(of view: ByteView, layout: Layout) throws(BodyFault) {
    if view.uint16(at: 2) != defaultZoneMark { _ = try Zone.ID(key: zoneKey(of: view)) }
    guard let type = UTF8Order.string(typeBytes(of: view), isValid: false) else { throw .notUTF8 }
    guard NameRules.faultOfType(type, isNew: false) == nil else { throw .badType }
    guard let name = UTF8Order.string(nameBytes(of: view), isValid: false) else { throw .notUTF8 }
    guard NameRules.faultOfRecordName(name) == nil else { throw .badName }
    let flags = view[1]
    if flags & Flags.modifierIsCreator != 0, flags & Flags.creator == 0 || flags & Flags.modifier != 0 {
      throw .unknownVersion
    }
    let optionals = Optionals(of: view, layout: layout)
    for text in [optionals.tagText, optionals.creator, optionals.modifier, optionals.device] {
      if let text, UTF8Order.string(text, isValid: false) == nil { throw .notUTF8 }
    }
    if let parent = optionals.parent {
      guard let name = UTF8Order.string(parent, isValid: false), NameRules.faultOfRecordName(name) == nil else {
        throw .badName
      }
    }
    guard !view.double(at: 14).isNaN, !view.double(at: 22).isNaN else { throw .badValue }
    var cursor = FieldCursor(view, layout)
    var last: ByteView?
    var hasReferences = false
    var namesAssets = false
    while let field = cursor.next() {
      namesAssets = namesAssets || AssetNames.areIn(field)
      guard let key = UTF8Order.string(field.key, isValid: false) else { throw .notUTF8 }
      guard NameRules.faultOfKey(key) == nil else { throw .badKey }
      if let last, UTF8Order.compare(last, field.key) >= 0 { throw .keysOutOfOrder }
      last = field.key
      guard let kind = field.mark.kind else { throw .unknownKind }
      if field.mark.isEncrypted, kind.isAsset || kind.isReference { throw .unknownKind }
      hasReferences = hasReferences || kind.isReference
      if field.mark.isSealed {
        guard field.mark.isEncrypted else { throw .unknownKind }
        continue
      }
      let own = zoneKey(of: view)
      guard ValueCoding.decode(kind, field.value, zoneKey: own, isValid: false, services: nil) != nil else {
        throw .badValue
      }
    }
    guard hasReferences == (flags & Flags.references != 0) else { throw .unknownVersion }
    guard namesAssets == (flags & Flags.assets != 0) else { throw .unknownVersion }
  }

  /// Whether the header announces a parent or references. Costs one load.
  @inline(__always)
  static func pointsSomewhere(_ view: ByteView) -> Bool { view[1] & (Flags.parent | Flags.references) != 0 }

  /// The zone's bytes, as catalogues and trees have them: the default zone is spelled out.
  static func zoneKey(of view: ByteView) -> ByteView {
    let count = view.uint16(at: 2)
    return count == defaultZoneMark
      ? Zone.ID.defaultKey : view.slice(fixedByteCount..<fixedByteCount + Int(count))
  }

  static func typeBytes(of view: ByteView) -> ByteView {
    let start = fixedByteCount + zoneKeyByteCount(of: view)
    return view.slice(start..<start + Int(view[4]))
  }

  static func nameBytes(of view: ByteView) -> ByteView {
    let start = fixedByteCount + zoneKeyByteCount(of: view) + Int(view[4])
    return view.slice(start..<start + Int(view[5]))
  }

  /// The parts between name and fields.
  struct Optionals {
    var tagText: ByteView?
    var creator: ByteView?
    var modifier: ByteView?
    var device: ByteView?
    var parent: ByteView?

    init(of view: ByteView, layout: Layout) {
      let flags = view[1]
      var reader = ByteReader(view.slice(layout.optionalsStart..<layout.fieldsStart))
      func text(_ flag: UInt8) -> ByteView? {
        guard flags & flag != 0, let count = reader.uint16() else { return nil }
        return reader.take(Int(count))
      }
      tagText = text(Flags.tagText)
      creator = text(Flags.creator)
      modifier = text(Flags.modifier)
      device = text(Flags.device)
      if flags & Flags.modifierIsCreator != 0 { modifier = creator }
      if flags & Flags.parent != 0, let count = reader.uint8() { parent = reader.take(Int(count)) }
    }
  }
}

extension ByteView {
  /// Eight bytes as a double.
  func double(at offset: Int) -> Double { Double(bitPattern: uint64(at: offset)) }
}

/// A walk over the field table of checked bytes.
package struct FieldCursor {
  package struct Field {
    package let mark: FieldMark
    package let key: ByteView
    package let value: ByteView
  }

  private let view: ByteView
  private var row: Int
  private let rowsEnd: Int
  private var keyStart: Int
  private var valueStart: Int
  private let valuesStart: Int

  init(_ view: ByteView, _ layout: RecordBody.Layout) {
    self.view = view
    row = layout.fieldsStart + 2
    rowsEnd = layout.keysStart
    keyStart = layout.keysStart
    valuesStart = layout.valuesStart
    valueStart = layout.valuesStart
  }

  package mutating func next() -> Field? {
    guard row < rowsEnd else { return nil }
    let keyEnd = keyStart &+ Int(view[row &+ 1])
    let valueEnd = valuesStart &+ Int(view.uint32(at: row &+ 2))
    let field = Field(
      mark: FieldMark(rawValue: view[row]), key: view.slice(keyStart..<keyEnd),
      value: view.slice(valueStart..<valueEnd))
    row &+= RecordBody.tableStride
    keyStart = keyEnd
    valueStart = valueEnd
    return field
  }
}
