import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Indexes of words: what they find is what a loop finds, whatever is written how; searches in all texts need all of them.

@Suite("indexes of words")
struct WordIndexTests {
  private static let words = [
    "Dune", "dune", "été", "ETE", "E\u{301}te\u{301}", "straße", "STRASSE", "the", "of", "don't", "DON\u{2019}T", "ﬁsh", "fish",
    "東京", "한국",
    "İstanbul", "x", "a", "7", "2021", String(repeating: "long", count: 30), String(repeating: "long", count: 30) + "er",
  ]

  private static func text(_ random: inout RandomQueries, _ count: Int) -> String {
    (0..<count).map { _ in random.pick(words) }.joined(separator: random.pick([" ", ", ", "-", "'", "\n"]))
  }

  @Test("searches of words find what a loop finds, in one field and in all", arguments: [false, true])
  func queries(prefersIndexes: Bool) throws {
    var random = RandomQueries(seed: prefersIndexes ? 81 : 80)
    let database = try Database.scratch { $0.prefersIndexes = prefersIndexes }
    try database.write { transaction in
      for number in 0..<500 {
        var values: [String: Record.Value] = ["n": .int(Int64(number % 7))]
        if !random.chance(4) { values["t"] = .string(Self.text(&random, random.number(4))) }
        if random.chance(2) { values["l"] = .strings((0..<random.number(3)).map { _ in Self.text(&random, random.number(3)) }) }
        if random.chance(9) { values["t"] = .bytes(Data("dune".utf8)) }
        var record = try Record.fresh("r\(number)", type: "Book", values)
        if random.chance(9) { record.encryptedValues["secret"] = "dune" }
        try transaction.save(record)
      }
    }
    try database.setIndex(.searchable, on: "t", ofType: "Book")
    func check(_ count: Int, _ expectedUses: Int) throws {
      let records = try database.records(Query("Book"))
      var uses = 0
      for _ in 0..<count {
        func search() -> Query.Predicate {
          let text = Self.text(&random, random.number(4))
          let field = random.pick([Query.Field(key: "t"), Query.Field(key: "l"), Query.Field(key: "l").any])
          return switch random.number(4) {
          case 0: .tokens(text)
          case 1: .allTokens(text)
          case 2: field.tokens(text)
          default: field.allTokens(text)
          }
        }
        let predicate: Query.Predicate =
          switch random.number(5) {
          case 0: search() && search()
          case 1: search() || search()
          case 2: !search()
          default: search()
          }
        let query = Query("Book", where: predicate)
        let plan = try database.explain(query)
        if plan.access == .index { uses += 1 }
        #expect(
          try database.records(query).map(\.id) == records.filter { predicate.matches($0) }.map(\.id), "\(query)\n\(plan)")
        #expect(try database.count(query) == records.count { predicate.matches($0) })
      }
      #expect(uses >= expectedUses, "\(uses)")
    }
    try check(150, 10)
    try database.setIndex(.searchable, on: "l", ofType: "Book")
    try check(150, 20)
    try database.expectClean()
  }

  @Test("a search in all texts takes the indexes of all texts, and none where a text has no index")
  func allTexts() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      for number in 0..<200 {
        try transaction.save(
          .fresh(
            "b\(number)", type: "Book", ["title": .string("Number \(number)"), "notes": .strings(["about \(number + 1)"])]))
      }
    }
    let query = Query("Book", where: .tokens("7"))
    try database.setIndex(.searchable, on: "title", ofType: "Book")
    #expect(try database.explain(query).access == .scan)
    try database.setIndex(.searchable, on: "notes", ofType: "Book")
    let plan = try database.explain(query)
    #expect(plan.access == .index && plan.index == "notes, title" && plan.indexKind == .text && plan.recordCount == 2)
    #expect(plan.description.hasPrefix("text index of Book.notes, title, 2 entries"))
    #expect(try Set(database.records(query).map(\.id.name)) == ["b7", "b6"])
    #expect(try database.explain(Query("Book", where: Query.Predicate(format: "self CONTAINS '7'"))).access == .index)
    // Another field gets a text: now a record may have the word there.
    try database.put("new", type: "Book", ["remark": "7"])
    #expect(try database.explain(query).access == .scan)
    #expect(try Set(database.records(query).map(\.id.name)) == ["b7", "b6", "new"])
    try database.setIndex(.searchable, on: "remark", ofType: "Book")
    #expect(try database.explain(query).access == .index)
    #expect(try Set(database.records(query).map(\.id.name)) == ["b7", "b6", "new"])
    // Words that are in every text are not looked for.
    #expect(try database.records(Query("Book", where: .tokens("the"))).isEmpty)
    #expect(try database.explain(Query("Book", where: .tokens("the"))).recordCount == 0)
  }

  @Test("the rarest of the words is looked for when all are asked for")
  func rarest() throws {
    let database = try Database.scratch()
    try database.setIndex(.searchable, on: "t", ofType: "Book")
    try database.write { transaction in
      for number in 0..<300 {
        try transaction.save(
          .fresh("b\(number)", type: "Book", ["t": .string("common \(number % 100 == 3 ? "rare" : "other")")]))
      }
    }
    let plan = try database.explain(Query("Book", where: .field("t").allTokens("Common RARE")))
    #expect(plan.access == .index && plan.recordCount == 3)
    #expect(try database.count(Query("Book", where: .field("t").allTokens("Common RARE"))) == 3)
  }

  @Test("a text of more words than count is found by every word, and one of very long words, too", .timeLimit(.minutes(15)))
  func many() throws {
    let database = try Database.scratch { $0.prefersIndexes = true }
    try database.setIndex(.searchable, on: "t", ofType: "Book")
    let words = (0..<WordKey.largestCount + 50).map { String($0, radix: 36) }
    try database.put("many", type: "Book", ["t": .string(words.joined(separator: " "))])
    try database.put("few", type: "Book", ["t": .string("zebra \(words[70])")])
    let long = String(repeating: "é", count: 5000)
    try database.put("long", type: "Book", ["t": .string(long + " " + long + "x")])
    let last = try #require(words.last)
    for (word, names) in [
      (last, ["many"]), (words[70], ["many", "few"]), ("zebra", ["few"]), (long, ["long"]), (long + "y", []),
    ] {
      let query = Query("Book", where: .field("t").tokens(word))
      #expect(try database.explain(query).access == .index)
      #expect(try database.records(query).map(\.id.name) == names)
    }
    #expect(try database.indexRoot().count == UInt64(WordKey.largestCount) + 1 + 2 + 1)
    try database.put("many", type: "Book", ["t": "zebra"])
    #expect(try database.indexRoot().count == 4)
    try database.expectClean()
  }

  @Test("an update that leaves the words as they are touches no index of words")
  func untouched() throws {
    let database = try Database.scratch {
      $0.checkpoint.minimumLogByteCount = 64 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    try database.setIndex(.searchable, on: "t", ofType: "Note")
    for number in 0..<200 { try database.put("r\(number)", ["t": .string("Number \(number), the Été")]) }
    let before = try database.indexRoot()
    #expect(before.count == 600)
    for number in 0..<200 { try database.put("r\(number)", ["t": .string("ete number \(number)"), "x": 1]) }
    #expect(try database.indexRoot() == before)
    try database.expectClean()
  }

  @Test("entries have the words' bytes, as they are in files")
  func bytes() {
    let buffer = ByteBuffer()
    let text = "The Été of DON\u{2019}T, 東京 \u{1F600} ﬁsh"
    var found: [String] = []
    UTF8Order.withView(of: text) { view in
      var words = SearchWords(view)
      while true {
        buffer.truncate(to: 0)
        guard WordKey.appendNext(of: &words, to: buffer) else { break }
        #expect(buffer.view[0] == 9 && buffer.view[buffer.count - 1] == 0)
        found.append(String(decoding: buffer.view.slice(1..<buffer.count - 1).array, as: UTF8.self))
        let again = ByteBuffer()
        WordKey.append(found[found.count - 1], to: again)
        #expect(again.view.array == buffer.view.array)
      }
    }
    #expect(found == ["ete", "don't", "東京", "fish"])
    let long = ByteBuffer()
    WordKey.append(String(repeating: "東", count: 40), to: long)
    #expect(long.count == WordKey.byteCount + 2)
    #expect(SearchWords.ignored.allSatisfy { word in Array(word.utf8).withView { SearchWords.isIgnored($0) } })
    #expect(
      ["", "dune", "thei", "theirs", "x"].allSatisfy { word in !Array(word.utf8).withView { SearchWords.isIgnored($0) } })
  }
}
