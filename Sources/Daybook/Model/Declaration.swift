import DaybookEngine

/// What a file says once, so that bodies name it by a number: a shape, a zone's life, a user or a device.
///
///     kind  what     bytes
///        1  shape    {u8 1, u8 type length, type, u16 n, n × {u8 mark, u8 key length}, keys end to end, ascending}
///        2  zone     {u8 2, u64 epoch, zone key}
///        3  user     {u8 3, text}
///        4  device   {u8 4, text}
///
/// A shape is a type with its keys in order and the kind of each. A zone that is made again has another epoch, so bodies of its former
/// life never join it.
///
/// The number of a declaration follows from its bytes. So nothing that was rolled back, no copy and no other process can give the
/// number of one to another; where two declarations of one file would share a number, the second is never made.
enum Declaration {
  enum Kind: UInt8 {
    case shape = 1
    case zone, user, device
  }

  /// A longer one is not made: its bodies say themselves what they are.
  static let maximumByteCount = 64 << 10
  /// Of a user or a device, as `Options` limits them: so long is what four bytes of a body can mean.
  static let maximumTextByteCount = 255
  /// A tree keeps one in pieces.
  static let pieceByteCount = 500
  private static let largestPieceCount = (maximumByteCount + pieceByteCount - 1) / pieceByteCount

  /// The number, before a file's own mask.
  @inline(__always)
  static func number(of bytes: ByteView) -> UInt32 { UInt32(truncatingIfNeeded: XXH3.hash(bytes, seed: 0)) }

  static func pieceCount(of byteCount: Int) -> Int { (byteCount + pieceByteCount - 1) / pieceByteCount }

  // MARK: making

  static func appendZone(_ key: ByteView, epoch: UInt64, to buffer: ByteBuffer) {
    buffer.append(Kind.zone.rawValue)
    buffer.append(uint64: epoch)
    buffer.append(key)
  }

  static func append(_ kind: Kind, _ text: ByteView, to buffer: ByteBuffer) {
    buffer.append(kind.rawValue)
    buffer.append(text)
  }

  /// The shape of a spelled body.
  static func appendShape(of body: ByteView, _ layout: RecordBody.Layout, to buffer: ByteBuffer) {
    let type = RecordBody.typeBytes(of: body)
    buffer.append(Kind.shape.rawValue)
    buffer.append(UInt8(truncatingIfNeeded: type.count))
    buffer.append(type)
    buffer.append(uint16: UInt16(truncatingIfNeeded: layout.fieldCount))
    var row = layout.fieldsStart + 2
    while row < layout.keysStart {
      buffer.append(uint16: body.uint16(at: row))
      row += RecordBody.tableStride
    }
    buffer.append(body.slice(layout.keysStart..<layout.valuesStart))
  }

  /// A shape of fields that are in the order of their keys.
  static func appendShape(type: ByteView, _ fields: [(key: [UInt8], mark: UInt8)], to buffer: ByteBuffer) {
    buffer.append(Kind.shape.rawValue)
    buffer.append(UInt8(truncatingIfNeeded: type.count))
    buffer.append(type)
    buffer.append(uint16: UInt16(truncatingIfNeeded: fields.count))
    for field in fields {
      buffer.append(field.mark)
      buffer.append(UInt8(truncatingIfNeeded: field.key.count))
    }
    for field in fields { buffer.append(field.key) }
  }

  // MARK: checking

  /// Whether bytes are a declaration. Everything in it is checked, because bodies are made of it.
  static func isSound(_ bytes: ByteView) -> Bool {
    guard bytes.count > 1, bytes.count <= maximumByteCount, let kind = Kind(rawValue: bytes[0]) else { return false }
    switch kind {
    case .shape: return isSoundShape(bytes)
    case .zone:
      guard bytes.count > 9 else { return false }
      let key = bytes.dropFirst(9)
      return key.count < Int(RecordBody.defaultZoneMark) && !Zone.ID.isDefault(key: key)
        && (try? Zone.ID(key: key)) != nil
    case .user, .device:
      return bytes.count - 1 <= maximumTextByteCount && UTF8Order.string(bytes.dropFirst(1), isValid: false) != nil
    }
  }

  private static func isSoundShape(_ bytes: ByteView) -> Bool {
    var reader = ByteReader(bytes.dropFirst(1))
    guard let typeCount = reader.uint8(), let type = reader.take(Int(typeCount)), let count = reader.uint16(),
      let rows = reader.take(2 * Int(count)), let name = UTF8Order.string(type, isValid: false),
      NameRules.faultOfType(name, isNew: false) == nil
    else { return false }
    var last: ByteView?
    for index in 0..<Int(count) {
      let mark = FieldMark(rawValue: rows[2 * index])
      guard let kind = mark.kind, !mark.isSealed || mark.isEncrypted,
        !mark.isEncrypted || !kind.isAsset && !kind.isReference, let key = reader.take(Int(rows[2 * index + 1])),
        let text = UTF8Order.string(key, isValid: false), NameRules.faultOfKey(text) == nil
      else { return false }
      if let last, UTF8Order.compare(last, key) >= 0 { return false }
      last = key
    }
    return reader.isAtEnd
  }
}

extension FieldMark {
  /// Whether every value takes eight bytes: a double or a date that no cipher has changed.
  @_transparent
  var isOfEightBytes: Bool {
    // Of numbers: the raw value of an enumeration is a call without optimisation.
    rawValue & 0x7F == FieldMark.ofDouble || rawValue & 0x7F == FieldMark.ofDate
  }
  @_transparent static var ofDouble: UInt8 { 3 }
  @_transparent static var ofDate: UInt8 { 5 }
}
