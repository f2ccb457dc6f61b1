import DaybookEngine

/// Zone, type and name of a record body or tombstone, in place. Both begin with {u8 version, u8 flags, u16 zone key length,
/// u8 type length, u8 name length}; the three follow after the fixed part.
struct BodyIdentity {
  let zoneKey: ByteView
  let type: ByteView
  let name: ByteView
  /// Of the zone's life that a packed body belongs to; nil where the bytes do not say it.
  private(set) var epoch: UInt64?

  static func body(_ bytes: ByteView) -> BodyIdentity? { BodyIdentity(bytes, start: RecordBody.fixedByteCount) }
  static func tombstone(_ bytes: ByteView) -> BodyIdentity? { BodyIdentity(bytes, start: Tombstone.fixedByteCount) }

  @inline(__always)
  init?(_ body: ByteView, start: Int) {
    guard body.count >= start else { return nil }
    let mark = body.uint16(at: 2)
    let isDefault = mark == RecordBody.defaultZoneMark
    let zoneEnd = start + (isDefault ? 0 : Int(mark))
    let typeEnd = zoneEnd + Int(body[4])
    let nameEnd = typeEnd + Int(body[5])
    guard nameEnd <= body.count, typeEnd > zoneEnd, nameEnd > typeEnd else { return nil }
    zoneKey = isDefault ? Zone.ID.defaultKey : body.slice(start..<zoneEnd)
    type = body.slice(zoneEnd..<typeEnd)
    name = body.slice(typeEnd..<nameEnd)
  }

  /// The identity of a body of the log, packed or spelled out; nil when it is neither, or its numbers are unknown.
  /// - Parameter text: where the name is written where the body has a UUID.
  @inline(__always)
  static func stored(_ body: ByteView, _ shapes: ShapeTable, _ text: ByteBuffer) -> BodyIdentity? {
    PackedBody.isPacked(body) ? BodyIdentity(packed: body, shapes, text) : .body(body)
  }

  private init?(packed body: ByteView, _ shapes: ShapeTable, _ text: ByteBuffer) {
    guard let packed = try? PackedBody(body, in: shapes) else { return nil }
    zoneKey = packed.zoneKey ?? Zone.ID.defaultKey
    type = packed.shape.type
    epoch = packed.epoch
    if packed.nameForm == 0 {
      name = packed.name
    } else {
      text.truncate(to: 0)
      text.reserve(PackedBody.uuidTextByteCount)
      // Safe: the line above made room.
      unsafe NameKey.writeUUID(packed.name, inSmallLetters: packed.nameForm == 2, to: text.base)
      text.setCount(PackedBody.uuidTextByteCount)
      name = text.view
    }
  }

  /// Whether a zone's life is the one that the body belongs to.
  @inline(__always)
  func isOfLife(_ epoch: UInt64) -> Bool {
    self.epoch == nil || self.epoch == epoch || isMutant("join-former-life")
  }
}
