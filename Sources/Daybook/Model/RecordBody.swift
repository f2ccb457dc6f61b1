import DaybookEngine
import Synchronization

/// One copy of a record's bytes, spelled out: what a record in memory is made of. The log has most packed (`PackedBody`).
///
///     offset  size  field (numbers are little-endian)
///          0     1  version = 1
///          1     1  flags: 1 parent, 2 creator, 4 modifier, 8 modifier is the creator, 16 device, 32 tag is a text,
///                   64 a field has an asset in a file, 128 a plain field has references
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
  /// Where things are; computed once from the bytes. Sixteen bytes, as many as an operation's header takes: a body that
  /// is read gets its layout where the header was (`RecordBodyBatch`).
  struct Layout {
    static let byteCount = 16
    private var byteCount32: UInt32 = 0
    private var fieldsStart32: UInt32 = 0
    private var valuesStart32: UInt32 = 0
    private var fieldCount16: UInt16 = 0
    /// Whether everything was checked, values and UTF-8 included.
    var isChecked = false
    /// Whether the address of an index is in front of the layout.
    var hasIndex = false

    init() {}

    @_transparent
    init(byteCount: Int, fieldsStart: Int, fieldCount: Int, valuesStart: Int) {
      byteCount32 = UInt32(truncatingIfNeeded: byteCount)
      fieldsStart32 = UInt32(truncatingIfNeeded: fieldsStart)
      fieldCount16 = UInt16(truncatingIfNeeded: fieldCount)
      valuesStart32 = UInt32(truncatingIfNeeded: valuesStart)
    }

    @_transparent var byteCount: Int { Int(byteCount32) }
    /// At the field count.
    @_transparent var fieldsStart: Int { Int(fieldsStart32) }
    @_transparent var fieldCount: Int { Int(fieldCount16) }
    @_transparent var keysStart: Int { fieldsStart &+ 2 &+ RecordBody.tableStride &* fieldCount }
    @_transparent var valuesStart: Int { Int(valuesStart32) }
  }

  /// What the bodies of an allocation need.
  struct Needs {
    let services: RecordServices?
    /// Of the only body in it: a `FieldIndex` or a `LateFieldIndex`.
    let index: AnyObject?
  }

  /// Words, so that every body in it can be aligned.
  typealias Storage = ManagedBuffer<Needs, UInt64>

  static let version: UInt8 = 1
  static let fixedByteCount = 42
  /// Where the link to the version before stands.
  static let previousOffset = 30
  /// Where the date is at which the record was saved last.
  static let modificationOffset = 14
  /// Where the date stands at which the record was made.
  static let creationOffset = 22
  static let defaultZoneMark: UInt16 = 0xFFFF
  static let tableStride = 6

  /// All eight bits are taken: another flag needs another version of the body.
  enum Flags {
    static let parent: UInt8 = 1
    static let creator: UInt8 = 2
    static let modifier: UInt8 = 4
    static let modifierIsCreator: UInt8 = 8
    static let device: UInt8 = 16
    static let tagText: UInt8 = 32
    /// A field refers to an asset whose content is not in the body: who counts those looks here first.
    static let assets: UInt8 = 64
    /// A plain field is a reference or a list of them; an empty list counts.
    static let references: UInt8 = 128
    /// Those that tell of fields: a body without any has none of them.
    static let ofFields: UInt8 = assets | references
    /// Those that announce a text with a 2-byte count.
    static let counted: UInt8 = tagText | creator | modifier | device

    /// Whether a parent or references are announced.
    @_transparent
    static func pointSomewhere(_ flags: UInt8) -> Bool { flags & (parent | references) != 0 }
  }

  // One allocation for one body or for several: each has its layout, and behind it its bytes. A body with an index is alone, and
  // the index's address and what was asked for last are in front.
  private let storage: Storage
  private let base: UnsafeRawPointer

  static func makeStorage(byteCount: Int, services: RecordServices?, index: AnyObject? = nil) -> Storage {
    Storage.create(minimumCapacity: (byteCount &+ 7) / 8) { _ in Needs(services: services, index: index) }
  }

  /// A body in its place.
  /// - Parameter base: where in `storage` its layout is; the bytes behind are as the layout says.
  @_transparent
  init(storage: Storage, base: UnsafeRawPointer) {
    self.storage = storage
    unsafe self.base = base
  }

  init(copying view: ByteView, layout: Layout, services: RecordServices? = nil) {
    let index = Self.lateIndex(layout)
    let start = index == nil ? 0 : Self.indexByteCount
    storage = Self.makeStorage(byteCount: start + Layout.byteCount + view.count, services: services, index: index)
    var layout = layout
    layout.hasIndex = index != nil
    // Safe: the storage was made for address, layout and bytes, and keeps the index.
    unsafe base = storage.withUnsafeMutablePointerToElements { elements in
      let elements = UnsafeMutableRawPointer(elements)
      if let index { unsafe Self.store(index, at: elements) }
      let target = unsafe elements + start
      unsafe target.storeBytes(of: layout, as: Layout.self)
      unsafe (target + Layout.byteCount).copyMemory(from: view.base, byteCount: view.count)
      return UnsafeRawPointer(target)
    }
  }

  /// A body whose bytes are made in their place, from zeros.
  init(layout: Layout, _ fill: (Target) -> Void) {
    storage = Self.makeStorage(byteCount: Layout.byteCount + layout.byteCount, services: nil)
    // Safe: the storage was made for layout and bytes, and the target checks every write against them.
    unsafe base = storage.withUnsafeMutablePointerToElements { elements in
      let start = UnsafeMutableRawPointer(elements)
      unsafe start.storeBytes(of: layout, as: Layout.self)
      unsafe RawMemory.zero(start + Layout.byteCount, byteCount: layout.byteCount)
      fill(unsafe Target(UnsafeMutableRawBufferPointer(start: start + Layout.byteCount, count: layout.byteCount)))
      return UnsafeRawPointer(start)
    }
  }

  /// The bytes of a body while they are made.
  @safe struct Target {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ bytes: UnsafeMutableRawBufferPointer) { unsafe self.bytes = bytes }

    @_transparent
    func set(_ byte: UInt8, at offset: Int) {
      precondition(unsafe offset >= 0 && offset < bytes.count, "a body is filled inside its bytes")
      // Safe: the line above.
      unsafe bytes.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    }

    @_transparent
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

  /// A body from an operation of the log, packed or spelled out, whose checksum was verified.
  init(
    stored view: ByteView, _ shapes: ShapeDictionary, services: RecordServices? = nil
  ) throws(BodyFault) {
    // The table is valid as long as the dictionary.
    defer { withExtendedLifetime(shapes) {} }
    try self.init(stored: view, shapes.table, services: services)
  }

  init(stored view: ByteView, _ shapes: ShapeTable, services: RecordServices?) throws(BodyFault) {
    guard PackedBody.isPacked(view) else {
      self.init(copying: view, layout: try Self.layout(of: view), services: services)
      return
    }
    let packed = try PackedBody(view, in: shapes)
    self.init(spelling: packed, try packed.plan(in: shapes), services: services)
  }

  /// Of what a body with an index has in front of its layout: the index's address, odd for a `LateFieldIndex`, and what was asked for
  /// last.
  static let indexByteCount = 16

  /// What will find the fields of a body that is no spelled shape; nil where it has few.
  @inline(__always)
  static func lateIndex(_ layout: Layout) -> LateFieldIndex? {
    layout.fieldCount < FieldIndex.leastSpelledFieldCount ? nil : LateFieldIndex()
  }

  /// - Parameter base: where there is room for `indexByteCount` bytes, at a whole word.
  static func store(_ index: FieldIndex, at base: UnsafeMutableRawPointer) {
    // Safe: the caller's.
    unsafe store(index.address, at: base)
  }

  static func store(_ index: LateFieldIndex, at base: UnsafeMutableRawPointer) {
    // Safe: the caller's. An object begins at a whole word.
    unsafe store(UInt(bitPattern: Unmanaged.passUnretained(index).toOpaque()) | 1, at: base)
  }

  private static func store(_ address: UInt, at base: UnsafeMutableRawPointer) {
    unsafe base.storeBytes(of: address, as: UInt.self)
    // All that an atomic number is made of.
    unsafe base.storeBytes(of: 0, toByteOffset: 8, as: Int.self)
  }

  /// A packed body spelled out into an allocation of its own, with an index when it has many fields.
  init(spelling packed: PackedBody, _ plan: PackedBody.Plan, services: RecordServices?) {
    let index = plan.isWholeShape && plan.hasIndex ? packed.shape.index : nil
    let late = index == nil ? Self.lateIndex(plan.layout) : nil
    var layout = plan.layout
    layout.hasIndex = index != nil || late != nil
    let start = layout.hasIndex ? Self.indexByteCount : 0
    storage = Self.makeStorage(
      byteCount: start &+ Layout.byteCount &+ plan.byteCount, services: services, index: index ?? late)
    // Safe: the storage was made for address, layout and bytes, and keeps the index.
    unsafe base = storage.withUnsafeMutablePointerToElements { elements in
      let elements = UnsafeMutableRawPointer(elements)
      if let index { unsafe Self.store(index, at: elements) }
      if let late { unsafe Self.store(late, at: elements) }
      let target = unsafe elements + start
      unsafe target.storeBytes(of: layout, as: Layout.self)
      unsafe packed.spell(plan, to: target + Layout.byteCount)
      return UnsafeRawPointer(target)
    }
  }

  /// Where the index of a body is that has one.
  @_transparent
  static func indexAddress(of view: ByteView) -> UInt {
    // Safe: where a layout says that there is an index, its address was put there with it.
    unsafe (view.base - Layout.byteCount - indexByteCount).load(as: UInt.self)
  }

  /// What a body that has an index was asked for last. A number of its own, which any thread may change.
  @_transparent
  static func lastRow(of view: ByteView) -> UnsafePointer<Atomic<Int>> {
    // Safe: as above.
    unsafe (view.base - Layout.byteCount - 8).assumingMemoryBound(to: Atomic<Int>.self)
  }

  /// Bytes that this module has just encoded from checked parts.
  init(encoded view: ByteView, services: RecordServices?) throws(BodyFault) {
    var layout = try Self.layout(of: view)
    layout.isChecked = true
    self.init(copying: view, layout: layout, services: services)
  }

  @_transparent
  var layout: Layout {
    // Safe: a layout was put there when the body was made, at a whole word, and never changes.
    let layout = unsafe base.assumingMemoryBound(to: Layout.self).pointee
    // What `withExtendedLifetime` is made of, which is a closure and three calls without optimisation.
    _fixLifetime(self)
    return layout
  }
  /// Read through the pointer: `storage.header` is checked for exclusive access each time (row: record-fetch-ten-fields).
  package var services: RecordServices? {
    // Safe: the header was made with the storage and never changes.
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

  /// Whether both are the same bytes in the same memory.
  package func isIdentical(to other: RecordBody) -> Bool {
    // Safe: addresses are compared, nothing is read.
    unsafe base == other.base
  }

  /// All the bytes, for as long as the body is kept alive. For the path of a field: a closure's result is copied on its
  /// way out, with the references in it (row: record-fetch-ten-fields).
  @_transparent
  var bytes: ByteView {
    // Safe: as in `withBytes`, while the caller keeps the body.
    unsafe ByteView(base + Layout.byteCount, count: layout.byteCount)
  }

  /// Calls `body` with all the bytes; the view ends with the call.
  @inline(__always)
  package func withBytes<R, E>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    // Safe: the bytes live as long as the storage, which is kept until the closure has returned, and as many as the
    // layout says were filled when the body was made.
    do {
      let result = try body(unsafe ByteView(base + Layout.byteCount, count: layout.byteCount))
      _fixLifetime(self)
      return result
    } catch {
      _fixLifetime(self)
      throw error
    }
  }
}

extension RecordBody {
  /// Checks header and table, and says where things are.
  static func layout(of view: ByteView) throws(BodyFault) -> Layout {
    guard view.count >= fixedByteCount else { throw .truncated }
    // The layout has 32 bits for it.
    guard view.count <= Int(Int32.max) else { throw .badLength }
    let flags = view[1]
    guard view[0] == version else { throw .unknownVersion }
    let typeStart = fixedByteCount &+ zoneKeyByteCount(of: view)
    let typeCount = Int(view[4])
    let nameCount = Int(view[5])
    var end = typeStart &+ typeCount &+ nameCount
    guard end <= view.count else { throw .truncated }
    // Identity has no "absent", so it must make sense before anything is read. Type and name lie side by side.
    guard typeCount > 0, nameCount > 0, UTF8Order.isASCII(view.slice(typeStart..<end)) else {
      let isNameSound = nameCount > 0 && UTF8Order.isASCII(nameBytes(of: view))
      throw isNameSound ? .badType : .badName
    }
    if view.uint16(at: 2) != defaultZoneMark, !Zone.ID.isSound(key: zoneKey(of: view)) { throw .badZoneKey }
    // Tag text, creator, modifier, device: all alike, so only their number matters here.
    var texts = (flags & Flags.counted).nonzeroBitCount
    while texts > 0 {
      guard end &+ 2 <= view.count else { throw .truncated }
      end &+= 2 &+ Int(view.uint16(at: end))
      texts &-= 1
    }
    if flags & Flags.parent != 0 {
      guard end < view.count else { throw .truncated }
      end &+= 1 &+ Int(view[end])
    }
    guard end &+ 2 <= view.count else { throw .truncated }
    let fieldCount = Int(view.uint16(at: end))
    let keysStart = end &+ 2 &+ tableStride &* fieldCount
    guard keysStart <= view.count else { throw .truncated }
    var keyEnd = keysStart
    var valueEnd: UInt32 = 0
    var isAscending = true
    // Safe: the rows lie in front of `keysStart`. Without the checks of a view (row: record-changes-since-1000).
    var row = unsafe view.base + (end &+ 2)
    for _ in 0..<fieldCount {
      unsafe keyEnd &+= Int(row.load(fromByteOffset: 1, as: UInt8.self))
      let next = unsafe UInt32(littleEndian: row.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
      isAscending = isAscending && next >= valueEnd
      valueEnd = next
      unsafe row += tableStride
    }
    guard isAscending else { throw .badLength }
    guard keyEnd &+ Int(valueEnd) <= view.count else { throw .truncated }
    guard keyEnd &+ Int(valueEnd) == view.count else { throw .trailingBytes }
    return Layout(byteCount: view.count, fieldsStart: end, fieldCount: fieldCount, valuesStart: keyEnd)
  }

  /// Where the parts between name and fields begin.
  static func optionalsStart(of view: ByteView) -> Int {
    fixedByteCount + zoneKeyByteCount(of: view) + Int(view[4]) + Int(view[5])
  }

  private static func zoneKeyByteCount(of view: ByteView) -> Int {
    let count = view.uint16(at: 2)
    return count == defaultZoneMark ? 0 : Int(count)
  }

  /// Checks what `layout(of:)` leaves open: names, order, kinds, every value.
  private static func validateContents(of view: ByteView, layout: Layout) throws(BodyFault) {
    if view.uint16(at: 2) != defaultZoneMark { _ = try Zone.ID(key: zoneKey(of: view)) }
    try validateType(of: view)
    guard let name = UTF8Order.string(nameBytes(of: view), isValid: false) else { throw .notUTF8 }
    guard NameRules.faultOfRecordName(name) == nil else { throw .badName }
    let flags = view[1]
    if flags & Flags.modifierIsCreator != 0, flags & Flags.creator == 0 || flags & Flags.modifier != 0 {
      throw .badFlags
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
    guard !view.double(at: modificationOffset).isNaN, !view.double(at: creationOffset).isNaN else { throw .badValue }
    var cursor = FieldCursor(view, layout)
    var last: ByteView?
    var hasReferences = false
    var namesAssets = false
    while let field = cursor.next() {
      namesAssets = namesAssets || AssetNames.areIn(field)
      try validate(key: field.key, after: last)
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
    guard hasReferences == (flags & Flags.references != 0) else { throw .badFlags }
    guard namesAssets == (flags & Flags.assets != 0) else { throw .badFlags }
  }

  /// Checks what the schema learns from a body: its type and its keys.
  static func validateShape(of view: ByteView, layout: Layout) throws(BodyFault) {
    try validateType(of: view)
    var cursor = FieldCursor(view, layout)
    var last: ByteView?
    while let field = cursor.next() {
      try validate(key: field.key, after: last)
      last = field.key
    }
  }

  private static func validateType(of view: ByteView) throws(BodyFault) {
    guard let type = UTF8Order.string(typeBytes(of: view), isValid: false) else { throw .notUTF8 }
    guard NameRules.faultOfType(type, isNew: false) == nil else { throw .badType }
  }

  private static func validate(key bytes: ByteView, after last: ByteView?) throws(BodyFault) {
    guard let key = UTF8Order.string(bytes, isValid: false) else { throw .notUTF8 }
    guard NameRules.faultOfKey(key) == nil else { throw .badKey }
    if let last, UTF8Order.compare(last, bytes) >= 0 { throw .keysOutOfOrder }
  }

  /// The flags of a body, packed or spelled out; none where the bytes are too few. Costs one load.
  @_transparent
  static func flags(of view: ByteView) -> UInt8 { view.count > 1 ? view[1] : 0 }

  /// Whether the header announces a parent or references.
  @_transparent
  static func pointsSomewhere(_ view: ByteView) -> Bool { Flags.pointSomewhere(flags(of: view)) }

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
      var reader = ByteReader(view.slice(RecordBody.optionalsStart(of: view)..<layout.fieldsStart))
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
