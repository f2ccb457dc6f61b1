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

  @Test("a long IN without case or accents gives the answers that its texts give one by one", arguments: 0..<4 as Range<UInt64>)
  func foldedLists(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    let letters = ["a", "A", "á", "e\u{301}", "E", "ß", "SS", "가", "\u{1100}", "İ", "\u{0}", "😀"]
    func text() -> String { (0..<random.number(4)).map { _ in random.pick(letters) }.joined() }
    var passed = 0
    for round in 0..<60 {
      let field = round % 2 == 0 ? Query.Field("t") : Query.Field("t").any
      let options = [Query.TextOptions.ignoringCase, .ignoringAccents, [.ignoringCase, .ignoringAccents], []][round % 4]
      var values = (0..<8 + random.number(30)).map { _ in Record.Value.string(text()) }
      if round % 10 == 0 { values.append(.int(1)) }
      let predicate = Query.Predicate(Query.Condition(field, .isIn(values), options))
      for dialect in Query.Dialect.allCases {
        let filter = BodyFilter(predicate, dialect: dialect, now: Date())
        if round % 10 != 0 { #expect(filter.comparisonCount == 1) }
        for number in 0..<40 {
          let value: Record.Value =
            switch number % 5 {
            case 0: .strings([text(), text()])
            case 1: .int(1)
            default: .string(text())
            }
          let record = try Record(
            type: "Note", id: Record.ID("n"),
            metadata: .init(
              changeTag: "t1", creationDate: Date(), creatorUserID: nil, modificationDate: Date(), lastModifiedUserID: nil,
              modifiedByDevice: nil),
            values: ["t": value], encryptedValues: [:], parent: nil)
          let expected = predicate.matches(record, now: Date(), dialect: dialect)
          if expected { passed += 1 }
          #expect(filter.accepts(record.body) == expected, "\(predicate) in \(dialect) on \(record.debugDescription)")
        }
      }
    }
    #expect(passed > 300)
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

  /// Numbers and dates at the ends of what there is.
  private static let extremes: [Record.Value] =
    [Int64.min, .min + 1, -1, 0, 1, 1 << 53, (1 << 53) + 1, .max - 1, .max].map { .int($0) }
    + [
      -Double.infinity, -.greatestFiniteMagnitude, -0x1p63, -0x1.fffffffffffffp62, -0.5, 0, .leastNonzeroMagnitude, 0x1p53,
      0x1.fffffffffffffp62, 0x1p63, .greatestFiniteMagnitude, .infinity,
    ].map { .double($0) }
    + [-Double.infinity, -.greatestFiniteMagnitude, 0, 0.5, 0x1p53, .infinity].map {
      .date(Date(timeIntervalSinceReferenceDate: $0))
    }

  /// Every condition on a field with constants of some kinds.
  private static func conditions(on field: Query.Field, _ constant: Record.Value) -> [Query.Predicate] {
    Query.Comparison.allCases.map { .init(.init(field, .compare($0, .value(constant)))) }
      + [
        .init(.init(field, .between(.value(constant), .value(constant)))),
        .init(.init(field, .between(.value(constant), .value(.double(.infinity))))),
        .init(.init(field, .isIn([constant]))), .init(.init(field, .isIn(extremes + [constant, .double(.nan)]))),
        .init(.init(field, .isIn((0..<9).map { .int($0) } + [constant, .double(.nan)]))),
        .init(.init(field, .contains(constant))),
      ]
  }

  /// A record as it is stored.
  private func stored(_ value: Record.Value) throws -> Record {
    try Record(
      type: "T", id: Record.ID("n"), metadata: .init(changeTag: "t", creationDate: Date(), modificationDate: Date()),
      values: ["k": value])
  }

  private static let notNumbers: [Record.Value] = [
    .double(.nan), .double(-.nan), .date(Date(timeIntervalSinceReferenceDate: .nan)), .doubles([1, .nan]),
    .dates([
      Date(timeIntervalSinceReferenceDate: .nan)
    ]),
    .location(Location(latitude: .nan, longitude: 0)),
  ]

  @Test("no comparison with NaN ends the program or is true but !=, in every way of finding out")
  func notANumber() throws {
    let field = Query.Field("k")
    for value in Self.extremes + [.doubles([1, 2]), .dates([]), .location(Location(latitude: 1, longitude: 0))] {
      let record = try stored(value)
      for constant in Self.notNumbers {
        let comparisons = Query.Comparison.allCases.map { Query.Predicate(.init(field, .compare($0, .value(constant)))) }
        #expect(comparisons.map { $0.matches(record) } == Query.Comparison.allCases.map { $0 == .notEqual })
        for predicate in Self.conditions(on: field, constant) {
          for one in [predicate, !predicate] {
            #expect(one.matchesEncoded(record, now: Date(), dialect: .extended) == one.matches(record), "\(value) \(one)")
          }
        }
        let contains = Query.Predicate(.init(field, .contains(constant)))
        #expect(!contains.matches(record) && !Query.Predicate(.init(field, .isIn([constant]))).matches(record))
      }
    }
    // A database whose clock has none says so of no record.
    var options = Database.Options()
    options.now = { Date(timeIntervalSinceReferenceDate: .nan) }
    options.prefersIndexes = true
    let database = try Database.open(at: "/clock", on: SimulatedDisk(), options: options)
    var record = try Record(type: "T", id: Record.ID("n"))
    record["k"] = Date()
    try database.save(record)
    for isIndexed in [false, true] {
      if isIndexed { try database.setIndex(.queryable, on: "k", ofType: "T") }
      for comparison in Query.Comparison.allCases {
        let found = try database.count(Query("T", where: .init(.init(field, .compare(comparison, .now)))))
        #expect(found == (comparison == .notEqual ? 1 : 0), "\(comparison)")
      }
    }
  }

  @Test("an average over nothing, of which a place's distance is asked, too, finds nothing")
  func notADistance() throws {
    let record = try stored(.location(Location(latitude: 1, longitude: 2)))
    for comparison in Query.Comparison.allCases {
      let test = Query.Condition.Test.distance(comparison, from: Location(latitude: 1, longitude: 2), kilometres: .nan)
      let predicate = Query.Predicate(.init(.init("k"), test))
      #expect(predicate.matches(record) == (comparison == .notEqual))
      #expect(predicate.matchesEncoded(record, now: Date(), dialect: .extended) == (comparison == .notEqual))
    }
  }

  @Test("the largest integers, infinities and the last dates are compared alike by evaluator, scan and index, each with each")
  func extremes() throws {
    var options = Database.Options()
    options.prefersIndexes = true
    let database = try Database.open(at: "/extremes", on: SimulatedDisk(), options: options)
    var records: [Record] = []
    try database.write { transaction in
      for (index, value) in Self.extremes.enumerated() {
        var record = try Record(type: "T", id: Record.ID("n\(index)"))
        record["k"] = value
        records.append(try transaction.save(record))
      }
    }
    func compareAll(_ isIndexed: Bool) throws {
      for constant in Self.extremes {
        for predicate in Self.conditions(on: .init("k"), constant) {
          let expected = records.filter { predicate.matches($0) }.map(\.id.name)
          if predicate.fault != nil {
            #expect(throws: DatabaseError.self) { try database.count(Query("T", where: predicate)) }
          } else {
            let found = try database.records(Query("T", where: predicate)).map(\.id.name)
            #expect(found == expected, "\(predicate), index: \(isIndexed)")
            #expect(try database.count(Query("T", where: predicate)) == expected.count, "\(predicate)")
          }
          for record in records {
            #expect(
              predicate.matchesEncoded(record, now: Date(), dialect: .extended) == expected.contains(record.id.name),
              "\(predicate) on \(record.id.name)")
          }
        }
      }
    }
    try compareAll(false)
    try database.setIndex(.queryable, on: "k", ofType: "T")
    try compareAll(true)
    // By the exact numbers, said without a comparison.
    let ascending: [Record.Value] = [
      .double(-.infinity), .int(.min), .int(.min + 1), .double(-0x1.fffffffffffffp62), .int(-1), .double(-0.5), .int(0),
      .int(1),
      .double(0x1p53), .int((1 << 53) + 1), .double(0x1.fffffffffffffp62), .int(.max - 1), .int(.max), .double(0x1p63),
      .double(.infinity),
    ]
    for (place, value) in ascending.enumerated() {
      let below = Query.Predicate(.init(.init("k"), .compare(.less, .value(value))))
      for (other, smaller) in ascending.enumerated() {
        let record = try stored(smaller)
        #expect(below.matches(record) == (other < place), "\(smaller) < \(value)")
      }
    }
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
