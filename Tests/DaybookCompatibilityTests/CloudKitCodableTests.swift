#if !canImport(CloudKit)
  import DaybookCompatibility
  import Testing

  // What CloudKitCodable does beyond its README, and what its own tests ask of it.

  struct Model: CustomCloudKitCodable, Hashable {
    enum Text: String, CloudKitStringEnum, CaseIterable { case first, second }
    enum Number: Int, CloudKitIntEnum, CaseIterable { case zero, one }
    enum Strict: String, CloudKitStringEnum {
      case only
      static var cloudKitFallbackCase: Strict? { nil }
    }
    struct Child: Codable, Hashable {
      var name: String
      var link = "a/b"
    }

    var cloudKitSystemFields: Data?
    var text = Text.second
    var optionalText: Text?
    var number = Number.one
    var strict: Strict?
    var child: Child?
    var children: [Child] = []
    var tags = ["a", "b"]
    var scores = [1, 2]
    var data = Data([0xFF])
    var id = UUID()
    var seen = true
    var links = [URL(string: "https://example.com")!]
  }

  struct Named: CustomCloudKitCodable {
    var cloudKitSystemFields: Data?
    var cloudKitIdentifier: String
    var cloudKitRecordType: String { "NamedThing" }
    let name: String
  }

  struct Drawing: CustomCloudKitCodable, Hashable {
    struct Contents: Identifiable, Hashable, CloudKitAssetValue {
      var id: String
      var lines: [Int]
    }
    struct Binary: Hashable, CloudKitAssetValue {
      static var preferredContentType: UTType { .binaryPropertyList }
      var lines: [Int]
    }
    var cloudKitSystemFields: Data?
    var title: String
    var contents: Contents
    var binary: Binary?
  }

  @Suite("the names of CloudKitCodable")
  struct CloudKitCodableTests {
    private func again<T: CustomCloudKitCodable>(_ value: T) throws -> T {
      try CloudKitRecordDecoder().decode(T.self, from: CloudKitRecordEncoder().encode(value))
    }

    @Test("C3: a type may be only encodable, only decodable, or neither of the two protocols")
    func protocols() throws {
      struct Out: CustomCloudKitEncodable {
        var cloudKitSystemFields: Data?
        var name = "a"
      }
      struct In: CustomCloudKitDecodable {
        var cloudKitSystemFields: Data?
        var name: String
      }
      struct Plain: Codable { var name: String }
      let record = try CloudKitRecordEncoder().encode(Out())
      #expect(record.recordType == "Out")
      #expect(try CloudKitRecordDecoder().decode(In.self, from: record).name == "a")
      #expect(try CloudKitRecordDecoder().decode(Plain.self, from: record).name == "a")
      #expect(try CloudKitRecordEncoder().encode(Plain(name: "b")).recordType == "Plain")
    }

    @Test("C4: a decoded value has system fields, and is saved again as the same record")
    func systemFields() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        var model = Model(optionalText: .first)
        try await database.save(CloudKitRecordEncoder().encode(model))
        let query = CKQuery(recordType: "Model", predicate: NSPredicate(value: true))
        let found = try #require(try await database.records(matching: query).matchResults.first)
        model = try CloudKitRecordDecoder().decode(Model.self, from: found.1.get())
        model.optionalText = nil
        let record = try CloudKitRecordEncoder().encode(model)
        #expect(record.recordID == found.0)
        #expect(record.recordChangeTag != nil)
        #expect(record["cloudKitSystemFields"] == nil)
        try await database.save(record)
        // What is nil is taken away from the stored record.
        #expect(try await database.record(for: found.0)["optionalText"] == nil)
      }
    }

    @Test("C6: the record type is the name of the type, or what the type says; another one in the system fields is an error")
    func types() throws {
      let record = try CloudKitRecordEncoder().encode(Named(cloudKitIdentifier: "a", name: "b"))
      #expect(record.recordType == "NamedThing")
      let model = Model(cloudKitSystemFields: try again(Named(cloudKitIdentifier: "a", name: "b")).cloudKitSystemFields)
      #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode(model) }
    }

    @Test("C11: the identifier is the name of the record, and comes back from there")
    func identifiers() throws {
      let zone = CKRecordZone.ID(zoneName: "ABCDE", ownerName: CKCurrentUserDefaultName)
      let record = try CloudKitRecordEncoder(zoneID: zone).encode(Named(cloudKitIdentifier: "MY-ID", name: "b"))
      #expect(record.recordID == CKRecord.ID(recordName: "MY-ID", zoneID: zone))
      #expect(try CloudKitRecordDecoder().decode(Named.self, from: record).cloudKitIdentifier == "MY-ID")
    }

    @Test("C12: the zone is that of new records; system fields go before it")
    func zones() throws {
      let zone = CKRecordZone.ID(zoneName: "ABCDE")
      let first = try CloudKitRecordEncoder(zoneID: zone).encode(Model())
      #expect(first.recordID.zoneID == zone)
      let decoded = try CloudKitRecordDecoder().decode(Model.self, from: first)
      #expect(try CloudKitRecordEncoder(zoneID: CKRecordZone.ID(zoneName: "Other")).encode(decoded).recordID == first.recordID)
    }

    @Test("C13: enums are raw values, unknown ones the fallback, and refused without one")
    func enums() throws {
      let record = try CloudKitRecordEncoder().encode(Model(optionalText: .second, strict: .only))
      #expect(record["text"] == "second")
      #expect(record["number"] == 1)
      record["text"] = "of a newer version"
      record["number"] = 99
      record["optionalText"] = "of a newer version"
      let decoded = try CloudKitRecordDecoder().decode(Model.self, from: record)
      #expect(decoded.text == .first)
      #expect(decoded.number == .zero)
      #expect(decoded.optionalText == .first)
      record["strict"] = "of a newer version"
      #expect(throws: DecodingError.self) { try CloudKitRecordDecoder().decode(Model.self, from: record) }
    }

    @Test("C14: nested values are JSON, an array of them one text, nil is absent")
    func nested() throws {
      let record = try CloudKitRecordEncoder().encode(Model(child: .init(name: "b"), children: [.init(name: "c")]))
      #expect(record["child"] == Data(#"{"link":"a/b","name":"b"}"#.utf8))
      #expect(record["children"] == Data(#"[{"link":"a/b","name":"c"}]"#.utf8))
      #expect(try CloudKitRecordEncoder().encode(Model())["child"] == nil)
    }

    @Test("C15: arrays of plain values are lists, and everything comes back equal")
    func roundTrip() throws {
      let model = Model(optionalText: .first, child: .init(name: "b"), children: [.init(name: "c")])
      let record = try CloudKitRecordEncoder().encode(model)
      #expect(record["tags"] as? [String] == ["a", "b"])
      #expect(record["scores"] as? [Int] == [1, 2])
      var decoded = try CloudKitRecordDecoder().decode(Model.self, from: record)
      decoded.cloudKitSystemFields = nil
      #expect(decoded == model)
    }

    @Test("C16: a nested value as an asset has a file with its type and identity, and comes back from the database")
    func assets() async throws {
      try await Scratch.container { container in
        let drawing = Drawing(title: "a", contents: .init(id: "MyID", lines: [1, 2]), binary: .init(lines: [3]))
        let record = try CloudKitRecordEncoder().encode(drawing)
        let file = try #require((record["contents"] as? CKAsset)?.fileURL)
        #expect(file.lastPathComponent == "Contents-MyID.json")
        #expect(try Data(contentsOf: file) == Data(#"{"id":"MyID","lines":[1,2]}"#.utf8))
        #expect((record["binary"] as? CKAsset)?.fileURL?.pathExtension == "plist")
        try await container.privateCloudDatabase.save(record)
        let stored = try await container.privateCloudDatabase.record(for: record.recordID)
        var decoded = try CloudKitRecordDecoder().decode(Drawing.self, from: stored)
        decoded.cloudKitSystemFields = nil
        #expect(decoded == drawing)
        // An identity that came from anywhere does not choose the folder.
        let hostile = Drawing(title: "a", contents: .init(id: "/../../../etc/x", lines: []))
        #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode(hostile) }
      }
    }

    @Test("several files are a list of assets, and come back from the database in their order")
    func files() async throws {
      struct Album: CustomCloudKitCodable {
        var cloudKitSystemFields: Data?
        var pictures: [URL]
      }
      try await Scratch.container { container in
        let album = Album(pictures: [try Scratch.file("one"), try Scratch.file("two")])
        let record = try CloudKitRecordEncoder().encode(album)
        #expect((record["pictures"] as? [CKAsset])?.map(\.fileURL) == album.pictures)
        #expect(try CloudKitRecordDecoder().decode(Album.self, from: record).pictures == album.pictures)
        try await container.privateCloudDatabase.save(record)
        let stored = try await container.privateCloudDatabase.record(for: record.recordID)
        let decoded = try CloudKitRecordDecoder().decode(Album.self, from: stored)
        #expect(try decoded.pictures.map { try String(contentsOf: $0, encoding: .utf8) } == ["one", "two"])
        // Files that are not there yet are as good, until the record is saved.
        let missing = Album(pictures: [URL(fileURLWithPath: "/nowhere/a"), URL(fileURLWithPath: "/nowhere/b")])
        let promised = try CloudKitRecordEncoder().encode(missing)
        #expect(try CloudKitRecordDecoder().decode(Album.self, from: promised).pictures == missing.pictures)
        do {
          try await container.privateCloudDatabase.save(promised)
          Issue.record("it was saved without its files")
        } catch CKError.assetFileNotFound {
        }
      }
    }

    @Test("C17: a field of a million bytes is refused with key and size")
    func tooLarge() throws {
      do {
        _ = try CloudKitRecordEncoder().encode(Model(data: Data(count: 1_000_000)))
        Issue.record("it was encoded")
      } catch CloudKitRecordEncodingError.dataFieldTooLarge(let key, let size) {
        #expect(key == "data")
        #expect(size == 1_000_000)
      }
    }

    @Test("C18: what no field can hold is refused by its key")
    func unsupported() throws {
      struct Large: CustomCloudKitEncodable {
        var cloudKitSystemFields: Data?
        var number = UInt64.max
      }
      struct Odd: CustomCloudKitEncodable {
        var cloudKitSystemFields: Data?
        var number = Double.nan
        enum CodingKeys: String, CodingKey { case number = "a number" }
      }
      do {
        _ = try CloudKitRecordEncoder().encode(Large())
        Issue.record("it was encoded")
      } catch CloudKitRecordEncodingError.unsupportedValueForKey(let key) {
        #expect(key == "number")
      }
      #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode(Odd()) }
      #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode([1, 2]) }
    }

    @Test("values of one record were not equal: their system fields were other bytes each time")
    func equalValues() throws {
      let record = try CloudKitRecordEncoder().encode(Model())
      let values = try (0..<50).map { _ in try CloudKitRecordDecoder().decode(Model.self, from: record) }
      #expect(Set(values).count == 1)
      let coder = try NSKeyedUnarchiver(forReadingFrom: #require(values[0].cloudKitSystemFields))
      coder.requiresSecureCoding = true
      #expect(CKRecord(coder: coder)?.recordID == record.recordID)
      #expect(try CloudKitRecordEncoder().encode(values[0]).recordID == record.recordID)
    }

    @Test("C19: a Boolean is 0 or 1")
    func booleans() throws {
      let record = try CloudKitRecordEncoder().encode(Model(seen: false))
      #expect(record["seen"] as? Int == 0)
      #expect(try CloudKitRecordDecoder().decode(Model.self, from: record).seen == false)
      record["seen"] = 2
      #expect(throws: DecodingError.self) { try CloudKitRecordDecoder().decode(Model.self, from: record) }
    }

    @Test("properties of the names that DaybookCoding reserves are fields here")
    func reserved() throws {
      struct Odd: CustomCloudKitCodable {
        var cloudKitSystemFields: Data?
        var systemFields: String
      }
      struct Named: CustomCloudKitEncodable {
        var cloudKitSystemFields: Data?
        var recordName = "a"
      }
      let record = try CloudKitRecordEncoder().encode(Odd(systemFields: "a"))
      #expect(record["systemFields"] == "a")
      #expect(try CloudKitRecordDecoder().decode(Odd.self, from: record).systemFields == "a")
      // CloudKit has this name for itself, and what no record can have is an error.
      #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode(Named()) }
      struct Optional: CustomCloudKitCodable, CKCodable {
        var cloudKitSystemFields: Data?
        var cloudKitIdentifier = "a"
        var parent: String?
        var recordName: String?
        var title = "b"
      }
      let fields = try CloudKitRecordEncoder().encode(Optional())
      #expect(fields["title"] == "b" && !fields.changedKeys().contains("parent"))
      #expect(try CKRecordEncoder().encode(Optional()).last?["title"] == "b")
    }
  }
#endif
