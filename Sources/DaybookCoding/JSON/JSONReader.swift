import Daybook

/// Reads JSON text whole: every byte belongs to the value. Of members with one name the last counts: what is stored is read. (The tool's
/// import refuses them.)
struct JSONReader {
  private var scanner: JSONScanner

  static func read(_ bytes: [UInt8]) throws(JSONScanner.Fault) -> JSON {
    var reader = JSONReader(scanner: JSONScanner(bytes, 0..<bytes.count))
    let value = try reader.value()
    try reader.scanner.finish()
    return value
  }

  private mutating func value() throws(JSONScanner.Fault) -> JSON {
    switch try scanner.start() {
    case .object:
      var members: [ByteText: JSON] = [:]
      guard try scanner.enter(.object) else { return .object(members) }
      repeat {
        let name = try scanner.memberName()
        members[ByteText(name)] = try value()
      } while try scanner.goesOn(in: .object)
      return .object(members)
    case .array:
      var elements: [JSON] = []
      guard try scanner.enter(.array) else { return .array(elements) }
      repeat { elements.append(try value()) } while try scanner.goesOn(in: .array)
      return .array(elements)
    case .string: return .string(try scanner.string())
    case .number: return try number()
    case .null: return .null
    case .bool(let value): return .bool(value)
    }
  }

  private mutating func number() throws(JSONScanner.Fault) -> JSON {
    switch try scanner.number() {
    case .whole(let number): return .int(number)
    case .minusZero: return .double(-0.0)
    case .large(let digits):
      if let number = UInt64(digits) { return .unsigned(number) }
      return .double(try scanner.double(digits))
    case .fraction(let number): return .double(number)
    }
  }
}
