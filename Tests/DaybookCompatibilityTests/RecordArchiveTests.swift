#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  // Archives of records with texts that an archive takes for others.

  @Suite("archives of records")
  struct RecordArchiveTests {
    private func archived<T: NSObject & NSCoding>(_ object: T) throws -> T? {
      let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
      return try NSKeyedUnarchiver.unarchivedObject(ofClass: T.self, from: data)
    }

    @Test("an archive of a record with the text $null could not be read", arguments: ["$null", "$", "$class", "", "\u{0}"])
    func text(_ text: String) throws {
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
      record["title"] = text
      record["list"] = ["a", text]
      record["count"] = 3
      record["most"] = Int64.max
      record["share"] = Double.infinity
      record["third"] = 1.0 / 3
      record["zero"] = -0.0
      record["day"] = Date(timeIntervalSinceReferenceDate: 0.1)
      record["bytes"] = Data([0, 255])
      record["place"] = CLLocation(latitude: 1.25, longitude: 2.5)
      record.encryptedValues["secret"] = text
      let back = try #require(try archived(record))
      #expect(back["title"] as? String == text && back["list"] as? [String] == ["a", text])
      #expect(back["count"] as? Int == 3 && back["most"] as? Int64 == .max && back["share"] as? Double == .infinity)
      #expect(back["third"] as? Double == 1.0 / 3 && (back["zero"] as? Double)?.sign == .minus)
      #expect(back["day"] as? Date == Date(timeIntervalSinceReferenceDate: 0.1) && back["bytes"] as? Data == Data([0, 255]))
      #expect((back["place"] as? CLLocation)?.coordinate.longitude == 2.5)
      #expect(back.encryptedValues["secret"] as? String == text)
      #expect(back.changedKeys().sorted() == record.changedKeys().sorted())
    }

    @Test(
      "an archive of a record, a zone or an owner of the name $null could not be read", arguments: ["$null", "$class", "x"])
    func names(_ name: String) throws {
      let zone = CKRecordZone.ID(zoneName: name, ownerName: name)
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
      record["count"] = 3
      let back = try #require(try archived(record))
      #expect(back.recordID == record.recordID && back["count"] as? Int == 3)
    }

    @Test("an archive of a record that came from an archive took stored values away: what had been refused was a removal")
    func refused() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Family")
        try await database.save(zone)
        let parent = CKRecord(recordType: "Parent", zoneID: zone.zoneID)
        let record = CKRecord(recordType: "Note", zoneID: zone.zoneID)
        record["file"] = CKAsset(fileURL: try Scratch.file("content"))
        record["count"] = 7
        record.encryptedValues["secret"] = "hidden"
        record.setParent(parent)
        for (_, result) in try await database.modifyRecords(saving: [parent, record], deleting: []).saveResults {
          _ = try result.get()
        }
        let changes: [(CKError.Code, (CKRecord) throws -> Void)] = [
          (.assetNotAvailable, { $0["file"] = CKAsset(fileURL: try Scratch.file("new")) }),
          (.assetNotAvailable, { $0["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere")) }),
          (.invalidArguments, { $0["count"] = UInt64.max }),
          (.invalidArguments, { $0.encryptedValues["secret"] = [1, "a"] as NSArray }),
          (.invalidArguments, { $0.setParent(CKRecord.ID(recordName: "ü", zoneID: zone.zoneID)) }),
        ]
        for (code, change) in changes {
          var changed = try await database.record(for: record.recordID)
          try change(changed)
          let keys = changed.changedKeys()
          for _ in 0..<3 {
            changed = try #require(try archived(changed))
            #expect(changed.changedKeys() == keys)
            do {
              try await database.save(changed)
              Issue.record("it was saved without what was set")
            } catch let error as CKError { #expect(error.code == code) }
          }
          let stored = try await database.record(for: record.recordID)
          #expect(stored["file"] != nil && stored["count"] as? Int == 7 && stored.parent?.recordID == parent.recordID)
          #expect(stored.encryptedValues["secret"] as? String == "hidden")
          // What is set again can be saved.
          changed["file"] = CKAsset(fileURL: try Scratch.file("content"))
          changed["count"] = 7
          changed.encryptedValues["secret"] = "hidden"
          changed.setParent(parent)
          try await database.save(changed)
        }
      }
    }

    @Test("a record with an encrypted value that cannot be opened could not be saved any more after an archive")
    func sealed() async throws {
      struct Reversing: FieldCipher {
        func seal(_ plaintext: Data, context: Data) throws -> Data { Data(plaintext.reversed()) }
        func open(_ sealed: Data, context: Data) throws -> Data { Data(sealed.reversed()) }
      }
      let path = Scratch.folder.appendingPathComponent("sealed-\(UUID().uuidString).daybook").path
      var options = Database.Options()
      options.cipher = Reversing()
      let id = CKRecord.ID(recordName: "note")
      let sealing = try Database.open(at: path, options: options)
      let record = CKRecord(recordType: "Note", recordID: id)
      record.encryptedValues["secret"] = "hidden"
      record["text"] = "one"
      try await CKDatabase(sealing).save(record)
      try sealing.close()

      let without = try Database.open(at: path)
      let again = try #require(try archived(try await CKDatabase(without).record(for: id)))
      #expect(again.changedKeys() == [] && again.encryptedValues.changedKeys() == [])
      again["text"] = "two"
      try await CKDatabase(without).save(again)
      try without.close()

      let end = try Database.open(at: path, options: options)
      let stored = try await CKDatabase(end).record(for: id)
      #expect(stored["text"] as? String == "two" && stored.encryptedValues["secret"] as? String == "hidden")
      try end.close()
    }

    @Test("a reference that has to have its target lost that in an archive")
    func validated() async throws {
      let database = try Database.inMemory()
      var note = try Record(type: "Note", id: Record.ID("note"))
      note["target"] = Record.Reference(try Record.ID("target"), action: .validate)
      try await database.save([Record(type: "Note", id: Record.ID("target")), note])
      let object = try #require(try archived(try await CKDatabase(database).record(for: CKRecord.ID(recordName: "note"))))
      object["text"] = "new"
      let done = try await CKDatabase(database).modifyRecords(saving: [object], deleting: [], savePolicy: .allKeys)
      _ = try done.saveResults[object.recordID]?.get()
      #expect(try await database.record(note.id)?["target"] == Record.Reference(Record.ID("target"), action: .validate))
    }

    @Test("a cursor of an order by the distance from a place that is nowhere was not in its archive")
    func cursor() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let records = (0..<3).map { _ in CKRecord(recordType: "Note") }
        for record in records { record["place"] = CLLocation(latitude: 1, longitude: 2) }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "TRUEPREDICATE"))
        let nowhere = CLLocation(latitude: .infinity, longitude: -.infinity)
        query.sortDescriptors = [CKLocationSortDescriptor(key: "place", relativeLocation: nowhere)]
        let page = try await database.records(matching: query, resultsLimit: 2)
        let archive = try NSKeyedArchiver.archivedData(
          withRootObject: try #require(page.queryCursor), requiringSecureCoding: true)
        let cursor = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryCursor.self, from: archive))
        let rest = try await database.records(continuingMatchFrom: cursor)
        #expect(Set((page.matchResults + rest.matchResults).map(\.0)) == Set(records.map(\.recordID)))
      }
    }

    @Test("a place could not be archived: the program ended")
    func place() throws {
      let day = Date(timeIntervalSinceReferenceDate: 0.1)
      let places = [
        CLLocation(latitude: 48.2, longitude: -16.37), CLLocation(latitude: .infinity, longitude: -0.0),
        CLLocation(
          coordinate: .init(latitude: 1, longitude: 2), altitude: -3, horizontalAccuracy: 0, verticalAccuracy: -1,
          course: 359.5, speed: 0.25, timestamp: day),
      ]
      for place in places { #expect(try archived(place) == place) }
      let values: [String: any CKRecordValue] = ["place": places[0], "text": "one", "list": places as NSArray]
      let data = try NSKeyedArchiver.archivedData(withRootObject: values, requiringSecureCoding: true)
      let kinds = [NSDictionary.self, NSArray.self, NSString.self, CLLocation.self]
      let back = try NSKeyedUnarchiver.unarchivedObject(ofClasses: kinds, from: data) as? [String: Any]
      #expect(back?["place"] as? CLLocation == places[0] && back?["list"] as? [CLLocation] == places)
    }

    @Test("an asset could not be archived: the program ended")
    func asset() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["file"] = CKAsset(fileURL: try Scratch.file("content"))
        let file = try #require(record["file"] as? CKAsset)
        try await database.save(record)
        let stored = try #require(record["file"] as? CKAsset)
        #expect(try archived(stored) == stored)

        // As in an archive of a record, its author does not choose which file is read.
        let values: [String: any CKRecordValue] = ["new": file, "stored": stored]
        let data = try NSKeyedArchiver.archivedData(withRootObject: values, requiringSecureCoding: true)
        let kinds = [NSDictionary.self, NSString.self, CKAsset.self]
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClasses: kinds, from: data) as? [String: CKAsset])
        let without = try #require(back["new"])
        #expect(back["stored"] == stored && without != file && without == without && without.fileURL == nil)
        record["file"] = without
        do {
          try await database.save(record)
          Issue.record("it was saved without its file")
        } catch CKError.assetNotAvailable {
        }
      }
    }

    @Test("an archive that was made before is still read")
    func before() throws {
      let data = try #require(Data(base64Encoded: Self.olderArchive, options: .ignoreUnknownCharacters))
      let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
      #expect(record.recordType == "Note" && record.recordID.recordName == "n")
      #expect(record["title"] as? String == "t" && record["list"] as? [String] == ["a", "b"])
      #expect(record["share"] as? Double == 0.25)
      #expect(record.changedKeys().sorted() == ["list", "share", "title"])
    }

    /// Of a version that wrote the values as a property list.
    private static let olderArchive = """
      YnBsaXN0MDDUAQIDBAUjJCdYJG9iamVjdHNYJHZlcnNpb25UJHRvcFkkYXJjaGl2ZXKpBgcWFxgZGhscVSRudWxs1wgJCgsMDQ4P
      EBESExQVWHpvbmVOYW1lWnJlY29yZFR5cGVZb3duZXJOYW1lXxAUZGF5Ym9vay5zeXN0ZW1GaWVsZHNWJGNsYXNzWnJlY29yZE5h
      bWVeZGF5Ym9vay52YWx1ZXOABIACgAWABoAIgAOAB1ROb3RlUW5cX2RlZmF1bHRab25lXxAQX19kZWZhdWx0T3duZXJfX08QOkRC
      U0YBAQD//wQBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATm90ZW4AAAnbA8dPEQEAYnBsaXN0MDDWAQIDBAUG
      BxgZGhscVnZhbHVlc18QD2VuY3J5cHRlZFZhbHVlc1djaGFuZ2VkXxAQY2hhbmdlZEVuY3J5cHRlZFVmaWxlc18QD3BhcmVudElz
      Q2hhbmdlZNMICQoLEhVUbGlzdFVzaGFyZVV0aXRsZdIMDQ4PVHR5cGVVdmFsdWVXc3RyaW5nc6IQEVFhUWLSDA0TFFZkb3VibGUj
      P9AAAAAAAADSDA0WF1ZzdHJpbmdRdNCjCAkKoKAICBUcLjZJT2FobXN5foOJkZSWmJ2krbK5u7zAwcIAAAAAAAABAQAAAAAAAAAd
      AAAAAAAAAAAAAAAAAAAAw9IdHh8iWCRjbGFzc2VzWiRjbGFzc25hbWWiICFfEB1EYXlib29rQ29tcGF0aWJpbGl0eS5DS1JlY29y
      ZFhOU09iamVjdF8QHURheWJvb2tDb21wYXRpYmlsaXR5LkNLUmVjb3JkEgABhqDRJSZUcm9vdIABXxAPTlNLZXllZEFyY2hpdmVy
      AAgAEQAaACMAKAAyADwAQgBRAFoAZQBvAIYAjQCYAKcAqQCrAK0ArwCxALMAtQC6ALwAyQDcARkCHQIiAisCNgI5AlkCYgKCAocC
      igKPApEAAAAAAAACAQAAAAAAAAAoAAAAAAAAAAAAAAAAAAACow==
      """
  }
#endif
