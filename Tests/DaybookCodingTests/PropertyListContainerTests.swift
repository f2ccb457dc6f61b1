import Daybook
import DaybookCoding
import Foundation
import Testing

// Property lists that a type reads by hand.

@Suite("property lists in nested containers")
struct PropertyListContainerTests {
  private struct Trip: RecordCodable, Equatable {
    var recordName = "t"
    var first = Date(timeIntervalSinceReferenceDate: 1)
    var link = URL(string: "https://a.b")!
    var counts: [Int?] = [1, nil]
    struct Loan: Codable, Equatable {
      var day: Date
      var link: URL
    }
    enum CodingKeys: CodingKey { case recordName, loan, counts }

    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      let loan = try container.nestedContainer(keyedBy: LoanKeys.self, forKey: .loan)
      first = try loan.decode(Date.self, forKey: .day)
      link = try loan.decode(URL.self, forKey: .link)
      var list = try container.nestedUnkeyedContainer(forKey: .counts)
      counts = []
      while !list.isAtEnd { counts.append(try list.decodeNil() ? nil : list.decode(Int.self)) }
    }
    enum LoanKeys: CodingKey { case day, link }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(Loan(day: first, link: link), forKey: .loan)
      try container.encode(counts, forKey: .counts)
    }
  }

  private static let formats = RecordCodingOptions.AssetFormat.allCases

  private func options(_ format: RecordCodingOptions.AssetFormat) -> RecordCodingOptions {
    var options = RecordCodingOptions()
    options.nested = .asset(format)
    return options
  }

  @Test("a property list could not be read through a nested container", arguments: formats)
  func nested(_ format: RecordCodingOptions.AssetFormat) throws {
    let record = try RecordEncoder(options: options(format)).encode(Trip())
    #expect(record["loan"] as Asset? != nil && record["counts"] as Asset? != nil)
    #expect(try RecordDecoder(options: options(format)).decode(Trip.self, from: record) == Trip())
  }

  @Test("what is no list in a property list is refused with the path to the key")
  func mismatch() throws {
    var record = try RecordEncoder(options: options(.binaryPropertyList)).encode(Trip())
    record["loan"] = record["counts"] as Asset?
    let error = refusal { try RecordDecoder().decode(Trip.self, from: record) }
    #expect(error?.code == .typeMismatch && error?.path == ["loan"], "\(String(describing: error))")
  }
}
