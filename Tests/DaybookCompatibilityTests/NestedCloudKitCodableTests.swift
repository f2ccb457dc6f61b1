#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Testing

  // What NestedCloudKitCodable promises beyond the snippets of its README.

  final class Member: CKCodable {
    var cloudKitRecordType: String { "Member" }
    var cloudKitIdentifier: String { name }
    var name: String
    var friend: Member?
    var photo: Data?

    init(_ name: String) { self.name = name }
    func ignoredProperties() -> [String] { name == "shy" ? ["photo"] : [] }
    func cloudKitReferenceActions() -> [String: CKRecord.Reference.Action] { ["friend": .none] }
  }

  struct Box: CKCodable, Equatable {
    var cloudKitRecordType: String { kind }
    var cloudKitIdentifier: String { id }
    var id: String
    var kind = "Box"
    var inner: [Box] = []
    var place: String?
    var places: [String]?
    var file: URL?
  }

  @Suite("the names of NestedCloudKitCodable")
  struct NestedCloudKitCodableTests {
    @Test("N1: nested records first, the root last, each once, in the zone of the encoder")
    func order() throws {
      let zone = CKRecordZone.ID(zoneName: "Boxes")
      let shared = Box(id: "shared")
      let root = Box(id: "root", inner: [Box(id: "a", inner: [shared]), Box(id: "b", kind: "Crate", inner: [shared])])
      let records = try CKRecordEncoder(zoneID: zone).encode(root)
      #expect(records.map(\.recordID.recordName) == ["shared", "a", "b", "root"])
      #expect(records.map(\.recordType) == ["Box", "Box", "Crate", "Box"])
      #expect(records.allSatisfy { $0.recordID.zoneID == zone })
      #expect((records[3]["inner"] as? [CKRecord.Reference])?.first?.recordID.zoneID == zone)
      #expect((records[0]["inner"] as? [CKRecord.Reference])?.isEmpty == true)
    }

    @Test("N2: two different values of one identifier are refused")
    func conflicts() throws {
      let root = Box(id: "root", inner: [Box(id: "a"), Box(id: "a", place: "1;2")])
      do {
        _ = try CKRecordEncoder().encode(root)
        Issue.record("it was encoded")
      } catch let error as CKCodableError {
        #expect(error.errorType == .cloudkitInconsistence)
      }
      #expect(throws: CKCodableError(.typeMismatch)) { try CKRecordEncoder().encode(Box(id: "")) }
      #expect(throws: CKCodableError(.typeMismatch)) { try CKRecordEncoder().encode(Box(id: "a", kind: "not a type")) }
    }

    @Test("N3: ignored properties are not written; N4: each property has its action")
    func rules() throws {
      let shy = Member("shy")
      shy.photo = Data([1])
      let bold = Member("bold")
      bold.photo = Data([2])
      shy.friend = bold
      let records = try CKRecordEncoder().encode(shy)
      #expect(records.last?["photo"] == nil)
      #expect((records.last?["friend"] as? CKRecord.Reference)?.action == CKRecord.Reference.Action.none)
      #expect(records.first?["photo"] is CKAsset)
    }

    @Test("N6: a text of latitude and longitude is a location, N7: several are a list, and other texts stay texts")
    func places() async throws {
      try await Scratch.container { container in
        let box = Box(id: "a", place: "48.2;16.37", places: ["1.5;2.5", "3.25;4.5"])
        let record = try #require(try CKRecordEncoder().encode(box).last)
        #expect((record["place"] as? CLLocation)?.coordinate.longitude == 16.37)
        #expect((record["places"] as? [CLLocation])?.map(\.coordinate.latitude) == [1.5, 3.25])
        let decoded = try await CKRecordDecoder().decode(
          Box.self, from: record, referenceDatabase: container.privateCloudDatabase)
        #expect(decoded == box)
        for text in ["", ";", "a;b", "1;2;3", "100;0", "nan;0", "Vienna; Austria"] {
          #expect(try CKRecordEncoder().encode(Box(id: "a", place: text)).last?["place"] == text)
        }
      }
    }

    @Test("N9: everything that is referred to is fetched, however deep, and N11: what is missing is an error with its path")
    func fetched() async throws {
      // A Daybook database under these names: CloudKit's dialect refuses an empty list in a field that it has never seen.
      let database = CKDatabase(try Database.inMemory())
      var root = Box(id: "depth0")
      for depth in 1...600 { root = Box(id: "depth\(depth)", inner: [root, Box(id: "leaf\(depth)")]) }
      let records = try CKRecordEncoder().encode(root)
      #expect(records.count == 1201)
      for start in stride(from: 0, to: records.count, by: 400) {
        let part = Array(records[start..<min(records.count, start + 400)])
        for (_, result) in try await database.modifyRecords(saving: part, deleting: []).saveResults { _ = try result.get() }
      }
      let record = try await database.record(for: CKRecord.ID(recordName: "depth600"))
      let decoded = try await CKRecordDecoder().decode(Box.self, from: record, referenceDatabase: database)
      #expect(decoded.inner.map(\.id) == ["depth599", "leaf600"])

      let lonely = CKRecord(recordType: "Box")
      lonely["id"] = "lonely"
      lonely["kind"] = "Box"
      lonely["inner"] = [CKRecord.Reference(recordID: CKRecord.ID(recordName: "missing"), action: .none)]
      do {
        _ = try await CKRecordDecoder().decode(Box.self, from: lonely, referenceDatabase: database)
        Issue.record("it was decoded")
      } catch let error as CKCodableError {
        #expect(error.errorType == .recordNotFound)
        #expect(error.recordID?.recordName == "missing")
        #expect(error.path == ["inner", "0"])
      }
      lonely["inner"] = 5
      await #expect(throws: CKCodableError(.typeMismatch)) {
        try await CKRecordDecoder().decode(Box.self, from: lonely, referenceDatabase: database)
      }
      lonely["inner"] = [CKRecord.Reference(recordID: CKRecord.ID(recordName: "depth1"), action: .none)]
      await #expect(throws: CKCodableError(.cloudkitError)) {
        try await CKRecordDecoder().decode(
          Box.self, from: lonely, referenceDatabase: CKContainer(identifier: "none").publicCloudDatabase)
      }
    }

    @Test("N known bug: objects in a circle end, when they are encoded and when they are decoded")
    func circles() async throws {
      try await Scratch.container { container in
        let ana = Member("ana")
        let bia = Member("bia")
        ana.friend = bia
        bia.friend = ana
        let records = try CKRecordEncoder().encode(ana)
        #expect(records.map(\.recordID.recordName) == ["bia", "ana"])
        let database = container.publicCloudDatabase
        for (_, result) in try await database.modifyRecords(saving: records, deleting: []).saveResults { _ = try result.get() }
        let decoded = try await CKRecordDecoder().decode(Member.self, from: records[1], referenceDatabase: database)
        #expect(decoded.friend?.name == "bia")
        #expect(decoded.friend?.friend == nil)
        ana.friend = nil
        bia.friend = nil
      }
    }

    @Test("a file is an asset before anybody looks for it, and bytes are assets whose content comes back")
    func files() async throws {
      try await Scratch.container { container in
        let box = Box(id: "a", file: URL(fileURLWithPath: "/nowhere/picture.png"))
        let record = try #require(try CKRecordEncoder().encode(box).last)
        #expect((record["file"] as? CKAsset)?.fileURL?.path == "/nowhere/picture.png")
        let database = container.publicCloudDatabase
        #expect(try await CKRecordDecoder().decode(Box.self, from: record, referenceDatabase: database) == box)

        let member = Member("ana")
        member.photo = Data([1, 2, 3])
        let saved = try await database.save(#require(try CKRecordEncoder().encode(member).last))
        let stored = try await database.record(for: saved.recordID)
        #expect(
          try await CKRecordDecoder().decode(Member.self, from: stored, referenceDatabase: database).photo == Data([1, 2, 3]))
      }
    }
  }
#endif
