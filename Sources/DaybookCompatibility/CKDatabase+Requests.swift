#if !canImport(CloudKit)
  import Daybook
  import Foundation

  extension Record {
    /// The record with empty lists of the kinds that its fields have. An array without elements does not say what it is a list of, be it one
    /// of Foundation's, or a coder's of files, places or bytes that are no more; to CloudKit it is whatever the field is.
    /// - Parameter schema: read for the first record that needs it, and kept for the others.
    fileprivate func fittingEmptyLists(
      to schema: inout Schema?, of database: Database
    ) throws(DatabaseError) -> Record {
      let plain = changedKeys.filter { (self[$0] as Value?)?.elementCount == 0 }
      let encrypted = encryptedValues.changedKeys.filter { (encryptedValues[$0] as Value?)?.elementCount == 0 }
      if plain.isEmpty, encrypted.isEmpty { return self }
      if schema == nil { schema = try database.schema() }
      guard let known = schema?[type] else { return self }
      var record = self
      for key in plain {
        if let value = known[key]?.emptyList(for: self[key], isEncrypted: false) { try record.set(value, forKey: key) }
      }
      for key in encrypted {
        guard let value = known[key]?.emptyList(for: encryptedValues[key], isEncrypted: true) else { continue }
        try record.encryptedValues.set(value, forKey: key)
      }
      return record
    }
  }

  extension Schema.Field {
    /// An empty list of the field's kind; nil where it may be as it is, or the field has no lists, or several kinds of them.
    fileprivate func emptyList(for value: Record.Value?, isEncrypted: Bool) -> Record.Value? {
      let lists = kinds.filter { FieldKind(name: $0.rawValue)?.isList ?? false }
      guard let value, isEncrypted == self.isEncrypted, lists.count == 1, lists[0].rawValue != value.kind.name
      else { return nil }
      return switch lists[0] {
      case .strings: .strings([])
      case .ints: .ints([])
      case .doubles: .doubles([])
      case .bytesList: .bytesList([])
      case .dates: .dates([])
      case .locations: .locations([])
      case .assets: .assets([])
      case .references: .references([])
      default: nil
      }
    }
  }

  /// What operations, completion handlers and asynchronous calls do alike, on the thread that they chose.
  extension CKDatabase {
    // MARK: records

    /// Records by identity, each with a result, in the order in which they were asked for.
    func fetch(
      _ ids: [CKRecord.ID], desiredKeys: [String]? = nil
    ) throws(DatabaseError) -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
      let database = try daybookDatabase()
      var known: Set<CKRecord.ID> = []
      let asked = ids.filter { known.insert($0).inserted }
      var refused: [CKRecord.ID: DatabaseError] = [:]
      var sound: [Record.ID] = []
      for id in asked {
        do throws(DatabaseError) { sound.append(try id.daybookID) } catch { refused[id] = error }
      }
      let found = try database.records(for: sound, desiredKeys: desiredKeys)
      let userName = try userRecordName()
      return asked.map { id in
        if let error = refused[id] { return (id, .failure(CKError(error))) }
        let result = (try? id.daybookID).flatMap { found[$0] } ?? .failure(DatabaseError(.unknownItem))
        // The record of the user is there before anybody has saved it.
        if case .failure(let error) = result, error.code == .unknownItem, id.recordName == userName,
          let zone = try? id.zoneID.daybookID, let user = try? database.userRecord(in: zone)
        {
          return (id, .success(CKRecord(user)))
        }
        return (id, result.map { CKRecord($0) }.mapError { CKError($0) as any Error })
      }
    }

    func fetch(_ id: CKRecord.ID) throws -> CKRecord {
      guard let only = try fetch([id]).first else { throw CKError(.unknownItem) }
      return try only.result.get()
    }

    /// What became of records that were to be saved and deleted, in order.
    struct Modification: Sendable {
      var saves: [(record: CKRecord, result: Result<CKRecord, CKError>)] = []
      var deletes: [(id: CKRecord.ID, result: Result<Void, CKError>)] = []

      /// The error of the whole request; nil when every item succeeded.
      var error: CKError? {
        var errors: [Record.ID: DatabaseError] = [:]
        var known: [CKRecord.ID: CKError] = [:]
        var first: CKError?
        for (record, result) in saves {
          guard case .failure(let error) = result else { continue }
          first = first ?? error
          known[record.recordID] = error
          if let id = try? record.recordID.daybookID { errors[id] = error.daybookError }
        }
        for (id, result) in deletes {
          guard case .failure(let error) = result else { continue }
          first = first ?? error
          if let id = try? id.daybookID { errors[id] = error.daybookError }
        }
        guard let first else { return nil }
        // Of identities that are none the error itself is all that there is to tell.
        return errors.isEmpty ? first : CKError(DatabaseError(.partialFailure, partialErrors: errors), records: known)
      }
    }

    /// Saves and deletes records. A record that was saved becomes the saved version.
    func modify(
      saving records: [CKRecord], deleting ids: [CKRecord.ID], policy: SavePolicy, atomically: Bool
    ) throws(DatabaseError) -> Modification {
      let database = try daybookDatabase()
      try checkNames(records.map(\.recordID), ids)
      let states = records.map(\.content)
      var refused: [Int: DatabaseError] = [:]
      var sound: [(index: Int, record: Record)] = []
      var schema: Schema?
      for (index, state) in states.enumerated() {
        do throws(DatabaseError) {
          sound.append((index, try state.record().fittingEmptyLists(to: &schema, of: database)))
        } catch { refused[index] = error }
      }
      var refusedIDs: [Int: DatabaseError] = [:]
      var soundIDs: [(index: Int, id: Record.ID)] = []
      for (index, id) in ids.enumerated() {
        do throws(DatabaseError) { soundIDs.append((index, try id.daybookID)) } catch { refusedIDs[index] = error }
      }
      // What is refused here takes the rest of its zone along, as what the database refuses does, where the zone can do so.
      if atomically, !refused.isEmpty || !refusedIDs.isEmpty {
        let atomic = try database.zones().filter { $0.capabilities.contains(.atomic) }.map { CKRecordZone.ID($0.id) }
        let broken = Set(refused.keys.map { records[$0].recordID.zoneID } + refusedIDs.keys.map { ids[$0].zoneID })
          .intersection(atomic)
        let innocent = DatabaseError(.batchRequestFailed)
        for (index, _) in sound where broken.contains(records[index].recordID.zoneID) { refused[index] = innocent }
        for (index, _) in soundIDs where broken.contains(ids[index].zoneID) { refusedIDs[index] = innocent }
        sound.removeAll { refused[$0.index] != nil }
        soundIDs.removeAll { refusedIDs[$0.index] != nil }
      }
      let result = try database.modify(
        saving: sound.map(\.record), deleting: soundIDs.map(\.id), policy: policy, atomically: atomically)
      var answers: [Int: Result<CKRecord, CKError>] = refused.mapValues { .failure(CKError($0)) }
      for ((index, _), save) in zip(sound, result.saves) {
        switch save.result {
        case .success(let saved):
          // Asked under the lock: no answer of another save can come between.
          records[index].state.withLock { state in
            state.take(saved, savedAs: states[index]) { try? database.record(saved.id) }
          }
          answers[index] = .success(records[index])
        case .failure(let error): answers[index] = .failure(CKError(error, client: records[index]))
        }
      }
      var idAnswers: [Int: Result<Void, CKError>] = refusedIDs.mapValues { .failure(CKError($0)) }
      for ((index, _), delete) in zip(soundIDs, result.deletes) { idAnswers[index] = delete.result.mapError { CKError($0) } }
      let missing = CKError(.internalError)
      return Modification(
        saves: records.indices.map { (records[$0], answers[$0] ?? .failure(missing)) },
        deletes: ids.indices.map { (ids[$0], idAnswers[$0] ?? .failure(missing)) })
    }

    /// As the database does: of two records of one name one may be refused here, and never come to it.
    private func checkNames(_ records: [CKRecord.ID], _ ids: [CKRecord.ID]) throws(DatabaseError) {
      var known: Set<CKRecord.ID> = []
      for id in records where !known.insert(id).inserted {
        throw DatabaseError(
          .invalidArguments, "You can't save the same record twice.",
          facts: .init(zone: try? id.zoneID.daybookID, name: id.recordName))
      }
      for id in ids where !known.insert(id).inserted {
        throw DatabaseError(
          .invalidArguments, "A record is named twice in one request.",
          facts: .init(zone: try? id.zoneID.daybookID, name: id.recordName))
      }
    }

    func save(_ record: CKRecord) throws -> CKRecord {
      let done = try modify(saving: [record], deleting: [], policy: .ifServerRecordUnchanged, atomically: false)
      return try done.saves[0].result.get()
    }

    func delete(_ id: CKRecord.ID) throws -> CKRecord.ID {
      let done = try modify(saving: [], deleting: [id], policy: .ifServerRecordUnchanged, atomically: false)
      try done.deletes[0].result.get()
      return id
    }

    // MARK: queries

    /// One page of a query's result.
    func page(
      of place: CKQueryOperation.Cursor, in zone: CKRecordZone.ID?, desiredKeys: [String]?, limit: Int
    ) throws(DatabaseError) -> (records: [CKRecord], next: CKQueryOperation.Cursor?) {
      var query = place.query
      if let zone { query.zone = try zone.daybookID }
      query.limit = limit > 0 ? limit : CKQueryOperation.defaultLimit
      let page = try daybookDatabase().query(query, after: place.cursor, desiredKeys: desiredKeys)
      return (page.records.map { CKRecord($0) }, page.next.map { CKQueryOperation.Cursor(query: query, cursor: $0) })
    }

    // MARK: zones

    func allZones() throws(DatabaseError) -> [CKRecordZone] { try daybookDatabase().zones().map { CKRecordZone($0) } }

    /// Zones by identity, each with a result.
    func zones(
      _ ids: [CKRecordZone.ID]
    ) throws(DatabaseError) -> [(id: CKRecordZone.ID, result: Result<CKRecordZone, any Error>)] {
      let database = try daybookDatabase()
      let all = try allZones()
      return ids.map { id in
        if let zone = all.first(where: { $0.zoneID == id }) { return (id, .success(zone)) }
        var error = DatabaseError(.zoneNotFound, facts: .init(name: id.zoneName))
        // One that the user deleted must not be made again: the database knows which those are.
        if let zone = try? id.daybookID {
          do throws(DatabaseError) { _ = try database.recordCount(in: zone) } catch let reason { error = reason }
        }
        return (id, .failure(CKError(error)))
      }
    }

    /// What became of zones that were to be saved and deleted, in order.
    struct ZoneModification: Sendable {
      var saves: [(zone: CKRecordZone, result: Result<CKRecordZone, any Error>)] = []
      var deletes: [(id: CKRecordZone.ID, result: Result<Void, any Error>)] = []

      /// The error of the whole request; nil when every zone succeeded.
      var error: CKError? {
        var errors: [Zone.ID: DatabaseError] = [:]
        var first: CKError?
        let all =
          saves.map { ($0.zone.zoneID, $0.result.map { _ in () }) } + deletes.map { ($0.id, $0.result) }
        for (id, result) in all {
          guard case .failure(let error) = result else { continue }
          first = first ?? CKError(any: error)
          if let id = try? id.daybookID { errors[id] = CKError(any: error).daybookError }
        }
        guard let first else { return nil }
        return errors.isEmpty ? first : CKError(DatabaseError(.partialFailure, partialZoneErrors: errors))
      }
    }

    func modifyZones(
      saving zones: [CKRecordZone], deleting ids: [CKRecordZone.ID]
    ) throws(DatabaseError) -> ZoneModification {
      let database = try daybookDatabase()
      var answer = ZoneModification()
      for zone in zones {
        do throws(DatabaseError) {
          let result = try database.modifyZones(saving: [Zone(zone.zoneID.daybookID)])
          let saved = result.saves.first?.result ?? .failure(DatabaseError(.internalError))
          answer.saves.append((zone, saved.map { CKRecordZone($0) }.mapError { CKError($0) as any Error }))
        } catch { answer.saves.append((zone, .failure(CKError(error)))) }
      }
      for id in ids {
        do throws(DatabaseError) {
          let result = try database.modifyZones(deleting: [id.daybookID])
          let deleted = result.deletes.first?.result ?? .failure(DatabaseError(.internalError))
          answer.deletes.append((id, deleted.mapError { CKError($0) as any Error }))
        } catch { answer.deletes.append((id, .failure(CKError(error)))) }
      }
      return answer
    }
  }
#endif
