/// Reads JSON text, strictly as RFC 8259 has it, one token after the other: words, numbers, strings, what stands between members.
///
/// Which value they become is the caller's. The tool keeps the order of members and the digits of large numbers; the codecs look
/// members up by their names. Foundation's parser makes dictionaries, and numbers that no longer tell 7 from 7.0.
/// Always true: nothing outside the range is looked at, and nesting is bounded, so no input can overrun the stack.
package struct JSONScanner {
  /// What is wrong with a text, and at which byte.
  package struct Fault: Error {
    package let offset: Int
    package let reason: String
  }

  private static let maximumDepth = 128

  private let bytes: [UInt8]
  private let end: Int
  package private(set) var index: Int
  private var depth = 0

  package init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    index = range.lowerBound
    end = range.upperBound
  }

  package func fault(_ reason: String) -> Fault { Fault(offset: min(index, end), reason: reason) }

  private mutating func skipSpace() {
    while index < end {
      switch bytes[index] {
      case 0x20, 0x0A, 0x0D, 0x09: index += 1
      default: return
      }
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard index < end, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  // MARK: values

  /// What a value begins with.
  package enum Start {
    case object, array, string, number
    /// The word has been read.
    case null, bool(Bool)
  }

  /// What the next value begins with, after white space.
  package mutating func start() throws(Fault) -> Start {
    skipSpace()
    guard index < end else { throw fault("the text ends where a value should be.") }
    switch bytes[index] {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "t"):
      try read(word: "true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try read(word: "false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try read(word: "null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    default: throw fault("this is not JSON.")
    }
  }

  private mutating func read(word: StaticString) throws(Fault) {
    for byte in word.description.utf8 where !take(byte) { throw fault("this is not JSON; \(word) may be meant.") }
  }

  /// Nothing but white space follows.
  package mutating func finish() throws(Fault) {
    skipSpace()
    if index < end { throw fault("unexpected text after the value.") }
  }

  // MARK: objects and arrays

  /// Goes into an object or array that `start` has found.
  /// - Returns: whether anything is in it; if not, it has ended.
  package mutating func enter(_ container: Container) throws(Fault) -> Bool {
    depth += 1
    index += 1
    if depth > Self.maximumDepth { throw fault("values are nested deeper than \(Self.maximumDepth).") }
    skipSpace()
    guard take(container.end) else { return true }
    depth -= 1
    return false
  }

  /// After a member or element: whether another one follows, or the object or array has ended.
  package mutating func goesOn(in container: Container) throws(Fault) -> Bool {
    skipSpace()
    guard index < end else { throw fault("\(container.name) does not end.") }
    if take(UInt8(ascii: ",")) {
      skipSpace()
      if index < end, bytes[index] == container.end { throw fault("the comma before the end of \(container.name) has to go.") }
      return true
    }
    guard take(container.end) else { throw fault("a comma or the end of \(container.name) is missing.") }
    depth -= 1
    return false
  }

  /// The name of a member, with the colon after it.
  package mutating func memberName() throws(Fault) -> String {
    skipSpace()
    guard index < end, bytes[index] == UInt8(ascii: "\"") else { throw fault("a key in quotes is missing.") }
    let name = try string()
    skipSpace()
    guard take(UInt8(ascii: ":")) else { throw fault("a colon is missing after a key.") }
    return name
  }

  package enum Container {
    case object, array

    fileprivate var end: UInt8 { self == .object ? UInt8(ascii: "}") : UInt8(ascii: "]") }
    fileprivate var name: String { self == .object ? "an object" : "a list" }
  }

  // MARK: numbers

  /// A number, as its digits say it.
  package enum Number {
    case whole(Int64)
    /// -0, which is none of the whole numbers, but one of the doubles.
    case minusZero
    /// A whole number beyond 64 bits.
    case large(digits: String)
    case fraction(Double)
  }

  /// The number that `start` has found.
  package mutating func number() throws(Fault) -> Number {
    guard let shape = NumberShape(bytes, index..<end) else { throw fault("a number is malformed.") }
    index = shape.end
    if shape.isWhole, let number = shape.wholeNumber(bytes) {
      return number == 0 && bytes[shape.start] == UInt8(ascii: "-") ? .minusZero : .whole(number)
    }
    let digits = String(decoding: bytes[shape.start..<shape.end], as: UTF8.self)
    return shape.isWhole ? .large(digits: digits) : .fraction(try double(digits))
  }

  /// The nearest double of a number's digits.
  package func double(_ digits: String) throws(Fault) -> Double {
    guard let number = Double(digits), number.isFinite else { throw fault("a number is too large.") }
    return number
  }

  // MARK: strings

  /// The string that `start` has found.
  package mutating func string() throws(Fault) -> String {
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
      guard let digit = Self.hexadecimalDigit(bytes[index]) else { throw fault("an escape needs four hexadecimal digits.") }
      code = code << 4 | UInt16(digit)
      index += 1
    }
    return code
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
