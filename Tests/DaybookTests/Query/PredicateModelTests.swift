import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The plain meaning of predicates and orders beside what the scan uses, and texts beside the values they are made from.

@Suite("predicates against their meaning")
struct PredicateModelTests {
  @Test("a predicate prints itself as the text that it is read from", arguments: 0..<4 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    for _ in 0..<1500 {
      let predicate = random.predicate()
      #expect(predicate.fault == nil)
      let text = predicate.description
      do {
        let again = try Query.Predicate(format: text)
        #expect(again == predicate, "\(text)\n\(again)")
        #expect(again.description == text)
      } catch { Issue.record("\(text): \(error)") }
    }
  }

  @Test("a predicate in an archive is the same predicate", arguments: 0..<2 as Range<UInt64>)
  func archives(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    for _ in 0..<100 {
      let query = Query(
        "Movie", where: random.predicate(), sort: [Query.Sort(random.field(), ascending: random.chance(2))], in: random.zone(),
        limit: random.chance(2) ? 3 : nil)
      #expect(try JSONDecoder().decode(Query.self, from: JSONEncoder().encode(query)) == query)
    }
  }

  @Test("looking at encoded bodies gives the answers that looking at records gives", arguments: 0..<6 as Range<UInt64>)
  func filters(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    var passed = 0
    for _ in 0..<60 {
      let records = try (0..<8).map { try random.record("n\($0)") }
      for _ in 0..<40 {
        let predicate = random.predicate()
        let now = random.date()
        for dialect in Query.Dialect.allCases {
          let filter = BodyFilter(predicate, dialect: dialect, now: now)
          for record in records {
            let expected = predicate.matches(record, now: now, dialect: dialect)
            if expected { passed += 1 }
            #expect(filter.accepts(record.body) == expected, "\(predicate) in \(dialect) on \(record.debugDescription)")
          }
        }
      }
    }
    #expect(passed > 1000)
  }

  @Test("the order of encoded values is the order of values", arguments: 0..<4 as Range<UInt64>)
  func orders(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    func view<R>(_ value: Record.Value, _ body: (ValueView) -> R) -> R? {
      guard
        let record = try? Record(
          type: "T", id: Record.ID(unchecked: "n", in: .default),
          metadata: .init(changeTag: "t", creationDate: Date(), modificationDate: Date()),
          values: ["k": value])
      else { return nil }
      return UTF8Order.withView(of: "k") { key in record.body.withValue(key) { $0.map(body) } }
    }
    for _ in 0..<3000 {
      let (a, b) = (random.value(zone: .default), random.value(zone: .default))
      let order = view(a) { first in view(b) { ViewOrder.compare(first, $0) } }
      #expect(order == ValueOrder.compare(a, b), "\(a) \(b)")
      #expect(ValueOrder.compare(a, b) == -ValueOrder.compare(b, a))
      let isEqual = view(a) { first in view(b) { ViewOrder.equal(first, $0, []) } }
      #expect(isEqual == ValueOrder.equal(a, b, []), "\(a) \(b)")
    }
  }

  @Test("integers and doubles are ordered by their exact values")
  func numbers() {
    func order(_ whole: Int64, _ double: Double) -> Int { ValueOrder.order(whole, double) }
    #expect(order(9_007_199_254_740_993, 0x1p53) == 1)
    #expect(order(.max, 0x1p63) == -1)
    #expect(order(.min, -0x1p63) == 0)
    #expect(order(1, 1.5) == -1 && order(2, 1.5) == 1 && order(-1, -1.5) == 1)
    #expect(order(.max, .infinity) == -1 && order(.min, -.infinity) == 1)
  }

  @Test("case and accents are those of the frozen tables")
  func folding() {
    func folded(_ text: String, _ options: Query.TextOptions) -> String {
      var view = String.UnicodeScalarView()
      for scalar in Folding.scalars(text, options) { if let scalar = Unicode.Scalar(scalar) { view.append(scalar) } }
      return String(view)
    }
    #expect(folded("ÉTÉ Straße", .ignoringCase).utf8.elementsEqual("été strasse".utf8))
    #expect(folded("Été", .ignoringAccents) == "Ete" && folded("E\u{301}", .ignoringAccents) == "E")
    #expect(folded("ÀÇÑ ΆΣς Й", [.ignoringCase, .ignoringAccents]) == "acn ασσ и")
    #expect(folded("Ǆ Ā ā Ĳ", .ignoringCase) == "ǆ ā ā ĳ")
    #expect(
      SearchWords.words(of: "The Sea, the sea! O'Brien\u{2019}s  naïve-Été 007") == ["sea", "o'brien's", "naive", "ete", "007"])
    #expect(SearchWords.words(of: "to be or not to be") == [])
    // Against the library's own mapping, where that is the simple one.
    for value in UInt32(0x80)..<0x600 {
      guard let scalar = Unicode.Scalar(value), scalar.properties.isUppercase,
        scalar.properties.lowercaseMapping.unicodeScalars.count == 1
      else { continue }
      #expect(folded(String(scalar), .ignoringCase).utf8.elementsEqual(scalar.properties.lowercaseMapping.utf8), "\(value)")
    }
  }
}
