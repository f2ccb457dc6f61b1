import Foundation
import Testing

@testable import Daybook
@testable import DaybookCoding

// Predicates and least values of properties that options give another form in records.

@Suite("properties in another form")
struct OtherFormTests {
  private static let day = Date(timeIntervalSince1970: 5)

  struct Days: RecordCodable {
    var recordName = "d"
    var set: Set<Date> = [day]
    var list: [Date]? = [day]
    var plain = [day]
    var bytes: Set<Data> = [Data([1])]
    var moreBytes: [Data]? = [Data([1])]
    var numbers = [1.0, .nan]
    var number: Double? = 1
  }

  @Test("predicates on sets and optional lists of what is stored in another form found nothing")
  func lists() throws {
    let database = try Database.inMemory()
    var options = RecordCodingOptions()
    options.dates = .iso8601
    options.data = .base64
    options.notANumber = .text("none")
    try database.save(Days(), options: options)
    let (day, bytes) = (Self.day, Data([1]))
    for predicate in [
      #Predicate<Days> { $0.set.contains(day) }, #Predicate { $0.list?.contains(day) ?? false },
      #Predicate { $0.list == [day] },
      #Predicate { $0.plain.contains(day) }, #Predicate { $0.bytes.contains(bytes) },
      #Predicate { $0.moreBytes?.contains(bytes) ?? false }, #Predicate { $0.numbers.contains(1.0) },
      #Predicate { $0.numbers.contains { $0 == 1 } },
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.count(Days.self, where: predicate, options: options) }
      #expect(error?.message.contains("another form") == true)
    }
    #expect(try database.count(Days.self, where: #Predicate { $0.number == 1 }, options: options) == 1)
  }

  struct Ruled: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["day": .date(.native), "bytes": .data(.bytes)]
    var recordName: String
    var day: Date
    var bytes = Data([1])
  }

  @Test("the least value of a property whose rule goes before the option did not decode")
  func least() throws {
    let database = try Database.inMemory()
    var options = RecordCodingOptions()
    options.dates = .iso8601
    options.data = .base64
    for number in 1...3 {
      try database.save(Ruled(recordName: "\(number)", day: Date(timeIntervalSince1970: Double(number))), options: options)
    }
    #expect(try database.minimum(of: \Ruled.day, options: options) == Date(timeIntervalSince1970: 1))
    #expect(try database.maximum(of: \Ruled.day, options: options) == Date(timeIntervalSince1970: 3))
    #expect(try database.distinctValues(of: \Ruled.bytes, options: options).map(\.value) == [Data([1])])
  }

  struct Missing: RecordCodable, RecordKeyPaths {
    static let fieldRules: [String: FieldRule] = [
      "day": .default(.double(1000)), "blob": .default("AQ=="), "days": .default(.doubles([1000])),
      "other": .default(.double(1)),
      "count": .default(3),
    ]
    static var recordKeyPaths: [String: PartialKeyPath<Missing>] { ["other": \.late] }
    enum CodingKeys: String, CodingKey { case recordName, day, blob, days, late = "other", count }
    var recordName: String
    var day = Date(timeIntervalSince1970: 1000)
    var blob = Data([1])
    var days = [Date(timeIntervalSince1970: 1000)]
    var late = Date(timeIntervalSince1970: 1)
    var count = 3
  }

  @Test("predicates on properties that have a default and are stored in another form found nothing")
  func defaults() throws {
    let database = try Database.inMemory()
    var options = RecordCodingOptions()
    options.dates = .secondsSince1970
    options.data = .base64
    try database.save([Missing(recordName: "a"), Missing(recordName: "b", count: 4)], options: options)
    let (day, blob) = (Date(timeIntervalSince1970: 1000), Data([1]))
    for predicate in [
      #Predicate<Missing> { $0.day == day }, #Predicate { $0.day > day }, #Predicate { $0.blob == blob },
      #Predicate { $0.days.contains(day) }, #Predicate { $0.day != day }, #Predicate { $0.late == day },
    ] {
      let error = #expect(throws: DatabaseError.self) {
        try database.count(Missing.self, where: predicate, options: options)
      }
      #expect(error?.message.contains("another form") == true)
    }
    #expect(throws: DatabaseError.self) { try database.minimum(of: \Missing.day, options: options) }
    #expect(try database.count(Missing.self, where: #Predicate { $0.count == 3 }, options: options) == 1)
    #expect(try database.count(Missing.self, where: #Predicate { $0.day == day }) == 0)
  }

  struct Loose: RecordCodable {
    enum Kind: String, Codable { case film, series }
    var recordName = "l"
    var kinds: [Kind] = [.film]
    var kindSet: Set<Kind> = [.film]
    var maybe: [Kind]? = [.film]
    var flags = [true]
    var texts = ["a"]
    var small: [Int8] = [1]
    var ids = [UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")!]
    var days: Set<Date> = [day]
    var kind = Kind.film
  }

  @Test(
    "predicates on lists that are property lists found nothing",
    arguments: [RecordCodingOptions.AssetFormat.xmlPropertyList, .binaryPropertyList, .json])
  func propertyLists(_ format: RecordCodingOptions.AssetFormat) throws {
    let database = try Database.inMemory()
    var options = RecordCodingOptions()
    options.nested = .asset(format)
    try database.save(Loose(), options: options)
    let (film, small, day, id) = (Loose.Kind.film, Int8(1), Self.day, Loose().ids[0])
    for predicate in [
      #Predicate<Loose> { $0.kinds.contains(film) }, #Predicate { $0.kindSet.contains(film) },
      #Predicate { $0.maybe?.contains(film) ?? false }, #Predicate { $0.flags.contains(true) },
    ] {
      if format == .json {
        #expect(try database.count(Loose.self, where: predicate, options: options) == 1)
      } else {
        let error = #expect(throws: DatabaseError.self) {
          try database.count(Loose.self, where: predicate, options: options)
        }
        #expect(error?.message.contains("another form") == true)
      }
    }
    for predicate in [
      #Predicate<Loose> { $0.texts.contains("a") }, #Predicate { $0.small.contains(small) }, #Predicate { $0.ids.contains(id) },
      #Predicate { $0.days.contains(day) }, #Predicate { $0.kind == film },
    ] {
      #expect(try database.count(Loose.self, where: predicate, options: options) == 1)
    }
  }
}
