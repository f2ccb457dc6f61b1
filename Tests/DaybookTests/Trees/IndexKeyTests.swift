import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The bytes of values in indexes: they sort as the values do, equal ones are equal, and the name after them is found.

@Suite("keys of indexes")
struct IndexKeyTests {
  private static func key(_ value: Record.Value?, name: String = "n") -> [UInt8] {
    let buffer = ByteBuffer()
    IndexKey.appendNumber(7, to: buffer)
    if let value { IndexKey.append(value, to: buffer) } else { IndexKey.append(nil as ValueView?, to: buffer) }
    buffer.append(NameKey.key(of: name))
    return buffer.view.array
  }

  private static func order(_ first: [UInt8], _ second: [UInt8]) -> Int {
    first == second ? 0 : first.lexicographicallyPrecedes(second) ? -1 : 1
  }

  @Test("keys sort as values do, of whatever kinds; equal numbers have equal keys")
  func order() {
    var random = RandomQueries(seed: 4)
    var values: [Record.Value] = [
      .int(.max), .int(.max - 1), .double(9_223_372_036_854_775_808), .int(.min), .double(-9_223_372_036_854_775_808),
      .int(9_007_199_254_740_993), .double(9_007_199_254_740_992), .double(9_007_199_254_740_994), .int(-9_007_199_254_740_993),
      .double(.infinity), .double(-.infinity), .int(0), .double(0), .double(.leastNonzeroMagnitude), .double(-1.5),
      .string("a"), .string("a\0"), .string("a\0b"), .string("a\u{1}"), .string("ab"), .string(""), .string("\0"),
      .bytes(Data([0, 255])), .bytes(Data([0])), .bytes(Data([0, 0])), .bytes(Data([255])), .bytes(Data([0, 255, 1])),
    ]
    for _ in 0..<200 {
      let value = random.value()
      if let rank = ValueOrder.rank(value.kind), rank <= 3 { values.append(value) }
      values.append(.int(Int64(bitPattern: random.generator.next())))
      values.append(.double(Double(Int64(bitPattern: random.generator.next()))))
    }
    for first in values {
      for second in values {
        let expected = ValueOrder.compare(first, second)
        #expect(Self.order(Self.key(first), Self.key(second)) == expected, "\(first) and \(second)")
        if expected != 0 {
          #expect(Self.order(Self.key(first, name: "zz"), Self.key(second, name: "0")) == expected, "\(first) and \(second)")
        }
      }
      #expect(Self.order(Self.key(first), Self.key(nil)) == -1)
    }
  }

  @Test("the name of a record is found after every value, also after one that was cut")
  func names() throws {
    var random = RandomQueries(seed: 5)
    let long = String(repeating: "é\0x", count: 400)
    var values: [Record.Value?] = [nil, .string(long), .bytes(Data(long.utf8)), .string(String(repeating: "a", count: 255))]
    for _ in 0..<300 {
      let value = random.value()
      if !value.kind.isList { values.append(value) }
    }
    for value in values {
      for name in ["a", "0B7E4C1A-0000-4000-8000-00000000ABCD", "0b7e4c1a-0000-4000-8000-00000000abcd", " ", "~~~"] {
        let key = Self.key(value, name: name)
        #expect(key.count <= TreeLimits.maximumKeyByteCount)
        let found = key.withView { IndexKey.nameKey(in: $0)?.array }
        let text = found.map { $0.withView { String(decoding: NameKey.name(of: $0), as: UTF8.self) } }
        #expect(text == name, "\(String(describing: value))")
      }
    }
    // Those of places and words.
    let buffer = ByteBuffer()
    for fill in [
      { IndexKey.append(placeAt: 52.52, 13.405, to: buffer) }, { IndexKey.append(placeAt: 95, 13, to: buffer) },
      { WordKey.append("dune", to: buffer) }, { WordKey.append(String(repeating: "é", count: 400), to: buffer) },
      { buffer.append(IndexKey.Rank.manyWords) },
    ] {
      buffer.truncate(to: 0)
      IndexKey.appendNumber(7, to: buffer)
      fill()
      buffer.append(NameKey.key(of: "~name"))
      let text = IndexKey.nameKey(in: buffer.view).map { String(decoding: NameKey.name(of: $0), as: UTF8.self) }
      #expect(text == "~name" && buffer.count <= TreeLimits.maximumKeyByteCount)
    }
    // Bytes that are no keys.
    for _ in 0..<2000 {
      let bytes = (0..<random.number(24)).map { _ in UInt8(random.number(4) * 85) }
      _ = bytes.withView { IndexKey.nameKey(in: $0)?.count }
    }
  }
}
