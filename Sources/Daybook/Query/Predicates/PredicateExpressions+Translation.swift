#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An expression of Foundation's predicates that has a counterpart in a query, or may have one.
package protocol TranslatedExpression {
  func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side
}

extension PredicateTranslation.Side {
  fileprivate static func predicate(_ predicate: Query.Predicate) -> Self {
    .truth(PredicateTranslation.Truth(predicate: predicate))
  }
}

// What the expressions are made of.

extension PredicateExpressions.Value: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    if let range = value as? any ConstantRange { return .range(range.ends) }
    return .constant(value)
  }
}

extension PredicateExpressions.NilLiteral: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .constant(Output.none as Any)
  }
}

extension PredicateExpressions.Variable: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard let side = translation.bindings[key] else { throw translation.refusal(self) }
    return side
  }
}

extension PredicateExpressions.KeyPath: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    switch try translation.side(of: root) {
    case .constant(let value):
      guard let value = value as? Root.Output else { throw translation.refusal(self) }
      return .constant(value[keyPath: keyPath as Swift.KeyPath<Root.Output, Output>])
    case .field(var property):
      let own = keyPath as AnyKeyPath
      if own == \String.isEmpty { return .predicate(try translation.equality(property, "", isNegated: false, self)) }
      if let operation = PredicateOperation.name(of: own, Root.Output.self) { throw translation.refusal(of: operation) }
      let base = property.inside ?? property.path
      guard !property.isElement, property.fallback == nil, let path = base.map({ $0.appending(path: own) }) ?? own else {
        throw translation.refusal(self)
      }
      property.path = path
      property.inside = nil
      property.hasSize = MemoryLayout<Output>.size > 0
      property.isOptional = Output.self is any OptionalConstant.Type
      return .field(property)
    case .truth, .range: throw translation.refusal(self)
    }
  }
}

// Joined by and, or and not.

extension PredicateExpressions.Conjunction: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .predicate(try translation.predicate(of: lhs).and(try translation.predicate(of: rhs)))
  }
}

extension PredicateExpressions.Disjunction: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .predicate(try translation.predicate(of: lhs).or(try translation.predicate(of: rhs)))
  }
}

extension PredicateExpressions.Negation: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .predicate(try translation.predicate(of: wrapped).negated)
  }
}

extension PredicateExpressions.Conditional: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard Output.self == Bool.self else { throw translation.refusal(self) }
    let test = try translation.predicate(of: test)
    let first = test.and(try translation.predicate(of: trueBranch))
    return .predicate(first.or(test.negated.and(try translation.predicate(of: falseBranch))))
  }
}

// Comparisons.

extension PredicateExpressions.Equal: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .predicate(try translation.equality(lhs, rhs, isNegated: false, self))
  }
}

extension PredicateExpressions.NotEqual: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    .predicate(try translation.equality(lhs, rhs, isNegated: true, self))
  }
}

extension PredicateExpressions.Comparison: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    let comparison: Query.Comparison =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw translation.refusal(self)
      }
    switch (try translation.side(of: lhs), try translation.side(of: rhs)) {
    case (.field(let property), .constant(let value)):
      return .predicate(try translation.order(property, comparison, value, LHS.Output.self, self))
    case (.constant(let value), .field(let property)):
      return .predicate(try translation.order(property, comparison.flipped, value, LHS.Output.self, self))
    case (.constant(let left), .constant(let right)):
      guard let left = left as? LHS.Output, let right = right as? LHS.Output else { throw translation.refusal(self) }
      let passes =
        switch comparison {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        default: left >= right
        }
      return .predicate(passes ? .true : .false)
    case (.field, .field):
      throw translation.refusal(self, "A query does not compare two properties with each other.")
    default: throw translation.refusal(self)
    }
  }
}

// Ranges, lists and texts.

extension PredicateTranslation {
  fileprivate func range(
    _ lower: some PredicateExpression, _ upper: some PredicateExpression, isClosed: Bool, _ expression: some PredicateExpression
  ) throws(DatabaseError) -> Side {
    guard case .constant(let lower) = try side(of: lower), case .constant(let upper) = try side(of: upper) else {
      throw refusal(expression)
    }
    return .range(Ends(lower: lower, upper: upper, isClosed: isClosed))
  }
}

extension PredicateExpressions.Range: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    try translation.range(lower, upper, isClosed: false, self)
  }
}

extension PredicateExpressions.ClosedRange: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    try translation.range(lower, upper, isClosed: true, self)
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard case .range(let ends) = try translation.side(of: range), case .field(let property) = try translation.side(of: element)
    else { throw translation.refusal(self) }
    return .predicate(try translation.contains(ends, property, Element.Output.self, self))
  }
}

extension PredicateTranslation {
  /// The error for elements of a list that are not told apart in a record.
  fileprivate func refusal(_ expression: some PredicateExpression, ofElementsIn list: Any.Type) -> DatabaseError {
    let element = (list as? any ListConstant.Type)?.elementType
    let reason =
      element is any OptionalConstant.Type
      ? "A list of a record has no nil, and one whose elements may be nil is stored as a whole; filter in Swift." : nil
    return refusal(expression, reason)
  }
}

extension PredicateExpressions.SequenceContains: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    let element = try translation.side(of: element)
    switch (try translation.side(of: sequence), element) {
    case (.range(let ends), .field(let property)):
      return .predicate(try translation.contains(ends, property, RHS.Output.self, self))
    case (.constant(let value), .field(let property)):
      guard let sequence = value as? any Sequence else { throw translation.refusal(self) }
      return .predicate(try translation.contains(sequence, property, self))
    case (.field(let property), .constant(let value)):
      if LHS.Output.self == String.self {
        return .predicate(
          try translation.text(.field(property), element, String.self, self) { .contains(.string($0)) })
      }
      guard ConstantValue.isList(LHS.Output.self), let value = try ConstantValue.value(of: value, self, translation) else {
        throw translation.refusal(self, ofElementsIn: LHS.Output.self)
      }
      return .predicate(value.isNotANumber ? .false : try translation.condition(property, .contains(value), self))
    default: throw translation.refusal(self)
    }
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard case .field(var property) = try translation.side(of: sequence), ConstantValue.isList(LHS.Output.self),
      property.fallback == nil, !property.isElement
    else { throw translation.refusal(self, ofElementsIn: LHS.Output.self) }
    property.isElement = true
    let test = try translation.binding(variable.key, to: .field(property)).predicate(of: test)
    // One element may pass one of several conditions, another element the next.
    let parts = if case .or(let parts) = test.term { parts } else { [test] }
    let isOfElements = parts.allSatisfy { if case .condition(let condition) = $0.term { condition.field.isAny } else { false } }
    guard isOfElements else { throw translation.refusal(self) }
    property.isElement = false
    return .predicate(try translation.elements(of: property, test))
  }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    let sides = (try translation.side(of: base), try translation.side(of: other))
    return .predicate(try translation.text(sides.0, sides.1, Base.Output.self, self) { .contains(.string($0)) })
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    let sides = (try translation.side(of: base), try translation.side(of: prefix))
    return .predicate(try translation.text(sides.0, sides.1, Base.Output.self, self) { .text(.prefix, ByteText($0)) })
  }
}

// Optionals.

extension PredicateExpressions.ForcedUnwrap: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    switch try translation.side(of: inner) {
    case .constant(let value):
      guard let optional = value as? Wrapped?, let content = optional else { throw translation.refusal(self) }
      return .constant(content)
    case .field(var property):
      property.unwrap(Wrapped.self)
      return .field(property)
    case .truth, .range: throw translation.refusal(self)
    }
  }
}

extension PredicateTranslation.Property {
  fileprivate mutating func unwrap<Wrapped>(_: Wrapped.Type) {
    inside = path?.appending(path: \Wrapped?.self!)
    isOptional = false
  }
}

extension PredicateExpressions.OptionalFlatMap: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    switch try translation.side(of: wrapped) {
    case .constant(let value):
      guard let optional = value as? Wrapped? else { throw translation.refusal(self) }
      guard let content = optional else { return .constant(Output.none as Any) }
      return try translation.binding(variable.key, to: .constant(content)).side(of: transform)
    case .field(let property):
      var content = property
      content.unwrap(Wrapped.self)
      content.through.append(variable.key)
      let inner = try translation.binding(variable.key, to: .field(content)).side(of: transform)
      if case .field(var result) = inner {
        // A property of the wrapped value is absent where that is; another one is not.
        guard result.through.contains(variable.key), result.fallback == nil else { throw translation.refusal(self) }
        result.isOptional = true
        return .field(result)
      }
      let truth = try translation.truth(of: inner, transform)
      let absent = try translation.absence(of: property, self)
      return .truth(.init(predicate: truth.predicate, absent: truth.absent.map { absent.or($0) } ?? absent))
    case .truth, .range: throw translation.refusal(self)
    }
  }
}

extension PredicateExpressions.NilCoalesce: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    let left = try translation.side(of: lhs)
    let right = try translation.side(of: rhs)
    if case .constant(let value) = left { return ConstantValue.unwrapped(value).map { .constant($0) } ?? right }
    if case .field(var property) = left, case .constant(let value) = right {
      guard let value = ConstantValue.unwrapped(value) else { return left }
      property.fallback = value
      property.isOptional = false
      return .field(property)
    }
    let truth = try translation.truth(of: left, lhs)
    let other = try translation.truth(of: right, rhs)
    guard let absent = truth.absent else { return left }
    guard other.absent == nil else { throw translation.refusal(self) }
    if other.predicate == .true { return .predicate(absent.or(truth.predicate)) }
    return .predicate(truth.guarded(truth.predicate).or(absent.and(other.predicate)))
  }
}

// Calculations with constants: an overflow is refused, where evaluating the expression would stop the program.

extension PredicateExpressions.Arithmetic: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard case .constant(let left) = try translation.side(of: lhs), case .constant(let right) = try translation.side(of: rhs)
    else { throw translation.refusal(self) }
    if let left = left as? any FixedWidthInteger {
      guard let result = whole(left, right) else { throw translation.refusal(self) }
      return .constant(result)
    }
    guard let left = left as? LHS.Output, let right = right as? LHS.Output, left is any FloatingPoint else {
      throw translation.refusal(self)
    }
    switch op {
    case .add: return .constant(left + right)
    case .subtract: return .constant(left - right)
    case .multiply: return .constant(left * right)
    @unknown default: throw translation.refusal(self)
    }
  }

  private func whole<T: FixedWidthInteger>(_ left: T, _ right: Any) -> Any? {
    guard let right = right as? T else { return nil }
    let (result, isBeyond) =
      switch op {
      case .add: left.addingReportingOverflow(right)
      case .subtract: left.subtractingReportingOverflow(right)
      case .multiply: left.multipliedReportingOverflow(by: right)
      @unknown default: (left, true)
      }
    return isBeyond ? nil : result
  }
}

extension PredicateExpressions.UnaryMinus: TranslatedExpression {
  package func translated(by translation: PredicateTranslation) throws(DatabaseError) -> PredicateTranslation.Side {
    guard case .constant(let value) = try translation.side(of: wrapped) else { throw translation.refusal(self) }
    if let number = value as? any FixedWidthInteger {
      guard let result = negative(number) else { throw translation.refusal(self) }
      return .constant(result)
    }
    guard let number = value as? Wrapped.Output, number is any FloatingPoint else { throw translation.refusal(self) }
    return .constant(-number)
  }

  private func negative<T: FixedWidthInteger>(_ number: T) -> Any? {
    let (result, isBeyond) = T.zero.subtractingReportingOverflow(number)
    return isBeyond ? nil : result
  }
}
