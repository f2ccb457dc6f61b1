import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// Foundation's predicates as predicates on records: the text of each operator, and the same answers for random values.

private enum Genre: String, CaseIterable, Codable {
  case drama, comedy
}

private enum Grade: Int, Comparable, Codable {
  case low = 2
  case high = 1
  static func < (first: Grade, second: Grade) -> Bool { first == .low && second == .high }
}

private struct Person: Equatable {
  var name: String
  var isAlive: Bool
}

private struct Movie: RecordKeyPaths {
  var id: String
  var title: String
  var subtitle: String?
  var year: Int
  var rating: Double?
  var rank: Int?
  var isSeen: Bool
  var isGood: Bool?
  var tags: [String]
  var numbers: [Int]?
  var labels: Set<String>
  var added: Date
  var token: UUID
  var genre: Genre
  var other: Genre?
  var grade: Grade
  var director: Person?
  var producer: Person
  var price: Decimal
  var count: UInt64
  var upper: String { title.uppercased() }

  static var recordKeyPaths: [String: PartialKeyPath<Movie>] {
    ["recordName": \.id, "director_name": \.director!.name, "producer_name": \.producer.name, "capitals": \.upper]
  }
}

@Suite("predicates of Foundation")
struct FoundationPredicateTests {
  private func text(
    _ predicate: Predicate<Movie>, is expected: String, at location: SourceLocation = #_sourceLocation
  ) throws {
    let translated = try Query.Predicate(predicate)
    #expect(translated.description == expected, sourceLocation: location)
    #expect(try Query.Predicate(format: translated.description) == translated, sourceLocation: location)
  }

  private func refusal(
    _ predicate: Predicate<Movie>, names expected: String, at location: SourceLocation = #_sourceLocation
  ) {
    do throws(DatabaseError) {
      let translated = try Query.Predicate(predicate)
      Issue.record("\(translated)", sourceLocation: location)
    } catch {
      #expect(error.code == .invalidArguments, sourceLocation: location)
      #expect("\(error)".contains(expected), "\(error)", sourceLocation: location)
    }
  }

  @Test("== and !=")
  func equality() throws {
    try text(#Predicate { $0.year == 2000 }, is: "year == 2000")
    try text(#Predicate { 2000 == $0.year }, is: "year == 2000")
    try text(#Predicate { $0.year != 2000 }, is: "year != 2000")
    try text(#Predicate { $0.title == "D" }, is: "title == 'D'")
    try text(#Predicate { $0.rank == 5 }, is: "rank == 5")
    try text(#Predicate { $0.tags == ["a", "b"] }, is: "tags == {'a', 'b'}")
    let none: [String] = []
    try text(#Predicate { $0.tags == none }, is: "tags == CAST({}, 'strings')")
  }

  @Test("an optional that is another value may be nil")
  func optionalInequality() throws {
    try text(#Predicate { $0.rank != 5 }, is: "NOT (rank == 5)")
    try text(#Predicate { $0.rank! != 5 }, is: "rank != 5")
  }

  @Test("isEmpty of a text")
  func isEmpty() throws {
    try text(#Predicate { $0.title.isEmpty }, is: "title == ''")
    try text(#Predicate { !$0.title.isEmpty }, is: "NOT (title == '')")
    try text(#Predicate { $0.subtitle?.isEmpty == true }, is: "subtitle == ''")
    try text(#Predicate { ($0.subtitle ?? "").isEmpty }, is: "subtitle == nil OR subtitle == ''")
    try text(#Predicate { $0.tags.contains { $0.isEmpty } }, is: "ANY tags == ''")
  }

  @Test("<, <=, > and >=")
  func order() throws {
    try text(#Predicate { $0.year < 2000 }, is: "year < 2000")
    try text(#Predicate { $0.year <= 2000 }, is: "year <= 2000")
    try text(#Predicate { $0.year > 2000 }, is: "year > 2000")
    try text(#Predicate { $0.year >= 2000 }, is: "year >= 2000")
    try text(#Predicate { 2000 < $0.year }, is: "year > 2000")
    try text(#Predicate { $0.title > "D" }, is: "title > 'D'")
    try text(#Predicate { $0.rating! > 0.5 }, is: "rating > 0.5")
  }

  @Test("&&, ||, ! and conditions")
  func joins() throws {
    try text(#Predicate { $0.year > 2000 && $0.isSeen }, is: "year > 2000 AND isSeen == 1")
    try text(#Predicate { $0.year > 2000 || $0.isSeen }, is: "year > 2000 OR isSeen == 1")
    try text(#Predicate { !($0.year > 2000 || $0.isSeen) }, is: "NOT (year > 2000 OR isSeen == 1)")
    try text(
      #Predicate { $0.isSeen ? $0.year > 5 : $0.year < 3 },
      is: "(isSeen == 1 AND year > 5) OR (NOT (isSeen == 1) AND year < 3)")
    try text(#Predicate { ($0.year > 2000) == false }, is: "NOT (year > 2000)")
  }

  @Test("Booleans")
  func booleans() throws {
    try text(#Predicate { $0.isSeen }, is: "isSeen == 1")
    try text(#Predicate { !$0.isSeen }, is: "NOT (isSeen == 1)")
    try text(#Predicate { $0.isSeen == false }, is: "isSeen == 0")
    try text(#Predicate { $0.isGood == true }, is: "isGood == 1")
    try text(#Predicate { $0.isGood ?? false }, is: "isGood == 1")
    try text(#Predicate { $0.isGood ?? true }, is: "isGood == nil OR isGood == 1")
    try text(#Predicate { _ in true }, is: "TRUEPREDICATE")
    try text(Predicate<Movie>.false, is: "FALSEPREDICATE")
  }

  @Test("ranges")
  func ranges() throws {
    try text(#Predicate { (1...5).contains($0.year) }, is: "year BETWEEN {1, 5}")
    try text(#Predicate { (1..<5).contains($0.year) }, is: "year >= 1 AND year < 5")
    let (closed, open, from) = (0.5...1.5, 0.5..<1.5, 5...)
    try text(#Predicate { closed.contains($0.rating!) }, is: "rating BETWEEN {0.5, 1.5}")
    try text(#Predicate { open.contains($0.rating!) }, is: "rating >= 0.5 AND rating < 1.5")
    try text(#Predicate { from.contains($0.year) }, is: "year >= 5")
    try text(#Predicate { (1...5).contains($0.rank ?? 3) }, is: "(rank == nil OR rank >= 1) AND (rank == nil OR rank <= 5)")
  }

  @Test("one of several constants")
  func lists() throws {
    try text(#Predicate { [1, 2].contains($0.year) }, is: "year IN {1, 2}")
    let set: Set = [3]
    try text(#Predicate { set.contains($0.year) }, is: "year IN {3}")
    let optionals = [1, nil]
    try text(#Predicate { optionals.contains($0.rank) }, is: "rank IN {1} OR rank == nil")
    let none: [Int] = []
    try text(#Predicate { none.contains($0.year) }, is: "FALSEPREDICATE")
  }

  @Test("texts that begin with another one, or have it in them")
  func texts() throws {
    try text(#Predicate { $0.title.starts(with: "D") }, is: "title BEGINSWITH 'D'")
    try text(#Predicate { $0.title.contains("une") }, is: "title CONTAINS 'une'")
    try text(#Predicate { $0.subtitle?.contains("x") == true }, is: "subtitle CONTAINS 'x'")
    try text(#Predicate { $0.subtitle?.starts(with: "x") ?? false }, is: "subtitle BEGINSWITH 'x'")
    try text(#Predicate { $0.subtitle?.starts(with: "x") ?? true }, is: "subtitle == nil OR subtitle BEGINSWITH 'x'")
    try text(#Predicate { ($0.subtitle ?? "x").starts(with: "x") }, is: "subtitle == nil OR subtitle BEGINSWITH 'x'")
    try text(
      #Predicate { $0.subtitle?.starts(with: "x") == false }, is: "NOT (subtitle == nil) AND NOT (subtitle BEGINSWITH 'x')")
    try text(#Predicate { $0.subtitle?.contains("x") == nil }, is: "subtitle == nil")
    try text(#Predicate { $0.subtitle?.contains("x") != true }, is: "NOT (subtitle CONTAINS 'x')")
  }

  @Test("lists with an element")
  func elements() throws {
    try text(#Predicate { $0.tags.contains("a") }, is: "tags CONTAINS 'a'")
    try text(#Predicate { $0.labels.contains("a") }, is: "labels CONTAINS 'a'")
    try text(#Predicate { $0.numbers?.contains(3) == true }, is: "numbers CONTAINS 3")
    try text(#Predicate { ($0.numbers ?? []).contains(3) }, is: "numbers CONTAINS 3")
    try text(#Predicate { $0.tags.contains { $0.starts(with: "a") } }, is: "ANY tags BEGINSWITH 'a'")
    try text(#Predicate { $0.tags.contains { $0 == "a" || $0 > "x" } }, is: "ANY tags == 'a' OR ANY tags > 'x'")
    refusal(#Predicate { $0.tags.contains { $0 > "a" && $0 < "x" } }, names: "SequenceContainsWhere")
    refusal(#Predicate { movie in movie.tags.contains { $0 == "a" || movie.year > 3 } }, names: "SequenceContainsWhere")
  }

  @Test("nil, optional chaining and ??")
  func optionals() throws {
    try text(#Predicate { $0.rank == nil }, is: "rank == nil")
    try text(#Predicate { $0.rank != nil }, is: "NOT (rank == nil)")
    let (none, some): (Int?, Int?) = (nil, 4)
    try text(#Predicate { $0.rank == none }, is: "rank == nil")
    try text(#Predicate { $0.rank == some }, is: "rank == 4")
    try text(#Predicate { ($0.rank ?? 0) > 5 }, is: "rank > 5")
    try text(#Predicate { ($0.rank ?? 9) > 5 }, is: "rank == nil OR rank > 5")
    try text(#Predicate { ($0.rank ?? 9) != 5 }, is: "NOT (rank == 5)")
    try text(#Predicate { ($0.rank ?? 5) != 5 }, is: "NOT (rank == nil OR rank == 5)")
    try text(#Predicate { if let rank = $0.rank { rank > 5 } else { false } }, is: "rank > 5")
    try text(#Predicate { $0.rank != nil && $0.rank! > 5 }, is: "NOT (rank == nil) AND rank > 5")
  }

  @Test("declared keys, also of values within others")
  func keys() throws {
    try text(#Predicate { $0.id == "a" }, is: "recordName == 'a'")
    try text(#Predicate { $0.upper == "A" }, is: "capitals == 'A'")
    try text(#Predicate { $0.producer.name == "A" }, is: "producer_name == 'A'")
    try text(#Predicate { $0.director?.name == "A" }, is: "director_name == 'A'")
    try text(#Predicate { $0.director?.name != "A" }, is: "NOT (director_name == 'A')")
    try text(#Predicate { $0.director!.name == "A" }, is: "director_name == 'A'")
    refusal(#Predicate { $0.director?.name.contains("A") == true }, names: "director")
    refusal(#Predicate { $0.producer.isAlive }, names: "recordKeyPaths")
    refusal(#Predicate { $0.director == nil }, names: "director")
    refusal(#Predicate { $0.title.count > 3 }, names: "found: .count")
    refusal(#Predicate { $0.tags.isEmpty }, names: "found: .isEmpty")
    refusal(#Predicate { $0.labels.first == "a" }, names: "found: .first")
  }

  @Test("a property that is declared under another's name takes the name from it")
  func takenName() {
    struct Taken: RecordKeyPaths {
      var year: Int
      var released: Int
      static var recordKeyPaths: [String: PartialKeyPath<Taken>] { ["year": \.released] }
    }
    #expect(throws: DatabaseError.self) { try Query.Predicate(#Predicate<Taken> { $0.year > 3 }) }
    #expect(try! Query.Predicate(#Predicate<Taken> { $0.released > 3 }).description == "year > 3")
  }

  @Test("constants of variables: numbers, dates, UUIDs, enums, calculations")
  func constants() throws {
    let (year, date, token) = (1999, Date(timeIntervalSinceReferenceDate: 5), UUID())
    try text(#Predicate { $0.year > year - 5 * 2 }, is: "year > 1989")
    try text(#Predicate { $0.year > -year }, is: "year > -1999")
    try text(#Predicate { $0.added < date }, is: "added < CAST(5.0, 'NSDate')")
    try text(#Predicate { $0.token == token }, is: "token == '\(token.uuidString)'")
    try text(#Predicate { [token].contains($0.token) }, is: "token IN {'\(token.uuidString)'}")
    let (drama, high) = (Genre.drama, Grade.high)
    try text(#Predicate { $0.genre == drama }, is: "genre == 'drama'")
    try text(#Predicate { $0.other == drama }, is: "other == 'drama'")
    try text(#Predicate { $0.other != nil }, is: "NOT (other == nil)")
    try text(#Predicate { $0.grade == high }, is: "grade == 1")
    try text(#Predicate { year > 5 && $0.year > year }, is: "year > 1999")
    let isWanted = false
    try text(#Predicate { isWanted || $0.year == 3 }, is: "year == 3")
    let nan = Double.nan
    try text(#Predicate { $0.rating == nan }, is: "FALSEPREDICATE")
    try text(#Predicate { $0.rating != nan }, is: "TRUEPREDICATE")
  }

  @Test("what has no counterpart is refused, and named")
  func refusals() {
    refusal(#Predicate { $0.year == $0.rank! }, names: "Equal")
    refusal(#Predicate { $0.year < $0.rank! }, names: "Comparison")
    refusal(#Predicate { $0.year + 1 > 5 }, names: "Arithmetic")
    refusal(#Predicate { $0.year % 2 == 0 }, names: "IntRemainder")
    refusal(#Predicate { $0.tags.allSatisfy { $0 == "a" } }, names: "SequenceAllSatisfy")
    refusal(#Predicate { $0.tags.filter { $0 == "a" }.contains("b") }, names: "Filter")
    refusal(#Predicate { $0.tags[0] == "a" }, names: "CollectionIndexSubscript")
    refusal(#Predicate { "Dune".contains($0.title) }, names: "CollectionContainsCollection")
    refusal(#Predicate { $0.tags.starts(with: ["a"]) }, names: "SequenceStartsWith")
    let (low, price, labels, count, most) = (Grade.low, Decimal(5), Set(["a"]), UInt64.max, Int.max)
    refusal(#Predicate { $0.grade > low }, names: "order")
    refusal(#Predicate { $0.price == price }, names: "Decimal")
    refusal(#Predicate { $0.price > price }, names: "Comparison")
    refusal(#Predicate { $0.labels == labels }, names: "Set<String>")
    refusal(#Predicate { $0.count == count }, names: "9223372036854775807")
    refusal(#Predicate { $0.year > most + 1 }, names: "Arithmetic")
    let none: Int? = nil
    refusal(#Predicate { $0.year > none! }, names: "ForcedUnwrap")
    #expect(throws: DatabaseError.self) { try Query.Predicate(#Predicate<Int> { $0 > 3 }) }
  }

  @Test("a property of no size has to be declared")
  func withoutSize() {
    enum Only: String, Codable { case one }
    struct Value { var only: Only }
    let one = Only.one
    #expect(throws: DatabaseError.self) { try Query.Predicate(#Predicate<Value> { $0.only == one }) }
  }
}

// The same answers.

private struct Sample: Identifiable {
  var id: String
  var title: String
  var subtitle: String?
  var year: Int
  var rank: Int?
  var rating: Double?
  var small: Float
  var isSeen: Bool
  var isGood: Bool?
  var tags: [String]
  var numbers: [Int]?
  var added: Date
  var token: UUID
  var genre: Genre
  var other: Genre?

  static let tokens = (0..<3).map { UUID(uuid: (UInt8($0) * 90, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }

  init(number: Int, random: inout SeededGenerator) {
    func text(_ random: inout SeededGenerator) -> String {
      String((0..<Int.random(in: 0...3, using: &random)).map { _ in "abXé".randomElement(using: &random)! })
    }
    func isThere(_ random: inout SeededGenerator) -> Bool { Bool.random(using: &random) }
    id = "n\(number)"
    title = text(&random)
    subtitle = isThere(&random) ? text(&random) : nil
    year = Int.random(in: -3...6, using: &random)
    rank = isThere(&random) ? Int.random(in: -3...6, using: &random) : nil
    rating = isThere(&random) ? [-0.0, 0, 0.5, 1, 3, .infinity, -.infinity].randomElement(using: &random)! : nil
    small = [0.1, 0.25, 1e10].randomElement(using: &random)!
    isSeen = Bool.random(using: &random)
    isGood = isThere(&random) ? Bool.random(using: &random) : nil
    tags = (0..<Int.random(in: 0...2, using: &random)).map { _ in text(&random) }
    numbers =
      isThere(&random) ? (0..<Int.random(in: 0...2, using: &random)).map { _ in Int.random(in: 0...3, using: &random) } : nil
    added = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -2...2, using: &random)))
    token = Self.tokens.randomElement(using: &random)!
    genre = Genre.allCases.randomElement(using: &random)!
    other = isThere(&random) ? Genre.allCases.randomElement(using: &random)! : nil
  }

  /// As `DaybookCoding` stores it.
  func record() throws -> Record {
    var record = try Record(type: "Sample", id: Record.ID(id))
    record["id"] = .string(id)
    record["title"] = .string(title)
    record["subtitle"] = subtitle.map { .string($0) }
    record["year"] = .int(Int64(year))
    record["rank"] = rank.map { .int(Int64($0)) }
    record["rating"] = rating.map { .double($0) }
    record["small"] = .double(Double(small))
    record["isSeen"] = .int(isSeen ? 1 : 0)
    record["isGood"] = isGood.map { .int($0 ? 1 : 0) }
    record["tags"] = .strings(tags)
    record["numbers"] = numbers.map { .ints($0.map { Int64($0) }) }
    record["added"] = .date(added)
    record["token"] = .string(token.uuidString)
    record["genre"] = .string(genre.rawValue)
    record["other"] = other.map { .string($0.rawValue) }
    return record
  }

  /// A predicate of each kind, with random constants.
  static func predicates(_ random: inout SeededGenerator) -> [Predicate<Sample>] {
    let number = Int.random(in: -4...7, using: &random)
    let upper = number + Int.random(in: 0...3, using: &random)
    let text = ["", "a", "b", "X", "é", "ab", "aX"].randomElement(using: &random)!
    let double = [-0.0, 0.5, 1, 2.5, .infinity, .nan].randomElement(using: &random)!
    let float: Float = [0.1, 0.25, 2].randomElement(using: &random)!
    let date = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -3...3, using: &random)))
    let token = tokens.randomElement(using: &random)!
    let genre = Genre.allCases.randomElement(using: &random)!
    let optional: Int? = Bool.random(using: &random) ? number : nil
    let optionals = [optional, upper]
    let flag = Bool.random(using: &random)
    return [
      #Predicate { $0.year == number }, #Predicate { $0.year != number }, #Predicate { $0.year < number },
      #Predicate { $0.year <= number }, #Predicate { $0.year > number }, #Predicate { number <= $0.year },
      #Predicate { $0.rank == number }, #Predicate { $0.rank != number }, #Predicate { $0.rank == optional },
      #Predicate { $0.rank != optional }, #Predicate { ($0.rank ?? number) < upper },
      #Predicate { ($0.rank ?? upper) != number },
      #Predicate { $0.rank != nil && $0.rank! >= number }, #Predicate { $0.rank == nil || $0.rank! >= number },
      #Predicate { if let rank = $0.rank { rank > number } else { flag } },
      #Predicate { $0.rank.flatMap { $0 == number } == flag }, #Predicate { $0.rank.flatMap { $0 != number } != flag },
      #Predicate { $0.rating == double }, #Predicate { $0.rating != double }, #Predicate { ($0.rating ?? 1) < double },
      #Predicate { ($0.rating ?? 1) >= double }, #Predicate { !(($0.rating ?? 1) >= double) }, #Predicate { $0.small == float },
      #Predicate { $0.small >= float }, #Predicate { $0.title == text }, #Predicate { $0.title != text },
      #Predicate { $0.title < text }, #Predicate { $0.title >= text }, #Predicate { $0.title.starts(with: text) },
      #Predicate { $0.title.contains(text) }, #Predicate { !$0.title.contains(text) }, #Predicate { $0.subtitle == text },
      #Predicate { $0.subtitle?.contains(text) == true }, #Predicate { $0.subtitle?.contains(text) == false },
      #Predicate { $0.subtitle?.contains(text) != true }, #Predicate { $0.subtitle?.contains(text) == nil },
      #Predicate { $0.subtitle?.starts(with: text) ?? flag }, #Predicate { ($0.subtitle ?? text).starts(with: "a") },
      #Predicate { ($0.subtitle ?? "b") == text }, #Predicate { !(($0.subtitle ?? "b") == text) },
      #Predicate { (number...upper).contains($0.year) }, #Predicate { (number..<upper).contains($0.year) },
      #Predicate { (number...upper).contains($0.rank ?? number) }, #Predicate { !(number..<upper).contains($0.rank ?? upper) },
      #Predicate { [number, upper].contains($0.year) }, #Predicate { optionals.contains($0.rank) },
      #Predicate { !optionals.contains($0.rank) }, #Predicate { ["a", text].contains($0.title) },
      #Predicate { $0.tags.contains(text) }, #Predicate { !$0.tags.contains(text) },
      #Predicate { $0.tags.contains { $0.starts(with: text) } }, #Predicate { $0.tags.contains { $0 != text || $0 < "b" } },
      #Predicate { $0.tags == ["a", text] }, #Predicate { $0.tags != [text] },
      #Predicate { $0.numbers?.contains(number) == flag },
      #Predicate { ($0.numbers ?? [number]).contains(number) }, #Predicate { $0.numbers == [number] },
      #Predicate { $0.numbers != [number] }, #Predicate { $0.isSeen }, #Predicate { !$0.isSeen },
      #Predicate { $0.isSeen == flag },
      #Predicate { $0.isSeen != flag }, #Predicate { $0.isGood ?? flag }, #Predicate { $0.isGood == flag },
      #Predicate { $0.isGood != flag }, #Predicate { $0.added < date }, #Predicate { $0.added == date },
      #Predicate { $0.token == token }, #Predicate { $0.token != token }, #Predicate { $0.token < token },
      #Predicate { $0.genre == genre }, #Predicate { $0.genre != genre }, #Predicate { $0.other == genre },
      #Predicate { $0.other != genre }, #Predicate { $0.other == nil }, #Predicate { [genre].contains($0.genre) },
      #Predicate { $0.isSeen ? $0.year > number : $0.rank == nil },
      #Predicate { $0.year > number && ($0.title.starts(with: text) || $0.rank == nil) && !$0.isSeen },
      #Predicate { !($0.year > number || !($0.isGood ?? true)) || flag && $0.rank != upper },
    ]
  }
}

extension FoundationPredicateTests {
  @Test("a query finds the records whose values Foundation's predicate accepts", arguments: 0..<4 as Range<UInt64>)
  func sameAnswers(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let database = try Database.scratch(seed: seed)
    let samples = (0..<150).map { Sample(number: $0, random: &random) }
    try database.write { transaction in
      for sample in samples { try transaction.save(try sample.record()) }
    }
    var accepted = 0
    for _ in 0..<10 {
      for predicate in Sample.predicates(&random) {
        let expected = try samples.filter { try predicate.evaluate($0) }.map(\.id)
        let translated = try Query.Predicate(predicate)
        let found = try database.records(Query("Sample", where: translated)).map(\.id.name)
        #expect(Set(found) == Set(expected), "\(predicate)\n\(translated)")
        accepted += expected.isEmpty || expected.count == samples.count ? 0 : 1
      }
    }
    #expect(accepted > 400)
  }
}
