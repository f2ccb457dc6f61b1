import Daybook

/// Parses one JSON value that lies whole in memory, and says on which line it is wrong.
///
/// A member that is there twice is refused, at every depth: RFC 8259 leaves open which of the two counts, and readers differ. So nothing
/// that an import stores, nested values included, means one thing here and another there.
struct JSONParser {
  /// What is wrong with a text, and where: the column is counted in bytes, from 1.
  struct Fault: Error {
    let line: Int
    var column = 1
    let reason: String
  }

  private var scanner: JSONScanner

  /// - Parameters:
  ///   - line: the number of the line that the range begins on.
  ///   - column: where on that line.
  static func parse(_ bytes: [UInt8], _ range: Range<Int>, line: Int, column: Int = 1) throws(Fault) -> JSONValue {
    var parser = JSONParser(scanner: JSONScanner(bytes, range))
    do throws(JSONScanner.Fault) {
      let value = try parser.value()
      try parser.scanner.finish()
      return value
    } catch {
      var (line, column) = (line, column)
      for position in range.lowerBound..<error.offset {
        if bytes[position] == 0x0A { (line, column) = (line + 1, 1) } else { column += 1 }
      }
      throw Fault(line: line, column: column, reason: error.reason)
    }
  }

  /// The value of a short text, such as an argument.
  static func parse(_ text: String) throws(Fault) -> JSONValue {
    let bytes = Array(text.utf8)
    return try parse(bytes, 0..<bytes.count, line: 1)
  }

  private mutating func value() throws(JSONScanner.Fault) -> JSONValue {
    switch try scanner.start() {
    case .object:
      var members: [JSONValue.Member] = []
      var names: Set<ByteText> = []
      guard try scanner.enter(.object) else { return .object(members) }
      repeat {
        let before = scanner
        let key = try scanner.memberName()
        if isThere(key, members, &names) {
          throw before.fault("the key \(ShownText.escaped(String(key.prefix(60)))) is there twice.")
        }
        members.append(.init(key: key, value: try value()))
      } while try scanner.goesOn(in: .object)
      return .object(members)
    case .array:
      var elements: [JSONValue] = []
      guard try scanner.enter(.array) else { return .array(elements) }
      repeat { elements.append(try value()) } while try scanner.goesOn(in: .array)
      return .array(elements)
    case .string: return .string(try scanner.string())
    case .number:
      switch try scanner.number() {
      case .whole(let number): return .int(number)
      case .minusZero: return .int(0)
      case .large(let digits): return .hugeInt(digits)
      case .fraction(let number): return .double(number)
      }
    case .null: return .null
    case .bool(let value): return .bool(value)
    }
  }

  /// Rows have few members mostly: to compare them is less than to hash their names.
  private static let manyMembers = 16

  private func isThere(_ key: String, _ members: [JSONValue.Member], _ names: inout Set<ByteText>) -> Bool {
    if members.count < Self.manyMembers { return members.contains { UTF8Order.equal($0.key, key) } }
    if names.isEmpty { names = Set(members.map { ByteText($0.key) }) }
    return !names.insert(ByteText(key)).inserted
  }
}
