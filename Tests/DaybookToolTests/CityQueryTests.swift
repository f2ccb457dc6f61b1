import Daybook
import Foundation
import Testing

@testable import DaybookTool

// The bundled cities, asked in text, beside loops that know nothing of predicates.

@Suite("queries of cities")
struct CityQueryTests {
  struct City: Sendable {
    let name, region, district, country: String
    let latitude, longitude: Double

    /// Kilometres over the ground, by the law of cosines: another formula than the library's.
    func kilometres(_ latitude: Double, _ longitude: Double) -> Double {
      let radians = Double.pi / 180
      let (a, b) = (self.latitude * radians, latitude * radians)
      let cosine = sin(a) * sin(b) + cos(a) * cos(b) * cos((longitude - self.longitude) * radians)
      return 6371.0088 * acos(min(1, max(-1, cosine)))
    }

    /// Words between anything that is no letter or digit, in small letters. An apostrophe within is part of a word.
    var words: Set<String> {
      var words = Set<String>()
      for text in [name, region, district, country] {
        for piece in text.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "'" }) {
          words.insert(piece.trimmingCharacters(in: ["'"]))
        }
      }
      return words
    }
  }

  struct Question: Sendable, CustomTestStringConvertible {
    let text: String
    let accepts: @Sendable (City) -> Bool
    init(_ text: String, _ accepts: @escaping @Sendable (City) -> Bool) { (self.text, self.accepts) = (text, accepts) }
    var testDescription: String { text }
  }

  private static let database: Database? = try? filled()
  /// The same, where each field has an index of each kind.
  private static let indexed: Database? = try? {
    let database = try filled()
    for key in ["name", "admin1", "admin2", "cc", "number", "latitude", "parts", "location"] {
      try database.setIndex([.queryable, .sortable, .searchable, .location], on: key, ofType: "City")
    }
    return database
  }()

  private static func filled() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (index, city) in cities.enumerated() {
        var record = try Record(type: "City", id: Record.ID("city\(index)"))
        record["name"] = city.name
        if !city.region.isEmpty { record["admin1"] = city.region }
        if !city.district.isEmpty { record["admin2"] = city.district }
        record["cc"] = city.country
        record["number"] = index
        record["latitude"] = city.latitude
        record["parts"] = city.name.split(separator: " ").map { String($0) }
        record["location"] = Location(latitude: city.latitude, longitude: city.longitude)
        try transaction.save(record)
      }
    }
    return database
  }

  /// None of the cells has a comma or a quote in it.
  static let cities: [City] = CitiesExtract.csv.split(separator: "\n").dropFirst().map { line in
    let cells = line.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    return City(
      name: cells[2], region: cells[3], district: cells[4], country: cells[5], latitude: Double(cells[0]) ?? 0,
      longitude: Double(cells[1]) ?? 0)
  }

  static let questions: [Question] = [
    .init("TRUEPREDICATE") { _ in true },
    .init("FALSEPREDICATE") { _ in false },
    .init("cc = 'DE'") { $0.country == "DE" },
    .init("'DE' == cc") { $0.country == "DE" },
    .init("cc != 'DE'") { $0.country != "DE" },
    .init("cc <> 'CN' AND cc <> 'DE'") { $0.country != "CN" && $0.country != "DE" },
    .init("cc ==[c] 'de'") { $0.country == "DE" },
    .init("NOT cc = 'DE'") { $0.country != "DE" },
    .init("!(cc = 'DE' OR cc = 'CN')") { $0.country != "DE" && $0.country != "CN" },
    .init("cc IN {'AT', 'CH', 'DE'}") { ["AT", "CH", "DE"].contains($0.country) },
    .init("NOT cc IN {'AT', 'CH', 'DE'}") { !["AT", "CH", "DE"].contains($0.country) },
    .init("ANY {'AT', 'NA'} = cc") { ["AT", "NA"].contains($0.country) },
    .init("cc IN {'AD','AF','AL','AM','AR','AS','AT','AU','AX','BA'}") {
      ["AD", "AF", "AL", "AM", "AR", "AS", "AT", "AU", "AX", "BA"].contains($0.country)
    },
    .init("cc = 'NA'") { $0.country == "NA" },
    .init("cc BETWEEN {'A', 'C'}") { $0.country >= "A" && $0.country <= "C" },
    .init("cc < 'C'") { $0.country < "C" },
    .init("cc >= 'T'") { $0.country >= "T" },
    .init("name BEGINSWITH 'San'") { $0.name.hasPrefix("San") },
    .init("name BEGINSWITH[c] 'san'") { $0.name.lowercased().hasPrefix("san") },
    .init("name ENDSWITH 'burg'") { $0.name.hasSuffix("burg") },
    .init("name CONTAINS 'in'") { $0.name.contains("in") },
    .init("name CONTAINS[cd] 'ST'") { $0.name.lowercased().contains("st") },
    .init("name LIKE 'S*a'") { $0.name.hasPrefix("S") && $0.name.hasSuffix("a") && $0.name.count > 1 },
    .init("name LIKE '?????'") { $0.name.unicodeScalars.count == 5 },
    .init("name LIKE '*an*an*'") { $0.name.components(separatedBy: "an").count > 2 },
    .init("name = ''") { $0.name.isEmpty },
    .init("name > 'W' AND name < 'Z'") { $0.name > "W" && $0.name < "Z" },
    .init("admin2 = nil") { $0.district.isEmpty },
    .init("admin2 != nil") { !$0.district.isEmpty },
    .init("admin2 != 'x'") { !$0.district.isEmpty },
    .init("NOT admin2 BEGINSWITH 'P'") { !$0.district.hasPrefix("P") },
    .init("latitude > 60") { $0.latitude > 60 },
    .init("latitude BETWEEN {-10, 10}") { $0.latitude >= -10 && $0.latitude <= 10 },
    .init("-10.5 < latitude AND latitude <= 0") { $0.latitude > -10.5 && $0.latitude <= 0 },
    .init("latitude = 27") { $0.latitude == 27 },
    .init("latitude < 0 AND cc BEGINSWITH 'A'") { $0.latitude < 0 && $0.country.hasPrefix("A") },
    .init("latitude > 50 OR latitude < -30") { $0.latitude > 50 || $0.latitude < -30 },
    .init("latitude > 50 AND (cc = 'DE' OR cc = 'GB' OR cc = 'PL')") {
      $0.latitude > 50 && ["DE", "GB", "PL"].contains($0.country)
    },
    .init("latitude > 'x'") { _ in false },
    .init("parts CONTAINS 'Santa'") { $0.name.split(separator: " ").contains("Santa") },
    .init("'de' IN parts") { $0.name.split(separator: " ").contains("de") },
    .init("ANY parts BEGINSWITH 'M'") { $0.name.split(separator: " ").contains { $0.hasPrefix("M") } },
    .init("ANY parts LIKE '??'") { $0.name.split(separator: " ").contains { $0.unicodeScalars.count == 2 } },
    .init("NOT ANY parts > 'B'") { !$0.name.split(separator: " ").contains { $0 > "B" } },
    .init("parts = {'San', 'Jose'}") { $0.name == "San Jose" },
    .init("self CONTAINS 'santa'") { $0.words.contains("santa") },
    .init("self CONTAINS 'santa bavaria'") { $0.words.contains("santa") || $0.words.contains("bavaria") },
    .init("self CONTAINS 'the of'") { _ in false },
    .init("allTokens TOKENMATCHES[cdl] 'PROVINCE'") { $0.words.contains("province") },
    .init("self CONTAINS 'lower' AND self CONTAINS 'austria'") { $0.words.isSuperset(of: ["lower", "austria"]) },
    .init("ALL tokenize:using:('lower austria', 'cdl') IN allTokens") { $0.words.isSuperset(of: ["lower", "austria"]) },
    .init("admin1 TOKENMATCHES[cdl] 'austria'") { $0.region.lowercased().split(separator: " ").contains("austria") },
    .init("self CONTAINS 'jose' AND NOT cc = 'CR'") { $0.words.contains("jose") && $0.country != "CR" },
    .init("distanceToLocation:fromLocation:(location, location(48.2, 16.37)) < 500") { $0.kilometres(48.2, 16.37) < 500 },
    .init("distanceToLocation:fromLocation:(location, location(0.0, 180.0)) <= 3000") { $0.kilometres(0, 180) <= 3000 },
    .init("distanceToLocation:fromLocation:(location, location(-90, 0)) < 6000") { $0.kilometres(-90, 0) < 6000 },
    .init("distanceToLocation:fromLocation:(location, location(48.2, 16.37)) > 10000") { $0.kilometres(48.2, 16.37) > 10_000 },
    .init("distanceToLocation:fromLocation:(location, location(52.5, 13.4)) < 300 AND cc = 'PL'") {
      $0.kilometres(52.5, 13.4) < 300 && $0.country == "PL"
    },
    .init("recordName = 'city7'") { $0.name == cities[7].name && $0.latitude == cities[7].latitude },
    .init("creationDate < now() AND recordType = 'City' AND cc = 'FR'") { $0.country == "FR" },
  ]

  @Test("a question in text finds what a loop finds", arguments: questions)
  func answers(question: Question) throws {
    #expect(Self.cities.count == CitiesExtract.rowCount)
    let predicate = try Query.Predicate(format: question.text)
    #expect(try Query.Predicate(format: predicate.description) == predicate)
    let expected = Self.cities.indices.filter { question.accepts(Self.cities[$0]) }
    for database in [try #require(Self.database), try #require(Self.indexed)] {
      let records = try database.records(Query("City", where: predicate))
      #expect(records.map { $0["number"] ?? -1 } == expected)
      #expect(try database.count(Query("City", where: predicate)) == expected.count)
      let sorted = try database.records(Query("City", where: predicate, sort: [.descending("latitude")], limit: 5))
      let byLatitude = expected.map { Self.cities[$0].latitude }.sorted(by: >)
      #expect(sorted.map { $0["latitude"] ?? 0 } == Array(byLatitude.prefix(5)))
      let countries = try database.distinctValues(of: "cc", for: Query("City", where: predicate))
      #expect(Set(countries.map(\.value)) == Set(expected.map { .string(Self.cities[$0].country) }))
      #expect(countries.reduce(0) { $0 + $1.count } == expected.count)
    }
  }

  @Test("there are questions of at least forty kinds, and most find something")
  func kinds() throws {
    #expect(Self.questions.count >= 40)
    let found = Self.questions.filter { question in Self.cities.contains { question.accepts($0) } }
    #expect(found.count >= 50)
  }

  @Test("the words of the cities' texts, and circles around them, come from indexes")
  func plans() throws {
    let database = try #require(Self.indexed)
    let near = Query(
      "City", where: try Query.Predicate(format: "distanceToLocation:fromLocation:(location, location(48.2, 16.37)) < 100"))
    #expect(try database.explain(near).indexKind == .location)
    #expect(try database.explain(Query("City", where: .tokens("Wien"))).index == "admin1, admin2, cc, name, parts")
  }

  @Test("the nearest come first")
  func nearest() throws {
    let database = try #require(Self.database)
    let place = Location(latitude: 48.2, longitude: 16.37)
    let records = try database.records(Query("City", sort: [.distance(of: "location", from: place)], limit: 20))
    let expected = Self.cities.indices.sorted {
      Self.cities[$0].kilometres(48.2, 16.37) < Self.cities[$1].kilometres(48.2, 16.37)
    }
    #expect(records.map { $0["number"] ?? -1 } == Array(expected.prefix(20)))
  }
}
