/// A type that says under which keys its properties are in a record, for predicates that name the properties.
///
/// ```swift
/// struct Movie: RecordKeyPaths {
///   var id: String
///   var title: String
///   var director: Person?
///   static var recordKeyPaths: [String: PartialKeyPath<Movie>] {
///     ["recordName": \.id, "titel": \.title, "director_name": \.director!.name]
///   }
/// }
/// ```
/// A property that is not among them has its own name as the key. A path through an optional has a `!` in it; nothing is ever
/// read through it. A type whose values are made from records (`RecordDecodable` of DaybookCoding) is one without saying so, and declares
/// the property where it has to.
public protocol RecordKeyPaths {
  /// What the type declares: a dictionary of key paths, or nothing.
  associatedtype KeyPathTable: RecordKeyPathTable = NoRecordKeyPaths

  /// The properties by their keys, or by the names of system fields: `[String: PartialKeyPath<Movie>]`.
  static var recordKeyPaths: KeyPathTable { get }
}

/// Key paths by the keys of records: a dictionary of texts and key paths, or none.
public protocol RecordKeyPathTable {
  /// The key paths by their keys.
  var keyPaths: [String: AnyKeyPath] { get }
}

extension Dictionary: RecordKeyPathTable where Key == String, Value: AnyKeyPath {
  /// The key paths without their types.
  public var keyPaths: [String: AnyKeyPath] { mapValues { $0 } }
}

/// No key paths: each property has its own name as the key.
public struct NoRecordKeyPaths: RecordKeyPathTable, Sendable {
  init() {}

  /// None.
  public var keyPaths: [String: AnyKeyPath] { [:] }
}

extension RecordKeyPaths where KeyPathTable == NoRecordKeyPaths {
  /// None.
  public static var recordKeyPaths: NoRecordKeyPaths { NoRecordKeyPaths() }
}

extension RecordKeyPaths {
  /// The same without the type.
  static var anyKeyPaths: [String: AnyKeyPath] { recordKeyPaths.keyPaths }
}
