#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// How values become fields and fields values. An encoder and a decoder with the same options understand each other.
///
/// Dates, bytes, places and numbers that are none follow their options where they are fields or lists of a record. **Within JSON no
/// option and no rule changes them**: in structs, in dictionaries, and in lists that have nil, elements of several kinds or lists, a
/// date is seconds since 2001, bytes are Base64, numbers that are none texts, and a place is what its `Codable` says.
public struct RecordCodingOptions: Sendable {
  /// How keys are named in a record: they begin with a letter, go on with letters, digits and underscores, and are none of the
  /// system's.
  public enum KeyStrategy: Sendable {
    /// As the coding key says.
    case asIs
    /// `firstName` as `first_name`. Keys of dictionaries are data, and stay as they are.
    case snakeCase
    /// The text of a coding key to the field's. Two keys of one value must not become the same field: that is refused. So is a case of
    /// an enum that is not found by its spelling; it is where the enum's `CodingKeys` are `CaseIterable`.
    case custom(@Sendable (String) -> String)
  }

  /// What a date becomes.
  public enum DateStrategy: Sendable {
    /// A date.
    case native
    /// A double, seconds since 1970.
    case secondsSince1970
    /// A double, milliseconds since 1970.
    case millisecondsSince1970
    /// Text like `2024-05-17T20:15:00.250Z`, to the millisecond.
    case iso8601
    /// Anything. The two must undo each other; what they throw leaves with the path.
    case custom(encode: @Sendable (Date) throws -> Record.Value, decode: @Sendable (Record.Value) throws -> Date)
  }

  /// What bytes become. Decoding reads any of the three.
  public enum DataStrategy: Sendable {
    /// Bytes in the record.
    case bytes
    /// Text.
    case base64
    /// An asset.
    case asset
    /// An asset when there are more than so many bytes, else bytes in the record.
    case assetAbove(Int)
  }

  /// What becomes of a number that is none. Infinities are numbers.
  public enum NotANumberStrategy: Sendable {
    /// It is refused.
    case refused
    /// This text.
    case text(String)
  }

  /// What a place becomes. Decoding reads both.
  public enum LocationStrategy: Sendable {
    /// A location.
    case native
    /// Text like `48.2;16.37`: latitude and longitude only.
    case text
  }

  /// What a value becomes that is none of a record's kinds, such as a struct, a dictionary or an enum with payloads.
  public enum NestedStrategy: Sendable {
    /// Bytes in the record: JSON with sorted keys.
    case json
    /// A field for each of its keys, with the key of the value and an underscore in front: `address_street`.
    case flattened
    /// An asset of this format.
    case asset(AssetFormat)
  }

  /// The content of an asset that a value was made into. Decoding finds out which it is.
  ///
  /// What a property list cannot hold is refused: the text `$null` and whole numbers of 128 bits; as XML a date with a fraction of a
  /// second, too.
  public enum AssetFormat: Sendable, CaseIterable {
    /// JSON with sorted keys.
    case json
    /// A property list as XML, whose dates are whole seconds.
    case xmlPropertyList
    /// A property list in Apple's binary form.
    case binaryPropertyList
  }

  /// All of them are one reference: an encoder or decoder is made for each save and each fetch (row: coding-fetch).
  private var shared = Shared.usual

  /// How keys are named in the record.
  public var keys: KeyStrategy {
    get { shared.values.keys }
    set { change { $0.keys = newValue } }
  }
  /// What a date becomes, outside of JSON.
  public var dates: DateStrategy {
    get { shared.values.dates }
    set { change { $0.dates = newValue } }
  }
  /// What bytes become, outside of JSON.
  public var data: DataStrategy {
    get { shared.values.data }
    set { change { $0.data = newValue } }
  }
  /// What becomes of a number that is none, outside of JSON.
  public var notANumber: NotANumberStrategy {
    get { shared.values.notANumber }
    set { change { $0.notANumber = newValue } }
  }
  /// What a place becomes, outside of JSON.
  public var locations: LocationStrategy {
    get { shared.values.locations }
    set { change { $0.locations = newValue } }
  }
  /// What a struct, a dictionary or an enum with payloads becomes.
  public var nested: NestedStrategy {
    get { shared.values.nested }
    set { change { $0.nested = newValue } }
  }
  /// Rules for single keys of whatever type is coded; they go before those of the type.
  public var rules: [String: FieldRule] {
    get { shared.values.rules }
    set { change { $0.rules = newValue } }
  }
  /// For the types that are coded.
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { shared.values.userInfo }
    set { change { $0.userInfo = newValue } }
  }
  /// How large a field and a record may be: ``Limits/recordByteCount``.
  public var limits: Limits {
    get { shared.values.limits }
    set { change { $0.limits = newValue } }
  }
  /// Whether a record of another type than the value's is refused: by decoding, by encoding onto it, and in the value's system fields.
  ///
  /// Without it a value is read from a record of any type, and written onto it as a change: the record keeps its type and the fields
  /// that the value does not know. New records are of the value's type, and queries and deletions of values ask for that.
  public var checksRecordType: Bool {
    get { shared.values.checksRecordType }
    set { change { $0.checksRecordType = newValue } }
  }
  /// Where files are made for contents that lie in a record and are decoded as a file URL; nil is the system's temporary folder.
  /// They lie in a folder for this user alone, are for reading, one for each content, and are there until the process ends.
  public var assetDirectory: URL? {
    get { shared.values.assetDirectory }
    set { change { $0.assetDirectory = newValue } }
  }
  /// Another set of names for this library, which has its own say about values.
  package var layer: (any CodingLayer)? {
    get { shared.values.layer }
    set { change { $0.layer = newValue } }
  }

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = shared.values
    body(&values)
    shared = Shared(values)
  }

  /// The usual options.
  public init() {}
}

/// How one key becomes a field.
public enum FieldRule: Sendable {
  /// It does not, and decodes as absent.
  case ignored
  /// Bytes in the record: JSON with sorted keys, for lists and values with keys. On a text, a number, a date, bytes or an enum with
  /// raw values it is refused; a type that is one of them at times, and JSON at others, is stored as what it is.
  case json
  /// A field for each of its keys.
  case flattened
  /// An asset. Bytes and files are its content; lists and values with keys are written in the format. On a text, a number or a date
  /// it is refused, also on a type that encodes itself as one, such as an enum with raw values.
  case asset(RecordCodingOptions.AssetFormat = .json)
  /// A reference to the value's record, or a list of them. The values are ``RecordEncodable``, or references and IDs; any
  /// other is refused, and so is a list with nil.
  case reference(Record.Reference.Action = .deleteSelf)
  /// The record's parent: a ``RecordEncodable`` value, a reference or an ID.
  case parent
  /// A text like `48.2;16.37`, or a list of them, as a location or a list.
  case locationText
  /// A date, or a list of them, in this form; not within JSON (``RecordCodingOptions``), as a list with nil is.
  case date(RecordCodingOptions.DateStrategy)
  /// Bytes, or a list of them, in this form; not within JSON (``RecordCodingOptions``), as a list with nil is.
  case data(RecordCodingOptions.DataStrategy)
  /// An encrypted value (``Record/encryptedValues``), which no query sees. Values with keys are JSON; assets and references are refused.
  /// A key whose values are stored plain cannot become encrypted: give it another name.
  case encrypted
  /// What a key without a field decodes as: for a property that came after records were saved. The value is as the field would have it;
  /// an optional does not need it, and with it is never nil.
  ///
  /// Decoding and `#Predicate` know it. Sorts and `.field(…)` look at what is stored: a record without the field is last in both
  /// directions, and passes no condition but `isAbsent`, because an index has nothing of it. Saving the values once gives all of them
  /// the field: `try database.save(database.fetchAll(Movie.self))`.
  case `default`(Record.Value)
}

extension FieldRule {
  /// A list of texts, or an empty one of any kind: `.default([])`.
  public static func `default`(_ list: [String]) -> FieldRule { .default(.strings(list)) }

  /// A list: `.default([1, 2])`.
  public static func `default`<Element: RecordListElement>(_ list: [Element]) -> FieldRule { .default(list.recordValue) }
}

extension RecordCodingOptions {
  /// What can be chosen.
  fileprivate struct Values: Sendable {
    var keys = KeyStrategy.asIs
    var dates = DateStrategy.native
    var data = DataStrategy.bytes
    var notANumber = NotANumberStrategy.refused
    var locations = LocationStrategy.native
    var nested = NestedStrategy.json
    var rules: [String: FieldRule] = [:]
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    var limits = Limits()
    var checksRecordType = true
    var assetDirectory: URL?
    var layer: (any CodingLayer)?
  }

  /// What was chosen, and what follows from it for each value that is coded: found out once.
  fileprivate final class Shared: Sendable {
    static let usual = Shared(Values())

    let values: Values
    let isFlattened: Bool
    let hasPlainKeys: Bool
    let isPlain: Bool
    let hasLayer: Bool

    init(_ values: Values) {
      self.values = values
      hasLayer = values.layer != nil
      isFlattened = if case .flattened = values.nested { true } else { false }
      hasPlainKeys = if case .asIs = values.keys { true } else { false }
      let isOfFields = if case .native = values.dates, case .bytes = values.data { true } else { false }
      // A value that is flattened is there without a field of its key.
      isPlain = hasPlainKeys && !isFlattened && isOfFields && values.rules.isEmpty && !hasLayer
    }
  }

  /// Whether each key of a nested value has a field.
  var isFlattened: Bool { shared.isFlattened }

  /// Keys are the names of fields.
  var hasPlainKeys: Bool { shared.hasPlainKeys }

  var hasLayer: Bool { shared.hasLayer }

  /// And no rule, option or layer changes what becomes of the usual kinds of values.
  var isPlain: Bool { shared.isPlain }

  /// The name of the field of a key.
  func field(of key: String) -> String {
    switch keys {
    case .asIs: key
    case .snakeCase: Self.snakeCase(key)
    case .custom(let name): name(key)
    }
  }

  /// `imageURL` becomes `image_url`, `URLSession` becomes `url_session`: an underscore before a capital letter that follows a
  /// small one, and before the last capital of several that a small one follows.
  static func snakeCase(_ key: String) -> String {
    let characters = Array(key)
    var result = ""
    for (index, character) in characters.enumerated() {
      if character.isUppercase, index > 0, characters[index - 1] != "_" {
        let isAfterSmall = !characters[index - 1].isUppercase
        let isBeforeSmall = index + 1 < characters.count && characters[index + 1].isLowercase
        if isAfterSmall || isBeforeSmall { result.append("_") }
      }
      result += character.lowercased()
    }
    return result
  }
}
