extension Query {
  /// How two values are compared.
  enum Comparison: String, Hashable, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The same with the sides changed.
    var flipped: Comparison {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }

    /// Whether an order passes: below zero when the field's value comes first.
    @inline(__always)
    func accepts(_ order: Int) -> Bool {
      switch self {
      case .equal: order == 0
      case .notEqual: order != 0
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      case .greaterOrEqual: order >= 0
      }
    }

    var isEquality: Bool { self == .equal || self == .notEqual }
  }

  /// What texts are compared without.
  public struct TextOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// Options of these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Small and capital letters are the same: `[c]`.
    public static let ignoringCase = TextOptions(rawValue: 1)
    /// Letters with and without accents are the same: `[d]`.
    public static let ignoringAccents = TextOptions(rawValue: 2)

    /// As it is written after an operator.
    var suffix: String {
      let letters = (contains(.ignoringCase) ? "c" : "") + (contains(.ignoringAccents) ? "d" : "")
      return letters.isEmpty ? "" : "[\(letters)]"
    }
  }

  /// What a field's value is compared with.
  enum Operand: Hashable, Sendable {
    case value(Record.Value)
    /// The moment at which the query is run.
    case now
  }

  /// Where in a text another one has to be.
  enum TextMatch: String, Hashable, Sendable, CaseIterable {
    case prefix = "BEGINSWITH"
    case suffix = "ENDSWITH"
    /// The other one is a pattern: `?` is any scalar, `*` any number of them, and a backslash takes the next as it is.
    case pattern = "LIKE"
  }

  /// One test of one field.
  struct Condition: Hashable, Sendable {
    enum Test: Hashable, Sendable {
      case compare(Comparison, Operand)
      /// Both ends count.
      case between(Operand, Operand)
      case isIn([Record.Value])
      /// A list with such an element, or a text with this one in it.
      case contains(Record.Value)
      case text(TextMatch, ByteText)
      /// One of the words of a text, with other letters' case and accents ignored; see ``SearchWords``.
      case words(ByteText)
      case distance(Comparison, from: Location, kilometres: Double)
      case isAbsent
    }

    let field: Field
    let test: Test
    let options: TextOptions

    init(_ field: Field, _ test: Test, _ options: TextOptions = []) {
      var field = field
      var test = test
      // Whether a field is there does not depend on its elements.
      if test == .isAbsent || field.system == .text { field = field.whole }
      if field.system == .recordID, test.isOnTexts { field = Field(.recordName, isAny: field.isAny) }
      if let system = field.system { test = test.mapped { Self.constant($0, for: system) } }
      self.field = field
      self.test = test.mapped(Self.plain)
      self.options = options
    }

    /// A constant as it is compared: −0 is 0, and what a reference does makes no difference.
    private static func plain(_ value: Record.Value) -> Record.Value {
      switch value {
      case .reference(let reference): .reference(Record.Reference(reference.id))
      case .references(let list): .references(list.map { Record.Reference($0.id) })
      default: value.kind.holdsDoubles ? (try? value.storable()) ?? value : value
      }
    }

    /// The name of the user where a user's record is given.
    private static func constant(_ value: Record.Value, for system: SystemField) -> Record.Value {
      if system.isUser, case .reference(let reference) = value { return .string(reference.id.name) }
      return value
    }
  }
}

extension Query.Condition.Test {
  /// Whether every constant is a text.
  fileprivate var isOnTexts: Bool {
    switch self {
    case .compare(_, .value(.string)), .between(.value(.string), .value(.string)), .text, .contains(.string): true
    case .isIn(let values): !values.isEmpty && values.allSatisfy { $0.kind == .string }
    default: false
    }
  }

  /// The same with other constants.
  fileprivate func mapped(_ change: (Record.Value) -> Record.Value) -> Self {
    func operand(_ operand: Query.Operand) -> Query.Operand {
      if case .value(let value) = operand { .value(change(value)) } else { operand }
    }
    switch self {
    case .compare(let comparison, let other): return .compare(comparison, operand(other))
    case .between(let lower, let upper): return .between(operand(lower), operand(upper))
    case .isIn(let values): return .isIn(values.map(change))
    case .contains(let value): return .contains(change(value))
    case .distance(let comparison, let place, let kilometres):
      guard case .location(let place) = change(.location(place)) else { return self }
      return .distance(comparison, from: place, kilometres: kilometres == 0 ? 0 : kilometres)
    case .text, .words, .isAbsent: return self
    }
  }

  /// Calls `visit` with each constant.
  func forEachConstant<E>(_ visit: (Record.Value) throws(E) -> Void) throws(E) {
    switch self {
    case .compare(_, let operand):
      if case .value(let value) = operand { try visit(value) }
    case .between(let lower, let upper):
      if case .value(let value) = lower { try visit(value) }
      if case .value(let value) = upper { try visit(value) }
    case .isIn(let values): for value in values { try visit(value) }
    case .contains(let value): try visit(value)
    case .text(_, let text), .words(let text): try visit(.string(text.text))
    case .distance(_, let place, let kilometres):
      try visit(.location(place))
      try visit(.double(kilometres))
    case .isAbsent: return
    }
  }
}
