import Foundation
import Testing

@testable import Daybook
@testable import DaybookCoding

// Assets that begin like property lists, as a file from elsewhere may have them.

@Suite("property lists without end")
struct PropertyListLimitTests {
  struct Tree: Codable, Equatable { var kids: [Tree] }
  struct Forest: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["tree": .asset(.binaryPropertyList)]
    var recordName = "p"
    var tree: Tree
  }
  struct Texts: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["box": .asset(.xmlPropertyList)]
    var recordName = "p"
    var box: [String]
  }

  private func big(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }

  /// Objects whose references have four bytes each.
  private func binary(_ objects: [[UInt8]]) -> Data {
    var data = Data("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(data.count)
      data.append(contentsOf: object)
    }
    let table = data.count
    for offset in offsets { data.append(contentsOf: big(offset)) }
    data.append(contentsOf: [0, 0, 0, 0, 0, 0, 4, 4])
    for number in [objects.count, 0, table] { data.append(contentsOf: [0, 0, 0, 0] + big(number)) }
    return data
  }

  /// Dictionaries with the key `kids`, each with a list of the next one, once or twice.
  private func trees(_ depth: Int, twice: Bool) -> Data {
    let key = 2 * depth + 2
    var objects: [[UInt8]] = []
    for level in 0..<depth {
      objects.append([0xD1] + big(key) + big(2 * level + 1))
      objects.append(twice ? [0xA2] + big(2 * level + 2) + big(2 * level + 2) : [0xA1] + big(2 * level + 2))
    }
    objects += [[0xD1] + big(key) + big(2 * depth + 1), [0xA0], [0x54] + Array("kids".utf8)]
    return binary(objects)
  }

  private func decode<T: RecordCodable>(_ type: T.Type, _ key: String, _ content: Data) throws -> T {
    var record = try Record(type: T.recordType, id: Record.ID("p"))
    record[key] = Record.Value.asset(Asset(data: content))
    return try RecordDecoder().decode(T.self, from: record)
  }

  private func reason<T: RecordCodable>(_ type: T.Type, _ key: String, _ content: Data) -> String {
    do {
      _ = try decode(type, key, content)
      return "decoded"
    } catch {
      return ((error as? RecordCodingError)?.cause).map { "\($0)" } ?? "\(error)"
    }
  }

  @Test("a deep list ended the process", arguments: [128, 600, 20_000, 200_000])
  func deep(depth: Int) throws {
    let text =
      "<?xml version=\"1.0\"?><!DOCTYPE plist><plist version=\"1.0\">"
      + String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth) + "</plist>"
    #expect(reason(Texts.self, "box", Data(text.utf8)).contains("deeper than 128") == (depth > 128))
    if depth > 128 { #expect(reason(Forest.self, "tree", trees(depth, twice: false)).contains("deeper than 128")) }
  }

  @Test("a list whose levels refer twice to the next was decoded for ever", arguments: [20, 60])
  func twice(depth: Int) throws {
    #expect(reason(Forest.self, "tree", trees(depth, twice: true)).contains("amount to too many"))
  }

  @Test("many references to one long text filled the memory")
  func manyTexts() throws {
    let long: [UInt8] = [0x5F, 0x12] + big(1_000_000) + [UInt8](repeating: 0x61, count: 1_000_000)
    let few = binary([[0xA3] + big(1) + big(1) + big(1), long])
    #expect(try decode(Texts.self, "box", few).box.count == 3)
    let many = binary([[0xAF, 0x12] + big(1_000) + (0..<1_000).flatMap { _ in big(1) }, long])
    #expect(reason(Texts.self, "box", many).contains("amount to too many"))
  }

  @Test("a list that lies in itself is refused, and so is one whose counts are far beyond its bytes")
  func cycles() throws {
    #expect(
      reason(Forest.self, "tree", binary([[0xD1] + big(1) + big(2), [0x54] + Array("kids".utf8), [0xA1] + big(2)])).contains(
        "in itself"))
    let huge: [UInt8] = [0xAF, 0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7)
    #expect(reason(Texts.self, "box", binary([huge])) != "decoded")
  }

  struct Log: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["lines": .asset(.binaryPropertyList), "tiles": .asset(.binaryPropertyList)]
    var recordName = "l"
    var lines: [String]
    var tiles: [Data]
  }

  @Test("many equal texts and bytes are written once, and read")
  func sharedLeaves() throws {
    let texts = (0..<20).map { String(repeating: "t\($0) ", count: 30) }
    let log = Log(
      lines: (0..<200_000).map { texts[$0 % 20] }, tiles: Array(repeating: Data(repeating: 7, count: 4096), count: 5_000))
    #expect(try RecordDecoder().decode(Log.self, from: RecordEncoder().encode(log)) == log)
  }

  @Test("what is encoded passes: deep values, long lists, tags in texts and comments")
  func usual() throws {
    var tree = Tree(kids: [])
    for _ in 0..<50 { tree = Tree(kids: [tree, Tree(kids: [])]) }
    let forest = Forest(tree: tree)
    #expect(try RecordDecoder().decode(Forest.self, from: RecordEncoder().encode(forest)) == forest)
    let texts = Texts(box: (0..<20_000).map { "text \($0 % 7) <array><dict><![CDATA[ ]]> <!-- " })
    #expect(try RecordDecoder().decode(Texts.self, from: RecordEncoder().encode(texts)).box == texts.box)
    let marked =
      "<?xml version=\"1.0\"?><plist version=\"1.0\"><!-- " + String(repeating: "<array>", count: 300)
      + " --><array><string/><string><![CDATA[" + String(repeating: "<a>", count: 300) + "]]></string></array></plist>"
    #expect(reason(Texts.self, "box", Data(marked.utf8)).contains("deeper") == false)
  }

  @Test("mutated lists are decoded or refused", arguments: [PropertyListEncoder.OutputFormatKind.binary, .xml])
  func mutated(kind: PropertyListEncoder.OutputFormatKind) throws {
    var random = SeededNumbers(state: 7)
    let encoder = PropertyListEncoder()
    encoder.outputFormat = kind == .binary ? .binary : .xml
    let base = try encoder.encode(Tree(kids: [Tree(kids: []), Tree(kids: [Tree(kids: [])])]))
    for _ in 0..<5_000 {
      var content = base
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        content[Int.random(in: 6..<content.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try? decode(Forest.self, "tree", content)
    }
  }
}

extension PropertyListEncoder {
  enum OutputFormatKind { case binary, xml }
}

private struct SeededNumbers: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
