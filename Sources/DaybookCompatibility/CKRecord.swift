#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// A record: an identity, a type, and values under keys.
  ///
  /// Other than a Daybook record this is an object: all that have it see each change, and a save that succeeded makes
  /// it the saved version. Threads may share it; each call by itself is whole. Changes made while it is saved stay changes.
  ///
  /// A type, a name or a value that no database takes is refused when the record is saved, with `invalidArguments`; CloudKit ends
  /// the program.
  open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, @unchecked Sendable {
    /// The type of a record.
    public typealias RecordType = String
    /// The key of a value.
    public typealias FieldKey = String

    /// The type of the records of users.
    public enum SystemType {
      /// The record of a user.
      public static let userRecord: CKRecord.RecordType = "Users"
    }

    /// The type, which never changes.
    public let recordType: RecordType
    /// Name and zone.
    public let recordID: CKRecord.ID

    let state: Locked<RecordState>

    /// A new record with a random name in the default zone.
    public convenience init(recordType: RecordType) { self.init(recordType: recordType, recordID: CKRecord.ID()) }

    /// A new record with a random name.
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
      self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    /// A new record.
    public init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
      self.recordType = recordType
      self.recordID = recordID
      let base = Result { () throws(DatabaseError) in try Record(type: recordType, id: recordID.daybookID) }
      state = Locked(RecordState(base))
    }

    /// A Daybook record, with the changes that it has.
    public init(_ record: Record) {
      recordType = record.type
      recordID = CKRecord.ID(record.id)
      state = Locked(RecordState(.success(record)))
    }

    init(recordType: RecordType, recordID: CKRecord.ID, _ content: RecordState) {
      self.recordType = recordType
      self.recordID = recordID
      state = Locked(content)
    }

    /// The same as a Daybook record, with the changes that are not saved yet. Files of assets are looked at now.
    /// - Throws: `invalidArguments` for what no database takes, with the key among the facts; `assetFileNotFound`.
    public final func daybookRecord() throws(DatabaseError) -> Record { try content.record() }

    final var content: RecordState { state.withLock { $0.copy } }

    // MARK: values

    /// The keys that have a value, in order. Those of encrypted values too: a subscript gives nothing for them, and ``encryptedValues`` knows
    /// which they are.
    public final func allKeys() -> [FieldKey] { state.withLock { $0.allKeys } }

    /// The keys that were set or removed since the record was fetched or last saved; those of encrypted values too.
    public final func changedKeys() -> [FieldKey] { state.withLock { $0.allChangedKeys } }

    /// The words of all texts.
    public final func allTokens() -> [String] {
      let content = content
      return content.keys(isEncrypted: false).flatMap { key -> [String] in
        switch content.object(FieldSlot(key)) {
        case let text as String: [text]
        case let list as [String]: list
        default: []
        }
      }.flatMap { text in text.split(whereSeparator: \.isWhitespace).map { String($0) } }
    }

    /// The value of a key; nil when it has none.
    public final func object(forKey key: FieldKey) -> (any CKRecordValueProtocol)? {
      state.withLock { $0.object(FieldSlot(key)) }
    }

    /// Sets the value of a key, or removes it with nil.
    public final func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
      state.withLock { $0.put(FieldContent(object), FieldSlot(key)) }
    }

    /// The value of a key, of whatever kind.
    public final func value(forKey key: FieldKey) -> Any? { object(forKey: key) }

    /// Sets the value of a key, nil removes it. What no field can hold is refused when the record is saved.
    public final func setValue(_ value: Any?, forKey key: FieldKey) {
      let content =
        switch value {
        case nil: FieldContent.removed
        case let value as any CKRecordValueProtocol: FieldContent(value)
        case let value?: FieldContent(unsupported: value)
        }
      state.withLock { $0.put(content, FieldSlot(key)) }
    }

    /// Values that are kept encrypted where the database can: neither assets nor references, and never found by a query.
    public final var encryptedValues: any CKRecordKeyValueSetting { EncryptedValues(record: self) }

    // MARK: the parent

    /// The record that this one belongs to.
    public final var parent: CKRecord.Reference? {
      get { state.withLock { $0.parent } }
      set { state.withLock { $0.parentEdit = .some(newValue) } }
    }

    /// Makes a record the parent of this one; nil leaves it without.
    public final func setParent(_ parent: CKRecord?) { setParent(parent?.recordID) }

    /// Makes a record the parent of this one; nil leaves it without.
    @_disfavoredOverload
    public final func setParent(_ parentID: CKRecord.ID?) {
      parent = parentID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    // MARK: what the database knows

    private final var metadata: Record.Metadata? { state.withLock { try? $0.base.get().metadata } }

    private final func userRecordID(_ name: String?) -> CKRecord.ID? { name.map { CKRecord.ID(recordName: $0) } }

    /// When the record was first saved; nil before.
    public final var creationDate: Date? { metadata?.creationDate }
    /// When the record was last saved. A change that is not saved yet leaves it alone.
    public final var modificationDate: Date? { metadata?.modificationDate }
    /// Who saved the record first.
    public final var creatorUserRecordID: CKRecord.ID? { userRecordID(metadata?.creatorUserID) }
    /// Who saved the record last.
    public final var lastModifiedUserRecordID: CKRecord.ID? { userRecordID(metadata?.lastModifiedUserID) }
    /// The tag of the stored version, compared for equality only.
    public final var recordChangeTag: String? { metadata?.changeTag }

    // MARK: what objects do

    /// Another record with the same identity, values and changes.
    open func copy(with zone: NSZone? = nil) -> Any { CKRecord(recordType: recordType, recordID: recordID, content) }

    /// Type, identity and keys; never values.
    open override var description: String {
      "<CKRecord: \(recordType), \(recordID.description), keys: \(allKeys().joined(separator: ", "))>"
    }

    /// True.
    open class var supportsSecureCoding: Bool { true }

    /// Writes everything, values and changes too; see ``encodeSystemFields(with:)``.
    open func encode(with coder: NSCoder) { encodeAll(with: coder) }

    /// Reads what ``encode(with:)`` or ``encodeSystemFields(with:)`` wrote; nil for anything else.
    public required init?(coder: NSCoder) {
      guard let known = RecordArchive.read(coder) else { return nil }
      recordType = known.recordType
      recordID = known.recordID
      state = Locked(known.state)
    }
  }

  /// Something with values under keys: a record, or its encrypted values.
  public protocol CKRecordKeyValueSetting: AnyObject {
    /// The value of a key; nil when it has none.
    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)?
    /// Sets the value of a key, or removes it with nil.
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey)
    /// The keys that have a value.
    func allKeys() -> [CKRecord.FieldKey]
    /// The keys that were set or removed.
    func changedKeys() -> [CKRecord.FieldKey]
  }

  extension CKRecordKeyValueSetting {
    /// The value of a key as a Swift type; nil when it has none, or one of another kind.
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
      get { object(forKey: key) as? T }
      set { setObject(newValue, forKey: key) }
    }

    /// The value of a key; nil removes it.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
      get { object(forKey: key) }
      set { setObject(newValue, forKey: key) }
    }
  }

  extension CKRecord: Sequence {
    /// Keys and values, in the order of the keys.
    public func makeIterator() -> IndexingIterator<[(FieldKey, any CKRecordValueProtocol)]> {
      let content = content
      return content.keys(isEncrypted: false)
        .compactMap { key in content.object(FieldSlot(key)).map { (key, $0) } }.makeIterator()
    }
  }

  /// The encrypted values of a record.
  private final class EncryptedValues: CKRecordKeyValueSetting {
    private let record: CKRecord

    init(record: CKRecord) { self.record = record }

    func object(forKey key: String) -> (any CKRecordValueProtocol)? {
      record.state.withLock { $0.object(FieldSlot(key, isEncrypted: true)) }
    }
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: String) {
      record.state.withLock { $0.put(FieldContent(object), FieldSlot(key, isEncrypted: true)) }
    }
    func allKeys() -> [String] { record.state.withLock { $0.keys(isEncrypted: true) } }
    func changedKeys() -> [String] { record.state.withLock { $0.changedKeys(isEncrypted: true) } }
  }
#endif
