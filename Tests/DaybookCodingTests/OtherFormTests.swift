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
}
