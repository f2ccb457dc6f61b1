#if !canImport(CloudKit)
  import Daybook
  import Foundation
  import Testing

  @testable import DaybookCompatibility

  @Suite("CKRecord as an object")
  struct RecordObjectTests {
    @Test("a record is one object for all who have it, and a copy is another")
    func aliasing() {
      let record = CKRecord(recordType: "Note")
      let same = record
      same["text"] = "one"
      #expect(record["text"] == "one")
      let copy = record.copy() as! CKRecord
      copy["text"] = "two"
      #expect(record["text"] == "one")
      #expect(copy.recordID == record.recordID)
    }

    @Test("values of every kind come back as what is asked for")
    func values() {
      let record = CKRecord(recordType: "Note")
      record["int"] = 7
      record["large"] = UInt64(7)
      record["double"] = 1.5
      record["bool"] = true
      record["ints"] = [1, 2]
      record["doubles"] = [1.5, 2]
      record["bytes"] = [Data([1])]
      record["dates"] = [Date(timeIntervalSinceReferenceDate: 1)]
      let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "other"), action: .deleteSelf)
      record["references"] = [reference]

      let int: Int? = record["int"]
      #expect(int == 7)
      #expect(record["int"] == Int64(7))
      #expect(record["int"] as? Double == 7)
      #expect(record["large"] as? Int == 7)
      #expect(record["double"] as? Int == nil)
      #expect(record["double"] == 1.5)
      #expect(record["bool"] == true)
      #expect(record["ints"] as? [Int] == [1, 2])
      #expect(record["ints"] as? [Int64] == [1, 2])
      #expect(record["doubles"] as? [Double] == [1.5, 2])
      #expect(record["bytes"] as? [Data] == [Data([1])])
      #expect(record["dates"] as? [Date] == [Date(timeIntervalSinceReferenceDate: 1)])
      #expect(record["references"] as? [CKRecord.Reference] == [reference])
      #expect(record["absent"] == nil)
      #expect(record.map(\.0) == record.allKeys())
      record["int"] = nil
      #expect(!record.allKeys().contains("int"))
      #expect(record.changedKeys().contains("int"))
      record.setValue("text", forKey: "text")
      #expect(record.value(forKey: "text") as? String == "text")
    }

    @Test(
      "a list that became empty could not be saved from a value, from an archive or from another record: it was one of texts")
    func emptyLists() async throws {
      struct Scores: CustomCloudKitCodable {
        var cloudKitSystemFields: Data?
        var numbers = [1], parts = [1.5], days = [Date(timeIntervalSinceReferenceDate: 1)], data = [Data([1])]
      }
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let first = try CloudKitRecordEncoder().encode(Scores())
        let target = CKRecord.Reference(recordID: CKRecord.ID(recordName: "other"), action: .none)
        first["places"] = [CLLocation(latitude: 1, longitude: 2)]
        first["targets"] = [target]
        first["files"] = [CKAsset(fileURL: try Scratch.file("content"))]
        first["texts"] = ["a"]
        try await database.save(first)

        var value = try CloudKitRecordDecoder().decode(Scores.self, from: first)
        (value.numbers, value.parts, value.days, value.data) = ([], [], [], [])
        let record = try CloudKitRecordEncoder().encode(value)
        record["places"] = [CLLocation]()
        record["targets"] = [CKRecord.Reference]()
        record["files"] = [CKAsset]()
        record["texts"] = [String]()
        let archive = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive))
        try await database.save(record)
        _ = try await database.modifyRecords(saving: [restored], deleting: [], savePolicy: .changedKeys)
          .saveResults[restored.recordID]?.get()

        let stored = try await database.record(for: record.recordID)
        let copy = CKRecord(recordType: "Scores")
        for (key, list) in stored { copy[key] = list }
        try await database.save(copy)
        let kinds = try await container.daybookContainer().privateDatabase.record(Record.ID(copy.recordID.recordName))
        #expect(kinds?["numbers"] == Record.Value.ints([]) && kinds?["targets"] == Record.Value.references([]))
        // As every list, an empty one is whatever array is asked for.
        for key in stored.allKeys() {
          let list = stored[key]
          #expect((list as? NSArray)?.count == 0 && (list as? [Any])?.isEmpty == true && (list as? [Int])?.isEmpty == true)
        }
        let numbers: [Int]? = stored["numbers"]
        let targets: [CKRecord.Reference]? = stored["targets"]
        #expect(numbers == [] && targets == [])
        #expect(try CloudKitRecordDecoder().decode(Scores.self, from: stored).days == [])
      }
    }

    @Test("files, places and bytes of which none is left, and Foundation's empty array, could not be saved: they were texts")
    func emptyListsOfNothing() async throws {
      struct Files: CustomCloudKitCodable {
        var cloudKitSystemFields: Data?
        var files: [URL]
      }
      final class Album: CKCodable {
        var cloudKitRecordType: String { "Album" }
        var cloudKitIdentifier: String { "album" }
        var photos: [Data]
        var places: [String]
        init(_ photos: [Data], _ places: [String]) { (self.photos, self.places) = (photos, places) }
      }
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        var value = Files(files: [try Scratch.file("content")])
        let record = try CloudKitRecordEncoder().encode(value)
        try await database.save(record)
        value = try CloudKitRecordDecoder().decode(Files.self, from: record)
        value.files = []
        try await database.save(try CloudKitRecordEncoder().encode(value))
        let stored = try await database.record(for: record.recordID)
        #expect((stored["files"] as? [CKAsset]) == [])
        #expect(try CloudKitRecordDecoder().decode(Files.self, from: stored).files == [])

        let album = try #require(try CKRecordEncoder().encode(Album([Data([1])], ["1.5;2.5"])).last)
        album["count"] = [1]
        album.encryptedValues["secrets"] = [1.5]
        try await database.save(album)
        let empty = try #require(try CKRecordEncoder().encode(Album([], [])).last)
        empty["count"] = NSArray()
        empty.encryptedValues["secrets"] = NSArray()
        let done = try await database.modifyRecords(saving: [empty], deleting: [], savePolicy: .changedKeys)
        _ = try done.saveResults[empty.recordID]?.get()
        let found = try await container.daybookContainer().privateDatabase.record(Record.ID("album"))
        #expect(found?["photos"] == Record.Value.assets([]) && found?["places"] == Record.Value.locations([]))
        #expect(found?["count"] == Record.Value.ints([]) && found?.encryptedValues["secrets"] == Record.Value.doubles([]))
        let decoded = try await CKRecordDecoder().decode(
          Album.self, from: try await database.record(for: album.recordID), referenceDatabase: database)
        #expect(decoded.photos == [] && decoded.places == [])
      }
    }

    @Test("what no database takes is refused by the save, with a code, and never before")
    func refused() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        func refusal(_ change: (CKRecord) -> Void, type: String = "Note", name: String = "note") async -> CKError? {
          let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name))
          change(record)
          do {
            try await database.save(record)
            return nil
          } catch { return error as? CKError }
        }
        let hostile: [(CKRecord) -> Void] = [
          { $0["not a key"] = 1 }, { $0["recordID"] = 1 }, { $0["nan"] = Double.nan }, { $0["large"] = UInt64.max },
          { $0["mixed"] = [1, "a"] as NSArray }, { $0["nested"] = [[1]] }, { $0["null"] = [NSNull()] as NSArray },
          { $0.setValue(["a": 1], forKey: "dictionary") }, { $0.setValue(URL(string: "https://example.com"), forKey: "url") },
          { $0["target"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ü"), action: .none) },
          {
            $0["target"] = CKRecord.Reference(
              recordID: CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Elsewhere")), action: .none)
          },
        ]
        for change in hostile { #expect(await refusal(change)?.code == .invalidArguments) }
        for name in ["", "_hidden", "ü", String(repeating: "a", count: 256)] {
          #expect(await refusal({ _ in }, name: name)?.code == .invalidArguments)
        }
        for type in ["", "9lives", "with space", "Users"] {
          let record = await refusal({ $0["a"] = 1 }, type: type)
          #expect(record?.code == .invalidArguments)
        }
        // A refused value is not there, and can be replaced.
        let record = CKRecord(recordType: "Note")
        record["mixed"] = [1, "a"] as NSArray
        #expect(record["mixed"] == nil)
        record["mixed"] = "text"
        try await database.save(record)
      }
    }

    @Test("a key that is none could not be taken back: the record was refused for good")
    func takenBack() async throws {
      try await Scratch.container { container in
        let record = CKRecord(recordType: "Note")
        for key in ["not a key", "recordID", "", "é", String(repeating: "a", count: 256)] {
          record[key] = 1
          record.encryptedValues[key] = 1
          await #expect(throws: CKError.self) { try await container.privateCloudDatabase.save(record) }
          record[key] = nil
          record.encryptedValues[key] = nil
        }
        record.encryptedValues["text"] = "one"
        record.encryptedValues["text"] = nil
        record["text"] = "two"
        try await container.privateCloudDatabase.save(record)
        #expect(try await container.privateCloudDatabase.record(for: record.recordID).allKeys() == ["text"])
      }
    }

    @Test("each look at the file of a small asset made another one, until the end of the program")
    func smallAssets() async throws {
      let database = CKDatabase(try Database.inMemory())
      let record = CKRecord(recordType: "Note")
      record["file"] = CKAsset(fileURL: try Scratch.file("small"))
      try await database.save(record)
      var files: Set<URL> = []
      for _ in 0..<10 {
        let stored = try await database.record(for: record.recordID)
        for _ in 0..<10 { files.insert(try #require((stored["file"] as? CKAsset)?.fileURL)) }
      }
      #expect(files.count == 1)
      #expect(try files.first.map { try String(contentsOf: $0, encoding: .utf8) } == "small")
      // One that is gone, or was changed, is not handed out again.
      let file = try #require(files.first)
      try FileManager.default.removeItem(at: file)
      #expect(try String(contentsOf: #require((record["file"] as? CKAsset)?.fileURL), encoding: .utf8) == "small")
    }

    @Test("keys of many marks took the square of their number wherever a record tells its keys", .timeLimit(.minutes(15)))
    func keysOfMarks() throws {
      let marks = String(repeating: "\u{301}\u{316}", count: 100_000)
      let record = CKRecord(recordType: "Note")
      let keys = ["a", "b", "c"].map { "k\(marks)\($0)" }
      for key in keys { record[key] = 1 }
      #expect(record.allKeys().elementsEqual(keys) { $0.utf8.elementsEqual($1.utf8) })
      #expect(record.changedKeys().count == 3 && record.map(\.0).count == 3 && record.allTokens().isEmpty)
      let archive = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
      let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive))
      #expect(back.changedKeys().count == 3)
      #expect(throws: DatabaseError.self) { try back.daybookRecord() }
      for key in keys { back[key] = nil }
      #expect(throws: Never.self) { try back.daybookRecord() }
    }

    @Test("C4: system fields go through NSKeyedArchiver, and make a record that is saved as a change")
    func systemFields() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "one"
        try await database.save(record)

        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let restored = try #require(CKRecord(coder: unarchiver))
        unarchiver.finishDecoding()

        #expect(restored.recordID == record.recordID)
        #expect(restored.recordType == "Note")
        #expect(restored.recordChangeTag == record.recordChangeTag)
        #expect(restored.creationDate == record.creationDate)
        #expect(restored.allKeys() == [])
        restored["text"] = "two"
        try await database.save(restored)
        #expect(try await database.record(for: record.recordID)["text"] as? String == "two")
      }
    }

    @Test("keys of encrypted values were none of the record's: code that copies all fields of a record lost them")
    func keysOfEncryptedValues() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "plain"
        record.encryptedValues["secret"] = "hidden"
        for _ in 0..<2 {
          #expect(record.allKeys() == ["secret", "text"] && record.encryptedValues.allKeys() == ["secret"])
          // The value is found in one place only.
          #expect(record["secret"] == nil && record.encryptedValues["text"] == nil && record.map(\.0) == ["text"])
          if record.recordChangeTag == nil { #expect(record.changedKeys() == ["secret", "text"]) }
          try await database.save(record)
          #expect(record.changedKeys() == [] && record.encryptedValues.changedKeys() == [])
        }

        let copy = CKRecord(recordType: "Note")
        let encrypted = Set(record.encryptedValues.allKeys())
        for key in record.allKeys() {
          if encrypted.contains(key) {
            copy.encryptedValues[key] = record.encryptedValues[key]
          } else {
            copy[key] = record[key]
          }
        }
        try await database.save(copy)
        let stored = try await database.record(for: copy.recordID)
        #expect(stored["text"] == "plain" && stored.encryptedValues["secret"] == "hidden")

        // Code that knows nothing of encrypted values does not take them away.
        for key in stored.allKeys() { stored[key] = stored[key] }
        try await database.save(stored)
        #expect(try await database.record(for: copy.recordID).encryptedValues["secret"] == "hidden")
        stored.encryptedValues["secret"] = nil
        #expect(stored.allKeys() == ["text"] && stored.changedKeys() == ["secret"])
      }
    }

    @Test("a whole record, identities, tokens, cursors and references go through NSKeyedArchiver")
    func archives() async throws {
      try await Scratch.container { container in
        func again<T: NSObject & NSCoding>(_ value: T) throws -> T {
          let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
          return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: T.self, from: data))
        }
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "one"
        record["gone"] = 1
        record["list"] = [1, 2]
        record["file"] = CKAsset(fileURL: try Scratch.file("content"))
        record.encryptedValues["secret"] = "hidden"
        try await database.save(record)
        record["text"] = "two"
        record["gone"] = nil
        record["new"] = CKAsset(fileURL: try Scratch.file("new"))

        let copy = try again(record)
        #expect(copy.recordID == record.recordID)
        #expect(copy.recordChangeTag == record.recordChangeTag)
        #expect(copy["text"] == "two")
        #expect(copy["list"] as? [Int] == [1, 2])
        #expect(copy.encryptedValues["secret"] == "hidden")
        #expect(copy.changedKeys() == ["gone", "new", "text"])
        // The author of an archive does not choose which file is read.
        #expect(copy["new"] == nil)
        do {
          try await database.save(copy)
          Issue.record("it was saved without its file")
        } catch CKError.assetNotAvailable {
        }
        copy["new"] = nil
        try await database.save(copy)
        let stored = try await database.record(for: record.recordID)
        #expect(stored["text"] == "two")
        #expect(stored["gone"] == nil)
        #expect(try String(contentsOf: #require((stored["file"] as? CKAsset)?.fileURL), encoding: .utf8) == "content")

        let zone = CKRecordZone.ID(zoneName: "Zone", ownerName: "owner")
        #expect(try again(zone) == zone)
        let id = CKRecord.ID(recordName: "name", zoneID: zone)
        #expect(try again(id) == id)
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        #expect(try again(reference) == reference)
        #expect(try again(CKRecordZone(zoneID: zone)) == CKRecordZone(zoneID: zone))
        // Of types that no database takes, too.
        #expect(try again(CKRecord(recordType: "not a type")).recordType == "not a type")
      }
    }

    @Test("damaged system fields are an error of the encoder, wherever the damage is")
    func damaged() throws {
      var note = Note(text: "a")
      let whole = try #require(
        try CloudKitRecordDecoder().decode(Note.self, from: CloudKitRecordEncoder().encode(note)).cloudKitSystemFields)
      note.cloudKitSystemFields = whole
      #expect(try CloudKitRecordEncoder().encode(note).recordType == "Note")
      var refused = 0
      for position in whole.indices {
        for bits: UInt8 in [0x01, 0x55, 0xFF] {
          var damaged = whole
          damaged[position] ^= bits
          note.cloudKitSystemFields = damaged
          // Some bytes of an archive mean nothing; all others are noticed.
          do { _ = try CloudKitRecordEncoder().encode(note) } catch is CloudKitRecordEncodingError { refused += 1 }
        }
      }
      #expect(refused > 100)
      // Without the line break at its end it is whole.
      for count in 0..<(whole.count - 1) {
        note.cloudKitSystemFields = whole.prefix(count)
        #expect(throws: CloudKitRecordEncodingError.self) { try CloudKitRecordEncoder().encode(note) }
      }
    }

    private struct Note: CustomCloudKitCodable {
      var cloudKitSystemFields: Data?
      var text: String
    }

    @Test("threads share a record while it is saved: no change is lost, and each save is whole")
    func threads() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Counter")
        try await database.save(record)
        await withTaskGroup(of: Void.self) { group in
          for thread in 0..<8 {
            group.addTask {
              for step in 1...50 {
                record["key\(thread)"] = step
                _ = record.allKeys()
                _ = record.copy()
              }
            }
          }
          group.addTask {
            for _ in 0..<20 { _ = try? await database.save(record) }
          }
        }
        try await database.save(record)
        let stored = try await database.record(for: record.recordID)
        for thread in 0..<8 { #expect(stored["key\(thread)"] as? Int == 50) }
      }
    }

    @Test("a change that is made while the record is saved stays a change")
    func changedMeanwhile() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "one"
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.perRecordSaveBlock = { _, _ in }
        operation.modifyRecordsCompletionBlock = { saved, _, error in
          #expect(error == nil)
          #expect(saved?.first === record)
        }
        await operation.ended { database.add(operation) }
        #expect(record.changedKeys() == [])
        record["text"] = "two"
        #expect(record.changedKeys() == ["text"])
      }
    }

    @Test("of saves of one record at once the last one stays, whichever answers first")
    func overlapping() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Counter")
        try await database.save(record)
        for round in 0..<60 {
          await withTaskGroup(of: Void.self) { group in
            for step in 0..<8 {
              group.addTask {
                record["key\(step)"] = round
                _ = try? await database.modifyRecords(saving: [record], deleting: [], savePolicy: .changedKeys)
              }
            }
          }
          let stored = try await database.record(for: record.recordID)
          #expect(record.recordChangeTag == stored.recordChangeTag)
          #expect(record.allKeys() == stored.allKeys())
        }
        record["last"] = 1
        try await database.save(record)
      }
    }

    @Test("a parent that was set again while saves were under way was lost: it was taken for the one that they had saved")
    func parentSetAgain() async throws {
      let plain = try Database.inMemory()
      let database = CKDatabase(plain)
      let zone = CKRecordZone(zoneName: "Family")
      try await database.save(zone)
      let parents = ["a", "b"].map {
        CKRecord(recordType: "Parent", recordID: CKRecord.ID(recordName: $0, zoneID: zone.zoneID))
      }
      let child = CKRecord(recordType: "Child", zoneID: zone.zoneID)
      _ = try await database.modifyRecords(saving: parents + [child], deleting: [])
      // Which of two saves comes first is not known, so each parent is the last one once.
      for last in parents {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
          Thread.detachNewThread {
            let group = DispatchGroup(), states = DispatchSemaphore(value: 0)
            try? plain.write { (_: borrowing Transaction) in
              for parent in parents {
                child.setParent(parent)
                group.enter()
                Thread.detachNewThread {
                  // Long before the transaction ends.
                  states.signal()
                  _ = try? database.modify(saving: [child], deleting: [], policy: .changedKeys, atomically: false)
                  group.leave()
                }
                states.wait()
                Thread.sleep(forTimeInterval: 0.1)
              }
              child.setParent(last)
            }
            group.wait()
            continuation.resume()
          }
        }
        try await database.save(child)
        #expect(try await database.record(for: child.recordID).parent?.recordID == last.recordID)
      }
    }

    @Test("a Daybook record becomes one of these and back, with its changes")
    func bridge() throws {
      var record = try Record(type: "Note", id: Record.ID("note"))
      record["text"] = "one"
      let object = CKRecord(record)
      #expect(object["text"] == "one")
      #expect(object.changedKeys() == ["text"])
      object["more"] = [1.5]
      let back = try object.daybookRecord()
      #expect(back.id == record.id)
      #expect(back["more"] as [Double]? == [1.5])
    }

    @Test("a parent is set by record, identity or reference, and taken away")
    func parents() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Family")
        try await database.save(zone)
        let parent = CKRecord(recordType: "Parent", zoneID: zone.zoneID)
        let child = CKRecord(recordType: "Child", zoneID: zone.zoneID)
        child.setParent(parent)
        let saved = try await database.modifyRecords(saving: [child, parent], deleting: [])
        for (_, result) in saved.saveResults { _ = try result.get() }
        #expect(try await database.record(for: child.recordID).parent?.recordID == parent.recordID)
        do {
          try await database.deleteRecord(withID: parent.recordID)
          Issue.record("a parent with a child was deleted")
        } catch CKError.referenceViolation {
        }
        child.parent = nil
        try await database.save(child)
        try await database.deleteRecord(withID: parent.recordID)
      }
    }
  }
#endif
