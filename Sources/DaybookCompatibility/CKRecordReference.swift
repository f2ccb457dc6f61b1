#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// A value that points to another record.
  public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// What the reference does.
    public enum Action: UInt, Sendable, Hashable {
      /// Nothing.
      case none = 0
      /// Deleting the target deletes the record that has this reference.
      case deleteSelf = 1
    }

    /// The record that is pointed to.
    public let recordID: CKRecord.ID
    /// What the reference does.
    public let action: Action

    /// A reference to a record.
    public init(recordID: CKRecord.ID, action: Action) {
      self.recordID = recordID
      self.action = action
    }

    /// A reference to a record.
    public convenience init(record: CKRecord, action: Action) { self.init(recordID: record.recordID, action: action) }

    /// A Daybook reference; one that is validated there does nothing under these names.
    public convenience init(_ reference: Record.Reference) {
      self.init(recordID: CKRecord.ID(reference.id), action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` when the identity is no record's.
    var daybookReference: Record.Reference {
      get throws(DatabaseError) {
        Record.Reference(try recordID.daybookID, action: action == .deleteSelf ? .deleteSelf : .none)
      }
    }

    // MARK: what objects do

    /// Whether both point to the same record with the same action.
    public override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? CKReference else { return false }
      return recordID.isEqual(other.recordID) && action == other.action
    }

    /// Equal references have equal ones.
    public override var hash: Int { recordID.hash ^ Int(action.rawValue) }

    /// The identity that is pointed to.
    public override var description: String { recordID.description }

    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes identity and action.
    public func encode(with coder: NSCoder) {
      recordID.encode(with: coder)
      coder.encode(Int(action.rawValue), forKey: "action")
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let id = CKRecord.ID(coder: coder), coder.containsValue(forKey: "action"),
        let raw = UInt(exactly: coder.decodeInteger(forKey: "action")),
        let action = Action(rawValue: raw)
      else { return nil }
      self.init(recordID: id, action: action)
    }
  }

  extension CKRecord {
    /// A value that points to another record.
    public typealias Reference = CKReference
    /// What a reference does.
    public typealias ReferenceAction = CKRecord.Reference.Action
  }

  /// The name before Swift 4.2.
  public typealias CKReferenceAction = CKRecord.Reference.Action
  /// The name that Swift gives to the Objective-C one, as converted sources have it.
  public typealias CKRecord_Reference_Action = CKRecord.Reference.Action
#endif
