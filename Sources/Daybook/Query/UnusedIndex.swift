extension Query.Plan {
  /// An index of the record type on a field that the query names, and why the query does without it.
  public struct UnusedIndex: Hashable, Codable, Sendable {
    /// Why an index is not used.
    public enum Reason: String, Hashable, Codable, Sendable {
      /// It is being built, or its build was cut off: ``Database/buildIndexes(progress:)`` completes it.
      case building
      /// A record that is damaged has no entry in it.
      case incomplete
      /// The field's conditions are served by an index of another kind, and so is an order by distance by none.
      case otherKind
      /// The condition is negated: what does not pass it is no range of the index.
      case negation
      /// The condition is one side of an `OR`, and the other side asks for something else.
      case alternative
      /// The comparison is none that an index serves: `!=`, `CONTAINS` in a text, `ENDSWITH`, `LIKE`, lists as a whole.
      case comparison
      /// The comparison ignores case or accents, and the index has texts by their bytes.
      case textOptions
      /// Words are looked for in all texts, and not each text of the type has an index of words.
      case otherTexts
      /// The order has several steps.
      case severalSteps
      /// The order comes from an index only where there is a limit.
      case noLimit
      /// The order is one over several zones.
      case severalZones
      /// The field has had values whose order the index does not have: lists, places, references.
      case unordered
      /// Looking at all records of the type costs no more: it leaves many of them, or there are few.
      case lessSelective
      /// Another index costs less.
      case otherIndex
      /// The records are looked up by their names.
      case namedRecords
    }

    /// The key of the field.
    public var key: String
    /// What its entries are made of.
    public var kind: IndexKind
    /// Why it is not used.
    public var reason: Reason
  }
}

extension Query.Plan.UnusedIndex: CustomStringConvertible {
  /// Such as `value index of year is not used: looking at all records costs less`.
  public var description: String {
    "\(kind.rawValue) index of \(ShownText.escaped(key)) is not used: \(reason.sentence)"
  }
}

extension Query.Plan.UnusedIndex.Reason {
  fileprivate var sentence: String {
    switch self {
    case .building: "it is not complete yet"
    case .incomplete: "a damaged record is not in it; drop it and make it again"
    case .otherKind: "what is asked for is served by an index of another kind, or by none"
    case .negation: "the condition is negated"
    case .alternative: "the other side of OR asks for something else"
    case .comparison: "no index serves this comparison"
    case .textOptions: "it has texts by their bytes, and the comparison ignores case or accents"
    case .otherTexts: "a search in all texts needs an index of words of each text"
    case .severalSteps: "an order of several steps is not read from an index"
    case .noLimit: "an order is read from an index only with a limit"
    case .severalZones: "an order over several zones is not read from an index"
    case .unordered: "the field has had lists, places or references, whose order it does not have"
    case .lessSelective: "looking at all records of the type costs no more"
    case .otherIndex: "another index costs less"
    case .namedRecords: "records are looked up by their names"
    }
  }
}
