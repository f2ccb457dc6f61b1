/// Cuts a predicate's text into pieces. Each byte is looked at a fixed number of times.
struct PredicateLexer {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  private func byte(_ ahead: Int = 0) -> UInt8 { offset + ahead < bytes.count ? bytes[offset + ahead] : 0 }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
  private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte == 0x5F }

  /// The next piece; the end again and again.
  mutating func next() throws(DatabaseError) -> PredicateToken {
    while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
    let start = offset
    func token(_ kind: PredicateToken.Kind) -> PredicateToken { PredicateToken(kind: kind, offset: start) }
    if offset == bytes.count { return token(.end) }
    let first = bytes[offset]
    if Self.isLetter(first) { return token(name()) }
    if Self.isDigit(first) || first == 0x2E && Self.isDigit(byte(1)) { return token(try number()) }
    offset += 1
    switch first {
    case UInt8(ascii: "'"), UInt8(ascii: "\""): return token(.text(try text(until: first, from: start)))
    case UInt8(ascii: "-"), UInt8(ascii: "+"):
      guard Self.isDigit(byte()) || byte() == 0x2E && Self.isDigit(byte(1)) else {
        throw .predicate("A predicate does not calculate.", at: start, found: String(UnicodeScalar(first)))
      }
      return token(try number())
    case UInt8(ascii: "("): return token(.open)
    case UInt8(ascii: ")"): return token(.close)
    case UInt8(ascii: "{"): return token(.openBrace)
    case UInt8(ascii: "}"): return token(.closeBrace)
    case UInt8(ascii: "["): return token(.openBracket)
    case UInt8(ascii: "]"): return token(.closeBracket)
    case UInt8(ascii: ","): return token(.comma)
    case UInt8(ascii: "="):
      if take(0x3D) { return token(.comparison(.equal)) }
      if take(UInt8(ascii: ">")) { return token(.comparison(.greaterOrEqual)) }
      return token(.comparison(take(UInt8(ascii: "<")) ? .lessOrEqual : .equal))
    case UInt8(ascii: "<"):
      if take(0x3D) { return token(.comparison(.lessOrEqual)) }
      return token(.comparison(take(UInt8(ascii: ">")) ? .notEqual : .less))
    case UInt8(ascii: ">"): return token(.comparison(take(0x3D) ? .greaterOrEqual : .greater))
    case UInt8(ascii: "!"): return token(take(0x3D) ? .comparison(.notEqual) : .not)
    case UInt8(ascii: "&") where take(first): return token(.and)
    case UInt8(ascii: "|") where take(first): return token(.or)
    case UInt8(ascii: "%"): return token(try argument(start))
    case UInt8(ascii: "#"):
      guard Self.isLetter(byte()) else { throw .predicate("A # is followed by a key.", at: start) }
      return token(.key(identifier()))
    case UInt8(ascii: "$"):
      throw .predicate("A predicate has no variables; %@ takes a value.", at: start, found: "$")
    case UInt8(ascii: "@"):
      throw .predicate("A predicate has no aggregate functions.", at: start, found: "@")
    case UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "^"):
      throw .predicate("A predicate does not calculate.", at: start, found: String(UnicodeScalar(first)))
    case UInt8(ascii: "."): throw .predicate("A predicate has no paths of keys.", at: start, found: ".")
    case 0x80...: throw .predicate("Text in a predicate stands in straight quotes.", at: start)
    default: throw .predicate("This character means nothing in a predicate.", at: start)
    }
  }

  private mutating func take(_ wanted: UInt8) -> Bool {
    guard byte() == wanted, offset < bytes.count else { return false }
    offset += 1
    return true
  }

  private mutating func identifier() -> String {
    let start = offset
    while Self.isLetter(byte()) || Self.isDigit(byte()) { offset += 1 }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func name() -> PredicateToken.Kind {
    var name = identifier()
    if let word = PredicateWord(spelling: name) { return .word(word) }
    // A selector: names with colons.
    while byte() == UInt8(ascii: ":") {
      offset += 1
      name += ":" + identifier()
    }
    return .name(name)
  }

  private mutating func number() throws(DatabaseError) -> PredicateToken.Kind {
    let start = bytes[offset - (offset > 0 ? 1 : 0)] == UInt8(ascii: "-") && offset > 0 ? offset - 1 : offset
    func fault(_ sentence: String) -> DatabaseError { .predicate(sentence, at: start) }
    if byte() == 0x30, byte(1) | 0x20 == UInt8(ascii: "x") {
      offset += 2
      let digits = identifier()
      guard let number = Int64((bytes[start] == UInt8(ascii: "-") ? "-" : "") + digits, radix: 16) else {
        throw fault("The number is not well-formed, or too large.")
      }
      return .int(number)
    }
    var isWhole = true
    while Self.isDigit(byte()) { offset += 1 }
    if byte() == 0x2E, Self.isDigit(byte(1)) || offset > start && Self.isDigit(bytes[offset - 1]) {
      isWhole = false
      offset += 1
      while Self.isDigit(byte()) { offset += 1 }
    }
    if byte() | 0x20 == UInt8(ascii: "e") {
      let sign = byte(1) == UInt8(ascii: "-") || byte(1) == UInt8(ascii: "+") ? 1 : 0
      if Self.isDigit(byte(1 + sign)) {
        isWhole = false
        offset += 1 + sign
        while Self.isDigit(byte()) { offset += 1 }
      }
    }
    if Self.isLetter(byte()) || byte() == 0x2E { throw fault("The number is not well-formed, or too large.") }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isWhole {
      guard let number = Int64(text) else { throw fault("The number is not well-formed, or too large.") }
      return .int(number)
    }
    guard let number = Double(text), number.isFinite else { throw fault("The number is not well-formed, or too large.") }
    return .double(number)
  }

  /// `%@`, `%K`, and the letters that C's `printf` has for numbers.
  private mutating func argument(_ start: Int) throws(DatabaseError) -> PredicateToken.Kind {
    if take(UInt8(ascii: "@")) { return .object }
    if take(UInt8(ascii: "K")) { return .keyArgument }
    if take(UInt8(ascii: "s")) { return .object }
    let lengths = 3
    var taken = 0
    while taken < lengths, "hlqjzt".utf8.contains(byte()) {
      offset += 1
      taken += 1
    }
    guard "diuxXofFeEgGaA".utf8.contains(byte()), offset < bytes.count else {
      throw .predicate("A % is followed by @, K, d or f.", at: start)
    }
    offset += 1
    return .number
  }

  /// The text up to a quote, with escapes replaced.
  private mutating func text(until quote: UInt8, from start: Int) throws(DatabaseError) -> String {
    var result: [UInt8] = []
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte == quote { return String(decoding: result, as: UTF8.self) }
      if byte != UInt8(ascii: "\\") {
        result.append(byte)
        continue
      }
      guard offset < bytes.count else { break }
      let escape = bytes[offset]
      offset += 1
      switch escape {
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"), UInt8(ascii: "*"):
        // The wildcards of LIKE keep their backslash: that is how the pattern says it means the character.
        if escape == UInt8(ascii: "?") || escape == UInt8(ascii: "*") { result.append(UInt8(ascii: "\\")) }
        result.append(escape)
      case UInt8(ascii: "u"): result.append(contentsOf: String(try escapedScalar(offset - 2)).utf8)
      default: throw .predicate("The escape is none: \\\\ \\' \\\" \\n \\r \\t \\u and four digits.", at: offset - 2)
      }
    }
    throw .predicate("The text has no end: its closing quote is missing.", at: start)
  }

  /// The scalar of four hexadecimal digits, or of two escapes that are a surrogate pair.
  private mutating func escapedScalar(_ start: Int) throws(DatabaseError) -> Unicode.Scalar {
    func fault() -> DatabaseError { .predicate("\\u is followed by the four hexadecimal digits of a character.", at: start) }
    guard var number = hexadecimal() else { throw fault() }
    if 0xD800..<0xDC00 ~= number, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = hexadecimal(),
      0xDC00..<0xE000 ~= low
    {
      number = 0x10000 + (number - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(number) else { throw fault() }
    return scalar
  }

  private mutating func hexadecimal() -> UInt32? {
    var number: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(UnicodeScalar(byte())).hexDigitValue else { return nil }
      number = number << 4 | UInt32(digit)
      offset += 1
    }
    return number
  }
}
