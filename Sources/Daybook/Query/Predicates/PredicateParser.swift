#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads a predicate's text, as `NSPredicate` and CloudKit write it.
///
///     predicate   = all { ("OR" | "||") all }
///     all         = one { ("AND" | "&&") one }
///     one         = ("NOT" | "!") one | "TRUEPREDICATE" | "FALSEPREDICATE" | "(" predicate ")" | comparison
///     comparison  = ["ANY" | "SOME" | "ALL" | "NONE"] side operator [options] side
///     operator    = = == != <> < <= =< > >= => BETWEEN IN CONTAINS BEGINSWITH ENDSWITH LIKE TOKENMATCHES
///     options     = "[" { "c" | "d" | "l" | "n" } "]"
///     side        = key | self | constant | "{" constants "}" | function | "(" side ")"
///
/// Takes time and memory as the text is long: no piece is read twice. Nesting has one limit for everything that nests, because
/// each level is one of the stack, and a thread in the background has 512 KB of it.
struct PredicateParser {
  /// Levels of parentheses, NOT, functions and braces. The text of a predicate of the greatest depth has two for each of its
  /// own, and then a side: a distance from a location of a cast text has four.
  static let maximumNesting = 2 * Query.Predicate.maximumDepth + 8

  /// One side of a comparison. In a box, as pieces are: each level of nesting keeps several of them on the stack.
  indirect enum Side {
    case field(Query.Field)
    /// `allTokens`, which is also a key that a record may have.
    case allTokens
    case value(Record.Value)
    /// Constants in braces, of any kinds.
    case list([Query.Operand])
    case now
    case null
    case distance(Query.Field, Location)
    /// What `tokenize` makes of a text.
    case words(String)
  }

  private indirect enum Piece {
    case predicate(Query.Predicate)
    case side(Side, at: Int)
  }

  var lexer: PredicateLexer
  var token: PredicateToken
  private let arguments: [any RecordValueConvertible]
  private var usedCount = 0
  private var nesting = 0

  init(_ text: String, _ arguments: [any RecordValueConvertible]) throws(DatabaseError) {
    lexer = PredicateLexer(text)
    self.arguments = arguments
    token = try lexer.next()
  }

  /// The whole text.
  mutating func predicate() throws(DatabaseError) -> Query.Predicate {
    let piece = try anyOf()
    let result = try whole(of: piece)
    guard case .end = token.kind else {
      throw .predicate("Something follows that does not belong to the predicate.", at: token.offset, found: token.name)
    }
    if usedCount < arguments.count {
      throw DatabaseError(
        .invalidArguments, "The predicate's text takes fewer arguments than there are.",
        facts: .init(size: arguments.count, limit: usedCount))
    }
    if result.isTooDeep { throw .tooDeepPredicate(limit: Query.Predicate.maximumDepth, at: 0) }
    return result
  }

  // MARK: pieces

  mutating func advance() throws(DatabaseError) { token = try lexer.next() }

  func unexpected(_ expected: String) -> DatabaseError {
    .predicate("The predicate is not well-formed.", at: token.offset, expected: expected, found: token.name)
  }

  mutating func expect(_ kind: PredicateToken.Kind, _ name: String) throws(DatabaseError) {
    guard token.kind == kind else { throw unexpected(name) }
    try advance()
  }

  mutating func take(_ kind: PredicateToken.Kind) throws(DatabaseError) -> Bool {
    guard token.kind == kind else { return false }
    try advance()
    return true
  }

  /// The next argument.
  mutating func argument() throws(DatabaseError) -> Record.Value {
    guard usedCount < arguments.count else {
      throw .predicate("The predicate's text takes more arguments than there are.", at: token.offset, found: token.name)
    }
    usedCount += 1
    return arguments[usedCount - 1].recordValue
  }

  // MARK: and, or, not

  /// The predicate that a piece has to be; it is told at the present token, so the piece is read before this is called.
  private func whole(of piece: Piece) throws(DatabaseError) -> Query.Predicate {
    switch piece {
    case .predicate(let predicate): return predicate
    case .side:
      if case .name(let word) = token.kind, word.lowercased() == "is" {
        throw unexpected("an operator; == nil asks whether a field is absent")
      }
      throw unexpected("an operator")
    }
  }

  private mutating func anyOf() throws(DatabaseError) -> Piece {
    let first = try allOf()
    guard try takeOr() else { return first }
    var parts = [try whole(of: first)]
    repeat {
      let next = try allOf()
      parts.append(try whole(of: next))
    } while try takeOr()
    return .predicate(.any(parts))
  }

  private mutating func allOf() throws(DatabaseError) -> Piece {
    let first = try one()
    guard try takeAnd() else { return first }
    var parts = [try whole(of: first)]
    repeat {
      let next = try one()
      parts.append(try whole(of: next))
    } while try takeAnd()
    return .predicate(.all(parts))
  }

  private mutating func takeOr() throws(DatabaseError) -> Bool {
    if token.kind == .or { return try take(.or) }
    return try take(.word(.or))
  }

  private mutating func takeAnd() throws(DatabaseError) -> Bool {
    if token.kind == .and { return try take(.and) }
    return try take(.word(.and))
  }

  /// Begins a level; `leave` ends it. Whatever calls itself goes through here. After an error nothing is read any more, so a
  /// level that throws need not be left.
  mutating func enter() throws(DatabaseError) {
    guard nesting < Self.maximumNesting else { throw .tooDeepPredicate(limit: Self.maximumNesting, at: token.offset) }
    nesting += 1
  }

  mutating func leave() { nesting -= 1 }

  private mutating func one() throws(DatabaseError) -> Piece {
    switch token.kind {
    case .not, .word(.not):
      try advance()
      try enter()
      let piece = try one()
      leave()
      return .predicate(!(try whole(of: piece)))
    case .open:
      let offset = token.offset
      try advance()
      try enter()
      let piece = try anyOf()
      leave()
      try expect(.close, ")")
      return try comparison(ofSideIn: piece, at: offset)
    default: return try innermost()
    }
  }

  /// What has no parentheses before it.
  private mutating func innermost() throws(DatabaseError) -> Piece {
    switch token.kind {
    case .word(.truepredicate):
      try advance()
      return .predicate(.true)
    case .word(.falsepredicate):
      try advance()
      return .predicate(.false)
    case .word(.any), .word(.some), .word(.all), .word(.none):
      return .predicate(try quantified())
    default:
      let offset = token.offset
      return try comparison(ofSideIn: .side(try side(), at: offset), at: offset)
    }
  }

  /// A side may begin a comparison, one in parentheses, too.
  private mutating func comparison(ofSideIn piece: Piece, at offset: Int) throws(DatabaseError) -> Piece {
    guard case .side(let side, _) = piece, isOperator else { return piece }
    return .predicate(try comparison(side, at: offset))
  }

  // MARK: comparisons

  private var isOperator: Bool {
    switch token.kind {
    case .comparison: true
    case .word(let word):
      switch word {
      case .between, .in, .contains, .beginswith, .endswith, .like, .matches, .tokenmatches: true
      default: false
      }
    default: false
    }
  }

  /// `ANY list = 'red'` and its kin.
  private mutating func quantified() throws(DatabaseError) -> Query.Predicate {
    let offset = token.offset
    let word = token.kind
    try advance()
    var left = try side()
    if case .words(let text) = left {
      // `ALL tokenize('red wine', 'cdl') IN allTokens`
      guard case .word(.in) = token.kind else { throw unexpected("IN") }
      try advance()
      guard case .allTokens = try side() else {
        throw .predicate("What tokenize makes is looked for IN allTokens.", at: offset, expected: "allTokens")
      }
      switch word {
      case .word(.all): return .allTokens(text)
      case .word(.none): return !.tokens(text)
      default: return .tokens(text)
      }
    }
    if word == .word(.all) {
      throw .predicate("ALL is for tokenize only; a condition on lists has ANY.", at: offset, found: "ALL")
    }
    guard isOperator else { throw unexpected("an operator") }
    let result: Query.Predicate
    if case .list = left {
      // `ANY {'red', 'green'} = color`
      let sign = token
      guard sign.kind == .comparison(.equal) else {
        throw .predicate("ANY with a list of constants compares with = only.", at: sign.offset, found: sign.name)
      }
      try advance()
      let options = try options()
      let right = try side()
      guard let field = field(right) else { throw noKey(sign) }
      result = Query.Predicate(Query.Condition(field, .isIn(try constants(left, at: offset)), options))
    } else {
      if case .field(let field) = left { left = .field(field.any) }
      if case .allTokens = left { left = .field(Query.Field(key: "allTokens").any) }
      guard case .field = left else { throw .predicate("ANY is followed by a key or a list.", at: offset) }
      result = try comparison(left, at: offset)
    }
    return word == .word(.none) ? !result : result
  }

  /// `[cd]`
  private mutating func options() throws(DatabaseError) -> Query.TextOptions {
    guard token.kind == .openBracket else { return [] }
    try advance()
    guard case .name(let letters) = token.kind else { throw unexpected("c, d") }
    var options: Query.TextOptions = []
    for letter in letters.utf8 {
      switch letter | 0x20 {
      case UInt8(ascii: "c"): options.insert(.ignoringCase)
      case UInt8(ascii: "d"): options.insert(.ignoringAccents)
      // Nothing is compared by the rules of a language, and text is compared as it is.
      case UInt8(ascii: "l"), UInt8(ascii: "n"): continue
      default: throw unexpected("c, d")
      }
    }
    try advance()
    try expect(.closeBracket, "]")
    return options
  }

  /// What follows the first side.
  private mutating func comparison(_ left: Side, at start: Int) throws(DatabaseError) -> Query.Predicate {
    let sign = token
    try advance()
    let options = try options()
    let rightOffset = token.offset
    let right = try side()
    switch sign.kind {
    case .comparison(let comparison):
      return try compare(left, comparison, right, options, at: start, sign)
    case .word(.between):
      try refuse(options, sign)
      guard let field = field(left) else { throw noKey(sign) }
      let ends = try operands(right, at: rightOffset)
      guard ends.count == 2 else {
        throw .predicate("BETWEEN takes two ends, as in BETWEEN {1, 5}.", at: rightOffset)
      }
      return Query.Predicate(Query.Condition(field, .between(ends[0], ends[1])))
    case .word(.in):
      if let list = field(right), field(left) == nil {
        let value = try constant(left, at: start)
        if list.system == .text { return Query.Predicate(Query.Condition(list, .words(ByteText(try text(value, at: start))))) }
        return Query.Predicate(Query.Condition(list, .contains(value), options))
      }
      guard let field = field(left) else { throw noKey(sign) }
      return Query.Predicate(Query.Condition(field, .isIn(try constants(right, at: rightOffset)), options))
    case .word(.contains):
      if let field = field(right), field.system != .text, self.field(left) == nil {
        return Query.Predicate(Query.Condition(field, .isIn(try constants(left, at: start)), options))
      }
      guard let field = field(left) else { throw noKey(sign) }
      let value = try constant(right, at: rightOffset)
      guard field.system == .text else { return Query.Predicate(Query.Condition(field, .contains(value), options)) }
      return Query.Predicate(Query.Condition(field, .words(ByteText(try text(value, at: rightOffset)))))
    case .word(.tokenmatches):
      let text = try text(try constant(right, at: rightOffset), at: rightOffset)
      if case .allTokens = left { return .tokens(text) }
      guard let field = field(left) else { throw noKey(sign) }
      return Query.Predicate(Query.Condition(field, .words(ByteText(text))))
    case .word(.beginswith), .word(.endswith), .word(.like):
      guard let field = field(left) else { throw noKey(sign) }
      let text = try text(try constant(right, at: rightOffset), at: rightOffset)
      let match: Query.TextMatch =
        sign.kind == .word(.beginswith) ? .prefix : sign.kind == .word(.endswith) ? .suffix : .pattern
      return Query.Predicate(Query.Condition(field, .text(match, ByteText(text)), options))
    default:
      throw .predicate("Regular expressions are not offered; LIKE has * and ?.", at: sign.offset, found: sign.name)
    }
  }

  private func compare(
    _ left: Side, _ comparison: Query.Comparison, _ right: Side, _ options: Query.TextOptions, at start: Int,
    _ sign: PredicateToken
  ) throws(DatabaseError) -> Query.Predicate {
    // One side is the field, in the end the left one.
    if field(left) == nil {
      if case .distance(let field, let place) = left {
        try refuse(options, sign)
        guard !comparison.isEquality else {
          throw .predicate("A distance is compared with < or <=.", at: sign.offset, found: sign.name)
        }
        return Query.Predicate(
          Query.Condition(
            field,
            .distance(comparison, from: place, kilometres: try number(try constant(right, at: sign.offset), at: sign.offset))))
      }
      if case .distance = right { return try compare(right, comparison.flipped, left, options, at: start, sign) }
      guard field(right) != nil else { throw noKey(sign) }
      return try compare(right, comparison.flipped, left, options, at: start, sign)
    }
    guard let field = field(left) else { throw noKey(sign) }
    if let second = self.field(right) { throw twoFields(second, at: sign.offset) }
    if field.system == .text {
      throw .predicate("self is searched with CONTAINS only.", at: sign.offset, expected: "CONTAINS", found: sign.name)
    }
    if !comparison.isEquality { try refuse(options, sign) }
    switch right {
    case .null:
      guard comparison.isEquality, options.isEmpty else {
        throw .predicate("nil is compared with == or !=.", at: sign.offset, found: sign.name)
      }
      let isAbsent = field.whole.isAbsent
      return comparison == .equal ? isAbsent : !isAbsent
    case .now: return Query.Predicate(Query.Condition(field, .compare(comparison, .now), options))
    default:
      let value = try constant(right, at: sign.offset)
      return Query.Predicate(Query.Condition(field, .compare(comparison, .value(value)), options))
    }
  }

  private func field(_ side: Side) -> Query.Field? {
    switch side {
    case .field(let field): field
    case .allTokens: Query.Field(key: "allTokens")
    default: nil
    }
  }

  private func noKey(_ sign: PredicateToken) -> DatabaseError {
    .predicate("A comparison has a key on one side.", at: sign.offset, expected: "a key", found: sign.name)
  }

  private func refuse(_ options: Query.TextOptions, _ sign: PredicateToken) throws(DatabaseError) {
    if options.isEmpty { return }
    throw .predicate("This operator takes no options.", at: sign.offset, found: sign.name)
  }
}
