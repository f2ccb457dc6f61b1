#if !canImport(CloudKit)
  import DaybookCompatibility
  import Foundation
  import Testing

  // Calls of a database without an operation, as applications of today write them.

  @Suite("calls without operations", .timeLimit(.minutes(15)))
  struct DatabaseCallTests {
    private func note(_ name: String, in zone: CKRecordZone) -> CKRecord {
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
      record["text"] = name
      record["more"] = "m"
      return record
    }

    @Test("changes of a zone and of the database come in pages, with what was deleted, and go on from a token")
    func changes() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let (zone, other) = (CKRecordZone(zoneName: "Notes"), CKRecordZone(zoneName: "Other"))
        let made = try await database.modifyRecordZones(saving: [zone, other], deleting: [])
        #expect(made.saveResults.count == 2 && made.deleteResults.isEmpty)
        let found = try await database.recordZones(for: [zone.zoneID, CKRecordZone.ID(zoneName: "None")])
        #expect(found.count == 2 && (try? found[zone.zoneID]?.get()) != nil)
        #expect(throws: CKError.self) { try found[CKRecordZone.ID(zoneName: "None")]?.get() }

        let notes = (0..<5).map { note("n\($0)", in: zone) }
        _ = try await database.modifyRecords(saving: notes, deleting: [])
        var names: Set<String> = []
        var token: CKServerChangeToken?
        var pages = 0
        while true {
          let page = try await database.recordZoneChanges(
            inZoneWith: zone.zoneID, since: token, desiredKeys: ["text"], resultsLimit: 2)
          for (id, result) in page.modificationResultsByID {
            let record = try result.get().record
            #expect(record["text"] as? String == id.recordName && record["more"] == nil)
            names.insert(id.recordName)
          }
          pages += 1
          token = page.changeToken
          if !page.moreComing { break }
        }
        #expect(names.count == 5 && pages == 3)

        let all = try await database.databaseChanges()
        #expect(Set(all.modifications.map(\.zoneID.zoneName)).isSuperset(of: ["Notes", "Other"]) && !all.moreComing)
        try await database.deleteRecord(withID: notes[1].recordID)
        let next = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
        #expect(next.modificationResultsByID.isEmpty)
        #expect(next.deletions.map(\.recordID) == [notes[1].recordID] && next.deletions.map(\.recordType) == ["Note"])
        let gone = try await database.modifyRecordZones(saving: [], deleting: [other.zoneID])
        #expect(throws: Never.self) { try gone.deleteResults[other.zoneID]?.get() }
        let later = try await database.databaseChanges(since: all.changeToken)
        #expect(later.modifications.map(\.zoneID) == [zone.zoneID])
        #expect(
          later.deletions.map(\.zoneID) == [other.zoneID] && later.deletions.allSatisfy { $0.reason == .deleted && !$0.purged })
        await #expect(throws: CKError.self) { try await database.recordZoneChanges(inZoneWith: other.zoneID) }
      }
    }

    @Test("a handler takes a result of records, of a query's pages and of a modification")
    func handlers() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let records = (0..<3).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\($0)")) }
        let saved = await withCheckedContinuation { continuation in
          database.modifyRecords(saving: records, deleting: [CKRecord.ID(recordName: "none")]) {
            continuation.resume(returning: $0)
          }
        }
        let done = try saved.get()
        #expect(done.saveResults.count == 3 && done.deleteResults.count == 1)
        let fetched = await withCheckedContinuation { continuation in
          database.fetch(withRecordIDs: [records[0].recordID, CKRecord.ID(recordName: "none")]) {
            continuation.resume(returning: $0)
          }
        }
        let results = try fetched.get()
        #expect((try? results[records[0].recordID]?.get()) != nil)
        #expect(throws: CKError.self) { try results[CKRecord.ID(recordName: "none")]?.get() }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let first = await withCheckedContinuation { continuation in
          database.fetch(withQuery: query, resultsLimit: 2) { continuation.resume(returning: $0) }
        }
        let page = try first.get()
        let cursor = try #require(page.queryCursor)
        let second = await withCheckedContinuation { continuation in
          database.fetch(withCursor: cursor) { continuation.resume(returning: $0) }
        }
        let rest = try second.get()
        #expect(page.matchResults.count == 2 && rest.matchResults.count == 1 && rest.queryCursor == nil)
      }
    }

    @Test("a configuration that a constant has is changed, as that of CloudKit is")
    func configuration() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        try await database.save(zone)
        _ = try await database.modifyRecords(saving: [note("a", in: zone)], deleting: [])
        let before = try await database.recordZoneChanges(inZoneWith: zone.zoneID)
        _ = try await database.modifyRecords(saving: [note("b", in: zone)], deleting: [])
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = before.changeToken
        configuration.resultsLimit = 10
        configuration.desiredKeys = ["text"]
        let operation = CKFetchRecordZoneChangesOperation(
          recordZoneIDs: [zone.zoneID], configurationsByRecordZoneID: [zone.zoneID: configuration])
        let found = Collected<String>()
        operation.recordWasChangedBlock = { id, _ in found.append(id.recordName) }
        await operation.ended { database.add(operation) }
        #expect(found.values == ["b"])
      }
    }

    @Test("code that asks for changes as before iOS 12 did not compile: it gives options for each zone")
    func options() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        try await database.save(zone)
        _ = try await database.modifyRecords(saving: [note("a", in: zone)], deleting: [])
        let before = try await database.recordZoneChanges(inZoneWith: zone.zoneID)
        _ = try await database.modifyRecords(saving: [note("b", in: zone), note("c", in: zone)], deleting: [])
        let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
        options.previousServerChangeToken = before.changeToken
        let byZone: [CKRecordZone.ID: CKFetchRecordZoneChangesOptions] = [zone.zoneID: options]
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone.zoneID], optionsByRecordZoneID: byZone)
        #expect(operation.configurationsByRecordZoneID?[zone.zoneID] === options)
        let other = CKFetchRecordZoneChangesOperation()
        other.recordZoneIDs = [zone.zoneID]
        other.optionsByRecordZoneID = byZone
        for operation in [operation, other] {
          let found = Collected<String>()
          operation.recordChangedBlock = { found.append($0.recordID.recordName) }
          await operation.ended { database.add(operation) }
          #expect(found.values.sorted() == ["b", "c"])
        }
      }
    }
  }
#endif
