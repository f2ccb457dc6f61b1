#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What an expression of Foundation's predicates is called where it is written, for errors: `SequenceAllSatisfy` says nothing to
/// the author of an `allSatisfy`.
enum PredicateOperation {
  /// The spelling of an expression by the name of its type; nil where both are the same, or it is never written.
  static func spelling(of expression: String) -> String? {
    switch expression {
    case "SequenceAllSatisfy": "allSatisfy"
    case "SequenceMaximum": "max()"
    case "SequenceMinimum": "min()"
    case "SequenceContains", "SequenceContainsWhere", "CollectionContainsCollection",
      "RangeExpressionContains":
      "contains"
    case "SequenceStartsWith": "starts(with:)"
    case "StringLocalizedStandardContains": "localizedStandardContains"
    case "StringLocalizedCompare": "localizedCompare"
    case "StringCaseInsensitiveCompare": "caseInsensitiveCompare"
    case "StringContainsRegex": "contains of a regular expression"
    case "CollectionIndexSubscript", "CollectionRangeSubscript", "DictionaryKeySubscript",
      "DictionaryKeyDefaultValueSubscript":
      "[]"
    case "Filter": "filter"
    case "Arithmetic": "+, - or * with a property"
    case "IntDivision", "FloatDivision": "/"
    case "IntRemainder": "%"
    case "UnaryMinus": "-"
    case "TypeCheck": "is"
    case "ConditionalCast": "as?"
    case "ForceCast": "as!"
    default: nil
    }
  }

  /// What a key path from a property asks of its value, such as `.count`; nil for a property of its own.
  static func name(of path: AnyKeyPath, _ type: Any.Type) -> String? {
    guard let measured = type as? any MeasuredValue.Type else { return nil }
    if let known = measured.measures.first(where: { $0.path == path }) { return known.name }
    // What a list has from a protocol is another key path in each module.
    let value = Swift.type(of: path).valueType
    return value == Int.self ? ".count" : value == Bool.self ? ".isEmpty" : "a property of \(type)"
  }
}

/// Texts and lists, of which a query knows the content, and nothing that is computed from it.
private protocol MeasuredValue {
  static var measures: [(path: AnyKeyPath, name: String)] { get }
}

extension String: MeasuredValue {
  fileprivate static var measures: [(path: AnyKeyPath, name: String)] {
    [
      (\String.count, ".count"), (\String.isEmpty, ".isEmpty"), (\String.first, ".first"),
      (\String.last, ".last"),
    ]
  }
}

extension Array: MeasuredValue {
  fileprivate static var measures: [(path: AnyKeyPath, name: String)] {
    [
      (\[Element].count, ".count"), (\[Element].isEmpty, ".isEmpty"), (\[Element].first, ".first"),
      (\[Element].last, ".last"),
    ]
  }
}

extension Set: MeasuredValue {
  fileprivate static var measures: [(path: AnyKeyPath, name: String)] {
    [
      (\Set<Element>.count, ".count"), (\Set<Element>.isEmpty, ".isEmpty"),
      (\Set<Element>.first, ".first"),
    ]
  }
}

extension Data: MeasuredValue {
  fileprivate static var measures: [(path: AnyKeyPath, name: String)] {
    [
      (\Data.count, ".count"), (\Data.isEmpty, ".isEmpty"), (\Data.first, ".first"),
    ]
  }
}
