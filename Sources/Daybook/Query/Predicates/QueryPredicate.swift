extension Query {
  /// Which records: conditions on fields, joined by and, or and not.
  ///
  /// ```swift
  /// let predicate: Query.Predicate = .field("year") > 2000 && !.field("title").hasPrefix("The ")
  /// let same = try Query.Predicate(format: "year > 2000 AND NOT title BEGINSWITH %@", "The ")
  /// ```
  ///
  /// A field that is absent passes no condition but ``Query/Field/isAbsent``, so `!=` asks for a value that is another, while
  /// `!` in front of a condition also accepts records without the field. A value of another kind is neither smaller nor larger,
  /// and never equal; integers and doubles are one kind. So is NaN with every value: ``matches(_:now:dialect:)`` takes it as a
  /// constant, a query refuses it. Text is compared by its bytes, in ``Dialect/cloudKit`` regardless of case where it is tested for
  /// equality. Encrypted values are absent here.
  ///
  /// It prints itself as the text that ``init(format:_:)`` reads.
  public struct Predicate: Hashable, Sendable {
    /// How conditions are joined. Always true: an `and` has no `and` among its own, an `or` no `or`, a `not` no `not`.
    indirect enum Term: Hashable, Sendable {
      case constant(Bool)
      case condition(Condition)
      case and([Predicate])
      case or([Predicate])
      case not(Predicate)
    }

    /// More levels of and, or and not than this are refused: evaluation, printing and reading go down to the last.
    static let maximumDepth = 30

    let term: Term
    /// Levels of and, or and not; one above the maximum for what is too deep, and then nothing of it is kept.
    let depth: Int

    private init(_ term: Term, depth: Int) {
      let isTooDeep = depth > Self.maximumDepth
      self.term = isTooDeep ? .constant(false) : term
      self.depth = isTooDeep ? Self.maximumDepth + 1 : depth
    }

    init(_ condition: Condition) { self.init(.condition(condition), depth: 0) }

    /// Every record.
    public static var `true`: Predicate { Predicate(.constant(true), depth: 0) }
    /// No record.
    public static var `false`: Predicate { Predicate(.constant(false), depth: 0) }

    /// All of them; the only one, if it is one; true, if there is none.
    public static func all(_ predicates: [Predicate]) -> Predicate {
      joined(predicates, none: .true, Term.and) { if case .and(let own) = $0.term { own } else { nil } }
    }

    /// One of them at least; the only one, if it is one; false, if there is none.
    public static func any(_ predicates: [Predicate]) -> Predicate {
      joined(predicates, none: .false, Term.or) { if case .or(let own) = $0.term { own } else { nil } }
    }

    private static func joined(
      _ predicates: [Predicate], none: Predicate, _ term: ([Predicate]) -> Term, parts: (Predicate) -> [Predicate]?
    ) -> Predicate {
      if predicates.isEmpty { return none }
      if predicates.count == 1 { return predicates[0] }
      var own: [Predicate] = []
      own.reserveCapacity(predicates.count)
      var depth = 0
      for predicate in predicates {
        if let parts = parts(predicate) { own += parts } else { own.append(predicate) }
        depth = max(depth, predicate.depth + (parts(predicate) == nil ? 1 : 0))
      }
      return Predicate(term(own), depth: depth)
    }

    /// Both. Joins all that either has: of many, make one with ``all(_:)``.
    public static func && (first: Predicate, second: Predicate) -> Predicate { all([first, second]) }
    /// One of both at least. Joins all that either has: of many, make one with ``any(_:)``.
    public static func || (first: Predicate, second: Predicate) -> Predicate { any([first, second]) }
    /// The others.
    public static prefix func ! (predicate: Predicate) -> Predicate {
      if case .not(let other) = predicate.term { return other }
      return Predicate(.not(predicate), depth: predicate.depth + 1)
    }

    var isTooDeep: Bool { depth > Self.maximumDepth }

    /// Calls `visit` with each condition.
    func forEachCondition<E>(_ visit: (Condition) throws(E) -> Void) throws(E) {
      switch term {
      case .constant: return
      case .condition(let condition): try visit(condition)
      case .and(let parts), .or(let parts):
        for part in parts { try part.forEachCondition(visit) }
      case .not(let part): try part.forEachCondition(visit)
      }
    }
  }
}
