#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// A zone: a part of a database whose records are saved and fetched together.
  public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// What a zone can do.
    public struct Capabilities: OptionSet, Sendable, Hashable {
      /// The bits.
      public let rawValue: UInt

      /// A set from its bits.
      public init(rawValue: UInt) { self.rawValue = rawValue }

      /// Changes since a token can be fetched.
      public static let fetchChanges = Capabilities(rawValue: 1)
      /// Several records can be saved all or none.
      public static let atomic = Capabilities(rawValue: 2)
      /// Records can be shared.
      public static let sharing = Capabilities(rawValue: 4)
      /// The zone can be shared as a whole.
      public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// Name and owner.
    public let zoneID: CKRecordZone.ID
    /// What the zone can do; nothing before a database has returned it.
    public let capabilities: Capabilities

    /// A zone of this user.
    public convenience init(zoneName: String) { self.init(zoneID: ID(zoneName: zoneName)) }

    /// A zone.
    public init(zoneID: CKRecordZone.ID) {
      self.zoneID = zoneID
      capabilities = []
    }

    /// A Daybook zone.
    public init(_ zone: Zone) {
      zoneID = ID(zone.id)
      // As many bits as a database keeps, whatever number they were made from.
      capabilities = Capabilities(rawValue: UInt(UInt32(truncatingIfNeeded: zone.capabilities.rawValue)))
    }

    /// The zone that always exists.
    public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

    /// Whether both are the same zone.
    public override func isEqual(_ object: Any?) -> Bool {
      (object as? CKRecordZone).map { zoneID.isEqual($0.zoneID) } ?? false
    }
    /// Equal zones have equal ones.
    public override var hash: Int { zoneID.hash }
    /// The identity.
    public override var description: String { zoneID.description }
    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }
    /// Writes the identity.
    public func encode(with coder: NSCoder) { zoneID.encode(with: coder) }
    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let id = ID(coder: coder) else { return nil }
      self.init(zoneID: id)
    }
  }
#endif
