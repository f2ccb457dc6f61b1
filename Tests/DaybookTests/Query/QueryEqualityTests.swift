import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Texts in predicates are compared by their bytes, as those in records are.

@Suite("equal queries", .timeLimit(.minutes(15)))
struct QueryEqualityTests {
  private static let composed = "\u{E9}"
  private static let decomposed = "e\u{301}"

  @Test("predicates whose texts differ in bytes are not equal: they find other records")
  func texts() throws {
    let field = Query.Field(key: "title")
    let makers: [(String) -> Query.Predicate] = [
      { field == $0 }, { field.hasPrefix($0) }, { field.hasSuffix($0) }, { field.isLike($0) }, { field.contains($0) },
      { field.tokens($0) }, { .tokens($0) }, { field.isIn([$0]) },
    ]
    for make in makers {
      let (first, second) = (make(Self.composed), make(Self.decomposed))
      #expect(first != second, "\(first)")
      #expect(Set([first, second, make(Self.composed)]).count == 2)
      #expect(Query("Note", where: first) != Query("Note", where: second))
    }
  }

  @Test("a list for a user interface follows when only the bytes of its query's text change")
  @MainActor func results() async throws {
    let database = try Database.scratch()
    try now {
      try database.put("composed", ["title": .string(Self.composed + "a")])
      try database.put("decomposed", ["title": .string(Self.decomposed + "a")])
    }
    let results = QueryResults(Query("Note", where: .field("title").hasPrefix(Self.composed)), in: database)
    while results.isLoading { await Task.yield() }
    #expect(results.records.map(\.id.name) == ["composed"])
    results.query = Query("Note", where: .field("title").hasPrefix(Self.decomposed))
    #expect(results.isLoading)
    while results.isLoading { await Task.yield() }
    #expect(results.records.map(\.id.name) == ["decomposed"])
  }

  @Test(
    "a word is looked for with its marks in their order, and is not the one with them in another order",
    arguments: [false, true])
  func marks(isIndexed: Bool) throws {
    let (first, second) = ("\u{915}\u{93C}\u{94D}", "\u{915}\u{94D}\u{93C}")
    #expect(first == second, "one word to Swift")
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.put("first", ["text": .string(first)])
    try database.put("second", ["text": .string(second)])
    try database.put("both", ["text": .string("\(first) \(second)")])
    if isIndexed { try database.setIndex(.searchable, on: "text", ofType: "Note") }
    func names(_ predicate: Query.Predicate) throws -> Set<String> {
      Set(try database.records(Query("Note", where: predicate)).map(\.id.name))
    }
    let field = Query.Field(key: "text")
    #expect(try names(field.tokens(second)) == ["second", "both"])
    #expect(try names(field.tokens("\(first) \(second)")) == ["first", "second", "both"])
    #expect(try names(field.allTokens("\(first) \(second)")) == ["both"])
  }

  @Test("a search for a word of very many marks takes time in proportion to them")
  func manyMarks() throws {
    let database = try Database.scratch()
    try database.put("n", ["text": "a word"])
    // By letters, hashing this once would move marks ten thousand million times.
    let text = "\u{915}" + String(repeating: "\u{94D}\u{93C}", count: 100_000)
    #expect(try database.records(Query("Note", where: .field("text").tokens(text))).isEmpty)
    #expect(try database.records(Query("Note", where: .field("text").allTokens(text + " word"))).isEmpty)
  }
}
