import Daybook
import DaybookCoding
import Foundation
import Testing

// Once a type's order of keys is known, values go straight to the key that is expected. What they become, and what is refused, is the
// same as by hand and in another order.

/// Each kind that has a way of its own, plain and optional.
private struct Shelf: RecordCodable, Equatable {
  static let recordType = "Shelf"
  static let recordNameKey = "name"

  var name: String
  var title: String
  var count: Int
  var small: UInt8?
  var large: UInt64
  var width: Double
  var height: Float?
  var isFull: Bool
  var made: Date
  var seen: Date?
  var digest: Data
  var cover: Data?
  var tags: [String]
  var notes: [String]?
  var label: String?
  var id: UUID
  var steps: [Int]

  static func random(_ random: inout Seeded) -> Shelf {
    func text(_ length: Int, _ random: inout Seeded) -> String {
      String((0..<length).map { _ in "aé👍z ".randomElement(using: &random)! })
    }
    let numbers = [0.0, -0.0, 1.5, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude]
    let isBare = Bool.random(using: &random)
    return Shelf(
      name: "shelf-\(Int.random(in: 0..<9, using: &random))", title: text(.random(in: 0..<20, using: &random), &random),
      count: [0, -1, .max, .min].randomElement(using: &random)!, small: isBare ? nil : .random(in: 0...255, using: &random),
      large: .random(in: 0...UInt64(Int64.max), using: &random), width: numbers.randomElement(using: &random)!,
      height: isBare ? nil : -0.0, isFull: .random(using: &random),
      made: Date(timeIntervalSinceReferenceDate: numbers.randomElement(using: &random)!),
      seen: isBare ? nil : Date(timeIntervalSinceReferenceDate: -0.0),
      digest: Data(text(.random(in: 0..<30, using: &random), &random).utf8), cover: isBare ? nil : Data(),
      tags: (0..<Int.random(in: 0..<4, using: &random)).map { _ in text(3, &random) }, notes: isBare ? nil : [],
      label: Bool.random(using: &random) ? nil : text(18, &random), id: UUID(), steps: [1, -1])
  }

  /// The record by hand, from the last key to the first.
  func record() throws -> Record {
    var record = try Record(type: Self.recordType, id: Record.ID(name))
    record["steps"] = steps
    record["id"] = id.uuidString
    record["label"] = label
    record["notes"] = notes
    record["tags"] = tags
    record["cover"] = cover
    record["digest"] = digest
    record["seen"] = seen
    record["made"] = made
    record["isFull"] = isFull
    record["height"] = height.map { Double($0) }
    record["width"] = width
    record["large"] = Int64(large)
    record["small"] = small.map { Int64($0) }
    record["count"] = count
    record["title"] = title
    return record
  }
}

/// The record's name is under a key as long as that of the system fields.
private struct Titled: RecordCodable, Equatable {
  static let recordType = "Titled"
  static let recordNameKey = "catalogTitle"
  var catalogTitle: String
  var count: Int
}

@Suite("values whose keys come in the order that is known")
struct ExpectedOrderTests {
  /// One and 1.0 are equal, and are two fields.
  private func form(_ value: Record.Value?) -> String? { value.flatMap { Mirror(reflecting: $0).children.first?.label } }

  @Test("values become what they become by hand, in whatever order their keys are set")
  func sameAsByHand() throws {
    var random = Seeded(4)
    let database = try Database.inMemory()
    for round in 0..<400 {
      let shelf = Shelf.random(&random)
      let encoded = try RecordEncoder().encode(shelf)
      let byHand = try shelf.record()
      #expect(encoded.id == byHand.id)
      #expect(encoded.changedKeys == byHand.changedKeys)
      for key in byHand.changedKeys.union(encoded.keys) {
        let (one, other) = (encoded[key] as Record.Value?, byHand[key] as Record.Value?)
        #expect(one == other && form(one) == form(other), "\(key) in round \(round)")
        if case .double(let a)? = one, case .double(let b)? = other { #expect(a.sign == b.sign) }
      }
      // The first saves make the order known; those after them use it.
      try database.write { _ = try $0.save(shelf) }
      let stored = try #require(try database.fetch(Shelf.self, shelf.name))
      #expect(stored == shelf)
      #expect(try RecordDecoder().decode(Shelf.self, from: encoded) == shelf)
    }
  }

  @Test("what has no form as a field is refused with its key, once the order is known, too")
  func refused() throws {
    var random = Seeded(5)
    let database = try Database.inMemory()
    for _ in 0..<4 { try database.write { _ = try $0.save(Shelf.random(&random)) } }
    var shelf = Shelf.random(&random)
    func path(_ value: Shelf, _ options: RecordCodingOptions = .init()) -> [String]? {
      do {
        _ = try RecordEncoder(options: options).encode(value)
        return nil
      } catch { return error.path }
    }
    #expect(path(shelf) == nil)
    shelf.width = .nan
    #expect(path(shelf) == ["width"])
    shelf.width = 1
    shelf.made = Date(timeIntervalSinceReferenceDate: .nan)
    #expect(path(shelf) == ["made"])
    shelf.made = Date(timeIntervalSinceReferenceDate: 1)
    shelf.large = .max
    #expect(path(shelf) == ["large"])
    shelf.large = 1
    var options = RecordCodingOptions()
    options.limits.recordByteCount = 2000
    shelf.title = String(repeating: "t", count: 2001)
    #expect(path(shelf, options) == ["title"])
    shelf.title = ""
    shelf.tags = [String(repeating: "t", count: 2001)]
    #expect(path(shelf, options) == ["tags"])
    shelf.tags = []
    shelf.digest = Data(count: 2001)
    #expect(path(shelf, options) == ["digest"])
    // Each fits, and all of them do not.
    shelf.digest = Data(count: 1500)
    shelf.title = String(repeating: "t", count: 1500)
    #expect(path(shelf, options) == [])
    // Of numbers, too, there may be too many.
    options.limits.recordByteCount = 200
    #expect(throws: RecordCodingError.self) {
      try RecordEncoder(options: options).encode(Sheet(cells: (0..<100).map { ("c\($0)", $0) }))
    }
  }

  private struct Sheet: RecordEncodable {
    static let recordType = "Sheet"
    var recordName: String { "s" }
    var cells: [(String, Int)]
    private struct Name: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      for (key, value) in cells { try container.encode(value, forKey: Name(stringValue: key)) }
    }
  }

  @Test("a value that was given another name is refused, also under a key of twelve bytes")
  func names() throws {
    let database = try Database.inMemory()
    for number in 0..<4 {
      let titled = Titled(catalogTitle: "title-\(number)", count: number)
      try database.write { _ = try $0.save(titled) }
      #expect(try database.fetch(Titled.self, "title-\(number)") == titled)
      #expect(try RecordEncoder().encode(titled).keys == ["count"])
    }
  }
}
