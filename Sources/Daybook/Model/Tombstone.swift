#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// What a delete operation carries in the log: who is gone, since when, and where the last version was.
///
///     offset  size  field (numbers are little-endian)
///          0     1  version = 1
///          1     1  flags: 1 user
///          2     2  byte count of the zone key; 0xFFFF = the default zone, no bytes
///          4     1  byte count of the type
///          5     1  byte count of the name
///          6     8  tag of the deletion
///         14     8  date: seconds since 2001-01-01 UTC, a double
///         22     8  offset of the last version in the log
///         30     4  its byte count; 0 = none
///         34        zone key, type, name; if flagged the user to the end
///
/// Always true of one in memory: zone, type and name are sound.
package struct Tombstone: Sendable, Hashable {
  package let id: Record.ID
  package let type: String
  package let tag: UInt64
  package let date: Date
  package let previousOffset: UInt64
  package let previousByteCount: UInt32
  package let userID: String?

  private static let version: UInt8 = 1
  /// Before the zone key.
  static let fixedByteCount = 34
  /// Where the link to the last version stands.
  static let previousOffset = 22

  package init(
    id: Record.ID, type: String, tag: UInt64, date: Date, previousOffset: UInt64 = 0, previousByteCount: UInt32 = 0,
    userID: String? = nil
  ) {
    self.id = id
    self.type = type
    self.tag = tag
    self.date = date
    self.previousOffset = previousOffset
    self.previousByteCount = previousByteCount
    self.userID = userID
  }

  /// Reads what `append` wrote.
  ///
  /// - Throws: a fault when the bytes are not that. Nothing outside them is ever read.
  package init(_ view: ByteView) throws(BodyFault) {
    guard view.count >= Self.fixedByteCount else { throw .truncated }
    guard view[0] == Self.version, view[1] & ~1 == 0 else { throw .unknownVersion }
    var reader = ByteReader(view.dropFirst(Self.fixedByteCount))
    let zoneMark = view.uint16(at: 2)
    let zoneCount = zoneMark == RecordBody.defaultZoneMark ? 0 : Int(zoneMark)
    guard let zoneKey = reader.take(zoneCount), let typeBytes = reader.take(Int(view[4])),
      let nameBytes = reader.take(Int(view[5]))
    else { throw .truncated }
    let zone = zoneMark == RecordBody.defaultZoneMark ? .default : try ValueCoding.zone(of: zoneKey)
    guard let type = UTF8Order.string(typeBytes, isValid: false), NameRules.faultOfType(type, isNew: false) == nil
    else { throw .badType }
    guard let name = UTF8Order.string(nameBytes, isValid: false), NameRules.faultOfRecordName(name) == nil
    else { throw .badName }
    var userID: String?
    if view[1] & 1 != 0 {
      userID = reader.take(reader.remaining).flatMap { UTF8Order.string($0, isValid: false) }
      if userID == nil { throw .notUTF8 }
    }
    guard reader.isAtEnd else { throw .trailingBytes }
    let seconds = view.double(at: 14)
    guard !seconds.isNaN else { throw .badValue }
    let previous = Place(view, at: Tombstone.previousOffset)
    self.init(
      id: Record.ID(unchecked: name, in: zone), type: type, tag: view.uint64(at: 6),
      date: Date(timeIntervalSinceReferenceDate: seconds), previousOffset: previous.offset,
      previousByteCount: previous.byteCount, userID: userID)
  }

  /// Appends the bytes.
  package func append(to buffer: ByteBuffer) {
    Self.append(
      id: id, type: type, tag: tag, date: date.timeIntervalSinceReferenceDate, previousOffset: previousOffset,
      previousByteCount: previousByteCount, userID: userID.map { Array($0.utf8) }, to: buffer)
  }

  /// Appends the bytes of a tombstone that is not made first.
  package static func append(
    id: Record.ID, type: String, tag: UInt64, date: Double, previousOffset: UInt64, previousByteCount: UInt32,
    userID: [UInt8]?, to buffer: ByteBuffer
  ) {
    let key = id.zone == .default ? nil : id.zone.key
    buffer.append(version)
    buffer.append(userID == nil ? 0 : 1)
    buffer.append(uint16: key.map { UInt16($0.count) } ?? RecordBody.defaultZoneMark)
    buffer.append(UInt8(type.utf8.count))
    buffer.append(UInt8(id.name.utf8.count))
    buffer.append(uint64: tag)
    buffer.append(uint64: date.bitPattern)
    buffer.append(uint64: previousOffset)
    buffer.append(uint32: previousByteCount)
    if let key { buffer.append(key) }
    buffer.append(utf8: type)
    buffer.append(utf8: id.name)
    if let userID { buffer.append(userID) }
  }
}
