#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Makes values of records.
///
/// ```swift
/// let movie = try RecordDecoder().decode(Movie.self, from: record)
/// ```
/// A decoder may be used by several threads at once.
public struct RecordDecoder: Sendable {
  /// How fields become values: those that the record was encoded with.
  public var options: RecordCodingOptions

  /// A decoder.
  public init(options: RecordCodingOptions = .init()) { self.options = options }

  /// The value of a record. References are not followed: a property whose value is a record of its own throws, see
  /// ``decode(_:from:resolvingIn:)``.
  ///
  /// Absent fields are nil to optionals; fields that the type does not know are passed over.
  /// - Throws: with the path to what could not be decoded; `recordTypeMismatch` for a record of another type.
  public func decode<T: RecordDecodable>(_ type: T.Type, from record: Record) throws(RecordCodingError) -> T {
    try decode(type, from: record, graph: nil, base: [])
  }

  /// The value of a record, with an existential's type opened.
  func decode<T: RecordDecodable>(
    _ type: T.Type, from record: Record, graph: GraphDecoding?, base: [String]
  ) throws(RecordCodingError) -> T {
    if options.checksRecordType, !record.body.isOf(type: T.recordType) {
      throw RecordCodingError(
        .recordTypeMismatch, "The record is of another type than the value.", path: base,
        facts: .init(zone: record.id.zone, name: record.id.name, expected: T.recordType, found: record.type))
    }
    let scope = DecodingScope(
      record, options, rules: T.fieldRules, recordNameKey: T.recordNameKey, graph: graph, base: base)
    do {
      var value = try T(from: FieldsDecoder(scope: scope, above: nil))
      // A type whose keys leave them out has them all the same.
      if !scope.hasGivenSystemFields, !TypeMemory.isKnownToDropSystemFields(T.self), !options.hasLayer {
        value.systemFields = record.systemFields
      }
      return value
    } catch { throw Self.naming(record, error, in: scope, base: base) }
  }

  /// The error with what only the decoder knows: which record it was, and the path to it within a graph.
  private static func naming(
    _ record: Record, _ error: any Error, in scope: DecodingScope, base: [String]
  ) -> RecordCodingError {
    let isOwn = error is RecordCodingError
    let found = RecordCodingError(error, in: scope.failurePath ?? [])
    var facts = found.facts
    // An error of a record deeper in a graph, or of a reference, has its own.
    if facts.name == nil, facts.zone == nil, facts.target == nil {
      facts.zone = record.id.zone
      facts.name = record.id.name
    }
    return RecordCodingError(
      found.code, found.message, path: isOwn ? found.path : base + found.path, facts: facts, cause: found.cause)
  }
}
