import Daybook
import DaybookEngine
import Foundation

/// Bytes of records and values: what decodes is encoded again, and must give the same bytes.
package enum FuzzRecords {
  private static let stamp = RecordBodyEncoder.Stamp(tag: 7, date: 3, userID: [0x75])

  /// Reads the bytes as a stored body, a tombstone and an archive: the three layouts with a record's identity.
  package static func body(_ input: [UInt8]) throws {
    try storedBody(input)
    try tombstone(input)
    try archive(input)
  }

  private static func storedBody(_ input: [UInt8]) throws {
    let trusted = input.withView { try? RecordBody(trusted: $0) }
    let checked = input.withView { try? RecordBody(copying: $0) }
    try require(trusted != nil || checked == nil, "a checked body is not sound")
    guard let trusted else { return }
    try readEverything(Record(body: trusted))
    guard let checked else { return }
    let record = Record(body: checked)
    try readEverything(record)
    for key in record.keys { try require((record[key] as Record.Value?) != nil, "a checked value does not read") }
    try require(record == Record(body: trusted), "two readings of one body differ")
    // Every value is set again: a field has only one encoding, so the bytes must be the same.
    var copy = try Record(type: record.type, id: record.id)
    for key in record.keys { try copy.set(record[key] as Record.Value?, forKey: key) }
    for key in record.encryptedValues.keys {
      guard let value = record.encryptedValues[key] as Record.Value? else { return }
      try copy.encryptedValues.set(value, forKey: key)
    }
    let again: RecordBody
    do throws(DatabaseError) { again = try encoded(copy) } catch {
      // An asset without a digest was never stored; too large a record is refused.
      return
    }
    let first = fields(of: checked)
    let second = fields(of: again)
    try require(first == second, "fields that were decoded and encoded differ: \(first), \(second)")
    // A save on top of it keeps the fields.
    guard let merged = try? encoded(Record(body: checked), onto: checked) else { return }
    try require(fields(of: merged) == first, "a save without changes changes fields")
  }

  private static func readEverything(_ record: Record) throws {
    _ = record.id
    _ = record.type
    _ = record.metadata
    _ = record.parent
    _ = record.allTokens()
    _ = record.encodedByteCount
    for key in record.keys {
      let value = record[key] as Record.Value?
      if let value { _ = "\(value)" }
      _ = record[key] as String?
      _ = record[key] as Int64?
      _ = record[key] as Double?
    }
    for key in record.encryptedValues.keys { _ = record.encryptedValues[key] as Record.Value? }
    let some = record.body.keeping(onlyKeys: Array(record.keys.prefix(1)))
    _ = Record(body: some).keys
    if record.metadata != nil {
      // Unverified bytes may not be a valid archive, but there must be an answer.
      if let copy = try? Record(systemFields: record.systemFields) { _ = copy.metadata }
    }
  }

  private static func encoded(_ record: Record, onto server: RecordBody? = nil) throws(DatabaseError) -> RecordBody {
    let buffer = ByteBuffer()
    try RecordBodyEncoder.encode(record, onto: server, writing: .allKeys, stamp: stamp, into: buffer)
    do throws(BodyFault) { return try RecordBody(copying: buffer.view) } catch {
      preconditionFailure("an encoded record is no body: \(error)")
    }
  }

  /// Mark, key and value of all fields as bytes.
  private static func fields(of body: RecordBody) -> [[UInt8]] {
    body.withFields { cursor in
      var fields: [[UInt8]] = []
      while let field = cursor.next() { fields += [[field.mark.rawValue], field.key.array, field.value.array] }
      return fields
    }
  }

  private static func tombstone(_ input: [UInt8]) throws {
    guard let tombstone = input.withView({ try? Tombstone($0) }) else { return }
    let buffer = ByteBuffer()
    Tombstone.append(
      id: tombstone.id, type: tombstone.type, tag: tombstone.tag, date: tombstone.date.timeIntervalSinceReferenceDate,
      previousOffset: tombstone.previousOffset, previousByteCount: tombstone.previousByteCount,
      userID: tombstone.userID.map { Array($0.utf8) }, to: buffer)
    let again = try Tombstone(buffer.view)
    try require(again == tombstone, "a tombstone reads as another than was written")
  }

  private static func archive(_ input: [UInt8]) throws {
    let archive = checksummed(Array("DBSF".utf8) + [1] + input)
    guard let record = try? Record(systemFields: Data(archive)) else { return }
    try readEverything(record)
    let again = try Record(systemFields: record.systemFields)
    try require(again == record, "archived system fields read as another record")
    try require(again.systemFields == record.systemFields, "system fields change when they are archived again")
  }

  /// Byte 0 is the kind; the rest are the bytes of a value.
  package static func value(_ input: [UInt8]) throws {
    guard let first = input.first, let kind = FieldKind(rawValue: first & 0x3F) else { return }
    let bytes = Array(input.dropFirst())
    let buffer = ByteBuffer()
    buffer.append([1, 0, 0xFF, 0xFF, 1, 1])
    buffer.append(zeros: 36)
    buffer.append([0x54, 0x6E])
    buffer.append(uint16: 1)
    buffer.append([first, 1])
    buffer.append(uint32: UInt32(bytes.count))
    buffer.append([0x6B])
    buffer.append(bytes)
    guard let body = try? RecordBody(trusted: buffer.view) else { throw Forgery.Finding("a body around a value is not sound") }
    let value = Record(body: body)["k"] as Record.Value?
    guard let value else { return }
    _ = "\(value)"
    try require(value.kind == kind, "a value of another kind")
    var record = try Record(type: "T", id: Record.ID("n"))
    let again: RecordBody
    do throws(DatabaseError) {
      try record.set(value, forKey: "k")
      again = try encoded(record)
    } catch { return try require(kind.isAsset || kind.isReference, "a value that was stored is refused: \(error)") }
    try require(fields(of: again) == fields(of: body), "a value that was decoded and encoded has other bytes: \(value)")
    try require((Record(body: again)["k"] as Record.Value?) == value, "a value that was encoded and decoded is another")
  }

  /// The bytes with their FNV-1a sum behind them.
  static func checksummed(_ bytes: [UInt8]) -> [UInt8] {
    var sum: UInt32 = 0x811C_9DC5
    for byte in bytes { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
    return bytes + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
  }
}
