#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Testing

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
      for count in 0..<whole.count {
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
