#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A position in the changes of a zone or of a database: what was seen up to here.
///
/// Opaque: keep its ``data`` and hand it back. A token belongs to the database and zone it came from, and a token of a
/// zone is none of the database. It says which history it was taken from, so a copy of the database with a
/// history of its own refuses it instead of answering wrongly.
///
///     offset  size  field (numbers are little-endian)
///          0     2  "DT"
///          2     1  version = 2
///          3     1  scope: 0 database, 1 zone, 2 another server's
///          4    16  UUID of the database
///         20     8  lineage of the state that the page was read from
///         28     8  last commit of that state
///         36     8  commit sequence: up to where changes were seen
///         44     4  ordinal: how many changes of that commit were seen
///         48     8  horizon: deletions up to this commit had been forgotten when the token was made
///         56     8  epoch of the zone   (scope 1 only)
///         64     2  byte count of its key, then the key
///                4  FNV-1a of everything before
///
/// The state counts, not the place alone: a commit after the place may have moved a record past it. Where that commit is lost, the
/// record is in front of the place again, and would be in none of the pages.
///
/// Scope 2 has the other server's bytes from offset 4 to the checksum.
public struct ChangeToken: Hashable, Sendable {
  /// What a token of this database says.
  package struct Parts: Hashable, Sendable {
    package var databaseID: UUID
    /// The history: another number is drawn when a copy may have a history of its own.
    package var lineage: UInt64
    /// The last commit of the state that the page was read from: one of that history.
    package var state: UInt64
    package var sequence: UInt64
    /// How many changes of the commit `sequence` were seen; 0 = the commits before it only, or all, as the feed counts.
    package var ordinal: UInt32
    /// The deletions that had been forgotten by then. A feed from the beginning passes places below it and misses nothing.
    package var horizon: UInt64
    /// Nil for a token of the database.
    package var zone: Zone.ID?
    /// Which life of the zone; a deleted and re-created zone has another.
    package var zoneEpoch: UInt64

    package init(
      databaseID: UUID, lineage: UInt64, state: UInt64, sequence: UInt64, ordinal: UInt32 = 0, horizon: UInt64 = 0,
      zone: Zone.ID? = nil, zoneEpoch: UInt64 = 0
    ) {
      self.databaseID = databaseID
      self.lineage = lineage
      self.state = state
      self.sequence = sequence
      self.ordinal = ordinal
      self.horizon = horizon
      self.zone = zone
      self.zoneEpoch = zone == nil ? 0 : zoneEpoch
    }

    /// The last commit that must have been seen: a forged token may name a place after its state.
    var lastCommit: UInt64 { max(state, sequence) }
  }

  private enum Content: Hashable, Sendable {
    case own(Parts)
    case foreign([UInt8])
  }

  private let content: Content

  /// A token of this database.
  package init(_ parts: Parts) { content = .own(parts) }

  /// A token of another server, carried as it is: what a remote database of your own hands out.
  public init(wrapping data: Data) { content = .foreign([UInt8](data)) }

  /// The parts of a token of a Daybook database; nil for another server's.
  package var parts: Parts? {
    if case .own(let parts) = content { parts } else { nil }
  }

  /// The bytes given to ``init(wrapping:)``; nil for a token of a Daybook database.
  public var wrapped: Data? {
    if case .foreign(let bytes) = content { Data(bytes) } else { nil }
  }

  private static let mark: [UInt8] = [0x44, 0x54, 2]

  /// The bytes to keep; 60 of them for a database, about 80 for a zone.
  public var data: Data {
    let buffer = ByteBuffer(capacity: 128)
    buffer.append(Self.mark)
    switch content {
    case .foreign(let bytes):
      buffer.append(2)
      buffer.append(bytes)
    case .own(let parts):
      buffer.append(parts.zone == nil ? 0 : 1)
      buffer.append(Self.bytes(of: parts.databaseID))
      buffer.append(uint64: parts.lineage)
      buffer.append(uint64: parts.state)
      buffer.append(uint64: parts.sequence)
      buffer.append(uint32: parts.ordinal)
      buffer.append(uint64: parts.horizon)
      if let key = parts.zone?.key {
        buffer.append(uint64: parts.zoneEpoch)
        buffer.append(uint16: UInt16(key.count))
        buffer.append(key)
      }
    }
    buffer.append(uint32: ShortChecksum.of(buffer.view))
    return Data(buffer.view.array)
  }

  /// A token from its ``data``.
  ///
  /// - Throws: `invalidArguments` when the bytes are not a token. Whether a database accepts it shows at its use.
  public init(data: Data) throws(DatabaseError) {
    let content = UTF8Order.withView(of: [UInt8](data)) { Self.content(of: $0) }
    guard let content else { throw DatabaseError(.invalidArguments, "The data is not a change token.") }
    self.content = content
  }

  private static func content(of view: ByteView) -> Content? {
    guard view.count >= 8, view.prefix(3).array == mark,
      view.uint32(at: view.count - 4) == ShortChecksum.of(view.prefix(view.count - 4))
    else { return nil }
    let scope = view[3]
    var reader = ByteReader(view.slice(4..<view.count - 4))
    if scope == 2 { return .foreign(reader.take(reader.remaining)?.array ?? []) }
    guard scope <= 1, let id = reader.take(16), let lineage = reader.uint64(), let state = reader.uint64(),
      let sequence = reader.uint64(), let ordinal = reader.uint32(), let horizon = reader.uint64()
    else { return nil }
    var zone: Zone.ID?
    var epoch: UInt64 = 0
    if scope == 1 {
      guard let number = reader.uint64(), let count = reader.uint16(), let key = reader.take(Int(count)),
        let found = try? ValueCoding.zone(of: key)
      else { return nil }
      zone = found
      epoch = number
    }
    guard reader.isAtEnd else { return nil }
    return .own(
      Parts(
        databaseID: uuid(of: id), lineage: lineage, state: state, sequence: sequence, ordinal: ordinal,
        horizon: horizon, zone: zone, zoneEpoch: epoch))
  }

  static func bytes(of id: UUID) -> [UInt8] {
    let u = id.uuid
    return [
      u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
    ]
  }

  static func uuid(of b: ByteView) -> UUID {
    UUID(
      uuid: (
        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
      ))
  }
}

extension ChangeToken: Codable {
  /// Decodes the bytes of ``data``; others are a `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let data = try decoder.singleValueContainer().decode(Data.self)
    do throws(DatabaseError) {
      try self.init(data: data)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error))
    }
  }

  /// Encodes ``data``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(data)
  }
}
