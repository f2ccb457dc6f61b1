#if !canImport(CloudKit)
  import Daybook
  import Foundation
  import Testing

  @testable import DaybookCompatibility

  @Suite("operations")
  struct OperationTests {
    @Test("an atomic save of a custom zone fails as a whole: the culprit has its error, the others batchRequestFailed")
    func atomic() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Atomic")
        try await database.save(zone)
        let good = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "good", zoneID: zone.zoneID))
        for culprit in [
          { (record: CKRecord) in record["nan"] = Double.nan },
          { (record: CKRecord) in record["target"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere")) },
        ] {
          let bad = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "bad", zoneID: zone.zoneID))
          culprit(bad)
          let errors = Collected<CKError>()
          let each = Collected<(CKRecord.ID, CKError?)>()
          let operation = CKModifyRecordsOperation(recordsToSave: [good, bad], recordIDsToDelete: nil)
          operation.perRecordCompletionBlock = { record, error in each.append((record.recordID, error as? CKError)) }
          operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            #expect(saved?.isEmpty == true)
            #expect(deleted?.isEmpty == true)
            if let error = error as? CKError { errors.append(error) }
          }
          await operation.ended { database.add(operation) }
          let error = try #require(errors.values.first)
          #expect(error.code == .partialFailure)
          #expect((error.partialErrorsByItemID?[good.recordID] as? CKError)?.code == .batchRequestFailed)
          #expect((error.partialErrorsByItemID?[bad.recordID] as? CKError)?.code != .batchRequestFailed)
          #expect(each.values.map(\.0) == [good.recordID, bad.recordID])
          #expect(errors.values.count == 1)
        }
        do {
          _ = try await database.record(for: good.recordID)
          Issue.record("half of an atomic save was saved")
        } catch CKError.unknownItem {
        }
      }
    }

    @Test("a refused record took along the others of a zone that is not atomic, and hid that a zone is missing")
    func notAtomic() async throws {
      let plain = try Database.inMemory()
      var loose = Zone(try Zone.ID("Loose"))
      loose.capabilities = [.fetchChanges]
      try await plain.save(loose)
      let database = CKDatabase(plain)
      for (zone, code) in [(loose.id, nil), (try Zone.ID("Missing"), CKError.Code.zoneNotFound)] {
        let good = CKRecord(recordType: "Note", zoneID: CKRecordZone.ID(zone))
        let bad = CKRecord(recordType: "Note", zoneID: CKRecordZone.ID(zone))
        bad["count"] = UInt64.max
        let done = try await database.modifyRecords(
          saving: [good, bad], deleting: [CKRecord.ID(zoneID: CKRecordZone.ID(zone))])
        #expect((done.saveResults[bad.recordID]?.failure as? CKError)?.code == .invalidArguments)
        #expect((done.saveResults[good.recordID]?.failure as? CKError)?.code == code)
        #expect((done.deleteResults.values.first?.failure as? CKError)?.code == code)
      }
    }

    @Test("a fetch of several gives what there is, and an error for each of the others")
    func fetch() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["text"] = "one"
        record["more"] = "two"
        try await database.save(record)
        let missing = CKRecord.ID(recordName: "missing")
        let impossible = CKRecord.ID(recordName: "ü")

        let operation = CKFetchRecordsOperation(recordIDs: [record.recordID, missing, impossible])
        operation.desiredKeys = ["text"]
        let answers = Collected<([CKRecord.ID: CKRecord], CKError?)>()
        operation.fetchRecordsCompletionBlock = { found, error in answers.append((found ?? [:], error as? CKError)) }
        await operation.ended { database.add(operation) }
        let (found, error) = try #require(answers.values.first)
        #expect(found.keys.map(\.recordName) == [record.recordID.recordName])
        #expect(found[record.recordID]?.allKeys() == ["text"])
        #expect(error?.code == .partialFailure)
        #expect((error?.partialErrorsByItemID?[missing] as? CKError)?.code == .unknownItem)

        let user = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        let types = Collected<String>()
        user.perRecordResultBlock = { _, result in types.append((try? result.get())?.recordType ?? "none") }
        await user.ended { container.publicCloudDatabase.add(user) }
        #expect(types.values == ["Users"])
      }
    }

    @Test("changes of zones come page by page with tokens, deletions too, and a broken zone leaves the others alone")
    func changes() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Feed")
        try await database.save(zone)
        let records = (0..<5).map { number -> CKRecord in
          let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note\(number)", zoneID: zone.zoneID))
          record["number"] = number
          return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])

        struct Seen {
          var names: [String] = []
          var deleted: [String] = []
          var pages = 0
          var token: CKServerChangeToken?
          var error: CKError?
        }
        func fetch(since token: CKServerChangeToken?, zones: [CKRecordZone.ID]) async -> Seen {
          let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zones,
            configurationsByRecordZoneID: [zone.zoneID: .init(previousServerChangeToken: token, resultsLimit: 2)])
          let names = Collected<String>(), deleted = Collected<String>(), pages = Collected<Int>()
          let tokens = Collected<CKServerChangeToken?>(), errors = Collected<CKError?>()
          operation.recordChangedBlock = { names.append($0.recordID.recordName) }
          operation.recordWithIDWasDeletedBlock = { id, _ in deleted.append(id.recordName) }
          operation.recordZoneChangeTokensUpdatedBlock = { _, _, _ in pages.append(1) }
          operation.recordZoneFetchCompletionBlock = { id, token, _, more, _ in
            #expect(!more)
            if id == zone.zoneID { tokens.append(token) }
          }
          operation.fetchRecordZoneChangesCompletionBlock = { errors.append($0 as? CKError) }
          await operation.ended { database.add(operation) }
          return Seen(
            names: names.values, deleted: deleted.values, pages: pages.values.count, token: tokens.values.first ?? nil,
            error: errors.values.first ?? nil)
        }
        let missing = CKRecordZone.ID(zoneName: "Missing")
        let first = await fetch(since: nil, zones: [missing, zone.zoneID])
        #expect(first.names.sorted() == ["note0", "note1", "note2", "note3", "note4"])
        #expect(first.pages == 2)
        #expect(first.error?.code == .partialFailure)
        #expect((first.error?.partialErrorsByItemID?[missing] as? CKError)?.code == .zoneNotFound)

        let token = try #require(first.token)
        let kept = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: kept))
        #expect(restored == token)
        try await database.deleteRecord(withID: records[1].recordID)
        records[2]["number"] = 22
        try await database.save(records[2])
        let second = await fetch(since: restored, zones: [zone.zoneID])
        #expect(second.names == ["note2"])
        #expect(second.deleted == ["note1"])
        #expect(second.error == nil)

        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        let changed = Collected<String>()
        let ends = Collected<CKServerChangeToken?>()
        zones.recordZoneWithIDChangedBlock = { changed.append($0.zoneName) }
        zones.fetchDatabaseChangesCompletionBlock = { token, _, error in
          #expect(error == nil)
          ends.append(token)
        }
        await zones.ended { database.add(zones) }
        #expect(changed.values == ["Feed"])
        #expect(ends.values.count == 1 && ends.values[0] != nil)
      }
    }

    @Test("zones are saved, fetched and deleted; the public database has none of one's own")
    func zones() async throws {
      try await Scratch.container { container in
        let zone = CKRecordZone(zoneName: "Mine")
        let save = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
        let codes = Collected<CKError?>()
        save.modifyRecordZonesCompletionBlock = { _, _, error in codes.append(error as? CKError) }
        await save.ended { container.privateCloudDatabase.add(save) }
        let refused = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
        refused.modifyRecordZonesCompletionBlock = { _, _, error in codes.append(error as? CKError) }
        await refused.ended { container.publicCloudDatabase.add(refused) }
        #expect(codes.values.count == 2)
        #expect(codes.values[0] == nil)
        #expect((codes.values[1]?.partialErrorsByItemID?[zone.zoneID] as? CKError)?.code == .badDatabase)

        let found = try await container.privateCloudDatabase.recordZone(for: zone.zoneID)
        #expect(found.capabilities.contains([.atomic, .fetchChanges]))
        let all = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let names = Collected<[String]>()
        all.fetchRecordZonesCompletionBlock = { zones, _ in names.append(zones?.keys.map(\.zoneName).sorted() ?? []) }
        await all.ended { container.privateCloudDatabase.add(all) }
        #expect(names.values == [["Mine", "_defaultZone"]])
        try await container.privateCloudDatabase.deleteRecordZone(withID: zone.zoneID)
        do {
          try await container.privateCloudDatabase.deleteRecordZone(withID: zone.zoneID)
          Issue.record("a zone was deleted twice")
        } catch CKError.zoneNotFound {
        }
      }
    }

    @Test("a zone that the user deleted was told as one that was never made, and made again")
    func purged() async throws {
      let plain = try Database.inMemory()
      let database = CKDatabase(plain)
      let zone = CKRecordZone(zoneName: "Purged")
      try await database.save(zone)
      try await plain.write { transaction in try transaction.deleteZone(Zone.ID("Purged"), reason: .purged) }
      let missing = CKRecordZone.ID(zoneName: "Missing"), none = CKRecordZone.ID(zoneName: "")
      let found = try await database.recordZones(for: [zone.zoneID, missing, none, .default])
      #expect((found[zone.zoneID]?.failure as? CKError)?.code == .userDeletedZone)
      #expect((found[missing]?.failure as? CKError)?.code == .zoneNotFound)
      #expect((found[none]?.failure as? CKError)?.code == .zoneNotFound)
      #expect(try found[.default]?.get().zoneID == .default)
      let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [zone.zoneID])
      let ends = Collected<CKError?>()
      fetch.fetchRecordZonesCompletionBlock = { _, error in ends.append(error as? CKError) }
      await fetch.ended { database.add(fetch) }
      #expect((ends.values.first??.partialErrorsByItemID?[zone.zoneID] as? CKError)?.code == .userDeletedZone)
    }

    @Test("save policies: unchanged, changed keys, all keys")
    func policies() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let id = CKRecord.ID(recordName: "note")
        let first = CKRecord(recordType: "Note", recordID: id)
        first["a"] = 1
        first["b"] = 1
        try await database.save(first)
        let second = CKRecord(recordType: "Note", recordID: id)
        second["a"] = 2
        let refused = try await database.modifyRecords(saving: [second], deleting: [])
        #expect(throws: CKError.self) { try refused.saveResults[id]?.get() }
        let saved = try await database.modifyRecords(saving: [second], deleting: [], savePolicy: .changedKeys)
        _ = try saved.saveResults[id]?.get()
        let stored = try await database.record(for: id)
        #expect(stored["a"] == 2)
        #expect(stored["b"] == 1)
        _ = try await database.modifyRecords(saving: [first], deleting: [], savePolicy: .allKeys).saveResults[id]?.get()
        #expect(try await database.record(for: id)["a"] == 1)
      }
    }

    @Test("what was changed in the records of a conflict was lost: each look at the error made others")
    func conflictRecords() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["a"] = 1
        try await database.save(record)
        for isOperation in [false, true] {
          let other = try await database.record(for: record.recordID)
          other["a"] = (other["a"] as? Int ?? 0) + 1
          try await database.save(other)
          record["b"] = isOperation ? "operation" : "call"
          var error: CKError?
          if isOperation {
            let ends = Collected<CKError?>()
            let save = CKModifyRecordsOperation(recordsToSave: [record])
            save.modifyRecordsCompletionBlock = { _, _, error in ends.append(error as? CKError) }
            await save.ended { database.add(save) }
            error = ends.values.first??.partialErrorsByItemID?[record.recordID] as? CKError
          } else {
            do { try await database.save(record) } catch let conflict as CKError { error = conflict }
          }
          let conflict = try #require(error)
          #expect(conflict.code == .serverRecordChanged && conflict.clientRecord === record)
          conflict.serverRecord?["b"] = conflict.clientRecord?["b"]
          try await database.save(#require(conflict.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord))
          let stored = try await database.record(for: record.recordID)
          #expect(stored["a"] as? Int == other["a"] as? Int && stored["b"] as? String == record["b"] as? String)
        }
      }
    }

    @Test("a record that is saved twice in one request is refused, and so is one that is saved and deleted")
    func twice() async throws {
      try await Scratch.container { container in
        let record = CKRecord(recordType: "Note")
        for (saved, deleted) in [([record, record], []), ([record], [record.recordID])] {
          do {
            _ = try await container.privateCloudDatabase.modifyRecords(saving: saved, deleting: deleted)
            Issue.record("it was accepted")
          } catch CKError.invalidArguments {
          }
        }
      }
    }

    @Test("of two records of one name of which one was refused the other was saved, and told as refused with it")
    func twiceRefused() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let bad = CKRecord(recordType: "Note")
        bad["count"] = UInt64.max
        let good = CKRecord(recordType: "Note", recordID: bad.recordID)
        for (saved, deleted) in [([bad, good], []), ([good, bad], []), ([bad], [bad.recordID])] {
          await #expect(throws: CKError.self) {
            _ = try await database.modifyRecords(saving: saved, deleting: deleted, atomically: false)
          }
          await #expect(throws: CKError.self) { try await database.record(for: bad.recordID) }
        }
      }
    }

    @Test("a block that takes a result was told that the request had failed where one of its items had")
    func results() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Results")
        try await database.save(zone)
        let missing = CKRecord.ID(recordName: "missing", zoneID: CKRecordZone.ID(zoneName: "Missing"))
        let requests = Collected<Result<Void, any Error>>()
        let items = Collected<CKError.Code?>(), older = Collected<CKError.Code?>()
        @Sendable func note(_ result: Result<some Any, any Error>) { items.append((result.failure as? CKError)?.code) }

        let lost = CKRecord(recordType: "Note", recordID: missing)
        let modify = CKModifyRecordsOperation(recordsToSave: [lost], recordIDsToDelete: nil)
        modify.perRecordSaveBlock = { note($1) }
        modify.modifyRecordsCompletionBlock = { older.append(($2 as? CKError)?.code) }
        modify.modifyRecordsResultBlock = { requests.append($0) }
        let fetch = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "missing")])
        fetch.perRecordResultBlock = { note($1) }
        fetch.fetchRecordsCompletionBlock = { older.append(($1 as? CKError)?.code) }
        fetch.fetchRecordsResultBlock = { requests.append($0) }
        let zones = CKFetchRecordZonesOperation(recordZoneIDs: [missing.zoneID])
        zones.perRecordZoneResultBlock = { note($1) }
        zones.fetchRecordZonesCompletionBlock = { older.append(($1 as? CKError)?.code) }
        zones.fetchRecordZonesResultBlock = { requests.append($0) }
        let subscriptions = CKFetchSubscriptionsOperation(subscriptionIDs: ["missing"])
        subscriptions.perSubscriptionResultBlock = { note($1) }
        subscriptions.fetchSubscriptionCompletionBlock = { older.append(($1 as? CKError)?.code) }
        subscriptions.fetchSubscriptionsResultBlock = { requests.append($0) }
        let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [missing.zoneID])
        changes.recordZoneFetchResultBlock = { note($1) }
        changes.fetchRecordZoneChangesCompletionBlock = { older.append(($0 as? CKError)?.code) }
        changes.fetchRecordZoneChangesResultBlock = { requests.append($0) }
        for operation in [modify, fetch, zones, subscriptions, changes] { await operation.ended { database.add(operation) } }
        #expect(items.values == [.zoneNotFound, .unknownItem, .zoneNotFound, .unknownItem, .zoneNotFound])
        #expect(older.values == Array(repeating: .partialFailure, count: 5))
        #expect(requests.values.count == 5 && requests.values.allSatisfy { $0.failure == nil })

        // The request itself.
        let twice = CKRecord(recordType: "Note")
        let refused = CKModifyRecordsOperation(recordsToSave: [twice, twice], recordIDsToDelete: nil)
        refused.modifyRecordsResultBlock = { requests.append($0) }
        await refused.ended { database.add(refused) }
        #expect((requests.values.last?.failure as? CKError)?.code == .invalidArguments)
      }
    }

    @Test("an operation that is cancelled, before or while it runs, ends once, and dependencies go on")
    func cancelled() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        let first = CKModifyRecordsOperation(recordsToSave: [record])
        let ends = Collected<CKError.Code?>()
        first.modifyRecordsCompletionBlock = { _, _, error in ends.append((error as? CKError)?.code) }
        first.cancel()
        let second = CKModifyRecordsOperation(recordsToSave: [record])
        second.modifyRecordsCompletionBlock = { _, _, error in ends.append((error as? CKError)?.code) }
        second.addDependency(first)
        await second.ended {
          database.add(second)
          database.add(first)
        }
        #expect(ends.values == [.operationCancelled, nil])
        #expect(record.recordChangeTag != nil)
        // Many at once, cancelled at any moment: each ends exactly once.
        let count = Collected<Int>()
        for number in 0..<50 {
          let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
          operation.modifyRecordsResultBlock = { _ in count.append(number) }
          await operation.ended {
            database.add(operation)
            if number % 2 == 0 { operation.cancel() }
          }
        }
        #expect(count.values == Array(0..<50))
      }
    }

    @Test("a request that another cancels while results arrive ends with operationCancelled, and gives no more of them")
    func cancelledMeanwhile() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let records = (0..<20).map { _ in CKRecord(recordType: "Note") }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        let found = Collected<CKRecord>()
        let ends = Collected<CKError.Code?>()
        operation.recordFetchedBlock = { [unowned operation] record in
          found.append(record)
          if found.values.count == 3 { operation.cancel() }
        }
        operation.queryCompletionBlock = { _, error in ends.append((error as? CKError)?.code) }
        await operation.ended { database.add(operation) }
        #expect(found.values.count == 3)
        #expect(ends.values == [.operationCancelled])
      }
    }

    @Test("an operation that its last result cancelled said that it had succeeded, and others operationCancelled")
    func cancelledAtTheEnd() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let ends = Collected<CKError.Code?>()
        try await database.save(CKRecordZone(zoneName: "Zone"))
        let record = CKRecord(recordType: "Note")
        let save = CKModifyRecordsOperation(recordsToSave: [record])
        save.perRecordSaveBlock = { [unowned save] _, _ in save.cancel() }
        save.modifyRecordsCompletionBlock = { saved, _, error in
          // What was committed stays.
          #expect(saved == [record])
          ends.append((error as? CKError)?.code)
        }
        await save.ended { database.add(save) }
        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.perRecordResultBlock = { [unowned fetch] _, _ in fetch.cancel() }
        fetch.fetchRecordsCompletionBlock = { _, error in ends.append((error as? CKError)?.code) }
        await fetch.ended { database.add(fetch) }
        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        zones.recordZoneWithIDChangedBlock = { [unowned zones] _ in zones.cancel() }
        zones.fetchDatabaseChangesCompletionBlock = { _, _, error in ends.append((error as? CKError)?.code) }
        await zones.ended { database.add(zones) }
        #expect(ends.values == [.operationCancelled, .operationCancelled, .operationCancelled])
        #expect(try await database.record(for: record.recordID).recordChangeTag == record.recordChangeTag)
      }
    }

    @Test("an operation that was to wait for another and was gone before that one ended made the program end")
    func goneBefore() async throws {
      let database = CKDatabase(try Database.inMemory())
      for isQueued in [true, false] {
        for _ in 0..<20 {
          let first = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
          let go = DispatchSemaphore(value: 0)
          first.perRecordSaveBlock = { _, _ in go.wait() }
          await first.ended {
            database.add(first)
            for _ in 0..<5 {
              let second = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
              second.addDependency(first)
              guard isQueued else { continue }
              let hasEnded = DispatchSemaphore(value: 0)
              second.completionBlock = { hasEnded.signal() }
              second.cancel()
              database.add(second)
              hasEnded.wait()
            }
            go.signal()
          }
        }
      }
    }

    @Test("an operation without a database, on a queue of its own, was refused: it is for the default private one")
    func noDatabase() async throws {
      Scratch.prepare()
      let record = CKRecord(recordType: "Note")
      record["text"] = "one"
      let operation = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
      let ends = Collected<CKError?>()
      operation.modifyRecordsCompletionBlock = { _, _, error in ends.append(error as? CKError) }
      let queue = OperationQueue()
      await operation.ended { queue.addOperation(operation) }
      #expect(ends.values.map { $0?.code } == [nil])
      let database = CKContainer.default().privateCloudDatabase
      #expect(try await database.record(for: record.recordID)["text"] == "one")
      try await database.deleteRecord(withID: record.recordID)
    }

    @Test("a container that cannot be opened fails each request with the reason, and the next one tries again")
    func notOpened() async throws {
      Scratch.prepare()
      let wrong = CKContainer(identifier: "no reverse DNS")
      do {
        _ = try await wrong.privateCloudDatabase.record(for: CKRecord.ID())
        Issue.record("it was opened")
      } catch CKError.badContainer {
      }
      #expect(throws: (any Error).self) { try wrong.daybookContainer() }
      let status = await withCheckedContinuation { (continuation: CheckedContinuation<(CKAccountStatus, Int?), Never>) in
        wrong.accountStatus { status, error in continuation.resume(returning: (status, (error as? CKError)?.code.rawValue)) }
      }
      #expect(status == (.couldNotDetermine, CKError.Code.badContainer.rawValue))
      let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Note")])
      let ends = Collected<CKError?>()
      operation.modifyRecordsCompletionBlock = { _, _, error in ends.append(error as? CKError) }
      await operation.ended { wrong.add(operation) }
      #expect(ends.values.map { $0?.code } == [.badContainer])

      // Something that is no database lies in the way, and then it does not.
      let id = "iCloud.com.example.Blocked\(UUID().uuidString)"
      let container = CKContainer(identifier: id)
      let folder = CKContainer.setting.directory
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let blocked = folder.appendingPathComponent("\(id).account.json")
      try Data("{".utf8).write(to: blocked)
      do {
        try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
        Issue.record("it was opened")
      } catch CKError.internalError {
      }
      try FileManager.default.removeItem(at: blocked)
      try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
      try container.close()
    }

    @Test("a container that was closed is opened again by the next request")
    func reopened() async throws {
      try await Scratch.container { container in
        let record = CKRecord(recordType: "Note")
        try await container.privateCloudDatabase.save(record)
        try container.close()
        let again = try await CKContainer(identifier: #require(container.containerIdentifier)).privateCloudDatabase
          .record(for: record.recordID)
        #expect(again.recordType == "Note")
      }
    }

    @Test("a container that cannot be closed within a transaction is closed after it, with its files")
    func closedAfterTransaction() async throws {
      try await Scratch.container { container in
        func now(_ body: () throws -> Void) rethrows { try body() }
        try now {
          let database = try container.privateCloudDatabase.daybookDatabase()
          try database.write { transaction in
            try transaction.save(Record(type: "Note"))
            #expect(throws: DatabaseError.self) { try container.close() }
          }
          try container.close()
          #expect(throws: DatabaseError.self) { try database.write { try $0.save(Record(type: "Note")) } }
          try Database.open(at: database.path).close()
          // Opened again and closed again.
          let again = try container.privateCloudDatabase.daybookDatabase()
          try again.write { try $0.save(Record(type: "Note")) }
          try container.close()
          try Database.open(at: database.path).close()
        }
      }
    }

    @Test("a transaction may ask for its container while another thread closes it: it is refused, and all of them end")
    func askedWhileClosing() async throws {
      try await Scratch.container { container in
        let (asked, answers) = (DispatchSemaphore(value: 0), Collected<String>())
        let database = try container.privateCloudDatabase.daybookDatabase()
        let writer = Thread {
          defer { asked.signal() }
          do {
            try database.write { transaction in
              try transaction.save(Record(type: "Note"))
              let closer = Thread {
                do { try container.close() } catch { answers.append("closing: \(error)") }
                answers.append("closed")
                asked.signal()
              }
              closer.start()
              // It waits for this transaction from some moment on; until then the container is simply open.
              for _ in 0..<500 {
                do { _ = try container.publicCloudDatabase.daybookDatabase() } catch {
                  let code = (error as? DatabaseError)?.code
                  answers.append(code == .invalidArguments || code == .closed ? "refused" : "\(error)")
                  return
                }
                Thread.sleep(forTimeInterval: 0.002)
              }
            }
          } catch { answers.append("writing: \(error)") }
        }
        writer.start()
        let hasEnded = await Task.detached {
          (0..<2).allSatisfy { _ in asked.wait(timeout: .now() + 600) == .success }
        }.value
        #expect(hasEnded)
        #expect(answers.values.sorted() == ["closed", "refused"])
      }
    }

    @Test("an operation that is cancelled just as it begins still calls its last block, once")
    func cancelledAtStart() async throws {
      try await Scratch.container { container in
        let operation = CancelledAtStart()
        operation.database = container.privateCloudDatabase
        operation.start()
        #expect(operation.isCancelled && operation.isFinished)
        #expect(operation.results.values == [.operationCancelled])
      }
    }

    @Test("the default container has a name that is one, whatever the program is called")
    func defaultName() async throws {
      Scratch.prepare()
      let container = CKContainer(identifier: CKContainer.Setting().defaultIdentifier)
      #expect(try await container.accountStatus() == .available)
      try container.close()
    }

    @Test("errors have CloudKit's numbers, domain and keys")
    func errors() {
      let error: Error = CKError(.zoneBusy)
      #expect((error as NSError).domain == CKErrorDomain)
      #expect((error as NSError).code == 23)
      #expect((CKError(DatabaseErrors.busy) as NSError).userInfo[CKErrorRetryAfterKey] as? Double == 0.25)
      #expect(error.localizedDescription.isEmpty == false)
      if case CKError.zoneBusy = error {} else { Issue.record("the pattern does not match") }
      #expect(CKError.Code.allCases.map(\.rawValue) == Array(1...37))
    }

    @Test("a partial failure of which no item is known said that none had failed: code took its conflicts for solved")
    func noItems() {
      let error = CKError(.partialFailure)
      #expect(error.partialErrorsByItemID == nil && error.userInfo[CKPartialErrorsByItemIDKey] == nil)
    }

    @Test("an error could not be made with what tests put into it: records, errors of items, seconds to wait")
    func madeErrors() {
      let server = CKRecord(recordType: "Note")
      let conflict = CKError(.serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: server])
      #expect(conflict.serverRecord === server && conflict.clientRecord == nil && conflict.partialErrorsByItemID == nil)
      #expect(conflict.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord === server)
      let errors: [CKRecord.ID: CKError] = [server.recordID: conflict]
      let whole: Error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: errors])
      #expect((((whole as? CKError)?.partialErrorsByItemID?[server.recordID]) as? CKError)?.serverRecord === server)
      #expect(((whole as NSError).userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error])?.count == 1)
      let busy = CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: 1.5, NSLocalizedDescriptionKey: "later"])
      #expect(busy.retryAfterSeconds == 1.5 && busy.userInfo[CKErrorRetryAfterKey] as? NSNumber == 1.5)
      #expect(busy.userInfo[NSLocalizedDescriptionKey] as? String == "later")
      #expect(CKError(.zoneBusy).retryAfterSeconds == nil)
    }

    @Test("there was no way from an NSError back to what it was")
    func foundationErrors() {
      let server = CKRecord(recordType: "Note")
      let conflict = CKError(.serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: server])
      #expect(CKError(_nsError: conflict as NSError).code == .serverRecordChanged)
      #expect(CKError(_nsError: conflict as NSError).serverRecord === server)
      let whole = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [server.recordID: conflict]])
      #expect(CKError(_nsError: whole as NSError).partialErrorsByItemID?.count == 1)
      #expect(CKError(_nsError: CKError(DatabaseErrors.busy) as NSError).retryAfterSeconds == 0.25)
      #expect(CKError(_nsError: NSError(domain: CKErrorDomain, code: 26)).code == .zoneNotFound)
      #expect(CKError(_nsError: NSError(domain: NSCocoaErrorDomain, code: 26)).code == .internalError)
    }
  }

  /// It is cancelled right after it was looked at for the first time.
  private final class CancelledAtStart: CKDatabaseOperation, @unchecked Sendable {
    let results = Collected<CKError.Code?>()
    private let looks = Collected<Bool>()

    override func perform(_ database: CKDatabase) {}
    override func finish(_ error: CKError?) { results.append(error?.code) }

    override var isCancelled: Bool {
      let found = super.isCancelled
      looks.append(found)
      if looks.values.count == 1 { cancel() }
      return found
    }
  }
#endif
