import DaybookEngine

extension Query {
  /// What a condition looks at: a field of the record by its key, or what the database knows of the record.
  ///
  /// A value on its own, so that comparisons read as Swift: `.field("year") > 2000`.
  public struct Field: Hashable, Sendable {
    /// The key, or the name of a system field.
    public var name: String { spelling.text }
    private let spelling: ByteText
    /// Whether one element of a list suffices; see ``any``.
    let isAny: Bool
    /// Which system field; nil for a key of the record.
    let system: SystemField?

    /// A field by its key, or a system field by its name, such as `creationDate`; no key has such a name. CloudKit's own names
    /// for system fields, such as `___recordID`, are the same fields.
    public init(_ name: String) {
      system = SystemField(spelling: name)
      spelling = ByteText(system?.rawValue ?? name)
      isAny = false
    }

    init(_ system: SystemField, isAny: Bool = false) {
      self.system = system
      spelling = ByteText(system.rawValue)
      self.isAny = isAny
    }

    private init(name: String, system: SystemField?, isAny: Bool) {
      spelling = ByteText(name)
      self.system = system
      self.isAny = isAny
    }

    /// A field of the record whose key is spelled like something else in a text.
    init(key: String) {
      self.init(name: key, system: nil, isAny: false)
    }

    /// The same field, of which one element has to pass: `.field("genres").any == "Drama"`. A value that is no list is its own
    /// only element.
    public var any: Field { Field(name: name, system: system, isAny: true) }

    /// Whether it may have an index, in principle: a field of the record, or a date that the database keeps.
    var isIndexable: Bool { system.map(\.isDate) ?? true }

    /// The same field as a whole.
    var whole: Field { Field(name: name, system: system, isAny: false) }
  }

  /// What is known of a record besides its fields. No key of a record is spelled like one of them, but `self`.
  enum SystemField: String, Hashable, Sendable, CaseIterable {
    /// Name and zone, as a reference to the record.
    case recordID
    case recordName, recordType
    case creationDate, modificationDate
    /// The users' names, as texts.
    case creatorUserRecordID, lastModifiedUserRecordID
    case modifiedByDevice, recordChangeTag
    /// The parent, as a reference.
    case parent
    /// All texts of the record, for searches of words.
    case text = "self"

    /// The names that CloudKit has for them in predicates and on the web.
    init?(spelling name: String) {
      // To compare texts Swift sorts the marks of a letter, in the square of their number; a name may be any text.
      if name.utf8.count > 64 { return nil }
      switch name {
      case "___recordID": self = .recordID
      case "___createTime": self = .creationDate
      case "___modTime": self = .modificationDate
      case "___createdBy": self = .creatorUserRecordID
      case "___modifiedBy": self = .lastModifiedUserRecordID
      case "___etag": self = .recordChangeTag
      case "___parent": self = .parent
      case "self": return nil
      default: self.init(rawValue: name)
      }
    }

    /// Whether CloudKit takes it in a predicate.
    var isOfCloudKit: Bool {
      switch self {
      case .recordID, .creationDate, .modificationDate, .creatorUserRecordID, .lastModifiedUserRecordID, .text: true
      case .recordName, .recordType, .modifiedByDevice, .recordChangeTag, .parent: false
      }
    }

    /// Whether it is a date. Those may have indexes, as fields have.
    var isDate: Bool { self == .creationDate || self == .modificationDate }

    /// The date that an index of a key is of; nil for a field of the record, whose key is never spelled like one.
    init?(indexKey key: ByteView) {
      switch key.count {
      case 12 where UTF8Order.equal(key, "creationDate"): self = .creationDate
      case 16 where UTF8Order.equal(key, "modificationDate"): self = .modificationDate
      default: return nil
      }
    }

    /// Whether its value is the name of a user: a reference to a user's record means that.
    var isUser: Bool { self == .creatorUserRecordID || self == .lastModifiedUserRecordID }
  }
}

extension Query.Field {
  /// A field by its key, or a system field by its name.
  public static func field(_ key: String) -> Self { Self(key) }
  /// A field by its typed key.
  public static func field<T>(_ key: Record.Key<T>) -> Self { Self(key.name) }

  /// Name and zone of the record. Compared with a text it is the name alone.
  public static var recordID: Self { Self(.recordID) }
  /// The name of the record.
  public static var recordName: Self { Self(.recordName) }
  /// The type of the record.
  public static var recordType: Self { Self(.recordType) }
  /// When the record was first saved.
  public static var creationDate: Self { Self(.creationDate) }
  /// When the record was last saved.
  public static var modificationDate: Self { Self(.modificationDate) }
  /// Who saved the record first: the name of the user's record.
  public static var creatorUserRecordID: Self { Self(.creatorUserRecordID) }
  /// Who saved the record last: the name of the user's record.
  public static var lastModifiedUserRecordID: Self { Self(.lastModifiedUserRecordID) }
  /// The device that saved the record last.
  public static var modifiedByDevice: Self { Self(.modifiedByDevice) }
  /// The record that this one belongs to.
  public static var parent: Self { Self(.parent) }
}

extension Query.Predicate {
  // The same names once more: `.field("title").hasPrefix("D")` is looked for where its result belongs.

  /// A field by its key, or a system field by its name.
  public static func field(_ key: String) -> Query.Field { Query.Field(key) }
  /// A field by its typed key.
  public static func field<T>(_ key: Record.Key<T>) -> Query.Field { Query.Field(key.name) }
  /// Name and zone of the record.
  public static var recordID: Query.Field { .recordID }
  /// The name of the record.
  public static var recordName: Query.Field { .recordName }
  /// The type of the record.
  public static var recordType: Query.Field { .recordType }
  /// When the record was first saved.
  public static var creationDate: Query.Field { .creationDate }
  /// When the record was last saved.
  public static var modificationDate: Query.Field { .modificationDate }
  /// Who saved the record first.
  public static var creatorUserRecordID: Query.Field { .creatorUserRecordID }
  /// Who saved the record last.
  public static var lastModifiedUserRecordID: Query.Field { .lastModifiedUserRecordID }
  /// The device that saved the record last.
  public static var modifiedByDevice: Query.Field { .modifiedByDevice }
  /// The record that this one belongs to.
  public static var parent: Query.Field { .parent }
}

extension Query.Field: CustomStringConvertible {
  /// The key as it is written in a predicate's text.
  public var description: String {
    let spelled = system == nil && (PredicateWord.isReserved(name) || name == "allTokens") ? "#\(name)" : name
    return isAny ? "ANY \(spelled)" : spelled
  }
}
