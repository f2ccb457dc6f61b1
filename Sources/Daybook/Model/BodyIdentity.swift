import DaybookEngine

/// Zone, type and name of a record body or tombstone, in place. Both begin with {u8 version, u8 flags, u16 zone key length,
/// u8 type length, u8 name length}; the three follow after the fixed part.
struct BodyIdentity {
  let zoneKey: ByteView
  let type: ByteView
  let name: ByteView

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
}
