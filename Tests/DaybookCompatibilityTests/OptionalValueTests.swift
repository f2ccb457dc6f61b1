#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  @Suite("optional values and places of both coders")
  struct OptionalValueTests {
    /// As many projects have one.
    @propertyWrapper struct Wrap<Value: Codable & Equatable>: Codable, Equatable {
      var wrappedValue: Value
      init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
      init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Value.self) }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
      }
    }

    struct Optionals: CustomCloudKitCodable, CKCodable, Equatable {
      var cloudKitSystemFields: Data? { nil }
      var cloudKitRecordType: String { "Optionals" }
      var cloudKitIdentifier: String { "optionals" }
      @Wrap var number: Int? = 5
      @Wrap var text: String? = "t"
      @Wrap var isOn: Bool? = true
      @Wrap var id: UUID? = UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")
      @Wrap var double: Double? = 2.5
    }

    @Test("an optional in a property wrapper was stored, and read as nil")
    func optionals() async throws {
      let record = try CloudKitRecordEncoder().encode(Optionals())
      #expect(try CloudKitRecordDecoder().decode(Optionals.self, from: record) == Optionals())
      try await Scratch.container { container in
        let record = try #require(try CKRecordEncoder().encode(Optionals()).last)
        let back = try await CKRecordDecoder().decode(
          Optionals.self, from: record, referenceDatabase: container.privateCloudDatabase)
        #expect(back == Optionals())
      }
    }

    struct Spot: CKCodable, Equatable {
      var cloudKitRecordType: String { "Spot" }
      var cloudKitIdentifier: String { "spot" }
      var place = Location(latitude: 48.25, longitude: 16.5, altitude: 300)
      var places = [Location(latitude: 1, longitude: 2, altitude: 3), Location(latitude: 4, longitude: 5)]
      var text = "48.25;16.5"
      var maybe: String? = "1.5;2.5"
      var texts = ["48.25;16.5", "1.5;2.5"]
    }

    @Test("a place lost its altitude, because every place was made a text")
    func places() async throws {
      try await Scratch.container { container in
        let record = try #require(try CKRecordEncoder().encode(Spot()).last)
        let back = try await CKRecordDecoder().decode(
          Spot.self, from: record, referenceDatabase: container.privateCloudDatabase)
        #expect(back == Spot())
      }
    }
  }
#endif
