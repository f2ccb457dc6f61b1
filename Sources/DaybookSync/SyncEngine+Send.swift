import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Sending what changed here: this database's own feed says what, and the merge bases say what of it.
///
/// The token of the feed moves only in the transaction that records what the server said to all that came before it; what is to be
/// tried once more is held by name. So a crash at any moment sends something twice at most, and a second send meets its own
/// first one: a conflict between equal records, which is none.
extension SyncEngine {
  /// Changes of one page, and where the next begins.
  fileprivate struct Page: Sendable {
    var outgoing: [Outgoing] = []
    var agreed: [(id: Record.ID, base: MergeBase)] = []
    /// Held ones that need nothing any more.
    var settled: [Record.ID] = []
    /// Those that cannot be read here.
    var refused: [(id: Record.ID, localTag: String?, error: DatabaseError)] = []
    /// Those that changed here after the server's version could not be saved: that is tried again before anything is sent.
    var refetched: [Record.ID] = []
    var token: ChangeToken?
    var moreComing = false
    /// Whether nothing changed since the token before.
    var isIdle = false
  }

  /// Returns how much was sent, or changed in the attempt: when it is nothing, there is nothing to send but what is in quarantine.
  func send(_ id: Zone.ID) async throws -> Int {
    var total = 0
    // What was held before is tried with what the feed brings, because one may be what the other needs.
    while true {
      guard let zone = state.zones[id], zone.isHere, zone.isThere else { return total }
      try Task.checkCancellation()
      let page: Page
      do {
        page = try await nextPage(id, zone)
      } catch let error as DatabaseError where zone.sentToken != nil && error.isOfToken {
        try await restartOwnFeed(id, wasForked: error.code == .changeTokenForked)
        continue
      }
      // After the page was read: a zone that is deleted and made again from here on makes its token useless.
      if zone.sentToken == nil { try await holdMissing(id, zone) }
      if page.isIdle {
        if zone.sentToken == nil { state.zones[id]?.sentToken = page.token }
        break
      }
      total += try await send(page, of: id)
      if !page.moreComing { break }
    }
    // Once through what is held; what is held again meanwhile is for the next round.
    var last: String?
    while let zone = state.zones[id] {
      try Task.checkCancellation()
      let (page, name) = try await heldPage(id, zone, after: last)
      guard let name else { break }
      last = name
      if page.outgoing.isEmpty, page.agreed.isEmpty, page.settled.isEmpty, page.refused.isEmpty { continue }
      total += try await send(page, of: id)
    }
    return total
  }

  private func nextPage(_ id: Zone.ID, _ zone: SyncState.ZoneState) async throws -> Page {
    let (store, limit) = (store, configuration.pageRecordCount)
    return try await local.read { snapshot in
      let changes = try snapshot.changes(in: id, since: zone.sentToken, limit: limit)
      var page = Page()
      page.token = changes.token
      page.moreComing = changes.moreComing
      page.isIdle = changes.saved.isEmpty && changes.deleted.isEmpty && !changes.moreComing
      for record in changes.saved { try page.add(record.id, client: record, store, zone, snapshot) }
      // A later life of it is in the feed by itself.
      for record in changes.deleted { try page.add(record.id, client: try snapshot.record(record.id), store, zone, snapshot) }
      return page
    }
  }

  /// Also the name up to which it goes; nil past the last.
  private func heldPage(
    _ id: Zone.ID, _ zone: SyncState.ZoneState, after name: String?
  ) async throws -> (page: Page, last: String?) {
    let store = store
    return try await local.read { snapshot in
      var page = Page()
      let entries = try store.held(zone.number, after: name, limit: 400, snapshot)
      for (name, held) in entries where held.reason == .again {
        let record = Record.ID(unchecked: name, in: id)
        try page.add(record, client: try snapshot.record(record), store, zone, snapshot)
      }
      return (page, entries.last?.name)
    }
  }

  /// The token of this database's own feed is of no use any more.
  private func restartOwnFeed(_ id: Zone.ID, wasForked: Bool) async throws {
    guard let zone = state.zones[id] else { return }
    try await commit { _, state in
      if wasForked {
        // This file is an older copy of itself: what it does not have was not deleted by the user.
        state.addZone(id, isHere: zone.isHere, isThere: zone.isThere)
      } else {
        state.zones[id]?.sentToken = nil
      }
    }
  }

  /// Keeps the deletions that are not in the feed: of a zone that was deleted and made again, or those that were forgotten. The bases
  /// know the records.
  private func holdMissing(_ id: Zone.ID, _ zone: SyncState.ZoneState) async throws {
    let store = store
    var last: String?
    while true {
      let start = last
      let (name, missing) = try await local.read { snapshot in
        let page = try store.baseNames(zone.number, after: start, limit: 500, snapshot)
        let missing = try page.map { Record.ID(unchecked: $0.name, in: id) }.filter { try snapshot.record($0) == nil }
        return (page.last?.name, missing)
      }
      guard let name else { return }
      last = name
      if missing.isEmpty { continue }
      try await commit { transaction, state in
        guard state.zones[id]?.number == zone.number else { return }
        for record in missing where try transaction.record(record) == nil {
          try store.setHeld(.again(nil), of: record, zone.number, transaction)
        }
      }
    }
  }

  // MARK: a page

  private func send(_ page: Page, of id: Zone.ID) async throws -> Int {
    var outcomes: [(Outgoing, SendOutcome)] = []
    var failure: (any Error)?
    do {
      for request in requests(page.outgoing) {
        try Task.checkCancellation()
        try await noteSending(request, of: id)
        outcomes += try await modify(request)
      }
    } catch let error as PartOfRequest {
      outcomes += error.outcomes
      failure = error.cause
    } catch {
      failure = error
    }
    var changed = try await record(outcomes, page, of: id, isWhole: failure == nil)
    if let failure { throw failure }
    if !page.refetched.isEmpty {
      try await fetch(page.refetched, of: id)
      changed += page.refetched.count
    }
    return changed
  }

  /// Writes down what is about to be sent: the answer may never come.
  private func noteSending(_ request: [Outgoing], of id: Zone.ID) async throws {
    let store = store
    try await commit { transaction, state in
      guard let number = state.zones[id]?.number else { return }
      for change in request { try store.addSent(change.sentVersion, of: change.id, number, transaction) }
    }
  }

  /// Records that were changed on the server since their deletion here began. Between this question and the deletion another device may
  /// still change one.
  private func changedMeanwhile(_ request: [Outgoing]) async throws -> [Record.ID: Record] {
    if case .clientRecordWins = configuration.policy { return [:] }
    var tags: [Record.ID: String] = [:]
    for change in request { if case .delete(let tag) = change.change { tags[change.id] = tag } }
    if tags.isEmpty { return [:] }
    return try await remote.records(for: Array(tags.keys), desiredKeys: nil).compactMapValues { result in
      guard case .success(let record) = result, record.changeTag != tags[record.id] else { return nil }
      return record
    }
  }

  /// Parts that the remote takes in one request.
  private func requests(_ outgoing: [Outgoing]) -> [[Outgoing]] {
    let limits = remote.limits
    var requests: [[Outgoing]] = []
    var request: [Outgoing] = []
    var byteCount = 0
    for change in outgoing {
      let size = change.byteCount
      if !request.isEmpty, request.count >= max(1, limits.itemsPerRequest) || byteCount + size > limits.requestByteCount {
        requests.append(request)
        (request, byteCount) = ([], 0)
      }
      request.append(change)
      byteCount += size
    }
    if !request.isEmpty { requests.append(request) }
    return requests
  }

  /// What was done of a request before it failed as a whole.
  private struct PartOfRequest: Error {
    let outcomes: [(Outgoing, SendOutcome)]
    let cause: any Error
  }

  private func modify(_ request: [Outgoing]) async throws -> [(Outgoing, SendOutcome)] {
    let changed = try await changedMeanwhile(request)
    let conflicts = request.compactMap { change in changed[change.id].map { (change, SendOutcome.conflict($0)) } }
    if conflicts.count == request.count { return conflicts }
    let unchanged = request.filter { changed[$0.id] == nil }
    do { return conflicts + (try await modifyUnchanged(unchanged)) } catch let error as PartOfRequest {
      throw PartOfRequest(outcomes: conflicts + error.outcomes, cause: error.cause)
    }
  }

  private func modifyUnchanged(_ request: [Outgoing]) async throws -> [(Outgoing, SendOutcome)] {
    var records: [Record] = []
    var ids: [Record.ID] = []
    for change in request {
      if case .save(let record, _, _) = change.change { records.append(record) } else { ids.append(change.id) }
    }
    let result: ModifyResult
    do {
      result = try await remote.modify(
        saving: records, deleting: ids, policy: .ifServerRecordUnchanged, atomically: false)
    } catch let error as DatabaseError where error.concernsOneRecord && request.count > 1 {
      // Too much, or one of them is to blame.
      let half = request.count / 2
      let first = try await modifyUnchanged(Array(request[..<half]))
      do { return first + (try await modifyUnchanged(Array(request[half...]))) } catch let error as PartOfRequest {
        throw PartOfRequest(outcomes: first + error.outcomes, cause: error.cause)
      } catch { throw PartOfRequest(outcomes: first, cause: error) }
    } catch let error as DatabaseError where request.count == 1 && error.concernsOneRecord {
      return [(request[0], .refused(error))]
    }
    let (saves, deletions) = (result.saved, result.deleted)
    var outcomes: [(Outgoing, SendOutcome)] = []
    do {
      for change in request {
        if case .delete = change.change {
          guard let result = deletions[change.id] else { throw DatabaseError.incompleteAnswer(change.id) }
          outcomes.append((change, try SendOutcome(deletion: result)))
        } else {
          guard let result = saves[change.id] else { throw DatabaseError.incompleteAnswer(change.id) }
          outcomes.append((change, try await complete(try SendOutcome(result), change.id, result)))
        }
      }
    } catch {
      // The others have an answer, too.
      for change in request.dropFirst(outcomes.count) {
        if let result = saves[change.id], let outcome = try? SendOutcome(result) { outcomes.append((change, outcome)) }
        if let result = deletions[change.id], let outcome = try? SendOutcome(deletion: result) {
          outcomes.append((change, outcome))
        }
      }
      throw PartOfRequest(outcomes: outcomes, cause: error)
    }
    return outcomes
  }

  /// A conflict without the server's record is looked up.
  private func complete(
    _ outcome: SendOutcome, _ id: Record.ID, _ result: Result<Record, DatabaseError>
  ) async throws -> SendOutcome {
    guard case .failure(let error) = result, error.code == .serverRecordChanged, case .again = outcome else { return outcome }
    switch try await remote.records(for: [id], desiredKeys: nil)[id] {
    case .success(let server)?: return .conflict(server)
    case .failure(let error)? where error.code == .unknownItem: return .missing
    case .failure(let error)?: throw error
    case nil: throw DatabaseError.incompleteAnswer(id)
    }
  }

  /// Writes down what the server said. Returns how much of it changed something.
  private func record(
    _ outcomes: [(Outgoing, SendOutcome)], _ page: Page, of id: Zone.ID, isWhole: Bool
  ) async throws -> Int {
    var conflicts: [Record] = []
    for case (_, .conflict(let server)) in outcomes { conflicts.append(server) }
    let servers = try await prepared(conflicts, in: id)
    let store = store
    let number = state.zones[id]?.number
    let applied = try await applying(to: id) { incoming, transaction, state in
      guard let number, state.zones[id]?.number == number else { return }
      for (id, base) in page.agreed {
        try store.setBase(base, of: id, number, transaction)
        try store.setHeld(nil, of: id, number, transaction)
      }
      for id in page.settled { try store.setHeld(nil, of: id, number, transaction) }
      for (id, tag, error) in page.refused { try incoming.quarantine(id, error, .sending, localTag: tag, transaction) }
      for (change, outcome) in outcomes { try incoming.record(outcome, of: change, transaction) }
      for record in servers.records { try incoming.save(record, transaction) }
      for (id, error) in servers.failures { try incoming.refuse(id, error, transaction) }
      if isWhole, let token = page.token { state.zones[id]?.sentToken = token }
    }
    var (saved, deleted): ([Record.ID], [Record.ID]) = ([], [])
    var changed = 0
    for (change, outcome) in outcomes {
      switch outcome {
      case .saved: saved.append(change.id)
      case .deleted: deleted.append(change.id)
      case .conflict, .missing: changed += 1
      case .again, .refused: break
      }
    }
    report.sent += saved.count + deleted.count
    if !saved.isEmpty || !deleted.isEmpty { tell(.sent(saved: saved, deleted: deleted)) }
    count(applied, asFetched: true)
    return changed + saved.count + deleted.count
  }
}

extension SyncEngine.Page {
  fileprivate mutating func add(
    _ id: Record.ID, client: Record?, _ store: SyncStore, _ zone: SyncState.ZoneState,
    _ reader: borrowing some RecordReader & ~Copyable
  ) throws {
    let held = try store.held(of: id, zone.number, reader)
    if let held, held.reason != .again {
      // One that was refused is not tried again before it is another one.
      if held.localTag == client?.changeTag { return }
      if held.reason == .unsaved {
        refetched.append(id)
        return
      }
    }
    let need: Outgoing.Need
    do {
      need = try Outgoing.need(id, client: client, base: try store.base(of: id, zone.number, reader))
    } catch let error where error.code == .permissionFailure {
      // A value that is encrypted and cannot be opened.
      refused.append((id, client?.changeTag, error))
      return
    }
    switch need {
    case .nothing: if held != nil { settled.append(id) }
    case .agreed(let base): agreed.append((id, base))
    case .send(let change): outgoing.append(change)
    }
  }
}

extension Incoming {
  /// What the server said to a change of this database.
  mutating func record(_ outcome: SendOutcome, of change: Outgoing, _ transaction: borrowing Transaction) throws {
    let id = change.id
    switch outcome {
    case .saved(let server):
      guard case .save(_, let tag, let fields) = change.change else { return }
      try store.clearSent(of: id, number, transaction)
      // What was sent is agreed on; what the application has done since is another change.
      let base = MergeBase(
        localTag: tag, serverTag: server.changeTag ?? "", systemFields: server.systemFields,
        generation: generation, merged: nil,
        fields: fields)
      try store.setBase(base, of: id, number, transaction)
      try store.setHeld(nil, of: id, number, transaction)
    case .deleted:
      try store.clearSent(of: id, number, transaction)
      try store.setBase(nil, of: id, number, transaction)
      try store.setHeld(nil, of: id, number, transaction)
      // Made again meanwhile, or as another type: it is a new one for the server.
      if try transaction.record(id) != nil { try sendAgain(id, transaction) }
    // The server's record is merged after this, and may settle it.
    case .conflict: try sendAgain(id, transaction)
    case .missing:
      guard try store.base(of: id, number, transaction) != nil else {
        return try record(.refused(DatabaseError(.unknownItem)), of: change, transaction)
      }
      try delete(id, transaction)
    case .again(let error):
      try store.clearSent(of: id, number, transaction)
      try sendAgain(id, because: error, transaction)
    case .refused(let error):
      try store.clearSent(of: id, number, transaction)
      var tag: String?
      if case .save(_, let localTag, _) = change.change { tag = localTag }
      try quarantine(id, error, .sending, localTag: tag, transaction)
    }
  }

  /// A record of the server whose assets cannot be had.
  mutating func refuse(_ id: Record.ID, _ error: DatabaseError, _ transaction: borrowing Transaction) throws {
    if var base = try store.base(of: id, number, transaction), base.generation != generation {
      base.generation = generation
      try store.setBase(base, of: id, number, transaction)
    }
    try quarantine(id, error, .fetching, localTag: nil, transaction)
  }
}

extension DatabaseError {
  /// Whether a request of one record failed because of that record.
  fileprivate var concernsOneRecord: Bool {
    switch code {
    case .limitExceeded, .invalidArguments, .constraintViolation, .assetFileNotFound, .assetFileModified, .assetNotAvailable,
      .valueTooLarge:
      true
    default: false
    }
  }

  static func incompleteAnswer(_ id: Record.ID) -> DatabaseError {
    DatabaseError(
      .serverRejectedRequest, "The server's answer does not name a record that was sent.",
      facts: .init(zone: id.zone, name: id.name))
  }
}
