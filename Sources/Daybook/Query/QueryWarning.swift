extension Query {
  /// What a query names and the database does not have, or compares with what it never is. Such a query is no error: it finds
  /// nothing, or too much.
  ///
  /// A plan has them (``Plan/warnings``); a query that is only run does not look for them. A field that was never saved is told as a
  /// misspelled one is: in a new database that is no mistake.
  public struct Warning: Hashable, Codable, Sendable {
    /// What is told.
    public enum Reason: String, Hashable, Codable, Sendable {
      /// No record has the type, and none has had a field of it.
      case unknownType
      /// The database knows the type, and no record of the zone that is asked for has it.
      case noRecords
      /// No record of the type has ever had the field.
      case unknownKey
      /// The field's values are encrypted in every type that has it: no query sees them.
      case encryptedKey
      /// The field has never had a value of a kind that passes a comparison with such a constant.
      case otherKind
      /// The field has lists, which are compared as a whole: a single value equals none, and is neither smaller nor larger. One of the
      /// elements is asked for with ``Query/Field/any``, in a predicate's text with `ANY`.
      case listAsValue
      /// The field has never had a value that could equal the constant, and `!=` is passed by each.
      case neverEqual
    }

    /// What is told.
    public var reason: Reason
    /// The record type, or the key of the field; of a system field its name.
    public var name: String
    /// The record type whose field it is; nil of a type, and where all types are asked for.
    public var recordType: String?
    /// The zone without records of the type.
    public var zone: Zone.ID?
    /// Names that the database has and that are close to an unknown one, the closest first, three at most.
    public var closeNames: [String] = []
    /// The kinds of values that the field has had.
    public var kinds: [Schema.Kind] = []
    /// The kind of the constant that it is compared with.
    public var constant: Schema.Kind?
  }
}

extension Query.Warning: CustomStringConvertible {
  /// The warning as a sentence, such as `no record of type Movie has the key yaer. Did you mean year?`
  public var description: String {
    let name = ShownText.escaped(name)
    let known = kinds.map(\.rawValue).joined(separator: " or ")
    let constant = constant?.rawValue ?? ""
    switch reason {
    case .unknownType, .noRecords:
      let place = zone.map { " in zone \(ShownText.escaped("\($0)"))" } ?? ""
      return "there is no record of type \(name)\(place)." + Spelling.question(naming: closeNames)
    case .unknownKey:
      let type = recordType.map { " of type \(ShownText.escaped($0))" } ?? ""
      return "no record\(type) has the key \(name)." + Spelling.question(naming: closeNames)
    case .encryptedKey: return "the values of \(name) are encrypted, and no query sees them."
    case .otherKind:
      return "\(name) is of the kind \(known), and finds nothing where it is compared with one of the kind \(constant)."
    case .listAsValue:
      return
        "\(name) is of the kind \(known), and a list is compared as a whole: ANY \(name), in Swift .field(\"\(name)\").any, "
        + "asks for an element."
    case .neverEqual:
      return "\(name) is of the kind \(known), and every value is another than one of the kind \(constant)."
    }
  }
}

extension Query.Condition {
  /// Why no value of some kinds passes as it was meant, for each kind of the constants; empty where one may.
  func mismatches(with kinds: [FieldKind]) -> [(reason: Query.Warning.Reason, constant: FieldKind)] {
    if kinds.isEmpty || field.system == .text { return [] }
    var result: [(reason: Query.Warning.Reason, constant: FieldKind)] = []
    for constant in test.constantKinds where !result.contains(where: { $0.constant == constant }) {
      if kinds.contains(where: { test.mayPass(field.isAny ? $0.element : $0, constant) }) { continue }
      let isOfElements = !field.isAny && kinds.contains { $0.isList && test.mayPass($0.element, constant) }
      if case .compare(.notEqual, _) = test {
        result.append((.neverEqual, constant))
      } else {
        result.append((isOfElements ? .listAsValue : .otherKind, constant))
      }
    }
    return result
  }
}

extension Query.Condition.Test {
  /// The kinds of what values are compared with.
  fileprivate var constantKinds: [FieldKind] {
    func kind(_ operand: Query.Operand) -> FieldKind { if case .value(let value) = operand { value.kind } else { .date } }
    switch self {
    case .compare(_, let operand): return [kind(operand)]
    case .between(let lower, let upper): return [kind(lower), kind(upper)]
    case .isIn(let values): return values.map(\.kind)
    case .contains(let value): return [value.kind]
    case .text, .words: return [.string]
    case .distance: return [.location]
    case .isAbsent: return []
    }
  }

  /// Whether a value of a kind may equal a constant of another, or pass the test with it: ``PredicateMeaning`` says when.
  fileprivate func mayPass(_ kind: FieldKind, _ constant: FieldKind) -> Bool {
    // Whole numbers and others are compared with each other.
    func group(_ kind: FieldKind) -> FieldKind { kind == .int ? .double : kind == .ints ? .doubles : kind }
    let isSame = group(kind) == group(constant) && !kind.isAsset
    switch self {
    case .compare(.equal, _), .compare(.notEqual, _), .isIn: return isSame
    case .compare, .between: return ValueOrder.areOrdered(kind, constant)
    case .contains: return kind == .string && constant == .string || kind.isList && group(kind.element) == group(constant)
    case .text: return kind == .string
    case .words: return kind.element == .string
    case .distance: return kind == .location
    case .isAbsent: return true
    }
  }
}

extension Query.SystemField {
  /// The kind of its value; nil of all texts, which are no value.
  var kind: FieldKind? {
    switch self {
    case .recordID, .parent: .reference
    case .recordName, .recordType, .creatorUserRecordID, .lastModifiedUserRecordID, .modifiedByDevice, .recordChangeTag: .string
    case .creationDate, .modificationDate: .date
    case .text: nil
    }
  }
}
