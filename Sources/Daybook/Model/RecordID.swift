#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The small types around a record: its identity, references, typed keys, and what the database knows of it.

extension Record {
  /// The identity of a record within a database: its name and its zone.
  ///
  /// Ordered by zone, then by the bytes of the name, which is the order of dumps.
  public struct ID: Hashable, Comparable, Sendable {
    /// The name: 1 to 255 printable ASCII characters. Only names that a server gave begin with an underscore.
    public let name: String
    /// The zone that the record lives in.
    public let zone: Zone.ID

    /// The identity of a record.
    ///
    /// - Throws: `invalidArguments` when the name is empty, longer than 255, not printable ASCII, or begins with an
    ///   underscore.
    public init(_ name: String, in zone: Zone.ID = .default) throws(DatabaseError) {
      if let fault = NameRules.faultOfNewRecordName(name) { throw fault }
      self.init(unchecked: name, in: zone)
    }

    /// The identity of a record with a name that another party chose, such as a server: it gives names that begin with an
    /// underscore, like `_a1b2…` to the records of users. It can be referred to, and stored as it came; a new record of one's
    /// own with such a name is refused when it is saved.
    ///
    /// - Throws: `invalidArguments` when the name is empty, longer than 255, or not printable ASCII.
    public init(existing name: String, in zone: Zone.ID = .default) throws(DatabaseError) {
      if let fault = NameRules.faultOfRecordName(name) { throw fault }
      self.init(unchecked: name, in: zone)
    }

    /// A new identity, whose name is a random UUID.
    public init(in zone: Zone.ID = .default) {
      self.init(unchecked: UUID().uuidString, in: zone)
    }

    package init(unchecked name: String, in zone: Zone.ID) {
      self.name = name
      self.zone = zone
    }

    /// Whether both have the same bytes.
    public static func == (first: Self, second: Self) -> Bool {
      UTF8Order.equal(first.name, second.name) && first.zone == second.zone
    }

    /// Ordered by zone, then by name.
    public static func < (first: Self, second: Self) -> Bool {
      first.zone != second.zone ? first.zone < second.zone : UTF8Order.compare(first.name, second.name) < 0
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
      UTF8Order.combine(name, into: &hasher)
      zone.hash(into: &hasher)
    }
  }
}

extension Record.ID: CustomStringConvertible {
  /// `zone/name`.
  public var description: String { "\(zone)/\(ShownText.escaped(name))" }
}

extension Record.ID: Codable {
  private enum CodingKeys: String, CodingKey { case name, zone }

  /// Decodes and checks as `init(existing:in:)` does, because it comes from elsewhere; a refused name is a `DecodingError` with
  /// the `DatabaseError` underneath.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .name)
    let zone = try container.decodeIfPresent(Zone.ID.self, forKey: .zone) ?? .default
    do throws(DatabaseError) {
      try self.init(existing: name, in: zone)
    } catch { throw DecodingError(error, decoder) }
  }

  /// Encodes name and zone.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(zone, forKey: .zone)
  }
}

extension Record {
  /// A value that points to another record.
  public struct Reference: Hashable, Codable, Sendable {
    /// What the reference does. Source and target are in the same zone, whatever the action.
    public enum Action: String, Hashable, Codable, Sendable, CaseIterable {
      /// Nothing: the target may be missing.
      case none
      /// Deleting the target deletes the record that has this reference, and so on from there, in the same commit. The target
      /// may be missing; any one of several owners suffices, and records may own each other in a circle.
      case deleteSelf
      /// The target must exist when the commit is made, and is not deleted while this record remains:
      /// `referenceViolation`.
      case validate
    }

    /// The record that is pointed to.
    public var id: ID
    /// What the reference does.
    public var action: Action

    /// A reference to a record.
    public init(_ id: ID, action: Action = .none) {
      self.id = id
      self.action = action
    }

    /// A reference to a record.
    public init(id: ID, action: Action = .none) { self.init(id, action: action) }

    /// A reference to a record.
    public init(_ record: Record, action: Action = .none) { self.init(record.id, action: action) }
  }

  /// A key with the type of its value, so that reads and writes need no annotation.
  ///
  /// ```swift
  /// extension Record.Key where T == String { static var title: Self { .init("title") } }
  /// record[.title] = "Dune"
  /// ```
  public struct Key<T: RecordValueConvertible>: Hashable, Sendable {
    /// The key's name.
    public let name: String

    /// A key. An invalid name is refused when a record with it is saved.
    public init(_ name: String) { self.name = name }
  }

  /// What the database knows about a saved record.
  public struct Metadata: Hashable, Sendable {
    /// New at every save, compared for equality only.
    public let changeTag: String
    /// When the record was first saved.
    public let creationDate: Date
    /// Who saved it first.
    public let creatorUserID: String?
    /// When it was last saved; local edits do not touch it.
    public let modificationDate: Date
    /// Who saved it last.
    public let lastModifiedUserID: String?
    /// The device that saved it last.
    public let modifiedByDevice: String?

    /// Metadata as a server reports it.
    public init(
      changeTag: String, creationDate: Date, creatorUserID: String? = nil, modificationDate: Date,
      lastModifiedUserID: String? = nil, modifiedByDevice: String? = nil
    ) {
      self.changeTag = changeTag
      self.creationDate = creationDate
      self.creatorUserID = creatorUserID
      self.modificationDate = modificationDate
      self.lastModifiedUserID = lastModifiedUserID
      self.modifiedByDevice = modifiedByDevice
    }
  }
}
