import DaybookEngine

/// How a body is packed: which declarations it names.
struct BodyPacking {
  var shape: Declared
  /// The shape has fields that the body lacks.
  var isSparse = false
  /// Nil where the zone is spelled out.
  var zone: UInt32?
  /// Of the users and the device that the body has; nil where they are spelled out.
  var users: (creator: UInt32, modifier: UInt32, device: UInt32)?

  /// Longer bodies are spelled out: packing would save a thousandth, and reading one would copy it once more.
  static let largestByteCount = 64 << 10

  /// Appends a spelled body in its packed form.
  /// - Returns: false when it has none. Then the buffer is as it was.
  func append(_ body: ByteView, _ layout: RecordBody.Layout, to buffer: ByteBuffer) -> Bool {
    var writer = ByteWriter(buffer)
    let start = writer.offset
    let flags = body[1]
    let link = Place(body, at: RecordBody.previousOffset)
    guard link.byteCount > 0 || link.offset == 0 else { return false }
    let isCreated = body.uint64(at: RecordBody.creationOffset) != body.uint64(at: RecordBody.modificationOffset)
    writer.append(PackedBody.version)
    writer.append(flags)
    writer.append(
      (isSparse ? PackedBody.Form.bitmap : 0) | (users != nil ? PackedBody.Form.numbers : 0)
        | (isCreated ? PackedBody.Form.creation : 0) | (link.byteCount > 0 ? PackedBody.Form.link : 0))
    writer.append(uint32: shape.number)
    writer.append(uint64: body.uint64(at: 6))
    writer.append(uint64: body.uint64(at: RecordBody.modificationOffset))
    if body.uint16(at: 2) != RecordBody.defaultZoneMark {
      if let zone {
        writer.set(bits: PackedBody.Form.zoneNumber, at: start + 2)
        writer.append(uint32: zone)
      } else {
        writer.set(bits: PackedBody.Form.zoneSpelled, at: start + 2)
        let key = RecordBody.zoneKey(of: body)
        writer.append(uint16: UInt16(truncatingIfNeeded: key.count))
        writer.append(key)
      }
    }
    if isCreated { writer.append(uint64: body.uint64(at: RecordBody.creationOffset)) }
    if link.byteCount > 0 { writer.append(link) }
    let name = RecordBody.nameBytes(of: body)
    NameKey.withView(of: name) { (key) throws(Never) in
      if NameKey.isUUID(key, of: name) {
        writer.set(bits: key[0] &<< PackedBody.Form.nameShift, at: start + 2)
        writer.append(key.dropFirst(1))
      } else {
        writer.append(UInt8(truncatingIfNeeded: name.count))
        writer.append(name)
      }
    }
    appendOptionals(of: body, layout, flags, into: &writer)
    guard UTF8Order.equal(shape.type, RecordBody.typeBytes(of: body)),
      isSparse ? appendBitmap(of: body, layout, into: &writer) : hasSameKeys(body, layout),
      appendLengths(of: body, layout, into: &writer)
    else { return false }
    writer.append(body.dropFirst(layout.valuesStart))
    writer.finish()
    return true
  }

  private func appendOptionals(of body: ByteView, _ layout: RecordBody.Layout, _ flags: UInt8, into writer: inout ByteWriter) {
    var offset = RecordBody.optionalsStart(of: body)
    guard let users else {
      writer.append(body.slice(offset..<layout.fieldsStart))
      return
    }
    if flags & RecordBody.Flags.tagText != 0 {
      let end = offset + 2 + Int(body.uint16(at: offset))
      writer.append(body.slice(offset..<end))
      offset = end
    }
    func pass(_ flag: UInt8, _ number: UInt32) {
      guard flags & flag != 0 else { return }
      writer.append(uint32: number)
      offset += 2 + Int(body.uint16(at: offset))
    }
    pass(RecordBody.Flags.creator, users.creator)
    pass(RecordBody.Flags.modifier, users.modifier)
    pass(RecordBody.Flags.device, users.device)
    writer.append(body.slice(offset..<layout.fieldsStart))
  }

  /// Whether the shape has as many fields as the body, with the same keys; `appendLengths` compares their kinds. Asked each time: a body
  /// under a wrong shape would be another record.
  @inline(__always)
  private func hasSameKeys(_ body: ByteView, _ layout: RecordBody.Layout) -> Bool {
    let table = shape.table
    return shape.fieldCount == layout.fieldCount && table.count == layout.valuesStart &- layout.fieldsStart
      && UTF8Order.equal(
        table.dropFirst(2 &+ RecordBody.tableStride &* layout.fieldCount), body.slice(layout.keysStart..<layout.valuesStart))
  }

  /// Says which fields of the shape the body has; false when it has others.
  private func appendBitmap(of body: ByteView, _ layout: RecordBody.Layout, into writer: inout ByteWriter) -> Bool {
    let start = writer.offset
    for _ in 0..<(shape.fieldCount + 7) / 8 { writer.append(0) }
    var walk = Declared.Walk(shape)
    var cursor = FieldCursor(body, layout)
    while let field = cursor.next() {
      guard let index = walk.index(of: field) else { return false }
      writer.set(bits: 1 << UInt8(index & 7), at: start + (index >> 3))
    }
    return true
  }

  /// Appends the lengths of the values. False when a value that must have eight bytes has not, which no encoder wrote, or when a field has
  /// another kind than the shape says; that of a sparse shape was compared before.
  @inline(__always)
  private func appendLengths(of body: ByteView, _ layout: RecordBody.Layout, into writer: inout ByteWriter) -> Bool {
    // Safe: both have the rows of so many fields; a sparse shape has them all and more.
    var row = unsafe body.slice(layout.fieldsStart &+ 2..<layout.keysStart).base
    var shapeRow = unsafe shape.table.dropFirst(2).base
    var start: UInt32 = 0
    // Safe: a length of 32 bits has five bytes at most. Through a pointer: the writer's end would be stored for each field.
    var target = unsafe writer.room(5 &* layout.fieldCount)
    // The last one is not written: where it begins is the end.
    var last = unsafe target
    for _ in 0..<layout.fieldCount {
      let head = unsafe row.loadUnaligned(as: UInt16.self)
      guard unsafe isSparse || shapeRow.loadUnaligned(as: UInt16.self) == head else { return false }
      let end = unsafe UInt32(littleEndian: row.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
      var length = end &- start
      start = end
      if FieldMark(rawValue: UInt8(truncatingIfNeeded: UInt16(littleEndian: head))).isOfEightBytes {
        guard length == 8 else { return false }
      } else {
        unsafe last = target
        while length >= 0x80 {
          unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: length) | 0x80, as: UInt8.self)
          unsafe target += 1
          length &>>= 7
        }
        unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: length), as: UInt8.self)
        unsafe target += 1
      }
      unsafe row += RecordBody.tableStride
      unsafe shapeRow += RecordBody.tableStride
    }
    unsafe writer.setEnd(last)
    return true
  }
}

extension PackedBody {
  /// What a packed body says without any dictionary: name and dates. Nil when its bytes are malformed.
  static func facts(of body: ByteView) -> (name: String, modification: UInt64, creation: UInt64)? {
    guard body.count > fixedByteCount, isPacked(body) else { return nil }
    var reader = ByteReader(body.dropFirst(fixedByteCount))
    switch body[2] & Form.zone {
    case 0: break
    case Form.zoneNumber: guard reader.take(4) != nil else { return nil }
    case Form.zoneSpelled: guard let count = reader.uint16(), reader.take(Int(count)) != nil else { return nil }
    default: return nil
    }
    let modification = body.uint64(at: 15)
    var creation = modification
    if body[2] & Form.creation != 0 {
      guard let bytes = reader.take(8) else { return nil }
      creation = bytes.uint64(at: 0)
    }
    if body[2] & Form.link != 0 {
      guard let place = PackedPlace(body.dropFirst(fixedByteCount + reader.offset)), reader.take(place.byteCount) != nil else {
        return nil
      }
    }
    let form = (body[2] & Form.name) >> Form.nameShift
    let bytes: [UInt8]
    if form == 0 {
      guard let count = reader.uint8(), let name = reader.take(Int(count)) else { return nil }
      bytes = name.array
    } else {
      guard form < 3, let uuid = reader.take(16) else { return nil }
      bytes = ([form] + uuid.array).withView { NameKey.name(of: $0) }
    }
    guard let name = bytes.withView({ UTF8Order.string($0, isValid: false) }), !name.isEmpty else { return nil }
    return (name, modification, creation)
  }

  /// Appends a packed body with another link, or none. Nothing else of it changes; no dictionary is needed.
  /// - Returns: false when the bytes end too early.
  static func append(_ body: ByteView, linkedTo place: Place?, to buffer: ByteBuffer) -> Bool {
    guard body.count > fixedByteCount else { return false }
    let form = body[2]
    var offset = fixedByteCount
    switch form & Form.zone {
    case Form.zoneNumber: offset += 4
    case Form.zoneSpelled:
      guard body.count >= offset + 2 else { return false }
      offset += 2 + Int(body.uint16(at: offset))
    default: break
    }
    if form & Form.creation != 0 { offset += 8 }
    guard offset < body.count else { return false }
    var end = offset
    if form & Form.link != 0 {
      guard let packed = PackedPlace(body.dropFirst(offset)) else { return false }
      end += packed.byteCount
    }
    let linked = place.flatMap { $0.byteCount > 0 ? $0 : nil }
    buffer.append(uint16: body.uint16(at: 0))
    buffer.append(form & ~Form.link | (linked == nil ? 0 : Form.link))
    buffer.append(body.slice(3..<offset))
    if let linked { PackedPlace.append(linked, to: buffer) }
    buffer.append(body.dropFirst(end))
    return true
  }
}

extension ByteWriter {
  /// A place in as few bytes as it needs, as `PackedPlace` writes it.
  mutating func append(_ place: Place) {
    let offsetByteCount = PackedPlace.shortestByteCount(place.offset)
    let lengthByteCount = PackedPlace.shortestByteCount(UInt64(place.byteCount))
    append(UInt8(truncatingIfNeeded: (offsetByteCount &- 1) | (lengthByteCount &- 1) &<< 3))
    append(number: place.offset, byteCount: offsetByteCount)
    append(number: UInt64(place.byteCount), byteCount: lengthByteCount)
  }
}
