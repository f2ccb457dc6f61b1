import Daybook
import DaybookEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A field of a record as a merge sees it: the two namespaces of keys, and the parent, in one.
struct FieldName: Hashable, Sendable {
  enum Space: UInt8, Sendable { case plain, encrypted, parent }

  let space: Space
  let key: String

  static let parent = FieldName(space: .parent, key: "")
}

/// The first 64 bits of the SHA-256 of a value: tells whether a field changed without keeping what it was.
///
/// Two values of a field with one digest would count as the same; that is one chance in 2⁶⁴ for each change, and no peer that
/// sends values can choose what the other side has.
struct FieldDigest: Hashable, Sendable {
  let bits: UInt64

  init(bits: UInt64) { self.bits = bits }

  /// - Throws: what reading an asset throws whose SHA-256 is not known yet.
  init(_ value: Record.Value) throws(DatabaseError) {
    var bytes = ValueBytes()
    try bytes.append(value)
    let digest = bytes.bytes.withView { SHA256.digest(of: $0) }
    bits = digest[..<8].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// A value spelled out as bytes, so that different values have different ones. Nothing reads them back.
private struct ValueBytes {
  var bytes: [UInt8] = []

  mutating func append(_ value: Record.Value) throws(DatabaseError) {
    switch value {
    case .string(let text): mark(0); append(text)
    case .int(let number): mark(1); append(UInt64(bitPattern: number))
    case .double(let number): mark(2); append(number)
    case .bytes(let data): mark(3); append(data)
    case .date(let date): mark(4); append(date.timeIntervalSinceReferenceDate)
    case .location(let place): mark(5); append(place)
    case .asset(let asset): mark(6); try append(asset)
    case .reference(let reference): mark(7); append(reference)
    case .strings(let list): mark(8, list.count); for text in list { append(text) }
    case .ints(let list): mark(9, list.count); for number in list { append(UInt64(bitPattern: number)) }
    case .doubles(let list): mark(10, list.count); for number in list { append(number) }
    case .bytesList(let list): mark(11, list.count); for data in list { append(data) }
    case .dates(let list): mark(12, list.count); for date in list { append(date.timeIntervalSinceReferenceDate) }
    case .locations(let list): mark(13, list.count); for place in list { append(place) }
    case .assets(let list): mark(14, list.count); for asset in list { try append(asset) }
    case .references(let list): mark(15, list.count); for reference in list { append(reference) }
    }
  }

  private mutating func mark(_ kind: UInt8, _ count: Int? = nil) {
    bytes.append(kind)
    if let count { append(UInt64(count)) }
  }

  private mutating func append(_ number: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
  }

  /// Zero has two signs and one meaning.
  private mutating func append(_ number: Double) { append(number == 0 ? 0 : number.bitPattern) }

  private mutating func append(_ text: String) {
    append(UInt64(text.utf8.count))
    bytes += text.utf8
  }

  private mutating func append(_ data: Data) {
    append(UInt64(data.count))
    bytes += data
  }

  private mutating func append(_ place: Location) {
    let parts = [
      place.latitude, place.longitude, place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course,
      place.speed, place.timestamp?.timeIntervalSinceReferenceDate,
    ]
    for part in parts {
      bytes.append(part == nil ? 0 : 1)
      append(part ?? 0)
    }
  }

  private mutating func append(_ reference: Record.Reference) {
    append(reference.id.zone.name)
    append(reference.id.zone.owner)
    append(reference.id.name)
    append(reference.action.rawValue)
  }

  private mutating func append(_ asset: Asset) throws(DatabaseError) { bytes += try asset.contentDigest() }
}

/// All fields of a record, and their digests.
struct FieldValues: Sendable {
  private(set) var values: [FieldName: Record.Value] = [:]
  private(set) var digests: [FieldName: FieldDigest] = [:]

  /// - Throws: `permissionFailure` for an encrypted value that cannot be opened: taken for absent, it would be deleted on the
  ///   other side.
  init(_ record: Record) throws(DatabaseError) {
    if let fault = record.encryptedValueFault() { throw fault }
    for key in record.keys { try add(record[key] as Record.Value?, .init(space: .plain, key: key)) }
    let encrypted = record.encryptedValues
    for key in encrypted.keys { try add(encrypted[key] as Record.Value?, .init(space: .encrypted, key: key)) }
    try add(record.parent.map { .reference($0) }, .parent)
  }

  private mutating func add(_ value: Record.Value?, _ name: FieldName) throws(DatabaseError) {
    guard let value else { return }
    values[name] = value
    digests[name] = try FieldDigest(value)
  }
}

extension Record {
  /// Sets a field of any namespace; nil removes it.
  mutating func set(_ value: Value?, _ name: FieldName) throws(DatabaseError) {
    switch name.space {
    case .plain: try set(value, forKey: name.key)
    case .encrypted: try encryptedValues.set(value, forKey: name.key)
    case .parent:
      guard case .reference(let reference)? = value else {
        parent = nil
        return
      }
      parent = reference
    }
  }
}
