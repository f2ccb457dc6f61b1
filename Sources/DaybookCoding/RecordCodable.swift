#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// A type whose values become records: see ``RecordEncoder``.
///
/// ```swift
/// struct Movie: RecordCodable, Identifiable {
///   var id: String             // also the record's name
///   var title: String
///   var year: Int?
/// }
/// ```
/// Values are made and read on other threads, so the protocol asks for a type that may be used there (`SendableMetatype`): in a target whose
/// declarations are on the main actor by default the type is not, as long as its declaration names the protocol.
///
/// Each key of the type's `encode(to:)` becomes a field. Two keys do not: `systemFields`, and ``recordNameKey``, which stands for
/// the name of the record.
///
/// A property that is nil takes its field away, also from an older record. An `encode(to:)` of your own says so with `encodeIfPresent` or
/// `encodeNil`. Where it leaves the key out instead (`if let note { … }`), the old value stays, unless the keys are listed:
/// `enum CodingKeys: CodingKey, CaseIterable`. Then every key that is listed and not encoded loses its field; a key for decoding alone
/// belongs into another type of keys.
public protocol RecordEncodable: Encodable, SendableMetatype {
  /// The type of the record. The default is the name of the Swift type, without what it is nested in.
  static var recordType: String { get }

  /// The key of the property that is the record's name, which no field repeats: `recordName` by default.
  static var recordNameKey: String { get }

  /// How single keys become fields, where that is not as the options say. Keys are those of `CodingKeys`; a key within a
  /// flattened value has those above it in front: `address.street`. Asked for once a value: a `static let` is cheapest.
  static var fieldRules: [String: FieldRule] { get }

  /// The name of the value's record, unique in its zone: 1 to 255 printable ASCII characters, no underscore in front. Values of
  /// one name overwrite each other.
  ///
  /// An `Identifiable` type whose `id` is a text, a UUID or an integer, or has a text as raw value, has it from there. The default of
  /// others is the stored property that ``recordNameKey`` is spelled like, wrapped or inherited, if it is of one of these types, and else a new UUID for each
  /// record that is made, until the value has ``systemFields``.
  var recordName: String { get }

  /// What the database knows about the value's record, from when it was read; nil for a value that is new. It is never a field. A
  /// value with it is encoded as a change of that record: same name, zone, change tag and dates.
  var systemFields: Data? { get }
}

/// A type whose values are made from records: see ``RecordDecoder``.
///
/// For predicates that name properties it may declare `recordKeyPaths`, see ``Daybook/RecordKeyPaths``.
public protocol RecordDecodable: Decodable, RecordKeyPaths, SendableMetatype {
  /// The type that the record must have. The default is the name of the Swift type, without what it is nested in.
  static var recordType: String { get }

  /// The key of the property that is the record's name: `recordName` by default.
  static var recordNameKey: String { get }

  /// How single keys were made into fields, see ``RecordEncodable/fieldRules``.
  static var fieldRules: [String: FieldRule] { get }

  /// What the database knows about the record. A type that stores it gets it when it is decoded.
  var systemFields: Data? { get set }
}

/// A type whose values become records and are made from them.
public typealias RecordCodable = RecordEncodable & RecordDecodable

extension RecordEncodable {
  /// The name of the Swift type.
  public static var recordType: String { TypeMemory.name(of: Self.self) }
  /// `recordName`.
  public static var recordNameKey: String { "recordName" }
  /// None.
  public static var fieldRules: [String: FieldRule] { [:] }
  /// What the property of the key ``recordNameKey`` has, and a new UUID where there is none.
  public var recordName: String { storedRecordName ?? UUID().uuidString }

  /// A stored property may have the name without being it: `let recordName: UUID` does not give the text that is asked for.
  private var storedRecordName: String? {
    let key = Self.recordNameKey
    var level: Mirror? = Mirror(reflecting: self)
    while let mirror = level {
      for child in mirror.children {
        if child.label == key { return (child.value as? any RecordNameConvertible)?.recordName }
        // What is in front of it, where a wrapper or an observed class has it.
        guard child.label == "_" + key else { continue }
        if let name = (child.value as? any RecordNameConvertible)?.recordName { return name }
        if let wrapper = child.value as? any Encodable { return recordName(encodedBy: wrapper) }
      }
      level = mirror.superclassMirror
    }
    TypeMemory.hasNoName(Self.self)
    return nil
  }

  /// The text or the number that a property wrapper encodes; nil where it encodes something else.
  private func recordName(encodedBy wrapper: some Encodable) -> String? {
    guard let list = try? JSONEncoder().encode([wrapper]) else { return nil }
    if let name = try? JSONDecoder().decode([String].self, from: list).first { return name }
    return (try? JSONDecoder().decode([Int64].self, from: list).first).map { String($0) }
  }
  /// Nil: the type does not keep them.
  public var systemFields: Data? { nil }
}

extension RecordDecodable {
  /// The name of the Swift type.
  public static var recordType: String { TypeMemory.name(of: Self.self) }
  /// `recordName`.
  public static var recordNameKey: String { "recordName" }
  /// None.
  public static var fieldRules: [String: FieldRule] { [:] }
  /// Nil: the type does not keep them. What is set is dropped.
  public var systemFields: Data? {
    get { nil }
    set { TypeMemory.dropsSystemFields(Self.self) }
  }
}

// Where a type is both, neither of the defaults above would be the better one.
extension RecordEncodable where Self: RecordDecodable {
  /// The name of the Swift type.
  public static var recordType: String { TypeMemory.name(of: Self.self) }
  /// `recordName`.
  public static var recordNameKey: String { "recordName" }
  /// None.
  public static var fieldRules: [String: FieldRule] { [:] }
  /// Nil: the type does not keep them. What is set is dropped.
  public var systemFields: Data? {
    get { nil }
    set { TypeMemory.dropsSystemFields(Self.self) }
  }
}

extension RecordEncodable where Self: Identifiable, ID == String {
  /// The identity.
  public var recordName: String { id }
}

extension RecordEncodable where Self: Identifiable, ID == UUID {
  /// The identity as text.
  public var recordName: String { id.uuidString }
}

extension RecordEncodable where Self: Identifiable, ID: FixedWidthInteger {
  /// The identity in decimal digits.
  public var recordName: String { String(id) }
}

extension RecordEncodable where Self: Identifiable, ID: RawRepresentable, ID.RawValue == String {
  /// The raw value of the identity.
  public var recordName: String { id.rawValue }
}

/// An enum whose raw value is a field, and which a newer version of the application may have given more cases.
///
/// ```swift
/// enum Kind: String, RecordEnum {
///   case unknown, film, serial
///   static var fallback: Kind? { .unknown }
/// }
/// ```
///
/// A raw value that no case has is decoded as ``fallback``, and refused when that is nil. Encoding such a value again stores the
/// fallback's raw value; an `update` of another property leaves the field as it is, so that it takes nothing from a newer version.
///
/// A predicate that names the fallback (`let unknown = Kind.unknown`, `#Predicate { $0.kind == unknown }`) finds the unknown raw values, too, if the enum is
/// `CaseIterable`: only then it is known which these are. Otherwise it is refused.
public protocol RecordEnum: RawRepresentable, Codable, SendableMetatype {
  /// The case that stands for unknown raw values; nil refuses them. There is no default: a property of the type `Self` would be
  /// taken for another one, and its case would never be used.
  static var fallback: Self? { get }
}

/// What names a record where a value is fetched, observed, updated or deleted: a text, a UUID, an integer.
///
/// ```swift
/// let note = try database.fetch(Note.self, id)              // id: UUID
/// extension Note.ID: RecordNameConvertible {}               // a type of one's own around a text
/// ```
public protocol RecordNameConvertible {
  /// The name of the record.
  var recordName: String { get }
}

extension RecordNameConvertible where Self: RawRepresentable, RawValue == String {
  /// The raw value.
  public var recordName: String { rawValue }
}

extension RecordNameConvertible where Self: FixedWidthInteger {
  /// The number in decimal digits.
  public var recordName: String { String(self) }
}

extension String: RecordNameConvertible {
  /// The text itself.
  public var recordName: String { self }
}

extension Substring: RecordNameConvertible {
  /// The text.
  public var recordName: String { String(self) }
}

extension UUID: RecordNameConvertible {
  /// The UUID as text, in capital letters. A record that another program named in small letters is another one: its name is
  /// `uuidString.lowercased()`.
  public var recordName: String { uuidString }
}

extension Int: RecordNameConvertible {}
extension Int32: RecordNameConvertible {}
extension Int64: RecordNameConvertible {}
extension UInt: RecordNameConvertible {}
extension UInt32: RecordNameConvertible {}
extension UInt64: RecordNameConvertible {}
