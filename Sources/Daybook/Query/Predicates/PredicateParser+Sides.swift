#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The sides of a comparison: keys, constants, arguments, functions.
extension PredicateParser {
  /// One side. What has sides inside is read by small functions, and everything else apart from them: so a level takes little of
  /// the stack.
  mutating func side() throws(DatabaseError) -> Side {
    try enter()
    let side: Side
    switch token.kind {
    case .name(let name): side = try named(name)
    case .word(.cast): side = try cast()
    case .openBrace: side = try braces()
    default: side = try plainSide()
    }
    leave()
    return side
  }

  /// A side without sides inside.
  private mutating func plainSide() throws(DatabaseError) -> Side {
    let start = token
    switch start.kind {
    case .key(let key):
      try advance()
      return .field(Query.Field(key: key))
    case .keyArgument:
      guard case .string(let key) = try argument() else {
        throw .predicate("The argument of %K is a text, the key.", at: start.offset, expected: "a text")
      }
      try advance()
      if key.equalsBytes(of: "self") { return .field(Query.Field(.text)) }
      return .field(try field(key, at: start.offset))
    case .word(.self):
      try advance()
      return .field(Query.Field(.text))
    case .word(.null), .word(.nil):
      try advance()
      return .null
    case .word(.true), .word(.yes):
      try advance()
      return .value(.int(1))
    case .word(.false), .word(.no):
      try advance()
      return .value(.int(0))
    case .text(let text):
      try advance()
      return .value(.string(text))
    case .int(let number):
      try advance()
      return .value(.int(number))
    case .double(let number):
      try advance()
      return .value(.double(number))
    case .object:
      let value = try argument()
      try advance()
      return .value(value)
    case .number:
      let value = try argument()
      guard value.kind == .int || value.kind == .double else {
        throw .predicate("The argument of %d and %f is a number; %@ takes all values.", at: start.offset, expected: "a number")
      }
      try advance()
      return .value(value)
    default: throw unexpected("a key or a constant")
    }
  }

  /// A key or a function.
  private mutating func named(_ name: String) throws(DatabaseError) -> Side {
    let offset = token.offset
    try advance()
    return token.kind == .open ? try function(name, at: offset) : try key(name, at: offset)
  }

  private func key(_ name: String, at offset: Int) throws(DatabaseError) -> Side {
    if name.utf8.contains(UInt8(ascii: ":")) { throw unexpected("(") }
    return name.equalsBytes(of: "allTokens") ? .allTokens : .field(try field(name, at: offset))
  }

  private mutating func braces() throws(DatabaseError) -> Side {
    try advance()
    return .list(try elements(isInner: false))
  }

  private func field(_ name: String, at offset: Int) throws(DatabaseError) -> Query.Field {
    let field = Query.Field(name)
    if field.system == nil, NameRules.faultOfKey(name) != nil {
      let isPath = name.utf8.contains(UInt8(ascii: "."))
      throw .predicate(
        isPath ? "A predicate has no paths of keys." : "The key is reserved for the system, or none that a field can have.",
        at: offset)
    }
    return field
  }

  /// What is between braces, up to the closing one.
  private mutating func elements(isInner: Bool) throws(DatabaseError) -> [Query.Operand] {
    var values: [Query.Operand] = []
    if try take(.closeBrace) { return values }
    while true {
      let offset = token.offset
      values.append(try operand(try element(isInner), at: offset))
      if try take(.closeBrace) { return values }
      try expect(.comma, "}")
    }
  }

  private func operand(_ side: Side, at offset: Int) throws(DatabaseError) -> Query.Operand {
    if case .now = side { return .now }
    return .value(try constant(side, at: offset))
  }

  /// A constant, or a list that is compared as a whole.
  private mutating func element(_ isInner: Bool) throws(DatabaseError) -> Side {
    guard token.kind == .openBrace else { return try side() }
    if isInner { throw .predicate("A list has no lists in it.", at: token.offset, found: token.name) }
    try advance()
    return .list(try elements(isInner: true))
  }

  // MARK: functions

  private mutating func function(_ name: String, at offset: Int) throws(DatabaseError) -> Side {
    try advance()
    switch name.lowercased() {
    case "now":
      try expect(.close, ")")
      return .now
    case "distancetolocation:fromlocation:", "distancetolocation:fromlocation": return try distance(at: offset)
    case "tokenize:using:", "tokenize": return try words()
    case "location": return try location()
    case "reference": return try reference(at: offset)
    default: throw .predicate("A predicate has no such function.", at: offset, found: name)
    }
  }

  private mutating func words() throws(DatabaseError) -> Side {
    let textOffset = token.offset
    let words = try text(of: try side(), at: textOffset)
    // Which letters are the same is not chosen.
    if try take(.comma) { _ = try constant(try side(), at: token.offset) }
    try expect(.close, ")")
    return .words(words)
  }

  private func text(of side: Side, at offset: Int) throws(DatabaseError) -> String {
    try text(try constant(side, at: offset), at: offset)
  }

  private mutating func distance(at offset: Int) throws(DatabaseError) -> Side {
    let firstOffset = token.offset
    let first = try anySide()
    try expect(.comma, ",")
    let secondOffset = token.offset
    let second = try anySide()
    try expect(.close, ")")
    return try distance(first, second, at: offset, firstOffset, secondOffset)
  }

  private func distance(
    _ first: Side, _ second: Side, at offset: Int, _ firstOffset: Int, _ secondOffset: Int
  ) throws(DatabaseError) -> Side {
    if case .field(let field) = first { return .distance(field, try place(second, at: secondOffset)) }
    if case .field(let field) = second { return .distance(field, try place(first, at: firstOffset)) }
    throw .predicate("A distance is that of a key from a place.", at: offset, expected: "a key")
  }

  /// One side, also with ANY before it.
  private mutating func anySide() throws(DatabaseError) -> Side {
    let isAny = token.kind == .word(.any) || token.kind == .word(.some)
    if isAny { try advance() }
    let side = try side()
    return isAny ? Self.any(side) : side
  }

  private static func any(_ side: Side) -> Side {
    if case .field(let field) = side { return .field(field.any) }
    return side
  }

  private func place(_ side: Side, at offset: Int) throws(DatabaseError) -> Location {
    guard case .value(.location(let place)) = side else {
      throw .predicate("A distance is that of a key from a place.", at: offset, expected: "a place")
    }
    return place
  }

  /// Degrees, then what else is known, in the order of `Location`; nil for a part that is not.
  private mutating func location() throws(DatabaseError) -> Side {
    var parts: [Double?] = []
    repeat {
      let offset = token.offset
      parts.append(try part(try side(), at: offset))
      guard parts.count <= 8 else { throw unexpected(")") }
    } while try take(.comma)
    let location = try location(of: parts)
    try expect(.close, ")")
    return .value(.location(location))
  }

  private func part(_ side: Side, at offset: Int) throws(DatabaseError) -> Double? {
    if case .null = side { return nil }
    return try number(try constant(side, at: offset), at: offset)
  }

  private func location(of parts: [Double?]) throws(DatabaseError) -> Location {
    guard parts.count >= 2, let latitude = parts[0], let longitude = parts[1] else { throw unexpected("a longitude") }
    let parts = parts + Array(repeating: nil, count: 8 - parts.count)
    return Location(
      latitude: latitude, longitude: longitude, altitude: parts[2], horizontalAccuracy: parts[3], verticalAccuracy: parts[4],
      course: parts[5], speed: parts[6], timestamp: parts[7].map { Date(timeIntervalSinceReferenceDate: $0) })
  }

  /// A record's name, its zone and the zone's owner.
  private mutating func reference(at offset: Int) throws(DatabaseError) -> Side {
    var names: [String] = []
    repeat {
      let offset = token.offset
      names.append(try text(of: try side(), at: offset))
      guard names.count <= 3 else { throw unexpected(")") }
    } while try take(.comma)
    try expect(.close, ")")
    return .value(.reference(try Self.reference(to: names, at: offset)))
  }

  private static func reference(to names: [String], at offset: Int) throws(DatabaseError) -> Record.Reference {
    do throws(DatabaseError) {
      let zone: Zone.ID =
        names.count == 1 ? .default : try Zone.ID(names[1], owner: names.count == 3 ? names[2] : nil)
      return Record.Reference(try Record.ID(existing: names[0], in: zone))
    } catch { throw error.adding { $0.offset = offset } }
  }

  /// `CAST(constant, 'NSDate')`: kinds that have no constants of their own.
  private mutating func cast() throws(DatabaseError) -> Side {
    try advance()
    try expect(.open, "(")
    let offset = token.offset
    let side = try side()
    try expect(.comma, ",")
    let typeOffset = token.offset
    let type = try text(of: try self.side(), at: typeOffset)
    try expect(.close, ")")
    return .value(try cast(side, to: type, at: offset))
  }

  private func cast(_ side: Side, to type: String, at offset: Int) throws(DatabaseError) -> Record.Value {
    if case .list(let values) = side {
      guard values.isEmpty, let empty = FieldKind(name: type)?.emptyList else {
        throw .predicate("Only an empty list is given a kind.", at: offset)
      }
      return empty
    }
    let value = try constant(side, at: offset)
    let cast: Record.Value? =
      switch (["NSDate", "NSData", "double"].first { $0.equalsBytes(of: type) }, value) {
      case ("NSDate", .int(let seconds)): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
      case ("NSDate", .double(let seconds)): .date(Date(timeIntervalSinceReferenceDate: seconds))
      case ("NSDate", .string(let text)): PredicateDate.date(text).map { .date($0) }
      case ("NSDate", .date): value
      case ("NSData", .string(let text)): Data(base64Encoded: text).map { .bytes($0) }
      case ("double", .string(let text)) where text.equalsBytes(of: "inf"): .double(.infinity)
      case ("double", .string(let text)) where text.equalsBytes(of: "-inf"): .double(-.infinity)
      default: nil
      }
    guard let cast else {
      throw .predicate(
        "CAST makes an NSDate of seconds since 2001 or of ISO 8601, and NSData of base64.", at: offset, found: type)
    }
    return cast
  }

  // MARK: constants

  func constant(_ side: Side, at offset: Int) throws(DatabaseError) -> Record.Value {
    switch side {
    case .value(let value): return value
    case .list:
      guard let list = Record.Value(list: try constants(side, at: offset)) else {
        throw .predicate("A list that is a value has elements of one kind, and one at least.", at: offset)
      }
      return list
    case .field(let field): throw twoFields(field, at: offset)
    case .allTokens: throw twoFields(Query.Field(key: "allTokens"), at: offset)
    case .now, .null, .distance, .words: throw .predicate("A constant is expected here.", at: offset)
    }
  }

  /// Two keys in one comparison: mostly the second is a text without its quotes.
  func twoFields(_ second: Query.Field, at offset: Int) -> DatabaseError {
    .predicate(
      "A comparison has a constant on one side; two fields are not compared.", at: offset,
      expected: "a constant; text needs quotes: '\(second.name)'")
  }

  /// The constants of a list.
  func constants(_ side: Side, at offset: Int) throws(DatabaseError) -> [Record.Value] {
    var values: [Record.Value] = []
    for operand in try operands(side, at: offset) {
      guard case .value(let value) = operand else { throw .predicate("A constant is expected here.", at: offset) }
      values.append(value)
    }
    return values
  }

  func operands(_ side: Side, at offset: Int) throws(DatabaseError) -> [Query.Operand] {
    if case .list(let operands) = side { return operands }
    if case .value(let value) = side, let elements = value.elements { return elements.map { .value($0) } }
    throw .predicate("A list is expected here, as in {1, 2}.", at: offset, expected: "a list")
  }

  func text(_ value: Record.Value, at offset: Int) throws(DatabaseError) -> String {
    if case .string(let text) = value { return text }
    throw .predicate("A text is expected here.", at: offset, expected: "a text", found: value.kind.name)
  }

  func number(_ value: Record.Value, at offset: Int) throws(DatabaseError) -> Double {
    switch value {
    case .int(let number): return Double(number)
    case .double(let number): return number
    default: throw .predicate("A number is expected here.", at: offset, expected: "a number", found: value.kind.name)
    }
  }
}

extension Query.Predicate {
  /// A predicate from its text, as `NSPredicate` and CloudKit write it.
  ///
  /// ```swift
  /// try Query.Predicate(format: "title BEGINSWITH %@ AND distanceToLocation:fromLocation:(location, %@) < %f", "D", here, 500)
  /// ```
  ///
  /// Comparisons: `=` `==` `!=` `<>` `<` `<=` `>` `>=`, `BETWEEN {a, b}`, `IN {…}`, `CONTAINS`, `BEGINSWITH`, `ENDSWITH`, `LIKE`
  /// (`*` and `?`), `TOKENMATCHES`; with `[c]` case and with `[d]` accents are ignored. `ANY list = x` looks at the elements of a
  /// list, `key == nil` at whether there is a value, `self CONTAINS 'words'` at all texts. They are joined by `AND`, `OR`, `NOT`.
  /// Distances are in kilometres. `%@` takes a value, also a ``Record/ID`` or a list, `%d` and `%f` any number, `%K` a key. Constants:
  /// `'text'`, `"text"`, `12`, `1.5`, `TRUE`, `now()`, `CAST('2021-09-15T00:00:00Z', 'NSDate')`, `location(29.6, 35.4)`,
  /// `reference('name', 'zone')`. A key that is spelled like a word of this language has a `#`: `#in`.
  ///
  /// - Throws: `invalidArguments`, with the position in the text in bytes as `offset`, and the reason.
  public init(format text: String, _ arguments: any RecordValueConvertible...) throws(DatabaseError) {
    try self.init(format: text, arguments: arguments)
  }

  /// The same with the arguments in an array.
  public init(format text: String, arguments: [any RecordValueConvertible]) throws(DatabaseError) {
    var parser = try PredicateParser(text, arguments)
    self = try parser.predicate()
    if let fault { throw fault }
  }
}

extension Record.Value {
  /// The elements of a list; nil for another value.
  var elements: [Record.Value]? {
    switch self {
    case .strings(let list): list.map { .string($0) }
    case .ints(let list): list.map { .int($0) }
    case .doubles(let list): list.map { .double($0) }
    case .bytesList(let list): list.map { .bytes($0) }
    case .dates(let list): list.map { .date($0) }
    case .locations(let list): list.map { .location($0) }
    case .assets(let list): list.map { .asset($0) }
    case .references(let list): list.map { .reference($0) }
    default: nil
    }
  }

  /// The list of some values; nil when there is none, or of several kinds. Integers among doubles become doubles.
  init?(list: [Record.Value]) {
    guard let first = list.first else { return nil }
    func collect<T>(_ element: (Record.Value) -> T?) -> [T]? {
      let found = list.compactMap(element)
      return found.count == list.count ? found : nil
    }
    let result: Record.Value? =
      switch first {
      case .string: collect { if case .string(let value) = $0 { value } else { nil } }.map { .strings($0) }
      case .int, .double:
        collect { if case .int(let value) = $0 { value } else { nil } }.map { .ints($0) }
          ?? collect { Double(recordValue: $0) }.map { .doubles($0) }
      case .bytes: collect { if case .bytes(let value) = $0 { value } else { nil } }.map { .bytesList($0) }
      case .date: collect { if case .date(let value) = $0 { value } else { nil } }.map { .dates($0) }
      case .location: collect { if case .location(let value) = $0 { value } else { nil } }.map { .locations($0) }
      case .reference: collect { if case .reference(let value) = $0 { value } else { nil } }.map { .references($0) }
      default: nil
      }
    guard let result else { return nil }
    self = result
  }
}

extension FieldKind {
  /// An empty list of this kind; nil when it is no list.
  var emptyList: Record.Value? {
    switch self {
    case .strings: .strings([])
    case .ints: .ints([])
    case .doubles: .doubles([])
    case .bytesList: .bytesList([])
    case .dates: .dates([])
    case .locations: .locations([])
    case .references: .references([])
    default: nil
    }
  }
}
