/// Reads JSON text (RFC 8259) whole: every byte belongs to the value, text is sound UTF-8, nesting ends at
/// `PathStep.maximumDepth`. Of members with one name the last counts.
struct JSONReader {
  struct Fault: Error {
    let message: String
    let offset: Int
  }

  private let bytes: [UInt8]
  private var position = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func read(_ bytes: [UInt8]) throws(Fault) -> JSON {
    var reader = JSONReader(bytes)
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.position == bytes.count else { throw reader.fault("There is more after the end of the JSON text.") }
    return value
  }

  private func fault(_ message: String) -> Fault { Fault(message: message, offset: position) }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(Fault) -> JSON {
    guard depth <= PathStep.maximumDepth else { throw fault("The JSON text is nested too deeply.") }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func word(_ word: String, _ value: JSON) throws(Fault) -> JSON {
    guard bytes[position...].starts(with: word.utf8) else { throw fault("This is not JSON.") }
    position += word.utf8.count
    return value
  }

  private mutating func object(depth: Int) throws(Fault) -> JSON {
    position += 1
    var members: [String: JSON] = [:]
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw fault("A member of a JSON object has no name.") }
      let name = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw fault("A member of a JSON object has no value.") }
      members[name] = try value(depth: depth + 1)
      skipSpace()
      if take(UInt8(ascii: "}")) { return .object(members) }
      guard take(UInt8(ascii: ",")) else { throw fault("A JSON object does not end.") }
    }
  }

  private mutating func array(depth: Int) throws(Fault) -> JSON {
    position += 1
    var elements: [JSON] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array(elements) }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if take(UInt8(ascii: "]")) { return .array(elements) }
      guard take(UInt8(ascii: ",")) else { throw fault("A JSON array does not end.") }
    }
  }

  private mutating func number() throws(Fault) -> JSON {
    let start = position
    var isWhole = true
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { $0 >= 0x30 && $0 <= 0x39 } ?? false }
    _ = take(UInt8(ascii: "-"))
    if take(UInt8(ascii: "0")) {
      // Nothing but a fraction or an exponent follows a leading zero.
      if isDigit(next) { throw fault("A JSON number begins with a zero.") }
    } else {
      guard isDigit(next) else { throw fault("This is not JSON.") }
      while isDigit(next) { position += 1 }
    }
    if take(UInt8(ascii: ".")) {
      isWhole = false
      guard isDigit(next) else { throw fault("A JSON number has no digit after its point.") }
      while isDigit(next) { position += 1 }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isWhole = false
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard isDigit(next) else { throw fault("A JSON number has no digit in its exponent.") }
      while isDigit(next) { position += 1 }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, text != "-0" {
      if let number = Int64(text) { return .int(number) }
      if let number = UInt64(text) { return .unsigned(number) }
    }
    guard let number = Double(text), number.isFinite else { throw fault("A JSON number is too large.") }
    return .double(number)
  }

  private mutating func string() throws(Fault) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw fault("A JSON string is not UTF-8.") }
        return string
      case UInt8(ascii: "\\"): try appendEscaped(to: &text)
      case 0..<0x20: throw fault("A JSON string has a control character in it.")
      default: text.append(byte)
      }
    }
    throw fault("A JSON string does not end.")
  }

  private mutating func appendEscaped(to text: inout [UInt8]) throws(Fault) {
    guard let byte = next else { throw fault("A JSON string does not end.") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if code >= 0xD800, code < 0xDC00 {
        // The other half of a pair.
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw fault("A JSON string has half a character.") }
        let low = try hexadecimal()
        guard low >= 0xDC00, low < 0xE000 else { throw fault("A JSON string has half a character.") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw fault("A JSON string has half a character.") }
      text.append(contentsOf: String(scalar).utf8)
    default: throw fault("A JSON string has an unknown escape.")
    }
  }

  private mutating func hexadecimal() throws(Fault) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw fault("A JSON string has an unknown escape.")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}
