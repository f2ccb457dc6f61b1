#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The bytes of a value in a record body.
///
///     string, bytes     as they are
///     int               zigzag, 1 to 8 bytes, little-endian, as few as hold it
///     double, date      8 bytes, the exact pattern; a date counts seconds since 2001-01-01 UTC
///     location          1 flags (which optional parts follow), latitude, longitude, parts: 8 bytes each
///     asset             1 flags (1 SHA-256, 2 content), [32 SHA-256], 8 byte count, [content]
///     reference         1 action (+128: another zone), 1 name count, name, [2 zone key count, zone key]
///     lists             4 count, then ints as varints; doubles and dates 8 bytes each;
///                       others as varint byte count + bytes
///
/// One value has one encoding, so equal fields have equal bytes. Decoding never trusts a length: bytes that no
/// encoder wrote decode to nil.
package enum ValueCoding {
  // MARK: Decoding

  /// The value of `bytes`, or nil when they are none of this kind.
  ///
  /// - Parameters:
  ///   - zoneKey: the zone of the record, which references without a zone are in.
  ///   - isValid: whether text was checked before.
  package static func decode(
    _ kind: FieldKind, _ bytes: ByteView, zoneKey: ByteView, isValid: Bool, services: RecordServices?
  ) -> Record.Value? {
    switch kind {
    case .string: return UTF8Order.string(bytes, isValid: isValid).map { .string($0) }
    case .int: return int(bytes).map { .int($0) }
    case .double: return double(bytes).map { .double($0) }
    case .bytes: return .bytes(data(bytes))
    case .date: return double(bytes).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .location: return location(bytes).map { .location($0) }
    case .asset: return asset(bytes, services: services).map { .asset($0) }
    case .reference: return reference(bytes, zoneKey: zoneKey).map { .reference($0) }
    case .strings: return strings(bytes, isValid: isValid).map { .strings($0) }
    case .ints: return ints(bytes).map { .ints($0) }
    case .doubles: return doubles(bytes).map { .doubles($0) }
    case .bytesList: return list(bytes) { data($0) }.map { .bytesList($0) }
    case .dates:
      return doubles(bytes).map { .dates($0.map { Date(timeIntervalSinceReferenceDate: $0) }) }
    case .locations: return list(bytes) { location($0) }.map { .locations($0) }
    case .assets: return list(bytes) { asset($0, services: services) }.map { .assets($0) }
    case .references: return list(bytes) { reference($0, zoneKey: zoneKey) }.map { .references($0) }
    }
  }

  package static func int(_ bytes: ByteView) -> Int64? {
    // A zero at the end would be a longer spelling of the same number.
    guard bytes.count >= 1, bytes.count <= 8, bytes.count == 1 || bytes[bytes.count &- 1] != 0 else { return nil }
    switch bytes.count {
    case 1: return ZigZag.decode(UInt64(bytes[0]))
    case 2: return ZigZag.decode(UInt64(bytes.uint16(at: 0)))
    case 8: return ZigZag.decode(bytes.uint64(at: 0))
    default: return ZigZag.decode(UTF8Order.word(of: bytes))
    }
  }

  package static func double(_ bytes: ByteView) -> Double? {
    guard bytes.count == 8 else { return nil }
    return number(bytes.double(at: 0))
  }

  /// NaN and −0 are never stored, so they are damage.
  private static func number(_ value: Double) -> Double? {
    value.isNaN || (value == 0 && value.sign == .minus) ? nil : value
  }

  static func data(_ bytes: ByteView) -> Data {
    // Safe: Data copies a ByteView's readable bytes.
    unsafe Data(bytes.buffer)
  }

  static func location(_ bytes: ByteView) -> Location? {
    var reader = ByteReader(bytes)
    guard let flags = reader.uint8(), flags & 0xC0 == 0, bytes.count == 17 + 8 * flags.nonzeroBitCount else {
      return nil
    }
    var isSound = true
    func next() -> Double {
      guard let value = reader.double().flatMap({ number($0) }) else {
        isSound = false
        return 0
      }
      return value
    }
    var place = Location(latitude: next(), longitude: next())
    if flags & 1 != 0 { place.altitude = next() }
    if flags & 2 != 0 { place.horizontalAccuracy = next() }
    if flags & 4 != 0 { place.verticalAccuracy = next() }
    if flags & 8 != 0 { place.course = next() }
    if flags & 16 != 0 { place.speed = next() }
    if flags & 32 != 0 { place.timestamp = Date(timeIntervalSinceReferenceDate: next()) }
    return isSound ? place : nil
  }

  private static func asset(_ bytes: ByteView, services: RecordServices?) -> Asset? {
    var reader = ByteReader(bytes)
    guard let flags = reader.uint8(), flags & 0xFC == 0 else { return nil }
    var digest: [UInt8]?
    if flags & 1 != 0 {
      guard let view = reader.take(32) else { return nil }
      digest = view.array
    }
    guard let raw = reader.uint64(), let byteCount = Int(exactly: raw) else { return nil }
    if flags & 2 != 0 {
      guard reader.remaining == byteCount, let content = reader.take(byteCount) else { return nil }
      return Asset(digest: digest, byteCount: byteCount, source: .memory(data(content)))
    }
    guard reader.isAtEnd, let digest else { return nil }
    return Asset(
      digest: digest, byteCount: byteCount, source: services?.assets.map { .stored($0) } ?? .elsewhere(nil))
  }

  private static func reference(_ bytes: ByteView, zoneKey: ByteView) -> Record.Reference? {
    var reader = ByteReader(bytes)
    guard let mark = reader.uint8(), let count = reader.uint8(), let nameBytes = reader.take(Int(count)),
      let name = UTF8Order.string(nameBytes, isValid: false), NameRules.faultOfRecordName(name) == nil
    else { return nil }
    let action: Record.Reference.Action
    switch mark & 0x7F {
    case 0: action = .none
    case 1: action = .deleteSelf
    case 2: action = .validate
    default: return nil
    }
    var key = zoneKey
    if mark & 0x80 != 0 {
      // The zone of the record itself is spelled by leaving it out.
      guard let count = reader.uint16(), let other = reader.take(Int(count)), !UTF8Order.equal(other, zoneKey) else {
        return nil
      }
      key = other
    }
    guard reader.isAtEnd, let zone = try? zone(of: key) else { return nil }
    return Record.Reference(Record.ID(unchecked: name, in: zone), action: action)
  }

  /// The zone of a key, without making strings for the default one.
  static func zone(of key: ByteView) throws(BodyFault) -> Zone.ID {
    Zone.ID.isDefault(key: key) ? .default : try Zone.ID(key: key)
  }

  static func ints(_ bytes: ByteView) -> [Int64]? {
    var reader = ByteReader(bytes)
    guard let count = reader.uint32(), Int(count) <= reader.remaining else { return nil }
    var result: [Int64] = []
    result.reserveCapacity(Int(count))
    while result.count < count {
      guard let raw = reader.varint() else { return nil }
      result.append(ZigZag.decode(raw))
    }
    return reader.isAtEnd ? result : nil
  }

  static func doubles(_ bytes: ByteView) -> [Double]? {
    var reader = ByteReader(bytes)
    guard let count = reader.uint32(), Int(count) * 8 == reader.remaining else { return nil }
    var result: [Double] = []
    result.reserveCapacity(Int(count))
    while result.count < count {
      guard let value = reader.double().flatMap({ number($0) }) else { return nil }
      result.append(value)
    }
    return result
  }

  static func strings(_ bytes: ByteView, isValid: Bool) -> [String]? {
    list(bytes) { UTF8Order.string($0, isValid: isValid) }
  }

  // Not a loop over a range of such numbers, which is generic: its steps cost more than the elements without optimisation.
  private static func list<T>(_ bytes: ByteView, _ element: (ByteView) -> T?) -> [T]? {
    var reader = ByteReader(bytes)
    // Each element takes a byte at least, so the count is checked before anything is allocated for it.
    guard let count = reader.uint32(), Int(count) <= reader.remaining else { return nil }
    var result: [T] = []
    result.reserveCapacity(Int(count))
    while result.count < count {
      guard let raw = reader.varint(), let byteCount = Int(exactly: raw), let view = reader.take(byteCount),
        let value = element(view)
      else { return nil }
      result.append(value)
    }
    return reader.isAtEnd ? result : nil
  }

  // MARK: Encoding

  /// Appends the bytes of a storable value.
  ///
  /// - Parameter zoneKey: the zone of the record; references into it do not repeat it.
  static func append(_ value: Record.Value, zoneKey: ByteView, into writer: inout ByteWriter) {
    switch value {
    case .string(let text): writer.append(utf8: text)
    case .int(let number): append(int: number, into: &writer)
    case .double(let number): writer.append(uint64: number.bitPattern)
    case .bytes(let bytes): append(bytes, into: &writer)
    case .date(let date): writer.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
    case .location(let place): append(place, into: &writer)
    case .asset(let asset): append(asset, into: &writer)
    case .reference(let reference): append(reference, zoneKey: zoneKey, into: &writer)
    case .strings(let list):
      writer.append(uint32: UInt32(list.count))
      for index in list.indices {
        writer.append(varint: UInt64(list[index].utf8.count))
        writer.append(utf8: list[index])
      }
    case .ints(let list):
      writer.append(uint32: UInt32(list.count))
      for number in list { writer.append(varint: ZigZag.encode(number)) }
    case .doubles(let list):
      writer.append(uint32: UInt32(list.count))
      for number in list { writer.append(uint64: number.bitPattern) }
    case .bytesList(let list):
      writer.append(uint32: UInt32(list.count))
      for bytes in list {
        writer.append(varint: UInt64(bytes.count))
        append(bytes, into: &writer)
      }
    case .dates(let list):
      writer.append(uint32: UInt32(list.count))
      for date in list { writer.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern) }
    case .locations(let list):
      writer.append(uint32: UInt32(list.count))
      for place in list {
        writer.append(varint: UInt64(byteCount(of: place)))
        append(place, into: &writer)
      }
    case .assets(let list):
      writer.append(uint32: UInt32(list.count))
      for asset in list {
        writer.append(varint: UInt64(byteCount(of: asset) + (asset.data?.count ?? 0)))
        append(asset, into: &writer)
      }
    case .references(let list):
      writer.append(uint32: UInt32(list.count))
      for reference in list {
        writer.append(varint: UInt64(byteCount(of: reference, zoneKey: zoneKey)))
        append(reference, zoneKey: zoneKey, into: &writer)
      }
    }
  }

  @inline(__always)
  static func append(int number: Int64, into writer: inout ByteWriter) {
    let raw = ZigZag.encode(number)
    writer.append(number: raw, byteCount: byteCount(ofZigZag: raw))
  }

  /// The zero has a byte, too.
  @_transparent
  static func byteCount(ofZigZag raw: UInt64) -> Int { (71 &- (raw | 1).leadingZeroBitCount) &>> 3 }

  private static func append(_ data: Data, into writer: inout ByteWriter) {
    // Safe: the bytes are copied before the closure returns.
    unsafe data.withUnsafeBytes { unsafe writer.append($0) }
  }

  private static func append(_ place: Location, into writer: inout ByteWriter) {
    let parts = [
      place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course, place.speed,
      place.timestamp?.timeIntervalSinceReferenceDate,
    ]
    var flags: UInt8 = 0
    for (bit, part) in parts.enumerated() where part != nil { flags |= 1 << UInt8(bit) }
    writer.append(flags)
    writer.append(uint64: place.latitude.bitPattern)
    writer.append(uint64: place.longitude.bitPattern)
    for part in parts {
      if let part { writer.append(uint64: part.bitPattern) }
    }
  }

  private static func append(_ asset: Asset, into writer: inout ByteWriter) {
    let content = asset.data
    writer.append((asset.digest != nil ? 1 : 0) | (content != nil ? 2 : 0))
    if let digest = asset.digest { writer.append(digest) }
    writer.append(uint64: UInt64(asset.byteCount))
    if let content { append(content, into: &writer) }
  }

  private static func append(_ reference: Record.Reference, zoneKey: ByteView, into writer: inout ByteWriter) {
    let isElsewhere = !reference.id.zone.matches(key: zoneKey)
    let action: UInt8 =
      switch reference.action {
      case .none: 0
      case .deleteSelf: 1
      case .validate: 2
      }
    writer.append(action | (isElsewhere ? 0x80 : 0))
    writer.append(UInt8(reference.id.name.utf8.count))
    writer.append(utf8: reference.id.name)
    if isElsewhere {
      let key = reference.id.zone.key
      writer.append(uint16: UInt16(key.count))
      writer.append(key)
    }
  }

  // MARK: Sizes

  /// How many bytes a value takes, without the content of assets.
  static func byteCount(of value: Record.Value, zoneKey: ByteView) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .int(let number): max(1, (71 - ZigZag.encode(number).leadingZeroBitCount) / 8)
    case .double, .date: 8
    case .bytes(let bytes): bytes.count
    case .location(let place): byteCount(of: place)
    case .asset(let asset): byteCount(of: asset)
    case .reference(let reference): byteCount(of: reference, zoneKey: zoneKey)
    case .strings(let list): list.reduce(4) { $0.adding(counted($1.utf8.count)) }
    case .ints(let list): list.reduce(4) { $0.adding(varintByteCount(ZigZag.encode($1))) }
    case .doubles(let list): 4 + 8 * list.count
    case .bytesList(let list): list.reduce(4) { $0.adding(counted($1.count)) }
    case .dates(let list): 4 + 8 * list.count
    case .locations(let list): list.reduce(4) { $0.adding(counted(byteCount(of: $1))) }
    case .assets(let list): list.reduce(4) { $0.adding(counted(byteCount(of: $1))) }
    case .references(let list): list.reduce(4) { $0.adding(counted(byteCount(of: $1, zoneKey: zoneKey))) }
    }
  }

  private static func counted(_ byteCount: Int) -> Int { varintByteCount(UInt64(byteCount)) + byteCount }

  private static func byteCount(of place: Location) -> Int {
    var count = 17
    if place.altitude != nil { count += 8 }
    if place.horizontalAccuracy != nil { count += 8 }
    if place.verticalAccuracy != nil { count += 8 }
    if place.course != nil { count += 8 }
    if place.speed != nil { count += 8 }
    if place.timestamp != nil { count += 8 }
    return count
  }

  private static func byteCount(of asset: Asset) -> Int { 9 + (asset.digest?.count ?? 0) }

  private static func byteCount(of reference: Record.Reference, zoneKey: ByteView) -> Int {
    let count = 2 + reference.id.name.utf8.count
    return reference.id.zone.matches(key: zoneKey) ? count : count + 2 + reference.id.zone.key.count
  }
}
