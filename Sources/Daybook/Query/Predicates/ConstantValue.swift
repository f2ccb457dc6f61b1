#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Constants of Foundation's predicates as values of a record.
enum ConstantValue {
  /// The value of a constant; nil of nil.
  static func value<E: PredicateExpression>(
    of constant: Any, _ expression: E, _ translation: PredicateTranslation
  ) throws(DatabaseError) -> Record.Value? {
    guard let constant = unwrapped(constant) else { return nil }
    switch constant {
    case let id as UUID: return .string(id.uuidString)
    // An empty list of anything is one of UUIDs to a cast.
    case let ids as [UUID] where type(of: constant) == [UUID].self: return .strings(ids.map(\.uuidString))
    case is Decimal: throw decimal(expression, translation)
    case _ where type(of: constant) == [Decimal].self: throw decimal(expression, translation)
    case _ where isFile(constant):
      throw translation.refusal(expression, "The file of a URL is an asset in a record, which a predicate does not compare.")
    // In a record the elements have an order that the constant does not have.
    case is any SetAlgebra where !(constant is any RawRepresentable): break
    case let value as any RecordValueConvertible: return try value.checkedRecordValue()
    case let value as any RawRepresentable: return try self.value(of: value.rawValue, expression, translation)
    default: break
    }
    throw translation.refusal(expression, "A query has no values of the type of a constant in the predicate.").adding {
      $0.found = "\($0.found ?? "") of \(type(of: constant))"
    }
  }

  private static func isFile(_ constant: Any) -> Bool {
    if let url = constant as? URL { return url.isFileURL }
    // An empty list of anything is one of URLs to a cast.
    return (constant as? [URL])?.contains(where: \.isFileURL) ?? false
  }

  private static func decimal<E: PredicateExpression>(
    _ expression: E, _ translation: PredicateTranslation
  ) -> DatabaseError {
    translation.refusal(
      expression,
      "A Decimal is text in a record, and a number may have several texts, such as 1.5 and 1.50; .field(\"price\") == number compares the text."
    )
  }

  /// What is in an optional, the value of anything else.
  static func unwrapped(_ constant: Any) -> Any? {
    guard let optional = constant as? any OptionalConstant else { return constant }
    return optional.content.flatMap { unwrapped($0) }
  }

  static func elements(of sequence: some Sequence) -> [Any] { sequence.map { $0 } }

  /// Whether `<` of the type is that of the values it is stored as.
  static func isOrdered(_ type: Any.Type) -> Bool {
    type == String.self || type == Double.self || type == Float.self || type == Date.self || type == UUID.self
      || (type is any FixedWidthInteger.Type && type is any RecordValueConvertible.Type)
  }

  /// Whether values of the type are numbers in Swift and texts in a record.
  static func isDecimal(_ type: Any.Type) -> Bool { type == Decimal.self || type == Decimal?.self }

  /// Whether a type is stored as one value under one key.
  static func isOneValue(_ type: Any.Type?) -> Bool {
    guard let type else { return false }
    if let optional = type as? any OptionalConstant.Type {
      // Which nil of two is not stored.
      return !(optional.contentType is any OptionalConstant.Type) && isOneValue(optional.contentType)
    }
    return type == UUID.self || type == URL.self || type == Decimal.self || type is any RecordValueConvertible.Type
      || type is any RawRepresentable.Type || (type as? any ListConstant.Type).map { isOneValue($0.elementType) } == true
  }

  /// Whether a type is a list of values that are stored one by one.
  static func isList(_ type: Any.Type) -> Bool {
    guard let list = type as? any ListConstant.Type else { return false }
    return !(list.elementType is any OptionalConstant.Type) && isOneValue(list.elementType)
  }
}

/// Optionals of any type.
protocol OptionalConstant {
  var content: Any? { get }
  static var contentType: Any.Type { get }
}

extension Optional: OptionalConstant {
  var content: Any? { self }
  static var contentType: Any.Type { Wrapped.self }
}

/// Arrays and sets of any type.
protocol ListConstant {
  static var elementType: Any.Type { get }
}

extension Array: ListConstant {
  static var elementType: Any.Type { Element.self }
}

extension Set: ListConstant {
  static var elementType: Any.Type { Element.self }
}

/// Ranges, whatever their ends are.
protocol ConstantRange {
  var ends: PredicateTranslation.Ends { get }
}

extension Range: ConstantRange {
  var ends: PredicateTranslation.Ends { .init(lower: lowerBound, upper: upperBound, isClosed: false) }
}

extension ClosedRange: ConstantRange {
  var ends: PredicateTranslation.Ends { .init(lower: lowerBound, upper: upperBound, isClosed: true) }
}

extension PartialRangeFrom: ConstantRange {
  var ends: PredicateTranslation.Ends { .init(lower: lowerBound, upper: nil, isClosed: false) }
}

extension PartialRangeUpTo: ConstantRange {
  var ends: PredicateTranslation.Ends { .init(lower: nil, upper: upperBound, isClosed: false) }
}

extension PartialRangeThrough: ConstantRange {
  var ends: PredicateTranslation.Ends { .init(lower: nil, upper: upperBound, isClosed: true) }
}
