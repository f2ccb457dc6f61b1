#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Conditions as they are written in Swift. ``Query/Predicate`` says what they mean for absent fields and other kinds.
extension Query.Field {
  private func compared(_ comparison: Query.Comparison, _ value: some RecordValueConvertible) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .compare(comparison, .value(value.recordValue))))
  }

  /// The field has this value. Numbers are compared by their exact value, references by what they point to.
  public static func == <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.equal, value)
  }
  /// The field has another value than this one; a field that is absent has none.
  public static func != <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.notEqual, value)
  }
  /// The field's value comes before this one.
  public static func < <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.less, value)
  }
  /// The field's value comes before this one or is equal.
  public static func <= <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.lessOrEqual, value)
  }
  /// The field's value comes after this one.
  public static func > <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.greater, value)
  }
  /// The field's value comes after this one or is equal.
  public static func >= <T: RecordValueConvertible>(field: Self, value: T) -> Query.Predicate {
    field.compared(.greaterOrEqual, value)
  }

  /// Not offered: a `Decimal` is stored as text.
  @available(*, unavailable, message: "A Decimal is stored as text, which has no order of numbers; keep cents, for example.")
  public static func < (field: Self, value: Decimal) -> Query.Predicate { .false }
  /// Not offered: a `Decimal` is stored as text.
  @available(*, unavailable, message: "A Decimal is stored as text, which has no order of numbers; keep cents, for example.")
  public static func <= (field: Self, value: Decimal) -> Query.Predicate { .false }
  /// Not offered: a `Decimal` is stored as text.
  @available(*, unavailable, message: "A Decimal is stored as text, which has no order of numbers; keep cents, for example.")
  public static func > (field: Self, value: Decimal) -> Query.Predicate { .false }
  /// Not offered: a `Decimal` is stored as text.
  @available(*, unavailable, message: "A Decimal is stored as text, which has no order of numbers; keep cents, for example.")
  public static func >= (field: Self, value: Decimal) -> Query.Predicate { .false }
  /// Not offered: a `Decimal` is stored as text.
  @available(*, unavailable, message: "A Decimal is stored as text, which has no order of numbers; keep cents, for example.")
  public func between(_ lower: Decimal, _ upper: Decimal) -> Query.Predicate { .false }

  /// `field == nil`: the field is absent.
  public static func == (field: Self, _: _OptionalNilComparisonType) -> Query.Predicate { field.isAbsent }
  /// `field != nil`: the field has a value.
  public static func != (field: Self, _: _OptionalNilComparisonType) -> Query.Predicate { !field.isAbsent }

  /// The record has no value under the key, or an encrypted one.
  public var isAbsent: Query.Predicate { Query.Predicate(Query.Condition(self, .isAbsent)) }

  /// The same value as this one, with case or accents ignored in texts.
  public func isEqual(to value: some RecordValueConvertible, options: Query.TextOptions) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .compare(.equal, .value(value.recordValue)), options))
  }

  /// The field has one of these values.
  public func isIn<T: RecordValueConvertible>(_ values: [T]) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .isIn(values.map(\.recordValue))))
  }

  /// The field's value lies between two; both ends count.
  public func between<T: RecordValueConvertible, U: RecordValueConvertible>(_ lower: T, _ upper: U) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .between(.value(lower.recordValue), .value(upper.recordValue))))
  }

  /// The field's value lies in a range, ends included.
  public func between<T: RecordValueConvertible & Comparable>(_ range: ClosedRange<T>) -> Query.Predicate {
    between(range.lowerBound, range.upperBound)
  }

  /// The field's list has this element; or the field's text has this one in it, which ``Dialect/cloudKit`` does not offer.
  public func contains(_ value: some RecordValueConvertible, options: Query.TextOptions = []) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .contains(value.recordValue), options))
  }

  /// The field's text begins with this one.
  public func hasPrefix(_ text: String, options: Query.TextOptions = []) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .text(.prefix, ByteText(text)), options))
  }

  /// The field's text ends with this one.
  public func hasSuffix(_ text: String, options: Query.TextOptions = []) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .text(.suffix, ByteText(text)), options))
  }

  /// The field's text is like a pattern: `?` is any Unicode scalar, `*` any number of them; a backslash takes what follows as
  /// it is.
  public func isLike(_ pattern: String, options: Query.TextOptions = []) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .text(.pattern, ByteText(pattern)), options))
  }

  /// The field's place lies around another one, at most so many kilometres away, as in CloudKit's predicates. The distance is
  /// that of ``Location/distance(to:)``, which is in metres.
  public func near(_ place: Location, within kilometres: Double) -> Query.Predicate {
    Query.Predicate(Query.Condition(self, .distance(.lessOrEqual, from: place, kilometres: kilometres)))
  }

  /// The field's text, or one of its texts, has one of these words; case and accents are ignored, and words such as `the` are
  /// not looked for: a text of nothing else finds nothing.
  public func tokens(_ text: String) -> Query.Predicate { Query.Predicate(Query.Condition(self, .words(ByteText(text)))) }

  /// The field's text, or its texts together, have all of these words; see ``tokens(_:)``.
  public func allTokens(_ text: String) -> Query.Predicate {
    let words = SearchWords.words(of: text)
    return words.isEmpty ? tokens(text) : .all(words.map { tokens($0) })
  }
}

extension Query.Predicate {
  /// One of the record's texts has one of these words: CloudKit's `self CONTAINS`. Case and accents are ignored, and words such
  /// as `the` are not looked for.
  public static func tokens(_ text: String) -> Query.Predicate { Query.Field(.text).tokens(text) }

  /// The record's texts together have all of these words.
  public static func allTokens(_ text: String) -> Query.Predicate { Query.Field(.text).allTokens(text) }
}

extension Record.ID: RecordValueConvertible {
  /// `.reference`, which does nothing when its target is deleted.
  public var recordValue: Record.Value { .reference(Record.Reference(self)) }
  /// Reads `.reference`.
  public init?(recordValue: Record.Value) {
    guard case .reference(let reference) = recordValue else { return nil }
    self = reference.id
  }
}
