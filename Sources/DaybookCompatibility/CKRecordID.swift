#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// The identities of zones and records. Like CloudKit's they take any text: what no database could have is refused when it is
  /// used, with `invalidArguments`. The classes are top-level ones, because only those can be archived on Linux.

  /// The name of the user in identities of zones of this user.
  public let CKCurrentUserDefaultName = "__defaultOwner__"

  /// The identity of a zone: a name and an owner.
  public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the zone that always exists.
    public static let defaultZoneName = "_defaultZone"
    /// The zone that always exists.
    public static let `default` = CKRecordZoneID()

    /// The name.
    public let zoneName: String
    /// The owner: ``CKCurrentUserDefaultName`` for this user.
    public let ownerName: String

    /// The identity of a zone; without arguments the default zone's.
    public init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName) {
      self.zoneName = zoneName
      self.ownerName = ownerName
    }

    /// The identity of a Daybook zone.
    public convenience init(_ id: Zone.ID) { self.init(zoneName: id.name, ownerName: id.owner) }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` when it is no zone's.
    var daybookID: Zone.ID {
      get throws(DatabaseError) { try Zone.ID(zoneName, owner: ownerName) }
    }

    // MARK: what objects do

    /// Whether both have the same name and owner.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? CKRecordZoneID else { return false }
      return zoneName.utf8.elementsEqual(other.zoneName.utf8) && ownerName.utf8.elementsEqual(other.ownerName.utf8)
    }

    /// Equal identities have equal ones.
    public override var hash: Int {
      var hasher = Hasher()
      for text in [zoneName, ownerName] { for byte in text.utf8 { hasher.combine(byte) } }
      return hasher.finalize()
    }

    /// Name and owner.
    public override var description: String { "\(zoneName):\(ownerName)" }

    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes name and owner.
    public func encode(with coder: NSCoder) {
      coder.encode(text: zoneName, forKey: "zoneName")
      coder.encode(text: ownerName, forKey: "ownerName")
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let name = coder.text(forKey: "zoneName"), let owner = coder.text(forKey: "ownerName") else { return nil }
      self.init(zoneName: name, ownerName: owner)
    }
  }

  extension CKRecordZone {
    /// The identity of a zone: a name and an owner.
    public typealias ID = CKRecordZoneID
  }

  /// The identity of a record: a name and a zone.
  public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name.
    public let recordName: String
    /// The zone.
    public let zoneID: CKRecordZone.ID

    /// The identity of a record; without a name, one that is a new UUID.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default) {
      self.recordName = recordName
      self.zoneID = zoneID
    }

    /// The identity of a Daybook record.
    public convenience init(_ id: Record.ID) { self.init(recordName: id.name, zoneID: CKRecordZone.ID(id.zone)) }

    /// The same for Daybook; also names that a server gave.
    /// - Throws: `invalidArguments` when it is no record's.
    var daybookID: Record.ID {
      get throws(DatabaseError) { try Record.ID(existing: recordName, in: zoneID.daybookID) }
    }

    // MARK: what objects do

    /// Whether both have the same name and zone.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? CKRecordID else { return false }
      return recordName.utf8.elementsEqual(other.recordName.utf8) && zoneID.isEqual(other.zoneID)
    }

    /// Equal identities have equal ones.
    public override var hash: Int {
      var hasher = Hasher()
      for byte in recordName.utf8 { hasher.combine(byte) }
      hasher.combine(zoneID.hash)
      return hasher.finalize()
    }

    /// Name and zone.
    public override var description: String { "\(recordName):(\(zoneID.description))" }

    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes name and zone.
    public func encode(with coder: NSCoder) {
      coder.encode(text: recordName, forKey: "recordName")
      zoneID.encode(with: coder)
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let name = coder.text(forKey: "recordName"), let zone = CKRecordZone.ID(coder: coder) else { return nil }
      self.init(recordName: name, zoneID: zone)
    }
  }

  extension CKRecord {
    /// The identity of a record: a name and a zone.
    public typealias ID = CKRecordID
  }

  extension NSCoder {
    // What is missing is an error to an archive, and ends the program unless `decodingFailurePolicy` says otherwise.

    /// The text $null is what an archive has for nil: it is written as bytes.
    func encode(text: String, forKey key: String) {
      if text == "$null" { encode(Data(text.utf8) as NSData, forKey: key) } else { encode(text as NSString, forKey: key) }
    }

    func text(forKey key: String) -> String? {
      guard containsValue(forKey: key) else { return nil }
      switch decodeObject(of: [NSString.self, NSData.self], forKey: key) {
      case let text as NSString: return text as String
      case let text as String: return text
      case let bytes as NSData: return String(bytes: bytes as Data, encoding: .utf8)
      default: return nil
      }
    }

    func bytes(forKey key: String) -> Data? {
      containsValue(forKey: key) ? decodeObject(of: NSData.self, forKey: key).map { $0 as Data } : nil
    }
  }
#endif
