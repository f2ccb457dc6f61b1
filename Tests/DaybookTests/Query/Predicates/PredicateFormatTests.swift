import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// The text form: what is accepted and what it means, what is refused and where.

@Suite("predicates as text")
struct PredicateFormatTests {
  private let here = Location(latitude: 29.6, longitude: 35.4)

  private func read(
    _ text: String, _ arguments: any RecordValueConvertible..., sourceLocation: SourceLocation = #_sourceLocation
  )
    -> Query.Predicate?
  {
    do { return try Query.Predicate(format: text, arguments: arguments) } catch {
      Issue.record("\(text): \(error)", sourceLocation: sourceLocation)
      return nil
    }
  }

  @Test("every operator has its spellings")
  func operators() {
    let year: Query.Field = .field("year")
    for text in ["year = 1", "year == 1", "1 == year", "(year) = 1", "year=1", "\tyear\n=  1 "] {
      #expect(read(text) == (year == 1))
    }
    for text in ["year >= 1", "year => 1", "1 <= year"] { #expect(read(text) == (year >= 1)) }
    for text in ["year <= 1", "year =< 1", "1 >= year"] { #expect(read(text) == (year <= 1)) }
    for text in ["year < 1", "1 > year"] { #expect(read(text) == (year < 1)) }
    for text in ["year > 1", "1 < year"] { #expect(read(text) == (year > 1)) }
    for text in ["year != 1", "year <> 1", "1 != year"] { #expect(read(text) == (year != 1)) }
    #expect(read("year BETWEEN {1, 5}") == year.between(1, 5))
    #expect(read("year between { 1 , 5 }") == year.between(1...5))
    #expect(read("year IN {1, 2}") == year.isIn([1, 2]))
    #expect(read("{1, 2} CONTAINS year") == year.isIn([1, 2]))
    #expect(read("ANY {1, 2} = year") == year.isIn([1, 2]))
    #expect(read("genres CONTAINS 'Drama'") == .field("genres").contains("Drama"))
    #expect(read("'Drama' IN genres") == .field("genres").contains("Drama"))
    #expect(read("ANY genres = 'Drama'") == (.field("genres").any == "Drama"))
    #expect(read("SOME genres BEGINSWITH 'D'") == .field("genres").any.hasPrefix("D"))
    #expect(read("NONE genres = 'Drama'") == !(.field("genres").any == "Drama"))
    #expect(read("title BEGINSWITH 'D'") == .field("title").hasPrefix("D"))
    #expect(read("title ENDSWITH[cd] 'D'") == .field("title").hasSuffix("D", options: [.ignoringCase, .ignoringAccents]))
    #expect(read("title LIKE[c] 'D*e?'") == .field("title").isLike("D*e?", options: .ignoringCase))
    #expect(read("title ==[c] 'dune'") == .field("title").isEqual(to: "dune", options: .ignoringCase))
    #expect(read("title = nil") == .field("title").isAbsent)
    #expect(read("title != NULL") == !.field("title").isAbsent)
    #expect(read("TRUEPREDICATE") == .true)
    #expect(read("falsepredicate") == .false)
  }

  @Test("and, or, not bind as they do everywhere")
  func joins() {
    let (a, b, c): (Query.Predicate, Query.Predicate, Query.Predicate) = (.field("a") == 1, .field("b") == 2, .field("c") == 3)
    #expect(read("a = 1 AND b = 2 && c = 3") == .all([a, b, c]))
    #expect(read("a = 1 OR b = 2 AND c = 3") == (a || b && c))
    #expect(read("(a = 1 || b = 2) AND c = 3") == ((a || b) && c))
    #expect(read("NOT a = 1 AND b = 2") == (!a && b))
    #expect(read("!(a = 1 AND b = 2)") == !(a && b))
    #expect(read("NOT NOT a = 1") == a)
    #expect(read("((a = 1))") == a)
    #expect(read("NOT(a=1)") == !a)
  }

  @Test("arguments are values, numbers and keys")
  func substitution() throws {
    let id = try Record.ID("dune", in: Zone.ID("Library"))
    #expect(read("title BEGINSWITH %@", "D") == .field("title").hasPrefix("D"))
    #expect(read("%K > %d", "year", 2000) == (.field("year") > 2000))
    #expect(read("rating > %f", 7) == (.field("rating") > 7))
    #expect(read("rating > %ld AND rating < %lf", 7, 7.5) == (.field("rating") > 7 && .field("rating") < 7.5))
    #expect(read("director = %@", id) == (.field("director") == id))
    #expect(read("director = %@", Record.Reference(id, action: .deleteSelf)) == (.field("director") == Record.Reference(id)))
    #expect(read("year IN %@", [1, 2]) == .field("year").isIn([1, 2]))
    #expect(read("year BETWEEN %@", [1, 2]) == .field("year").between(1, 2))
    #expect(read("year BETWEEN {%d, %@}", 1, 2) == .field("year").between(1, 2))
    #expect(read("seen = %@", true) == (.field("seen") == 1))
    #expect(read("%@ IN genres", "Drama") == .field("genres").contains("Drama"))
    #expect(read("title = '%@'") == (.field("title") == "%@"))
    #expect(
      read("distanceToLocation:fromLocation:(location, %@) < %f", here, 500)
        == Query.Predicate(Query.Condition(.field("location"), .distance(.less, from: here, kilometres: 500))))
    #expect(read("500 >= distanceToLocation:fromLocation:(%@, location)", here) == .field("location").near(here, within: 500))
  }

  @Test("words are searched for in the ways that CloudKit documents")
  func words() {
    #expect(read("self CONTAINS 'blue sky'") == .tokens("blue sky"))
    #expect(read("self contains %@", "blue sky") == .tokens("blue sky"))
    #expect(read("allTokens TOKENMATCHES[cdl] %@", "blue") == .tokens("blue"))
    #expect(read("title TOKENMATCHES[cdl] 'blue'") == .field("title").tokens("blue"))
    #expect(read("ALL tokenize:using:('blue sky', 'cdl') IN allTokens") == (.tokens("blue") && .tokens("sky")))
    #expect(read("ANY tokenize(%@, 'Cdl') IN allTokens", "blue sky") == .tokens("blue sky"))
    #expect(read("self CONTAINS 'a' AND self CONTAINS 'b'") == (.tokens("a") && .tokens("b")))
  }

  @Test("constants are quoted, escaped, dates, places, references, lists")
  func constants() throws {
    let title: Query.Field = .field("title")
    #expect(read("title = \"it's\"") == (title == "it's"))
    #expect(read(#"title = 'it\'s \\ \n \t \" é 😀'"#) == (title == "it's \\ \n \t \" é 😀"))
    #expect(read("n = -5") == (.field("n") == -5))
    #expect(read("n = +5") == (.field("n") == 5))
    #expect(read("n = 1.5e3") == (.field("n") == 1500.0))
    #expect(read("n = .5") == (.field("n") == 0.5))
    #expect(read("n = 0xff") == (.field("n") == 255))
    #expect(read("n = -9223372036854775808") == (.field("n") == Int64.min))
    #expect(read("n = TRUE AND n != no") == (.field("n") == 1 && .field("n") != 0))
    let date = Date(timeIntervalSince1970: 1_631_736_000)
    for text in ["2021-09-15T20:00:00Z", "2021-09-15T22:00+02:00", "2021-09-15 20:00:00.000"] {
      #expect(read("d < CAST('\(text)', 'NSDate')") == (.field("d") < date))
    }
    #expect(read("d < CAST('2000-02-29', 'NSDate')") == (.field("d") < Date(timeIntervalSince1970: 951_782_400)))
    #expect(read("d < CAST('1969-12-31T23:59:59Z', 'NSDate')") == (.field("d") < Date(timeIntervalSince1970: -1)))
    #expect(read("d < now()") == Query.Predicate(Query.Condition(.field("d"), .compare(.less, .now))))
    #expect(read("b = CAST('AQI=', 'NSData')") == (.field("b") == Data([1, 2])))
    #expect(read("l = {'a', \"b\"}") == (.field("l") == ["a", "b"]))
    #expect(read("r = reference('x', 'Z')") == (.field("r") == (try Record.ID("x", in: Zone.ID("Z")))))
    #expect(read("#in = 1 AND #creationDate2 = 2")?.description == "#in == 1 AND creationDate2 == 2")
    #expect(read("___createTime > 1") == (.creationDate > 1))
    #expect(read("recordID = 'dune'") == (.recordName == "dune"))
    #expect(read("creatorUserRecordID = %@", try Record.ID(existing: "_u")) == (.creatorUserRecordID == "_u"))
  }

  /// Text, and where the fault is.
  static let refused: [(String, Int)] = [
    ("", 0), ("year", 4), ("year >", 6), ("year > 1 AND", 12), ("year > > 1", 7), ("(year > 1", 9), ("year > 1)", 8),
    ("year ~ 1", 5), ("year > 1 2", 9), ("1 = 2", 2), ("a = b", 2), ("a.b = 1", 1), ("a + 1 = 2", 2), ("title = 'x", 8),
    ("title MATCHES 'a+'", 6), ("title = $x", 8), ("n = 99999999999999999999", 4), ("n = 1x", 4), ("n IN 5", 5),
    ("n BETWEEN {1}", 10),
    ("n BETWEEN {1, 2, 3}", 10), ("n < nil", 2), ("ALL n = 5", 0), ("n = @count", 4), ("f(n) = 5", 0), ("n IN {{{1}}}", 7),
    ("n = %@", 4), ("n = %q", 4), ("title = “x”", 8), ("title BEGINSWITH 5", 17), ("self = 'x'", 5), ("self > 'x'", 5),
    ("distanceToLocation:fromLocation:(a, b) < 5", 36), ("n = CAST('x', 'NSDate')", 9), ("n = CAST('2021-02-30', 'NSDate')", 9),
    ("title <[c] 'x'", 6), ("title = 'a\\q'", 10), ("a == {1, 'x'}", 2), ("a & b", 2), ("etag = 1", 0), ("title =[x] 'a'", 8),
    ("NOT", 3), ("a = 1 OR OR b = 2", 9), ("ANY {1} > a", 8), ("SUBQUERY(a, $x, $x = 1)", 0), ("a IN b", 5), ("# = 1", 0),
    ("title = 'a\\ud800'", 10), ("x = location(1)", 14), ("x = reference('')", 4), ("\u{0} = 1", 0),
  ]

  @Test("what is refused is refused where it is wrong", arguments: refused)
  func refusals(text: String, offset: Int) {
    let error = failure { try Query.Predicate(format: text) }
    #expect(error?.code == .invalidArguments)
    #expect(error?.facts.offset == offset, "\(text): \(error as Any)")
  }

  @Test("arguments that are left over or of the wrong kind are refused")
  func arguments() {
    #expect(failure { try Query.Predicate(format: "a = 1", 5) }?.facts.size == 1)
    #expect(failure { try Query.Predicate(format: "%K = 1", 5) }?.facts.offset == 0)
    #expect(failure { try Query.Predicate(format: "a = %d", "x") }?.facts.offset == 4)
    #expect(failure { try Query.Predicate(format: "%K = 1", "no key") }?.code == .invalidArguments)
    #expect(failure { try Query.Predicate(format: "a = %@", Double.nan) }?.facts.key == "a")
    #expect(failure { try Query.Predicate(format: "a = %@", Asset(data: Data([1]))) }?.facts.key == "a")
  }

  @Test("nesting has a limit, and long texts have none")
  func depth() throws {
    let deep = String(repeating: "(", count: 100_000) + "a = 1" + String(repeating: ")", count: 100_000)
    #expect(failure { try Query.Predicate(format: deep) }?.message == "The predicate is nested too deeply.")
    #expect(failure { try Query.Predicate(format: String(repeating: "NOT ", count: 100_000) + "a = 1") } != nil)
    let long = Array(repeating: "a = 1 OR b = 'x'", count: 20_000).joined(separator: " AND ")
    #expect(try Query.Predicate(format: long).description.utf8.count > 100_000)
    let list = "a IN {" + (0..<50_000).map { "\($0)" }.joined(separator: ", ") + "}"
    #expect(try Query.Predicate(format: list).description == list)
    var predicate: Query.Predicate = .field("a") == 1
    for step in 0..<200 { predicate = step % 2 == 0 ? predicate && .field("b") == 2 : predicate || .field("c") == 3 }
    #expect(predicate.fault?.message == "The predicate is nested too deeply.")
    #expect(throws: (any Error).self) { try JSONEncoder().encode(predicate) }
    let levels = String(repeating: "(a = 1 OR (a = 2 AND ", count: 14) + "a = 3" + String(repeating: "))", count: 14)
    let nested = try Query.Predicate(format: levels)
    #expect(try Query.Predicate(format: nested.description) == nested)
  }
}

@Suite("predicates in Swift")
struct PredicateTests {
  @Test("seven mixed terms type-check at once")
  func sevenTerms() throws {
    let here = Location(latitude: 29.6, longitude: 35.4)
    let query = Query(
      "Movie",
      where: .field("year") > 2000 && .field("title").hasPrefix("D") && !.field("seen").isAbsent
        && (.field("rating") >= 7.5 || .field("genres").contains("Drama")) && .creationDate > Date.distantPast
        && .field("location").near(here, within: 500) && .tokens("dune") && .field("studio") != nil)
    let text = query.predicate.description
    #expect(try Query.Predicate(format: text) == query.predicate)
    #expect(
      text.hasPrefix(
        "year > 2000 AND title BEGINSWITH 'D' AND NOT (seen == nil) AND (rating >= 7.5 OR genres CONTAINS 'Drama')"))
  }

  @Test("typed keys, ranges, lists and nil are conditions")
  func builder() throws {
    let title = Record.Key<String>("title")
    #expect((.field(title) == "x") as Query.Predicate == (Query.Field("title") == "x"))
    let range: Query.Predicate = .field("n").between(1...3)
    #expect(range.description == "n BETWEEN {1, 3}")
    let absent: Query.Predicate = .field("n") == nil
    #expect(absent == .field("n").isAbsent)
    #expect(Query.Predicate.all([]) == .true && Query.Predicate.any([]) == .false)
    let one: Query.Predicate = .field("n") == 1
    #expect(!(!one) == one && Set([one, .field("n") == 1.0]).count == 1)
    #expect(
      Query("Movie", where: one, sort: [.descending("n")], limit: 3).description
        == "Movie where n == 1 sorted by n descending limit 3")
  }

  @Test("an absent field passes no comparison, and its negation passes")
  func absent() throws {
    let record = try Record.fresh("n", ["a": 1])
    for predicate: Query.Predicate in [
      .field("x") == 1, .field("x") != 1, .field("x") < 1, .field("x").isIn([1]), .field("x").hasPrefix(""),
      .field("x").contains(1),
    ] {
      #expect(!predicate.matches(record) && (!predicate).matches(record), "\(predicate)")
    }
    #expect((Query.Field("x") == nil).matches(record) && (Query.Field("a") != nil).matches(record))
  }

  @Test("a value of another kind is not equal, and neither smaller nor larger")
  func kinds() throws {
    let record = try Record.fresh("n", ["a": "5"])
    let a: Query.Field = .field("a")
    #expect((a != 5).matches(record))
    for predicate in [a == 5, a < 5, a > 5, a <= 5, a >= 5, a.between(0, 9)] { #expect(!predicate.matches(record)) }
  }

  @Test("the equality of texts is exact, and regardless of case where CloudKit's is")
  func equality() throws {
    let record = try Record.fresh("n", ["title": "Dune", "tags": .strings(["SciFi"])])
    for predicate: Query.Predicate in [
      .field("title") == "dune", .field("title").isIn(["dune"]), .field("tags").contains("scifi"),
      .field("tags").any == "scifi",
    ] {
      #expect(!predicate.matches(record) && predicate.matches(record, dialect: .cloudKit), "\(predicate)")
    }
    let prefix: Query.Predicate = .field("title").hasPrefix("du")
    #expect(!prefix.matches(record, dialect: .cloudKit))
    #expect(!(Query.Field("title") != "dune").matches(record, dialect: .cloudKit))
  }
}
