import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("CSV")
struct CSVReaderTests {
  /// All rows, and the line each begins on, read in pieces of a size.
  private func rows(_ text: String, pieces: Int = 1 << 18) throws -> [[String]] {
    try rows(Array(text.utf8), pieces: pieces)
  }

  private func rows(_ bytes: [UInt8], pieces: Int = 1 << 18) throws -> [[String]] {
    var reader = CSVReader(ByteSource(bytes, pieceByteCount: pieces))
    var rows: [[String]] = []
    while try reader.next() { rows.append((0..<reader.cellCount).map { reader.text($0) }) }
    return rows
  }

  @Test(
    "rows and cells are told apart as RFC 4180 has it, wherever the pieces are cut", arguments: [1, 2, 3, 7, 1000])
  func grammar(pieces: Int) throws {
    #expect(try rows("a,b\n1,2\n", pieces: pieces) == [["a", "b"], ["1", "2"]])
    #expect(try rows("a,b\r\n1,2", pieces: pieces) == [["a", "b"], ["1", "2"]])
    #expect(try rows("a,b\r1,2\r", pieces: pieces) == [["a", "b"], ["1", "2"]])
    #expect(try rows("\"a\"\"b\",\"c,d\",\"e\nf\"\n", pieces: pieces) == [["a\"b", "c,d", "e\nf"]])
    #expect(try rows("\"e\r\nf\",\r\n", pieces: pieces) == [["e\r\nf", ""]])
    #expect(try rows("a,,\n,,\n", pieces: pieces) == [["a", "", ""], ["", "", ""]])
    #expect(try rows("a\n\n\r\nb\n", pieces: pieces) == [["a"], ["b"]])
    #expect(try rows("\u{FEFF}a,b\n", pieces: pieces) == [["a", "b"]])
    #expect(try rows("\"\",\"\"", pieces: pieces) == [["", ""]])
    #expect(try rows("", pieces: pieces).isEmpty)
    #expect(try rows("e\u{301},שלום,مرحبا,👨‍👩‍👧‍👦,\u{0}\n", pieces: pieces) == [["e\u{301}", "שלום", "مرحبا", "👨‍👩‍👧‍👦", "\u{0}"]])
  }

  @Test("what was written comes back, for any cells", arguments: 0..<40)
  func roundTrip(seed: UInt64) throws {
    var generator = Seeded(seed)
    let alphabet = ["a", "\"", ",", "\n", "\r", " ", "é", "🏔️", "\u{301}", "ש", "1"]
    let width = Int.random(in: 2...5, using: &generator)
    let table = (0..<20).map { _ in
      (0..<width).map { _ in
        (0..<Int.random(in: 0...6, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? "" }
          .joined()
      }
    }
    let text = table.map { row in
      row.map { cell in
        // By scalars: a quote with a combining mark behind it is one character, and no longer a quote.
        "\"" + cell.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
      }.joined(separator: ",")
    }.joined(separator: "\r\n")
    let read = try rows(text, pieces: Int.random(in: 1...40, using: &generator))
    #expect(read.map { $0.map { Array($0.utf8) } } == table.map { $0.map { Array($0.utf8) } })
  }

  @Test(
    "a row that is wrong names its line",
    arguments: [
      ("a,b\nx\"y,1\n", 2, "quote"), ("a\n\"x\"y\n", 2, "closing quote"), ("a\n\nb\n\"x\n\n", 4, "never closed"),
      ("a\n\"x\ny\"z\n", 3, "closing quote"),
    ])
  func badQuotes(text: String, line: Int, words: String) throws {
    let error = try #require(throws: ToolError.self) { try rows(text, pieces: 2) }
    #expect(error.status == .malformedInput)
    #expect(error.message.hasPrefix("line \(line):") && error.message.contains(words), "\(error.message)")
  }

  @Test(
    "bytes that are not UTF-8 are refused with their line, also where two cells would make a letter together",
    arguments: [
      [0xFF], [0xC3], [0xC3, 0x2C, 0xA9], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
      [0x80], [0xF0, 0x8F, 0xBF, 0xBF],
    ] as [[UInt8]])
  func invalidUTF8(bytes: [UInt8]) throws {
    let text = Array("a,b\n1,2\n".utf8) + bytes + Array("\n3,4\n".utf8)
    let error = try #require(throws: ToolError.self) { try rows(text) }
    #expect(error.message.hasPrefix("line 3:") && error.message.contains("UTF-8"), "\(error.message)")
    let quoted = Array("a,b\n\"1\n\n".utf8) + bytes + Array("\",2\n".utf8)
    let second = try #require(throws: ToolError.self) { try rows(quoted) }
    #expect(second.message.hasPrefix("line 4:"), "\(second.message)")
  }

  @Test("the check of UTF-8 agrees with the standard library", arguments: 0..<20)
  func utf8Check(seed: UInt64) {
    var generator = Seeded(seed)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        [0x41, 0x80, 0xBF, 0xC2, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F, 0xFF, 0xC1, 0xEF].randomElement(
          using: &generator) ?? 0
      }.map { UInt8($0) }
      #expect((UTF8Check.firstFault(in: bytes, 0..<bytes.count) == nil) == (String(validating: bytes, as: UTF8.self) != nil))
    }
  }

  @Test("UTF-16 is named as what it is")
  func utf16() throws {
    let error = try #require(throws: ToolError.self) { try rows([0xFF, 0xFE, 0x61, 0x00]) }
    #expect(error.message.contains("UTF-16"))
  }

  @Test("a quote that never closes does not fill the memory")
  func endlessQuote() throws {
    let text = Array("a\n\"".utf8) + [UInt8](repeating: 0x61, count: 100_000)
    var reader = CSVReader(ByteSource(text, pieceByteCount: 1000), maximumByteCount: 10_000)
    #expect(try reader.next())
    let error = try #require(throws: ToolError.self) { _ = try reader.next() }
    #expect(error.message.hasPrefix("line 2:"))
  }
}

@Suite("JSON")
struct JSONTests {
  @Test("values are read as they were written")
  func values() throws {
    #expect(try json("null") == .null)
    #expect(
      try json(" [1, -0, 1.0, 1e3, -2.5E-2, true, \"x\"] ")
        == .array([1, 0, .double(1), .double(1000), .double(-0.025), true, "x"]))
    #expect(try json("9223372036854775807") == .int(.max))
    #expect(try json("-9223372036854775808") == .int(.min))
    #expect(try json("9223372036854775808") == .hugeInt("9223372036854775808"))
    #expect(try json(#"{"b":1,"a":{"b":[]}}"#)["b"] == 1)
    #expect(try json(#""\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t""#) == .string("é😀\n\"\\/\u{8}\u{C}\r\t"))
    #expect(try json("\"e\u{301} שלום 👨‍👩‍👧‍👦\"") == .string("e\u{301} שלום 👨‍👩‍👧‍👦"))
  }

  @Test(
    "what is not JSON is refused",
    arguments: [
      "", "[", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "01", "1.", ".5", "+1", "1e", "tru", "\"a", "\"\\x\"", "\"\\ud800\"",
      "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\u{1}\"", "\"\n\"", "1 2", "[1 2]", "{\"a\":1,}", "1e999", "'a'", "NaN", "]",
      "\"\\u12g4\"", "\"\\u12",
    ])
  func refused(text: String) { #expect(throws: JSONParser.Fault.self) { try JSONParser.parse(text) } }

  @Test("a text that nests without end is refused, not followed")
  func depth() {
    #expect(throws: JSONParser.Fault.self) { try JSONParser.parse(String(repeating: "[", count: 1_000_000)) }
  }

  @Test("a fault names its line")
  func faultLine() throws {
    let fault = try #require(throws: JSONParser.Fault.self) { try JSONParser.parse("{\n\"a\": 1,\n\"b\": x\n}") }
    #expect(fault.line == 3)
    let bytes = Array("[\"a\",\n\"".utf8) + [0xC3, 0x28] + Array("\"]".utf8)
    let second = try #require(throws: JSONParser.Fault.self) { try JSONParser.parse(bytes, 0..<bytes.count, line: 10) }
    #expect(second.line == 11 && second.reason.contains("UTF-8"))
  }

  @Test("what is written is read as the same", arguments: 0..<30)
  func roundTrip(seed: UInt64) throws {
    var generator = Seeded(seed)
    let value = JSONTests.random(depth: 4, &generator)
    #expect(try json(value.json) == value)
    let other = try JSONSerialization.jsonObject(with: Data(value.json.utf8), options: .fragmentsAllowed)
    #expect(String(describing: other).isEmpty == false)
  }

  static func random(depth: Int, _ generator: inout Seeded) -> JSONValue {
    switch Int.random(in: 0...(depth > 0 ? 7 : 5), using: &generator) {
    case 0: .null
    case 1: .bool(.random(using: &generator))
    case 2: .int(.random(in: .min ... .max, using: &generator))
    case 3: .double(Double(bitPattern: .random(in: 0..<0x7FF0_0000_0000_0000, using: &generator)))
    case 4, 5:
      .string(
        (0..<5).map { _ in ["a", "\"", "\\", "\n", "é", "e\u{301}", "👍🏽", "\u{7}", "ע"].randomElement(using: &generator) ?? "" }
          .joined())
    case 6: .array((0..<3).map { _ in random(depth: depth - 1, &generator) })
    default:
      .object((0..<3).map { .init(key: "k\($0) \"", value: random(depth: depth - 1, &generator)) })
    }
  }

  private func rows(_ text: String, pieces: Int) throws -> [(JSONValue, Int)] {
    var reader = JSONElementReader(ByteSource(Array(text.utf8), pieceByteCount: pieces))
    var rows: [(JSONValue, Int)] = []
    while let row = try reader.next() { rows.append(row) }
    return rows
  }

  @Test("rows of arrays and of NDJSON are read one by one, wherever the pieces are cut", arguments: [1, 2, 5, 1000])
  func elements(pieces: Int) throws {
    let first = try rows("[\n {\"a\": \"]\\\"}\"},\n\n {\"a\": [1, {\"b\": 2}]} , 7\n]\n", pieces: pieces)
    #expect(first.map(\.0) == [["a": "]\"}"], ["a": [1, ["b": 2]]], 7])
    #expect(first.map(\.1) == [2, 4, 4])
    let lines = try rows("{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}", pieces: pieces)
    #expect(lines.map(\.0) == [["a": 1], ["a": 2], ["a": 3]])
    #expect(lines.map(\.1) == [1, 3, 4])
    let wide = try rows("{\n\"a\":1\n}\n{\n\"a\":2}\n", pieces: pieces)
    #expect(wide.map(\.1) == [1, 4])
    #expect(try rows("[]", pieces: pieces).isEmpty)
    #expect(try rows("\u{FEFF} \n", pieces: pieces).isEmpty)
    #expect(try rows("\u{FEFF}[{}]", pieces: pieces).map(\.0) == [[:]])
  }

  @Test(
    "a row that is wrong names its line",
    arguments: [
      ("[{\"a\":1}\n{\"a\":2}]", 2), ("[{\"a\":1},\n]", 2), ("[{\"a\":1}", 1), ("[{\"a\":1}]\nx", 2),
      ("{\"a\":1}\n{\"a\":\n{\"a\":3}\n", 2), ("{\"a\":1}\n{\"a\":\"x\n{\"a\":3}\n", 2), ("{\"a\":1},\n{\"a\":2}", 1),
      ("{\"a\":1}\n}\n", 2), ("{\"a\":1}\n{\"a\":1}\n{\"a\"", 3), ("[1,,2]", 1), ("[{\"a\":1},\n\n{\"b\":tru}]", 3),
    ])
  func badRows(text: String, line: Int) throws {
    for pieces in [1, 3, 1000] {
      let error = try #require(throws: ToolError.self) { _ = try rows(text, pieces: pieces) }
      #expect(error.message.hasPrefix("line \(line)"), "\(error.message)")
    }
  }

  @Test("a row without end does not fill the memory")
  func endless() throws {
    let text = Array("[{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: 100_000)
    var reader = JSONElementReader(ByteSource(text, pieceByteCount: 1000), maximumByteCount: 10_000)
    #expect(throws: ToolError.self) { _ = try reader.next() }
  }
}
