import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Fetching what changed on the server, page by page: each is one transaction here, which takes the token along.
extension SyncEngine {
  /// What a page of the remote becomes here.
  struct Applied: Sendable {
    var saved: [Record.ID] = []
    var deleted: [Record.ID] = []
    var resolved: [Record.ID] = []
    var quarantined: [QuarantinedRecord] = []

    init() {}

    init(_ incoming: Incoming) {
      saved = incoming.saved
      deleted = incoming.deleted
      resolved = incoming.resolved
      quarantined = incoming.quarantined
    }
  }

  func fetch(_ id: Zone.ID) async throws {
    // Its changes are in no feed of zones.
    guard let zone = state.zones[id], zone.needsFetch || id == .default else { return }
    if zone.fetchedToken == nil, !zone.isSweeping, !zone.isForked, try await hasBases(zone) {
      // Sent before anything was fetched: what was deleted there since may be in the feed no more.
      try await restartFeed(of: id)
    }
    var restarts = 0
    while true {
      guard let zone = state.zones[id] else { return }
      let page: ZoneChanges
      do {
        page = try await remote.changes(
          in: id, since: zone.fetchedToken, limit: configuration.pageRecordCount, desiredKeys: nil)
      } catch let error as DatabaseError where zone.fetchedToken != nil && error.isOfToken {
        // A server that takes back each token that it gave would be read forever.
        restarts += 1
        guard restarts < 4 else { throw error }
        if error.code == .changeTokenForked { try await restartForked(id) } else { try await restartFeed(of: id) }
        continue
      } catch let error as DatabaseError where id == .default && zone.fetchedToken == nil && error.isOfOneZone {
        // Some servers have no feed of it, which matters only where something is in it.
        if try await local.recordCount(in: id) == 0 { return }
        throw error
      }
      guard !page.moreComing || page.token != zone.fetchedToken else { throw DatabaseError.sameToken }
      if page.saved.isEmpty, page.deleted.isEmpty, !page.moreComing, !zone.isSweeping {
        // A token says of which state it is, and that moves without the zone.
        if zone.needsFetch || zone.fetchedToken == nil { state.zones[id]?.fetchedToken = page.token }
        state.zones[id]?.isForked = false
        state.zones[id]?.needsFetch = false
        return
      }
      let ready = try await prepared(page.saved, in: id)
      let isLast = !page.moreComing
      let applied = try await applying(to: id) { incoming, transaction, state in
        for record in ready.records { try incoming.save(record, transaction) }
        for (id, error) in ready.failures { try incoming.refuse(id, error, transaction) }
        for record in page.deleted { try incoming.delete(record.id, transaction) }
        state.zones[id]?.fetchedToken = page.token
        state.zones[id]?.isForked = false
        if isLast, !zone.isSweeping { state.zones[id]?.needsFetch = false }
      }
      count(applied, asFetched: true)
      guard isLast else { continue }
      if zone.isSweeping { try await sweep(id) }
      return
    }
  }

  private func hasBases(_ zone: SyncState.ZoneState) async throws -> Bool {
    let store = store
    return try await !local.read { snapshot in try store.baseNames(zone.number, after: nil, limit: 1, snapshot).isEmpty }
  }

  /// The remote's feed is read from its beginning.
  private func restartFeed(of id: Zone.ID) async throws {
    try await commit { _, state in
      state.zones[id]?.fetchedToken = nil
      state.zones[id]?.generation += 1
      state.zones[id]?.isSweeping = true
      state.zones[id]?.needsFetch = true
    }
  }

  /// The server is an older copy of itself. What it does not have was not deleted there, and what it has is not newer: nothing is
  /// agreed on any more of what is here as it was sent, and that is sent once more. Of unsent changes the base is still what they
  /// began with.
  private func restartForked(_ id: Zone.ID) async throws {
    let store = store
    var last: String?
    while let zone = state.zones[id] {
      let start = last
      let page = try await local.read { snapshot in try store.baseNames(zone.number, after: start, limit: 500, snapshot) }
      let isLast = page.isEmpty
      try await commit { transaction, state in
        for (_, base) in page {
          let record = try Record(systemFields: base.systemFields).id
          guard let client = try transaction.record(record), client.changeTag == base.localTag else { continue }
          try store.setBase(nil, of: record, zone.number, transaction)
          try store.setHeld(.again(nil), of: record, zone.number, transaction)
        }
        guard isLast else { return }
        state.zones[id]?.fetchedToken = nil
        state.zones[id]?.isSweeping = false
        state.zones[id]?.isForked = true
        state.zones[id]?.needsFetch = true
      }
      guard let name = page.last?.name else { return }
      last = name
    }
  }

  /// What a whole reading of the feed has not seen is not on the server any more.
  private func sweep(_ id: Zone.ID) async throws {
    var last: String?
    while let zone = state.zones[id], zone.isSweeping {
      let (store, start) = (store, last)
      let page = try await local.read { snapshot in
        try store.baseNames(zone.number, after: start, limit: 500, snapshot)
      }
      let gone = try page.filter { $0.base.generation != zone.generation }.map {
        try Record(systemFields: $0.base.systemFields).id
      }
      let isLast = page.isEmpty
      last = page.last?.name
      if gone.isEmpty, !isLast { continue }
      let applied = try await applying(to: id) { incoming, transaction, state in
        for id in gone { try incoming.delete(id, transaction) }
        if isLast {
          state.zones[id]?.isSweeping = false
          state.zones[id]?.needsFetch = false
        }
      }
      count(applied, asFetched: true)
    }
  }

  // MARK: what sends and fetches share

  /// A transaction that takes over what the remote has. Conflicts that the application decides are asked for outside of it, and
  /// then it is made again.
  func applying(
    to id: Zone.ID,
    _ body: @escaping @Sendable (inout Incoming, borrowing Transaction, inout SyncState) throws -> Void
  ) async throws -> Applied {
    var answers: [Record.ID: ConflictAnswer] = [:]
    var counts: [Record.ID: Int] = [:]
    while true {
      let (store, configuration, known) = (store, configuration, answers)
      do {
        return try await commit { transaction, state in
          guard let zone = state.zones[id] else { return Applied() }
          var incoming = Incoming(store, configuration, zone, answers: known)
          try body(&incoming, transaction, &state)
          if !incoming.unanswered.isEmpty { throw UnansweredConflicts(conflicts: incoming.unanswered) }
          return Applied(incoming)
        }
      } catch let error as UnansweredConflicts {
        guard case .userTellsWhichWins(let decide) = configuration.policy else { throw error }
        for conflict in error.conflicts {
          try Task.checkCancellation()
          var result: Result<Record?, DatabaseError>
          do {
            let record = try await Self.$isDeciding.withValue(true) { try await decide(conflict) }
            // Asset files are taken in before the transaction.
            if let record { result = .success(try await local.prepare(record)) } else { result = .success(nil) }
          } catch {
            try Task.checkCancellation()
            let facts = DatabaseError.Facts(zone: conflict.id.zone, name: conflict.id.name)
            result = .failure(
              DatabaseError(.serverRecordChanged, "The application has not decided the conflict.", facts: facts, cause: error))
          }
          counts[conflict.id, default: 0] += 1
          let isLast = counts[conflict.id] == 10
          if isLast {
            let facts = DatabaseError.Facts(zone: conflict.id.zone, name: conflict.id.name)
            result = .failure(
              DatabaseError(.serverRecordChanged, "The record changes each time while its conflict is decided.", facts: facts))
          }
          answers[conflict.id] = ConflictAnswer(
            clientTag: conflict.client?.changeTag, serverTag: conflict.server?.changeTag, isLast: isLast, record: result)
        }
      }
    }
  }

  struct Prepared: Sendable {
    var records: [Record] = []
    var failures: [(id: Record.ID, error: DatabaseError)] = []
  }

  /// The remote's records with their assets in this database; those that are known already are left as they are.
  func prepared(_ records: [Record], in zone: Zone.ID) async throws -> Prepared {
    var prepared = Prepared()
    guard records.contains(where: { $0.hasAssets }), let number = state.zones[zone]?.number else {
      prepared.records = records
      return prepared
    }
    let store = store
    let known = try await local.read { snapshot in
      try records.filter { try store.base(of: $0.id, number, snapshot)?.serverTag == $0.changeTag }.map(\.id)
    }
    let echoes = Set(known)
    for record in records {
      guard record.hasAssets, !echoes.contains(record.id) else {
        prepared.records.append(record)
        continue
      }
      do {
        prepared.records.append(try await local.prepare(try await withContents(record)))
      } catch let error as DatabaseError where !error.concernsWholeCommit && !error.code.isTransient {
        prepared.failures.append((record.id, error))
      }
    }
    return prepared
  }

  /// Asks the remote for assets that did not come along with the record.
  private func withContents(_ record: Record) async throws -> Record {
    var record = record
    for key in record.keys {
      guard case .asset(let asset)? = record[key] as Record.Value?, !asset.hasContent else { continue }
      record[key] = Record.Value.asset(try Asset(fileURL: try await remote.asset(key, of: record.id)))
    }
    return record
  }

  func count(_ applied: Applied, asFetched: Bool) {
    report.conflicts += applied.resolved.count
    if asFetched { report.fetched += applied.saved.count + applied.deleted.count }
    if !applied.saved.isEmpty || !applied.deleted.isEmpty { tell(.fetched(saved: applied.saved, deleted: applied.deleted)) }
    if !applied.resolved.isEmpty { tell(.resolved(applied.resolved)) }
    for record in applied.quarantined { tell(.quarantined(record)) }
  }
}

extension Record {
  fileprivate var hasAssets: Bool {
    keys.contains {
      switch self[$0] as Value? {
      case .asset?, .assets?: true
      default: false
      }
    }
  }
}
