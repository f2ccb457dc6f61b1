import Daybook
import DaybookCoding
import Foundation
import Testing

// Circles of records: where nil may be, they end with nil; and records that all fail are not tried without end.

@Suite("circles that end with nil")
struct CircleOfNilTests {
  final class Stop: RecordCodable {
    static var recordType: String { "Stop" }
    var recordName: String
    var next: Stop?
    var spot: Spot?
    init(_ name: String) { recordName = name }
  }
  final class Spot: Codable {
    var back: Stop?
    var x = 1
    init(_ back: Stop?) { self.back = back }
  }

  @Test("a circle of optionals could not be read with nested values flattened")
  func flattened() throws {
    var options = RecordCodingOptions()
    options.nested = .flattened
    let (a, b) = (Stop("a"), Stop("b"))
    (a.next, b.next) = (b, a)
    defer { a.next = nil }
    let line = try RecordDecoder(options: options)
      .decodeGraph(Stop.self, from: RecordEncoder(options: options).encodeGraph(a))
    #expect(line.next?.recordName == "b" && line.next?.next == nil)
    a.next = nil
    b.next = nil
    (a.spot, b.spot) = (Spot(b), Spot(a))
    defer { a.spot = nil }
    let inside = try RecordDecoder(options: options)
      .decodeGraph(Stop.self, from: RecordEncoder(options: options).encodeGraph(a))
    #expect(inside.spot?.back?.recordName == "b")
    #expect(inside.spot?.back?.spot?.x == 1 && inside.spot?.back?.spot?.back == nil)
  }

  final class Ring: RecordCodable {
    static var recordType: String { "Ring" }
    var recordName: String
    var next: Boxed?
    init(_ name: String) { recordName = name }
  }
  struct Boxed: Codable {
    var ring: Ring?
    init(_ ring: Ring?) { self.ring = ring }
    init(from decoder: any Decoder) throws { ring = try decoder.singleValueContainer().decode(Ring?.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(ring)
    }
  }

  @Test("a circle through an optional in a property wrapper could not be read", arguments: [false, true])
  func wrapped(isFlattened: Bool) throws {
    var options = RecordCodingOptions()
    if isFlattened { options.nested = .flattened }
    let (a, b) = (Ring("a"), Ring("b"))
    (a.next, b.next) = (Boxed(b), Boxed(a))
    defer { a.next = nil }
    let back = try RecordDecoder(options: options)
      .decodeGraph(Ring.self, from: RecordEncoder(options: options).encodeGraph(a))
    #expect(back.next?.ring?.recordName == "b" && back.next?.ring?.next?.ring == nil)
  }

  /// A list that leaves out what cannot be decoded.
  private struct Lossy<T: Decodable>: Decodable {
    struct Skipped: Decodable { init(from decoder: any Decoder) throws {} }
    var list: [T] = []
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd {
        if let one = try? container.decode(T.self) { list.append(one) } else { _ = try container.decode(Skipped.self) }
      }
    }
  }

  /// How often a value was tried.
  private final class Tries: @unchecked Sendable { var count = 0 }
  private static let tries = CodingUserInfoKey(rawValue: "tries")!

  private final class Friend: RecordDecodable {
    static var recordType: String { "Friend" }
    let friends: [Friend]
    let name: String
    let best: Friend?
    enum CodingKeys: CodingKey { case friends, name, best }
    init(from decoder: any Decoder) throws {
      (decoder.userInfo[CircleOfNilTests.tries] as? Tries)?.count += 1
      let container = try decoder.container(keyedBy: CodingKeys.self)
      friends = try container.decode(Lossy<Friend>.self, forKey: .friends).list
      name = try container.decode(String.self, forKey: .name)
      // Not an optional, where there is one.
      best = container.contains(.best) ? try container.decode(Friend.self, forKey: .best) : nil
    }
  }

  /// Friends of each other; with names each has a best one, which must be there.
  private func friends(_ count: Int, areNamed: Bool) throws -> [Record] {
    let ids = try (0..<count).map { try Record.ID("f\($0)") }
    return try ids.enumerated().map { number, id in
      var record = try Record(type: "Friend", id: id)
      record["friends"] = .references(ids.filter { $0 != id }.map { Record.Reference($0) })
      if areNamed {
        record["name"] = "n"
        record["best"] = .reference(Record.Reference(ids[(number + 1) % count]))
      }
      return record
    }
  }

  @Test("records that list each other and all fail were tried in every order", arguments: [false, true])
  func clique(areNamed: Bool) throws {
    let tries = Tries()
    var options = RecordCodingOptions()
    options.userInfo[Self.tries] = tries
    let records = try friends(13, areNamed: areNamed)
    #expect(throws: RecordCodingError.self) {
      try RecordDecoder(options: options).decodeGraph(Friend.self, from: records)
    }
    #expect(tries.count < 1000, "\(tries.count)")
  }
}
