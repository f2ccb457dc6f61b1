import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What waits, and what was refused.
extension SyncEngine {
  /// What is to be sent, by zone, each record once: deletions and changes together, those that are held first.
  /// - Parameter limit: at most so many.
  /// - Complexity: O(changes since the last sync).
  public func outbox(limit: Int = .max) async throws -> [PendingRecord] {
    let (store, zones) = (store, configuration.zones)
    return try await local.read { snapshot in try Self.outbox(store, limit, snapshot) { zones?.contains($0) ?? true } }
  }

  /// Records that one side refused. Those that the server refused are tried again by themselves once they are changed here, those
  /// that wait for another record in each sync; all others with ``retry(_:)``.
  public func quarantine() async throws -> [QuarantinedRecord] {
    let store = store
    return try await local.read { snapshot in try Self.quarantine(store, snapshot) }
  }

  /// What all engines of a database have to send, without a remote. Of records that several remotes wait for, each remote's.
  public static func outbox(of database: Database, limit: Int = .max) throws -> [PendingRecord] {
    try database.read { snapshot in
      var all: [PendingRecord] = []
      for name in try SyncStore.names(snapshot) {
        all += try outbox(SyncStore(name: name), limit - all.count, snapshot) { _ in true }
      }
      return all
    }
  }

  /// Whether a sync has ever left its state here.
  package static func hasState(in database: Database) throws -> Bool {
    try database.read { snapshot in try !SyncStore.names(snapshot).isEmpty }
  }

  /// What is in the quarantine of all engines of a database, without a remote.
  public static func quarantine(of database: Database) throws -> [QuarantinedRecord] {
    try database.read { snapshot in
      var all: [QuarantinedRecord] = []
      for name in try SyncStore.names(snapshot) { all += try quarantine(SyncStore(name: name), snapshot) }
      return all
    }
  }

  /// Lets records out of quarantine, and syncs: those that the server refused are sent again, those that could not be saved here are
  /// fetched again.
  /// - Parameter ids: nil for all.
  /// - Throws: as ``sync()``.
  @discardableResult
  public func retry(_ ids: [Record.ID]? = nil) async throws -> SyncReport {
    try await exclusively {
      for (id, records) in try await heldRecords(ids) {
        guard let number = state.zones[id]?.number else { continue }
        let store = store
        let sending = records.filter { $0.held.reason == .refused }.map(\.id)
        try await commit { transaction, _ in
          for record in sending { try store.setHeld(.again(nil), of: record, number, transaction) }
        }
        try await fetch(records.filter { $0.held.reason == .unsaved }.map(\.id), of: id)
      }
    }
    return try await sync()
  }

  /// Gives up what is here of records, also of those that are not in quarantine: the server's versions take their place, and what it
  /// does not have is deleted.
  /// - Throws: what the remote throws; then some of them may be as they were.
  public func revert(_ ids: [Record.ID]) async throws {
    try await exclusively {
      for (id, records) in Dictionary(grouping: ids, by: \.zone) {
        guard let number = state.zones[id]?.number else { continue }
        for start in stride(from: 0, to: records.count, by: max(1, min(remote.limits.itemsPerRequest, 200))) {
          let part = Array(records[start..<min(records.count, start + max(1, min(remote.limits.itemsPerRequest, 200)))])
          let (servers, missing) = try await fetched(part, of: id)
          let store = store
          let applied = try await applying(to: id) { incoming, transaction, state in
            guard state.zones[id]?.number == number else { return }
            // As agreed, so that there is nothing to merge.
            for record in part {
              guard let client = try transaction.record(record) else { continue }
              var base =
                try store.base(of: record, number, transaction)
                ?? MergeBase(
                  localTag: "", serverTag: "", systemFields: client.systemFields,
                  generation: incoming.generation, merged: nil,
                  fields: [:])
              base.localTag = client.changeTag ?? ""
              base.serverTag = ""
              try store.setBase(base, of: record, number, transaction)
            }
            for (id, error) in servers.failures { try incoming.refuse(id, error, transaction) }
            for server in servers.records { try incoming.replace(server, transaction) }
            for record in missing { try incoming.delete(record, transaction) }
          }
          count(applied, asFetched: true)
        }
      }
    }
  }

  /// Which records are held, by zone.
  private func heldRecords(_ ids: [Record.ID]?) async throws -> [Zone.ID: [(id: Record.ID, held: HeldRecord)]] {
    let (store, zones, wanted) = (store, state.zones, ids.map { Set($0) })
    return try await local.read { snapshot in
      var all: [Zone.ID: [(id: Record.ID, held: HeldRecord)]] = [:]
      for (id, zone) in zones {
        for (name, held) in try store.held(zone.number, snapshot) {
          let record = Record.ID(unchecked: name, in: id)
          if wanted?.contains(record) ?? true { all[id, default: []].append((record, held)) }
        }
      }
      return all
    }
  }

  private func fetched(_ ids: [Record.ID], of zone: Zone.ID) async throws -> (servers: Prepared, missing: [Record.ID]) {
    var servers: [Record] = []
    var missing: [Record.ID] = []
    let results = try await remote.records(for: ids, desiredKeys: nil)
    for id in ids {
      switch results[id] {
      case .success(let record)?: servers.append(record)
      case .failure(let error)? where error.code == .unknownItem: missing.append(id)
      case .failure(let error)?: throw error
      case nil: throw DatabaseError.incompleteAnswer(id)
      }
    }
    return (try await prepared(servers, in: zone), missing)
  }

  /// Fetches records by name and takes them over.
  func fetch(_ ids: [Record.ID], of id: Zone.ID) async throws {
    let size = max(1, min(remote.limits.itemsPerRequest, 200))
    for start in stride(from: 0, to: ids.count, by: size) {
      let part = Array(ids[start..<min(ids.count, start + size)])
      let (servers, missing) = try await fetched(part, of: id)
      let store = store
      let applied = try await applying(to: id) { incoming, transaction, state in
        guard let number = state.zones[id]?.number else { return }
        for record in part {
          // What was never agreed on and is gone there is to be sent.
          let isUnsent = try store.base(of: record, number, transaction) == nil && transaction.record(record) != nil
          try store.setHeld(isUnsent ? .again(nil) : nil, of: record, number, transaction)
        }
        for record in servers.records { try incoming.save(record, transaction) }
        for (id, error) in servers.failures { try incoming.refuse(id, error, transaction) }
        for record in missing { try incoming.delete(record, transaction) }
      }
      count(applied, asFetched: true)
    }
  }

  // MARK: reading

  private static func outbox(
    _ store: SyncStore, _ limit: Int, _ reader: borrowing some RecordReader & ~Copyable, isChosen: (Zone.ID) -> Bool
  ) throws -> [PendingRecord] {
    let zones = try store.state(reader)?.zones ?? [:]
    var list = PendingList(limit: limit)
    for zone in try reader.zones().sorted(by: { $0.id < $1.id }) where isChosen(zone.id) {
      // Of a zone that was made since, or before a first sync, everything is to be sent. No zone has the number 0.
      let known = zones[zone.id] ?? SyncState.ZoneState(number: 0, isHere: true, isThere: false, needsFetch: false)
      list.seen = []
      for (name, held) in try store.held(known.number, reader) {
        let id = Record.ID(unchecked: name, in: zone.id)
        if held.reason == .again {
          try list.add(id, try reader.record(id), try store.base(of: id, known.number, reader))
        } else {
          list.seen.insert(id)
        }
      }
      var token = known.sentToken
      while list.pending.count < limit {
        guard let page = try ownChanges(in: zone.id, since: token, reader) else {
          token = nil
          continue
        }
        for record in page.saved {
          // Changed since it was refused.
          if let held = try store.held(of: record.id, known.number, reader), held.localTag != record.changeTag {
            list.seen.remove(record.id)
          }
          try list.add(record.id, record, try store.base(of: record.id, known.number, reader))
        }
        for record in page.deleted {
          try list.add(record.id, try reader.record(record.id), try store.base(of: record.id, known.number, reader))
        }
        token = page.token
        if !page.moreComing { break }
      }
    }
    return list.pending
  }

  /// Nil for a token that is of no use any more.
  private static func ownChanges(
    in zone: Zone.ID, since token: ChangeToken?, _ reader: borrowing some RecordReader & ~Copyable
  ) throws -> ZoneChanges? {
    do { return try reader.changes(in: zone, since: token) } catch {
      guard token != nil, error.isOfToken else { throw error }
      return nil
    }
  }

  /// What is to be sent, each record once.
  private struct PendingList {
    let limit: Int
    var pending: [PendingRecord] = []
    /// Of the present zone.
    var seen: Set<Record.ID> = []

    init(limit: Int) { self.limit = limit }

    mutating func add(_ id: Record.ID, _ client: Record?, _ base: MergeBase?) throws {
      guard pending.count < limit, seen.insert(id).inserted else { return }
      guard case .send(let change) = try Outgoing.need(id, client: client, base: base) else { return }
      let kind: PendingRecord.Change = if case .delete = change.change { .delete } else { .save }
      pending.append(PendingRecord(id: id, change: kind, type: change.type))
    }
  }

  private static func quarantine(
    _ store: SyncStore, _ reader: borrowing some RecordReader & ~Copyable
  ) throws -> [QuarantinedRecord] {
    guard let state = try store.state(reader) else { return [] }
    var all: [QuarantinedRecord] = []
    for (id, zone) in state.zones.sorted(by: { $0.key < $1.key }) {
      for (name, held) in try store.held(zone.number, reader) {
        // One that is only to be sent again is in the outbox.
        guard let code = DatabaseError.Code(rawValue: held.code) else { continue }
        all.append(
          QuarantinedRecord(
            id: Record.ID(unchecked: name, in: id), direction: held.reason == .unsaved ? .fetching : .sending, code: code,
            message: held.message))
      }
    }
    return all
  }
}

extension Incoming {
  /// Takes the server's version, whatever is here.
  mutating func replace(_ server: Record, _ transaction: borrowing Transaction) throws {
    try take(server, try FieldValues(server), over: try transaction.record(server.id), transaction)
  }
}
