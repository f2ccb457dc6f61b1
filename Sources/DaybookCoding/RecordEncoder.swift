#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Makes records of values. Nothing is saved by encoding, and no file is read before the record is saved.
///
/// ```swift
/// let record = try RecordEncoder(zone: library).encode(movie)
/// ```
/// What becomes of which type is on the page Sources/DaybookCoding/README.md. An encoder may be used by several threads at once.
public struct RecordEncoder: Sendable {
  /// The zone of records that are new; values with ``RecordEncodable/systemFields`` stay in theirs.
  public var zone: Zone.ID
  /// How values become fields.
  public var options: RecordCodingOptions

  /// An encoder.
  public init(zone: Zone.ID = .default, options: RecordCodingOptions = .init()) {
    self.zone = zone
    self.options = options
  }

  /// The record of a value.
  ///
  /// An optional that is nil removes its field: saved, it takes away what the database has there. Fields that the type does not
  /// know stay as they are when the value has system fields, or when the record is saved with ``SavePolicy/changedKeys``.
  /// - Throws: with the path to what could not be encoded; `tooLarge` for fields and records beyond the limits; `ruleWithoutKey` for a
  ///   rule of the type whose key no property has, or that is for the name; `invalidIdentity` for a value that has another name than its system fields say;
  ///   `unsupportedValue` for an object whose own class encrypts what `T` reads in plain, or whose rules forget what a superclass encrypts.
  public func encode<T: RecordEncodable>(_ value: T) throws(RecordCodingError) -> Record {
    try encoded(value).record
  }

  /// A record with the fields of a value: only those that differ become changes of it, and all others stay as they are.
  ///
  /// The name of the value is not asked for. A file is no change where it is the copy of the stored content that decoding gave; of a content that
  /// lies in the record a file of its size is read and compared.
  /// - Throws: as ``encode(_:)`` does; `recordTypeMismatch` for a record of another type, unless the options say that it is not to be
  ///   checked: then the record keeps its type.
  public func encode<T: RecordEncodable>(_ value: T, onto record: Record) throws(RecordCodingError) -> Record {
    try encoded(value, onto: record).record
  }

  /// - Parameter comparesReferred: values that become references are to be compared with those of another encoding.
  func encoded<T: RecordEncodable>(
    _ value: T, onto record: Record, comparesReferred: Bool = false
  ) throws(RecordCodingError) -> Encoded {
    guard record.type == T.recordType || !options.checksRecordType else {
      throw RecordCodingError(
        .recordTypeMismatch, "The record is of another type than the value.",
        facts: .init(expected: T.recordType, found: record.type))
    }
    return try encode(value, FieldWriter(record, keepsEqualValues: true), comparesReferred: comparesReferred)
  }

  /// What is known of a value after it was encoded.
  struct Encoded {
    let record: Record
    /// The type keeps system fields, be it that this value has none yet.
    let keepsSystemFields: Bool
    /// A property of the value is an asset, or a file.
    let hasAssets: Bool
    /// What is to be taken out of the stored record, which the encoder does not see.
    let flattened: FlattenedFields?
    /// The records of values to which it has references, and which are not in it.
    let referred: [ReferredValue]
  }

  /// A value as it is saved.
  func encoded<T: RecordEncodable>(_ value: T) throws(RecordCodingError) -> Encoded {
    try encode(value, FieldWriter(emptyRecord(of: value, in: zone), keepsEqualValues: false))
  }

  /// The record that a value is, without its fields.
  func emptyRecord<T: RecordEncodable>(of value: T, in zone: Zone.ID) throws(RecordCodingError) -> Record {
    try RecordIdentity.record(of: value, in: zone, checksType: options.checksRecordType)
  }

  func encode<T: RecordEncodable>(
    _ value: T, _ fields: FieldWriter, graph: GraphEncoding? = nil, comparesReferred: Bool = false
  ) throws(RecordCodingError) -> Encoded {
    // Of an object that is asked for as one of its superclass the rules are those of its own class.
    let own = type(of: value)
    let rules = own.fieldRules
    if !rules.isEmpty, own != T.self { try SuperclassCheck.check(value, as: T.self, options) }
    let scope = EncodingScope(
      fields, options, rules: rules, recordNameKey: own.recordNameKey, graph: graph, isOfEnum: TypeMemory.isOfEnum(value),
      comparesReferred: comparesReferred)
    scope.inheritedSecrets = try InheritedRules.check(own, scope.rules)
    let memory = rules.isEmpty ? nil : TypeMemory.Rules(own, rules, scope.options)
    if !rules.isEmpty, memory.map({ !$0.areKnownToHaveKeys }) ?? true {
      scope.ruleCheck = try RuleCheck(RuleCheck.checked(rules), recordType: T.recordType, recordNameKey: own.recordNameKey)
    }
    do { try scope.encode(value) } catch { throw RecordCodingError(error, in: scope.failurePath ?? []) }
    if scope.areRulesComplete { memory?.haveKeys() }
    return Encoded(
      record: scope.fields.record, keepsSystemFields: scope.hasSystemFieldsKey || value.systemFields != nil,
      hasAssets: scope.hasAssets, flattened: scope.flattened, referred: scope.referredValues)
  }
}
