import DaybookEngine

/// A record body as the log keeps it: what many records share is named by numbers of declarations.
///
///     offset  size  field (numbers are little-endian)
///          0     1  version = 2
///          1     1  flags, those of a spelled body (`RecordBody`)
///          2     1  form: 3 the zone (0 the default zone, 1 its number, 2 spelled), 4 with a creation date, 8 with a link,
///                   48 the name (0 spelled, 16 a UUID in capitals, 32 one in small letters), 64 users and device are numbers,
///                   128 a field may be missing
///          3     4  number of the shape
///          7     8  change tag
///         15     8  modification date
///         23        zone: 4 its number, or 2-byte count + key; nothing for the default zone
///                   as the form says: 8 creation date (else it is the modification date); the place of the version before, packed
///                   name: 1-byte count + bytes, or 16 bytes of a UUID
///                   as flagged: tag text (2-byte count + bytes); creator, modifier, device (4 their number, or 2-byte count +
///                   bytes each); parent's name (1-byte count + bytes)
///                   as the form says: a bit for each field of the shape, lowest first: 1 = it is there
///                   byte counts of the values that are not of eight bytes, as varints; the last one follows from the rest
///                   values, end to end
///
/// A packed body means its bytes and the dictionary, nothing else: not the commit that it is in. It says what a spelled body says,
/// byte for byte, and is never seen outside of the log: what reads it spells it out. So a record in memory needs no dictionary, and may
/// outlive its database.
///
/// Always true of one that was parsed: its lengths stay within the bytes and sum up to them.
struct PackedBody {
  static let version: UInt8 = 2
  static let fixedByteCount = 23

  enum Form {
    static let zone: UInt8 = 3
    static let zoneNumber: UInt8 = 1
    static let zoneSpelled: UInt8 = 2
    static let creation: UInt8 = 4
    static let link: UInt8 = 8
    static let name: UInt8 = 48
    static let nameShift: UInt8 = 4
    static let numbers: UInt8 = 64
    static let bitmap: UInt8 = 128
  }

  let view: ByteView
  let shape: Declared
  /// Nil for the default zone.
  let zoneKey: ByteView?
  /// Of the zone's life; nil where the body does not say it.
  let epoch: UInt64?
  let creation: UInt64
  let link: Place
  /// The name as it is: text, or the 16 bytes of a UUID.
  let name: ByteView
  /// 0 text, 1 a UUID in capitals, 2 in small letters.
  let nameForm: UInt8
  /// Where the part between name and fields begins.
  let optionalsStart: Int

  static let uuidTextByteCount = 36

  @_transparent
  var nameByteCount: Int { nameForm == 0 ? name.count : PackedBody.uuidTextByteCount }

  /// Whether an operation's payload is one.
  @_transparent
  static func isPacked(_ body: ByteView) -> Bool { body.count > 0 && body[0] == version }

  /// Reads everything in front of the fields. Costs no allocation.
  /// - Throws: a fault when the bytes are malformed, or a number is not in the dictionary.
  @inline(__always)
  init(_ view: ByteView, in shapes: ShapeTable) throws(BodyFault) {
    guard view.count > PackedBody.fixedByteCount else { throw .truncated }
    guard view[0] == PackedBody.version else { throw .unknownVersion }
    let form = view[2]
    guard let shape = shapes.find(view.uint32(at: 3), .shape) else { throw .unknownDeclaration }
    var offset = PackedBody.fixedByteCount
    switch form & Form.zone {
    case 0:
      zoneKey = nil
      epoch = nil
    case Form.zoneNumber:
      guard view.count >= offset &+ 4 else { throw .truncated }
      guard let zone = shapes.find(view.uint32(at: offset), .zone) else { throw .unknownDeclaration }
      zoneKey = zone.zoneKey
      epoch = zone.epoch
      offset &+= 4
    case Form.zoneSpelled:
      let key = try PackedBody.counted(view, &offset)
      guard key.count < Int(RecordBody.defaultZoneMark), Zone.ID.isSound(key: key) else { throw .badZoneKey }
      zoneKey = key
      epoch = nil
    default: throw .badFlags
    }
    if form & Form.creation != 0 {
      guard view.count >= offset &+ 8 else { throw .truncated }
      creation = view.uint64(at: offset)
      offset &+= 8
    } else {
      creation = view.uint64(at: 15)
    }
    if form & Form.link != 0 {
      guard let packed = PackedPlace(view.dropFirst(offset)), packed.place.byteCount > 0 else { throw .badLength }
      link = packed.place
      offset &+= packed.byteCount
    } else {
      link = Place.none
    }
    nameForm = (form & Form.name) &>> Form.nameShift
    guard nameForm < 3, offset < view.count else { throw nameForm < 3 ? .truncated : .badFlags }
    var byteCount = 16
    if nameForm == 0 {
      byteCount = Int(view[offset])
      offset &+= 1
    }
    guard view.count >= offset &+ byteCount else { throw .truncated }
    name = view.slice(offset..<offset &+ byteCount)
    guard nameForm != 0 || byteCount > 0 && UTF8Order.isASCII(name) else { throw .badName }
    self.view = view
    self.shape = shape
    optionalsStart = offset &+ byteCount
  }

  /// A text after its 2-byte count.
  private static func counted(_ view: ByteView, _ offset: inout Int) throws(BodyFault) -> ByteView {
    guard view.count >= offset &+ 2 else { throw .truncated }
    let start = offset &+ 2
    let end = start &+ Int(view.uint16(at: offset))
    guard view.count >= end else { throw .truncated }
    offset = end
    return view.slice(start..<end)
  }
}

// MARK: spelling out

extension PackedBody {
  /// Whether a packed body can be spelled out. Nothing is said of what its values mean.
  static func isSound(_ body: ByteView, in shapes: ShapeDictionary) -> Bool {
    // The table is valid as long as the dictionary.
    defer { withExtendedLifetime(shapes) {} }
    guard let packed = try? PackedBody(body, in: shapes.table) else { return false }
    return (try? packed.plan(in: shapes.table)) != nil
  }

  /// Where the parts of the spelled body are, before it is written.
  struct Plan {
    fileprivate(set) var layout: RecordBody.Layout
    /// Users and device, as the spelled body counts them.
    fileprivate var fieldsStart = 0
    fileprivate var texts: (ByteView?, ByteView?, ByteView?, ByteView?) = (nil, nil, nil, nil)
    fileprivate var parent: ByteView?
    /// Present fields; nil when all are.
    fileprivate var bitmap: ByteView?
    fileprivate var lengthsStart = 0
    fileprivate var valuesStart = 0
    fileprivate var lastLength = 0
    /// Each length is one byte.
    fileprivate var areLengthsShort = false
    fileprivate var tableByteCount = 0

    var byteCount: Int { layout.byteCount }
    /// Whether the spelled body has an index, and so an allocation of its own.
    @_transparent
    var hasIndex: Bool {
      layout.fieldCount >= FieldIndex.leastFieldCount
        && (bitmap == nil || layout.fieldCount >= FieldIndex.leastSpelledFieldCount)
    }
    /// All fields of the shape are there, so its index finds them.
    @_transparent
    var isWholeShape: Bool { bitmap == nil }
  }

  /// Checks the rest and finds out how long the spelled body is.
  @inline(__always)
  func plan(in shapes: ShapeTable) throws(BodyFault) -> Plan {
    var plan = Plan(layout: RecordBody.Layout())
    var offset = optionalsStart
    let flags = view[1]
    let form = view[2]
    let identityByteCount = (zoneKey?.count ?? 0) &+ shape.type.count &+ nameByteCount
    var spelledByteCount = RecordBody.fixedByteCount &+ identityByteCount
    if flags & (RecordBody.Flags.counted | RecordBody.Flags.parent) != 0 {
      // Not a function inside this one: what that captures is allocated and checked for exclusive access without optimisation.
      plan.texts.0 = try text(RecordBody.Flags.tagText, nil, shapes, &offset, &spelledByteCount)
      plan.texts.1 = try text(RecordBody.Flags.creator, .user, shapes, &offset, &spelledByteCount)
      plan.texts.2 = try text(RecordBody.Flags.modifier, .user, shapes, &offset, &spelledByteCount)
      plan.texts.3 = try text(RecordBody.Flags.device, .device, shapes, &offset, &spelledByteCount)
      if flags & RecordBody.Flags.parent != 0 {
        guard offset < view.count else { throw .truncated }
        let start = offset &+ 1
        offset = start &+ Int(view[offset])
        guard view.count >= offset else { throw .truncated }
        plan.parent = view.slice(start..<offset)
        spelledByteCount &+= 1 &+ (offset &- start)
      }
    }
    var fieldCount = shape.fieldCount
    var variableCount = shape.variableCount
    plan.tableByteCount = shape.table.count
    if form & Form.bitmap != 0 {
      let end = offset &+ (shape.fieldCount &+ 7) / 8
      guard view.count >= end else { throw .truncated }
      let bitmap = view.slice(offset..<end)
      offset = end
      plan.bitmap = bitmap
      (fieldCount, variableCount, plan.tableByteCount) = try count(bitmap)
    }
    plan.lengthsStart = offset
    var sum = (fieldCount &- variableCount) &* 8
    if let short = PackedBody.sumOfShortLengths(view, at: offset, count: variableCount &- 1) {
      sum &+= short
      offset &+= max(variableCount &- 1, 0)
      plan.areLengthsShort = true
    } else {
      var rest = variableCount
      while rest > 1 {
        guard let length = view.varint(at: &offset), length <= UInt64(view.count) else { throw .badLength }
        sum &+= Int(length)
        rest &-= 1
      }
    }
    plan.valuesStart = offset
    plan.lastLength = view.count &- offset &- sum
    guard plan.lastLength == 0 || variableCount > 0 && plan.lastLength > 0 else { throw .badLength }
    plan.fieldsStart = spelledByteCount
    let valuesStart = spelledByteCount &+ plan.tableByteCount
    let byteCount = valuesStart &+ (view.count &- offset)
    guard byteCount <= Int(Int32.max) else { throw .badLength }
    plan.layout = RecordBody.Layout(
      byteCount: byteCount, fieldsStart: spelledByteCount, fieldCount: fieldCount, valuesStart: valuesStart)
    return plan
  }

  /// Whether a value is found by its field's place in the shape: all fields are there, and each length is one byte.
  @_transparent
  func hasValuesInPlace(_ plan: Plan) -> Bool { plan.bitmap == nil && plan.areLengthsShort }

  /// The bytes of a field's value in a body that has its values in place.
  @inline(__always)
  func value(of field: PackedField, _ plan: Plan) -> ByteView {
    guard let others = PackedBody.sumOfShortLengths(view, at: plan.lengthsStart, count: field.variableCount) else {
      preconditionFailure("the plan has read these lengths")
    }
    let start = plan.valuesStart &+ 8 &* field.fixedCount &+ others &+ (field.isAfterImplied ? plan.lastLength : 0)
    if field.mark.isOfEightBytes { return view.slice(start..<start &+ 8) }
    let count = field.isImplied ? plan.lastLength : Int(view[plan.lengthsStart &+ field.variableCount])
    return view.slice(start..<start &+ count)
  }

  /// A text that a flag announces, of the dictionary when the body has its number.
  @inline(__always)
  private func text(
    _ flag: UInt8, _ kind: Declaration.Kind?, _ shapes: ShapeTable, _ offset: inout Int, _ spelledByteCount: inout Int
  ) throws(BodyFault) -> ByteView? {
    guard view[1] & flag != 0 else { return nil }
    let text: ByteView
    if view[2] & Form.numbers != 0, let kind {
      guard view.count >= offset &+ 4 else { throw .truncated }
      guard let declared = shapes.find(view.uint32(at: offset), kind) else { throw .unknownDeclaration }
      offset &+= 4
      text = declared.text
    } else {
      text = try PackedBody.counted(view, &offset)
    }
    spelledByteCount &+= 2 &+ text.count
    return text
  }

  /// The sum of lengths of one byte each, eight with one load: what most bodies have. Nil for others.
  @_transparent
  private static func sumOfShortLengths(_ view: ByteView, at offset: Int, count: Int) -> Int? {
    if count <= 0 { return 0 }
    if count > 8 { return sumOfManyLengths(view, at: offset, count: count) }
    return sumOfEightLengths(view, at: offset, count: count)
  }

  /// Of up to eight.
  @_transparent
  private static func sumOfEightLengths(_ view: ByteView, at offset: Int, count: Int) -> Int? {
    guard view.count >= offset &+ 8 else { return nil }
    let word = view.uint64(at: offset) & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- 8 &* count))
    guard word & 0x8080_8080_8080_8080 == 0 else { return nil }
    let pairs = (word & 0x00FF_00FF_00FF_00FF) &+ (word &>> 8 & 0x00FF_00FF_00FF_00FF)
    return Int(truncatingIfNeeded: (pairs &* 0x0001_0001_0001_0001) &>> 48)
  }

  @inline(never)
  private static func sumOfManyLengths(_ view: ByteView, at offset: Int, count: Int) -> Int? {
    var sum = 0
    var done = 0
    while done < count {
      guard let some = sumOfEightLengths(view, at: offset &+ done, count: min(8, count &- done)) else { return nil }
      sum &+= some
      done &+= 8
    }
    return sum
  }

  /// Fields that are there, those of any length among them, and the bytes of their table.
  private func count(_ bitmap: ByteView) throws(BodyFault) -> (fields: Int, variable: Int, tableByteCount: Int) {
    let table = shape.table
    var found = (fields: 0, variable: 0, tableByteCount: 2)
    for index in 0..<shape.fieldCount where bitmap[index &>> 3] &>> UInt8(index & 7) & 1 != 0 {
      let row = 2 &+ RecordBody.tableStride &* index
      found.fields &+= 1
      if !FieldMark(rawValue: table[row]).isOfEightBytes { found.variable &+= 1 }
      found.tableByteCount &+= RecordBody.tableStride &+ Int(table[row &+ 1])
    }
    // Bits after the last field mean nothing: one body has one form.
    if shape.fieldCount & 7 != 0, bitmap[bitmap.count - 1] &>> UInt8(shape.fieldCount & 7) != 0 { throw .badFlags }
    return found
  }

  /// Writes the spelled body.
  /// - Parameter target: room for as many bytes as the plan says.
  @inline(__always)
  func spell(_ plan: Plan, to target: UnsafeMutableRawPointer) {
    // Safe: `plan` added up the lengths of all that is written here, in this order.
    unsafe target.storeBytes(of: RecordBody.version, as: UInt8.self)
    unsafe target.storeBytes(of: view[1], toByteOffset: 1, as: UInt8.self)
    var zoneMark = RecordBody.defaultZoneMark
    if let zoneKey { zoneMark = UInt16(truncatingIfNeeded: zoneKey.count) }
    let type = shape.type
    unsafe target.storeBytes(of: zoneMark.littleEndian, toByteOffset: 2, as: UInt16.self)
    unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: type.count), toByteOffset: 4, as: UInt8.self)
    unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: nameByteCount), toByteOffset: 5, as: UInt8.self)
    unsafe target.storeBytes(of: view.uint64(at: 7).littleEndian, toByteOffset: 6, as: UInt64.self)
    unsafe target.storeBytes(of: view.uint64(at: 15).littleEndian, toByteOffset: 14, as: UInt64.self)
    unsafe target.storeBytes(of: creation.littleEndian, toByteOffset: RecordBody.creationOffset, as: UInt64.self)
    unsafe target.storeBytes(of: link.offset.littleEndian, toByteOffset: RecordBody.previousOffset, as: UInt64.self)
    unsafe target.storeBytes(of: link.byteCount.littleEndian, toByteOffset: RecordBody.previousOffset &+ 8, as: UInt32.self)
    var next = unsafe target + RecordBody.fixedByteCount
    if let zoneKey { unsafe PackedBody.copy(zoneKey, to: &next) }
    unsafe PackedBody.copy(type, to: &next)
    if nameForm == 0 {
      unsafe PackedBody.copy(name, to: &next)
    } else {
      unsafe NameKey.writeUUID(name, inSmallLetters: nameForm == 2, to: next)
      unsafe next += PackedBody.uuidTextByteCount
    }
    if view[1] & (RecordBody.Flags.counted | RecordBody.Flags.parent) != 0 {
      unsafe PackedBody.copyCounted(plan.texts.0, to: &next)
      unsafe PackedBody.copyCounted(plan.texts.1, to: &next)
      unsafe PackedBody.copyCounted(plan.texts.2, to: &next)
      unsafe PackedBody.copyCounted(plan.texts.3, to: &next)
      if let parent = plan.parent {
        unsafe next.storeBytes(of: UInt8(truncatingIfNeeded: parent.count), as: UInt8.self)
        unsafe next += 1
        unsafe PackedBody.copy(parent, to: &next)
      }
    }
    unsafe spellTable(plan, to: next)
    unsafe next += plan.tableByteCount
    let values = view.dropFirst(plan.valuesStart)
    unsafe next.copyMemory(from: values.base, byteCount: values.count)
  }

  /// Copies bytes and moves on.
  @inline(__always)
  private static func copy(_ bytes: ByteView, to next: inout UnsafeMutableRawPointer) {
    unsafe copyShort(bytes, to: next)
    unsafe next += bytes.count
  }

  /// The same, their count in front, if there are any.
  @inline(__always)
  private static func copyCounted(_ text: ByteView?, to next: inout UnsafeMutableRawPointer) {
    guard let text else { return }
    unsafe next.storeBytes(of: UInt16(truncatingIfNeeded: text.count).littleEndian, as: UInt16.self)
    unsafe next += 2
    unsafe copy(text, to: &next)
  }

  /// Copies a few bytes without a call, in words that overlap.
  /// - Parameter target: room for them; they lie elsewhere.
  @_transparent
  private static func copyShort(_ bytes: ByteView, to target: UnsafeMutableRawPointer) {
    let source = unsafe bytes.base
    let count = bytes.count
    // Safe: every load and store lies within the bytes, as the length tested before it says.
    if count > 16 {
      unsafe target.copyMemory(from: source, byteCount: count)
    } else if count >= 8 {
      let last = unsafe source.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
      unsafe target.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
      unsafe target.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
    } else if count >= 4 {
      let last = unsafe source.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
      unsafe target.storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
      unsafe target.storeBytes(of: last, toByteOffset: count &- 4, as: UInt32.self)
    } else {
      for index in 0..<count {
        unsafe target.storeBytes(of: source.load(fromByteOffset: index, as: UInt8.self), toByteOffset: index, as: UInt8.self)
      }
    }
  }

  /// Copies the shape's table and sets the ends that differ from body to body: those from the first value on that may be of any length.
  @inline(__always)
  private func spellTable(_ plan: Plan, to start: UnsafeMutableRawPointer) {
    let table = shape.table
    var ready = 0
    if let bitmap = plan.bitmap {
      unsafe copyPresent(table, bitmap, plan.layout.fieldCount, to: start)
    } else {
      unsafe start.copyMemory(from: table.base, byteCount: table.count)
      ready = shape.fixedCount
    }
    // Safe: a shape has no more of them than fields.
    var row = unsafe start + (2 &+ RecordBody.tableStride &* ready)
    var end = UInt32(truncatingIfNeeded: 8 &* ready)
    var fields = plan.layout.fieldCount &- ready
    if plan.areLengthsShort {
      // Safe: `plan` has read them there.
      var length = unsafe view.base + plan.lengthsStart
      let lengthsEnd = unsafe view.base + plan.valuesStart
      let last = UInt32(truncatingIfNeeded: plan.lastLength)
      while fields > 0 {
        if unsafe FieldMark(rawValue: row.load(as: UInt8.self)).isOfEightBytes {
          end &+= 8
        } else if unsafe length < lengthsEnd {
          end &+= unsafe UInt32(length.load(as: UInt8.self))
          unsafe length += 1
        } else {
          end &+= last
        }
        unsafe row.storeBytes(of: end.littleEndian, toByteOffset: 2, as: UInt32.self)
        unsafe row += RecordBody.tableStride
        fields &-= 1
      }
      return
    }
    var offset = plan.lengthsStart
    // Safe: the rows of so many fields have just been written.
    while fields > 0 {
      let mark = unsafe FieldMark(rawValue: row.load(as: UInt8.self))
      if mark.isOfEightBytes {
        end &+= 8
      } else if offset < plan.valuesStart {
        end &+= UInt32(truncatingIfNeeded: view.varint(at: &offset) ?? 0)
      } else {
        end &+= UInt32(truncatingIfNeeded: plan.lastLength)
      }
      unsafe row.storeBytes(of: end.littleEndian, toByteOffset: 2, as: UInt32.self)
      unsafe row += RecordBody.tableStride
      fields &-= 1
    }
  }

  private func copyPresent(_ table: ByteView, _ bitmap: ByteView, _ fieldCount: Int, to start: UnsafeMutableRawPointer) {
    // Safe: as many rows and keys as the plan has counted.
    unsafe start.storeBytes(of: UInt16(truncatingIfNeeded: fieldCount).littleEndian, as: UInt16.self)
    var row = unsafe start + 2
    var key = unsafe row + RecordBody.tableStride * fieldCount
    var keyStart = 2 + RecordBody.tableStride * shape.fieldCount
    for index in 0..<shape.fieldCount {
      let source = 2 + RecordBody.tableStride * index
      let keyByteCount = Int(table[source + 1])
      if bitmap[index >> 3] >> UInt8(index & 7) & 1 != 0 {
        unsafe row.storeBytes(of: table.uint16(at: source).littleEndian, as: UInt16.self)
        unsafe row += RecordBody.tableStride
        unsafe key.copyMemory(from: table.slice(keyStart..<keyStart + keyByteCount).base, byteCount: keyByteCount)
        unsafe key += keyByteCount
      }
      keyStart += keyByteCount
    }
  }
}

extension ShapeDictionary {
  /// A body of the log as it is spelled out: itself, or written into `buffer`, which then has nothing else.
  func spelled(_ body: ByteView, in buffer: ByteBuffer) throws(BodyFault) -> ByteView {
    guard PackedBody.isPacked(body) else { return body }
    // The table is valid as long as the dictionary.
    defer { withExtendedLifetime(self) {} }
    let packed = try PackedBody(body, in: table)
    let plan = try packed.plan(in: table)
    buffer.truncate(to: 0)
    buffer.reserve(plan.byteCount)
    // Safe: the line above made room.
    unsafe packed.spell(plan, to: buffer.base)
    buffer.setCount(plan.byteCount)
    return buffer.view
  }
}
