/// Parses one JSON value that lies whole in memory, strictly as RFC 8259 has it.
///
/// Foundation's parser makes dictionaries, which lose the order of keys, and numbers that no longer tell 7 from 7.0.
/// Always true: nothing outside the range is looked at, and nesting is bounded, so no input can overrun the stack.
struct JSONParser {
  /// What is wrong with a text, and where: the column is counted in bytes, from 1.
  struct Fault: Error {
    let line: Int
    var column = 1
    let reason: String
  }

  private static let maximumDepth = 128

  private let bytes: [UInt8]
  private let end: Int
  private var index: Int
  private let start: Int
  private let firstLine: Int
  private let firstColumn: Int
  private var depth = 0

  /// - Parameters:
  ///   - line: the number of the line that the range begins on.
  ///   - column: where on that line.
  static func parse(_ bytes: [UInt8], _ range: Range<Int>, line: Int, column: Int = 1) throws(Fault) -> JSONValue {
    var parser = JSONParser(bytes, range, line: line, column: column)
    let value = try parser.value()
    parser.skipWhitespace()
    if parser.index < parser.end { throw parser.fault("unexpected text after the value.") }
    return value
  }

  /// The value of a short text, such as an argument.
  static func parse(_ text: String) throws(Fault) -> JSONValue {
    let bytes = Array(text.utf8)
    return try parse(bytes, 0..<bytes.count, line: 1)
  }

  private init(_ bytes: [UInt8], _ range: Range<Int>, line: Int, column: Int) {
    self.bytes = bytes
    start = range.lowerBound
    index = range.lowerBound
    end = range.upperBound
    firstLine = line
    firstColumn = column
  }

  private func fault(_ reason: String) -> Fault {
    var (line, column) = (firstLine, firstColumn)
    for position in start..<min(index, end) {
      if bytes[position] == 0x0A { (line, column) = (line + 1, 1) } else { column += 1 }
    }
    return Fault(line: line, column: column, reason: reason)
  }

  private mutating func skipWhitespace() {
    while index < end {
      switch bytes[index] {
      case 0x20, 0x0A, 0x0D, 0x09: index += 1
      default: return
      }
    }
  }

  private mutating func value() throws(Fault) -> JSONValue {
    skipWhitespace()
    guard index < end else { throw fault("the text ends where a value should be.") }
    switch bytes[index] {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw fault("this is not JSON.")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Fault) -> JSONValue {
    for byte in word.description.utf8 {
      guard index < end, bytes[index] == byte else { throw fault("this is not JSON; \(word) may be meant.") }
      index += 1
    }
    return value
  }

  private mutating func enter() throws(Fault) {
    depth += 1
    index += 1
    if depth > Self.maximumDepth { throw fault("values are nested deeper than \(Self.maximumDepth).") }
  }

  private mutating func object() throws(Fault) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var members: [JSONValue.Member] = []
    skipWhitespace()
    if index < end, bytes[index] == UInt8(ascii: "}") {
      index += 1
      return .object(members)
    }
    while true {
      skipWhitespace()
      guard index < end, bytes[index] == UInt8(ascii: "\"") else { throw fault("a key in quotes is missing.") }
      let key = try string()
      skipWhitespace()
      guard index < end, bytes[index] == UInt8(ascii: ":") else { throw fault("a colon is missing after a key.") }
      index += 1
      members.append(.init(key: key, value: try value()))
      skipWhitespace()
      guard index < end else { throw fault("an object does not end.") }
      let byte = bytes[index]
      if byte == UInt8(ascii: ",") {
        index += 1
      } else if byte == UInt8(ascii: "}") {
        index += 1
        return .object(members)
      } else {
        throw fault("a comma or the end of an object is missing.")
      }
    }
  }

  private mutating func array() throws(Fault) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var elements: [JSONValue] = []
    skipWhitespace()
    if index < end, bytes[index] == UInt8(ascii: "]") {
      index += 1
      return .array(elements)
    }
    while true {
      elements.append(try value())
      skipWhitespace()
      guard index < end else { throw fault("a list does not end.") }
      let byte = bytes[index]
      if byte == UInt8(ascii: ",") {
        index += 1
      } else if byte == UInt8(ascii: "]") {
        index += 1
        return .array(elements)
      } else {
        throw fault("a comma or the end of a list is missing.")
      }
    }
  }

  // MARK: numbers

  private mutating func number() throws(Fault) -> JSONValue {
    let first = index
    guard let shape = NumberShape(bytes, first..<end) else { throw fault("a number is malformed.") }
    index = shape.end
    if shape.isWhole, let number = shape.wholeNumber(bytes) { return .int(number) }
    let digits = String(decoding: bytes[first..<shape.end], as: UTF8.self)
    if shape.isWhole { return .hugeInt(digits) }
    guard let number = Double(digits), number.isFinite else { throw fault("a number is too large.") }
    return .double(number)
  }

  // MARK: strings

  private mutating func string() throws(Fault) -> String {
    index += 1
    let first = index
    var isASCII = true
    while index < end {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        if !isASCII { try checkUTF8(first..<index) }
        let text = String(decoding: bytes[first..<index], as: UTF8.self)
        index += 1
        return text
      }
      if byte == UInt8(ascii: "\\") { return try stringWithEscapes(from: first) }
      if byte < 0x20 { throw fault("a text holds a control character; it has to be escaped.") }
      if byte >= 0x80 { isASCII = false }
      index += 1
    }
    throw fault("a text does not end.")
  }

  private mutating func stringWithEscapes(from first: Int) throws(Fault) -> String {
    try checkUTF8(first..<index)
    var text = Array(bytes[first..<index])
    while index < end {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        index += 1
        try appendEscape(to: &text)
      case 0..<0x20:
        throw fault("a text holds a control character; it has to be escaped.")
      default:
        let run = index
        while index < end, bytes[index] >= 0x20, bytes[index] != 0x22, bytes[index] != 0x5C { index += 1 }
        let stop = index
        index = run
        try checkUTF8(run..<stop)
        index = stop
        text.append(contentsOf: bytes[run..<stop])
      }
    }
    throw fault("a text does not end.")
  }

  private mutating func checkUTF8(_ range: Range<Int>) throws(Fault) {
    if let position = UTF8Check.firstFault(in: bytes, range) {
      index = position
      throw fault("the text is not valid UTF-8.")
    }
  }

  private mutating func appendEscape(to text: inout [UInt8]) throws(Fault) {
    guard index < end else { throw fault("a text does not end.") }
    let byte = bytes[index]
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "u"):
      var code = UInt32(try fourDigits())
      if code >= 0xD800, code < 0xDC00 {
        guard index + 1 < end, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
          throw fault("unpaired surrogate in an escape.")
        }
        index += 2
        let low = UInt32(try fourDigits())
        guard low >= 0xDC00, low < 0xE000 else { throw fault("unpaired surrogate in an escape.") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw fault("unpaired surrogate in an escape.") }
      text.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
    default: throw fault("there is no such escape in a text.")
    }
  }

  private mutating func fourDigits() throws(Fault) -> UInt16 {
    guard index + 4 <= end else { throw fault("an escape is cut short.") }
    var code: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = hexadecimalDigit(bytes[index]) else { throw fault("an escape needs four hexadecimal digits.") }
      code = code << 4 | UInt16(digit)
      index += 1
    }
    return code
  }
}

/// The value of a hexadecimal digit.
func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
