#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

extension Query {
  /// Some records of a result, and where the next ones begin.
  public struct Page: Sendable {
    /// In the order of the query.
    public var records: [Record]
    /// Where the next page begins; nil after the last record. In a query without an order the page there may be empty: the
    /// scan ends with the last record of a page. An empty page with the cursor that it was asked with says that the state that gave
    /// the cursor is not seen here yet (see ``Query/Cursor``).
    public var next: Cursor?
  }

  /// A place in the result of a query, to go on from; it can be kept, and sent elsewhere as its ``data``.
  ///
  /// It belongs to its query (whose limit alone may change) and to the database that it came from, in whatever version: a page
  /// continues the same order under writes. Each record that is not saved between two pages comes exactly once; one that is saved
  /// comes where its new state belongs, so in a query without an order, where that is the end, it may come again. Pages that are
  /// read from one ``Snapshot`` have every record once.
  ///
  /// In a query without an order it is a place in the history of the database, and remembers the last commit of the state that gave it. A
  /// copy with another history, or one that lost that commit in a crash, refuses it with `changeTokenForked`, and so does the database
  /// itself where a transaction that gave it was rolled back. An older snapshot, and a database that reads beside a writer or shares the
  /// file with other writers, may not have seen that commit yet: then the page is empty and has the same cursor. ``Database/refresh()`` before the
  /// next page, and a newer snapshot, go on; a loop that only asks again does not end.
  ///
  ///     offset  size  field (numbers are little-endian)
  ///          0     2  "DQ"
  ///          2     1  version = 1
  ///          3     1  0: a place in the change journal of a zone; 1: after a record of an order
  ///          4    16  UUID of the database
  ///         20     8  checksum of the query
  ///         28     2  byte count of the zone's key, then the key
  ///                   of a place: 8 lineage and 8 sequence of the last commit of the state that gave it, 8 sequence, 4 ordinal
  ///                   of a record: 1 byte count of its name, the name, and what it was sorted by (`SortKey`)
  ///                4  FNV-1a of everything before
  public struct Cursor: Hashable, Sendable {
    enum Position: Hashable, Sendable {
      case journal(state: StateMark, sequence: UInt64, ordinal: UInt32)
      case record(name: [UInt8], sortKey: [UInt8])
    }

    let databaseID: UUID
    let queryChecksum: UInt64
    let zoneKey: [UInt8]
    let position: Position

    init(databaseID: UUID, query: Query, zoneKey: [UInt8], position: Position) {
      self.databaseID = databaseID
      queryChecksum = query.checksum
      self.zoneKey = zoneKey
      self.position = position
    }

    private static let mark: [UInt8] = [0x44, 0x51, 1]

    /// The bytes to keep.
    public var data: Data {
      let buffer = ByteBuffer(capacity: 128)
      buffer.append(Self.mark)
      switch position {
      case .journal: buffer.append(0)
      case .record: buffer.append(1)
      }
      buffer.append(ChangeToken.bytes(of: databaseID))
      buffer.append(uint64: queryChecksum)
      buffer.append(uint16: UInt16(zoneKey.count))
      buffer.append(zoneKey)
      switch position {
      case .journal(let state, let sequence, let ordinal):
        buffer.append(uint64: state.lineage.number)
        buffer.append(uint64: state.sequence)
        buffer.append(uint64: sequence)
        buffer.append(uint32: ordinal)
      case .record(let name, let sortKey):
        buffer.append(UInt8(name.count))
        buffer.append(name)
        buffer.append(sortKey)
      }
      buffer.append(uint32: ShortChecksum.of(buffer.view))
      return Data(buffer.view.array)
    }

    /// A cursor from its ``data``.
    /// - Throws: `invalidArguments` when the bytes are none.
    public init(data: Data) throws(DatabaseError) {
      let bytes = [UInt8](data)
      guard let cursor = UTF8Order.withView(of: bytes, { Self.read($0) }) else {
        throw DatabaseError(.invalidArguments, "The bytes are no cursor of a query.")
      }
      self = cursor
    }

    private init(databaseID: UUID, queryChecksum: UInt64, zoneKey: [UInt8], position: Position) {
      self.databaseID = databaseID
      self.queryChecksum = queryChecksum
      self.zoneKey = zoneKey
      self.position = position
    }

    private static func read(_ bytes: ByteView) -> Cursor? {
      guard bytes.count > 34, bytes.uint32(at: bytes.count - 4) == ShortChecksum.of(bytes.prefix(bytes.count - 4)) else {
        return nil
      }
      var reader = ByteReader(bytes.prefix(bytes.count - 4))
      guard let mark = reader.take(3)?.array, mark == Self.mark, let kind = reader.uint8(), let id = reader.take(16),
        let checksum = reader.uint64(), let zoneCount = reader.uint16(), let zoneKey = reader.take(Int(zoneCount)),
        Zone.ID.isSound(key: zoneKey)
      else { return nil }
      let position: Position
      switch kind {
      case 0:
        guard let lineage = reader.uint64(), let seen = reader.uint64(), let sequence = reader.uint64(),
          let ordinal = reader.uint32(), reader.isAtEnd
        else {
          return nil
        }
        let state = StateMark(sequence: seen, lineage: Lineage(lineage))
        position = .journal(state: state, sequence: sequence, ordinal: ordinal)
      case 1:
        guard let count = reader.uint8(), let name = reader.take(Int(count)), let sortKey = reader.take(reader.remaining) else {
          return nil
        }
        position = .record(name: name.array, sortKey: sortKey.array)
      default: return nil
      }
      return Cursor(
        databaseID: ChangeToken.uuid(of: id), queryChecksum: checksum, zoneKey: zoneKey.array, position: position)
    }
  }

  /// What a cursor knows its query by: everything but the limit.
  var checksum: UInt64 {
    let buffer = ByteBuffer(capacity: 256)
    func add(_ text: String) {
      buffer.append(uint32: UInt32(text.utf8.count))
      buffer.append(utf8: text)
    }
    buffer.append(recordType == nil ? 0 : 1)
    add(recordType ?? "")
    add(predicate.description)
    for step in sort {
      add(step.field.name)
      buffer.append(step.isAscending ? 1 : 0)
      if let place = step.place {
        buffer.append(uint64: place.latitude.bitPattern)
        buffer.append(uint64: place.longitude.bitPattern)
      }
    }
    buffer.append(zone == nil ? 0 : 1)
    buffer.append(zone?.key ?? [])
    return XXH3.hash(buffer.view, seed: 0)
  }
}

extension Query.Cursor: Codable {
  /// Reads ``data``.
  public init(from decoder: any Decoder) throws {
    let data = try decoder.singleValueContainer().decode(Data.self)
    do throws(DatabaseError) { try self.init(data: data) } catch { throw DecodingError(error, decoder) }
  }

  /// Encodes ``data``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(data)
  }
}
