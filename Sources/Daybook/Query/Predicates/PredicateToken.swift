/// A piece of a predicate's text.
struct PredicateToken {
  enum Kind: Equatable {
    case end
    case word(PredicateWord)
    /// A key, or the name of a function; with colons, as Objective-C's selectors.
    case name(String)
    /// A key with a `#`, which is never a word.
    case key(String)
    case text(String)
    case int(Int64)
    case double(Double)
    /// `%@`, `%K`, `%d`, `%f`.
    case object, keyArgument, number
    case comparison(Query.Comparison)
    case and, or, not
    case open, close, openBrace, closeBrace, openBracket, closeBracket, comma
  }

  let kind: Kind
  /// Where it begins, in bytes.
  let offset: Int

  /// What it is, for an error; nothing of a text or a number is told, because it may be a record's.
  var name: String {
    switch kind {
    case .end: "the end"
    case .word(let word): word.rawValue.uppercased()
    case .name(let name), .key(let name): name
    case .text: "a text"
    case .int, .double: "a number"
    case .object: "%@"
    case .keyArgument: "%K"
    case .number: "a number's %"
    case .comparison(let comparison): comparison.rawValue
    case .and: "&&"
    case .or: "||"
    case .not: "!"
    case .open: "("
    case .close: ")"
    case .openBrace: "{"
    case .closeBrace: "}"
    case .openBracket: "["
    case .closeBracket: "]"
    case .comma: ","
    }
  }
}

extension DatabaseError {
  /// Why a predicate's text is refused, and where.
  static func predicate(
    _ sentence: String, at offset: Int, expected: String? = nil, found: String? = nil
  ) -> DatabaseError {
    DatabaseError(.invalidArguments, sentence, facts: .init(offset: offset, expected: expected, found: found))
  }

  /// A predicate has more levels than it may have.
  static func tooDeepPredicate(limit: Int, at offset: Int? = nil) -> DatabaseError {
    DatabaseError(.invalidArguments, "The predicate is nested too deeply.", facts: .init(offset: offset, limit: limit))
  }
}
