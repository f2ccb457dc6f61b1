import Daybook
import DaybookCoding
import Foundation
import Testing

/// To compare two texts Swift sorts the marks of a letter, in the square of their number.
@Suite("keys that are a letter under very many marks", .timeLimit(.minutes(15)))
struct MarkedKeyTests {
  private static let marked = "e" + String(repeating: "\u{301}\u{323}", count: 200_000)

  private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private struct Marked: RecordCodable {
    static let recordType = "Marked"
    var asks = true
    init() {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: AnyKey.self)
      try container.encode(1, forKey: AnyKey(stringValue: MarkedKeyTests.marked))
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: AnyKey.self)
      let key = AnyKey(stringValue: MarkedKeyTests.marked)
      asks = try container.contains(key) || container.decodeIfPresent(Int.self, forKey: key) != nil
    }
  }

  @Test("a record refuses it as a key, without sorting the marks")
  func ofRecord() throws {
    var record = try Record(type: "T")
    #expect(throws: DatabaseError.self) { try record.set(1, forKey: Self.marked) }
    #expect(record[Self.marked] as Int? == nil && record.keys.isEmpty)
  }

  @Test("a query refuses it as a field")
  func ofQuery() throws {
    let database = try Database.inMemory()
    #expect(throws: DatabaseError.self) { try database.records(Query("T", where: .field(Self.marked) == 1)) }
    #expect(throws: DatabaseError.self) { try database.records(Query("T", sort: [.ascending(Self.marked)])) }
  }

  @Test("an encoder refuses it, a decoder finds no field for it")
  func ofCoder() throws {
    let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Marked()) }
    #expect(error?.code == .invalidKey)
    #expect(try !RecordDecoder().decode(Marked.self, from: Record(type: "Marked")).asks)
  }
}
