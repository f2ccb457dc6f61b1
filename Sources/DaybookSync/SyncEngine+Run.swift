import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Another engine has written to the same state: what is known of it is read again.
struct StateMoved: Error {}

/// One sync from its beginning to its end.
///
///     zones of the feed → zones gone or new here → zones to make or delete there → for each zone: fetch, send
///     again, until a round has sent nothing
///
/// Every step is a transaction here that says in the same commit how far it came.
extension SyncEngine {
  func run() async throws {
    try await requireAccount()
    // Files that take turns with other processes show what those wrote when they are asked to.
    try await refresh(local)
    if let remote = remote as? Database { try await refresh(remote) }
    var isLoaded = false
    var (rounds, moves) = (0, 0)
    while true {
      do {
        if !isLoaded { try await load() }
        isLoaded = true
        if try await round() { break }
        rounds += 1
        // With writers that never pause there is no end; what they committed since is the next sync's.
        if rounds == 10 { break }
      } catch is StateMoved {
        isLoaded = false
        moves += 1
        guard moves < 1000 else { throw DatabaseError(.zoneBusy, "Another engine works on the same state; it goes on.") }
      }
    }
    try await purge()
    report.quarantined = try await quarantine().count
  }

  private func refresh(_ database: Database) async throws {
    if database.options.lock == .perTransaction || database.options.isReadOnly { try await database.refresh(to: .visible) }
  }

  private func requireAccount() async throws {
    switch try await remote.accountStatus() {
    case .available: return
    case .noAccount: throw DatabaseError(.notAuthenticated)
    case .restricted: throw DatabaseError(.managedAccountRestricted)
    case .temporarilyUnavailable, .couldNotDetermine: throw DatabaseError(.accountTemporarilyUnavailable)
    }
  }

  /// Reads what is stored of the state, or begins with none.
  func load() async throws {
    let store = store
    let other = try await remote.identity()
    let (stored, identity) = try await local.read { snapshot in
      (try store.state(snapshot), try snapshot.databaseIdentity.uuidString)
    }
    guard let stored else {
      state = SyncState(localIdentity: identity, remoteIdentity: other)
      self.stored = nil
      return
    }
    state = stored
    self.stored = stored
    guard stored.head.localIdentity != identity || stored.head.remoteIdentity != other else { return }
    // What a salvage could not read is not what the user deleted, and another account's records are not this one's: nothing is
    // agreed on any more.
    try await commit { _, state in
      for id in Array(state.zones.keys) { state.forgetZone(id) }
      state.head.databaseToken = nil
      state.head.localIdentity = identity
      state.head.remoteIdentity = other
    }
  }

  /// Returns whether both sides are equal now.
  private func round() async throws -> Bool {
    try await fetchZones()
    var errors = try await matchZones()
    var isDone = true
    // What others changed is taken also where nothing can be sent.
    var quota: DatabaseError?
    for id in state.zones.keys.sorted() where isSynced(id) {
      do {
        if state.zones[id]?.isThere == true { try await fetch(id) }
        if quota == nil, try await send(id) > 0 { isDone = false }
      } catch let error as DatabaseError where error.code == .quotaExceeded {
        quota = error
      } catch let error as DatabaseError where error.isOfOneZone {
        if error.code == .zoneNotFound || error.code == .userDeletedZone {
          try await restartMissing(id)
          isDone = false
        } else {
          errors[id] = error
        }
      }
    }
    // Tokens of zones in which nothing was found.
    if state.zones != stored?.zones { try await commit { _, _ in } }
    if let quota { throw quota }
    if isDone, !errors.isEmpty { throw DatabaseError(.partialFailure, partialZoneErrors: errors) }
    return isDone
  }

  /// A transaction of the engine: what `body` writes, and the state as it leaves it. References are not asked for: a child may come
  /// pages before its parent.
  func commit<R: Sendable>(
    _ body: @escaping @Sendable (borrowing Transaction, inout SyncState) throws -> R
  ) async throws -> R {
    let (store, known, former) = (store, state, stored)
    let (result, written) = try await local.writeUnordered(origin: Self.origin) { transaction in
      guard (try store.revision(transaction) ?? 0) == known.head.revision else { throw StateMoved() }
      var state = known
      let result = try body(transaction, &state)
      state.head.revision += 1
      try store.write(state, replacing: former, transaction)
      return (result, state)
    }
    (state, stored) = (written, written)
    return result
  }

  // MARK: zones

  private func isSynced(_ id: Zone.ID) -> Bool {
    if let zones = configuration.zones, !zones.contains(id) { return false }
    // It has no feed there.
    return id != .default || local.options.dialect == .extended
  }

  /// Follows the remote's feed of zones.
  private func fetchZones() async throws {
    var restarts = 0
    while true {
      let token = state.head.databaseToken
      let page: DatabaseChanges
      do {
        page = try await remote.databaseChanges(since: token, limit: nil)
      } catch let error as DatabaseError where token != nil && error.isOfToken {
        restarts += 1
        guard restarts < 4 else { throw error }
        try await restartZones(wasForked: error.code == .changeTokenForked)
        continue
      }
      guard !page.moreComing || page.token != token else { throw DatabaseError.sameToken }
      // Also of zones that are not asked for: they may be, another time, and then the feed does not tell of them again.
      let changed = page.changed.filter { $0 != .default }
      let deleted = page.deleted
      if page.token != token || !changed.isEmpty {
        let (policy, chosen) = (configuration.policy, configuration.zones)
        let gone = try await commit { transaction, state in
          let here = Set(try transaction.zones().map(\.id))
          for id in changed {
            if state.zones[id] == nil { state.addZone(id, isHere: here.contains(id), isThere: true) }
            state.zones[id]?.isThere = true
            state.zones[id]?.needsFetch = true
          }
          state.head.databaseToken = page.token
          return try deleted.filter { zone in
            guard chosen?.contains(zone.id) ?? true else {
              // Nothing is agreed on any more.
              if let known = state.zones[zone.id] { state.addZone(zone.id, isHere: known.isHere, isThere: false) }
              return false
            }
            return try Self.delete(zone, policy, transaction, &state)
          }
        }
        for zone in gone { tell(.zoneDeleted(zone.id, reason: zone.reason)) }
        report.deletedZones += gone.map(\.id)
      }
      if !page.moreComing { return }
    }
  }

  /// A zone that the remote does not have any more. Returns whether it is gone here, too.
  private static func delete(
    _ zone: DatabaseChanges.DeletedZone, _ policy: SyncPolicy, _ transaction: borrowing Transaction, _ state: inout SyncState
  ) throws -> Bool {
    // It was never there, as far as is known here: what is here is to be sent.
    guard let known = state.zones[zone.id], known.isThere, zone.id != .default else { return false }
    var keeps = zone.reason == .encryptedDataReset
    if case .clientRecordWins = policy, zone.reason == .deleted { keeps = true }
    guard !keeps else {
      state.addZone(zone.id, isHere: known.isHere, isThere: false)
      return false
    }
    state.forgetZone(zone.id)
    guard try transaction.hasZone(zone.id) else { return false }
    try transaction.deleteZone(zone.id, reason: zone.reason)
    return true
  }

  /// The feed of zones is of no use any more: the zones themselves say which are gone.
  private func restartZones(wasForked: Bool) async throws {
    let present = Set(try await remote.zones().map(\.id))
    let policy = configuration.policy
    let gone = try await commit { transaction, state in
      var gone: [Zone.ID] = []
      for (id, zone) in state.zones where id != .default && zone.isThere && !present.contains(id) {
        if wasForked {
          // An older copy of the server has never heard of it.
          state.addZone(id, isHere: zone.isHere, isThere: false)
        } else if try Self.delete(.init(id: id), policy, transaction, &state) {
          gone.append(id)
        }
      }
      state.head.databaseToken = nil
      return gone
    }
    for id in gone { tell(.zoneDeleted(id, reason: .deleted)) }
    report.deletedZones += gone
  }

  /// Makes and deletes zones, so that both sides have the same. Returns why a zone cannot be made or deleted.
  private func matchZones() async throws -> [Zone.ID: DatabaseError] {
    let zones = state.zones.filter { isSynced($0.key) }
    let here = Dictionary(uniqueKeysWithValues: try await local.zones().filter { isSynced($0.id) }.map { ($0.id, $0) })
    let new = here.keys.filter { state.zones[$0] == nil }
    let arrived = zones.filter { !$0.value.isHere && here[$0.key] == nil }.map(\.key)
    if !new.isEmpty || zones.contains(where: { !$0.value.isHere }) {
      let known = Array(zones.keys)
      try await commit { transaction, state in
        for id in new { state.addZone(id, isHere: true, isThere: id == .default) }
        for id in arrived { try transaction.save(Zone(id)) }
        for id in known { state.zones[id]?.isHere = true }
      }
    }
    // Arrived ones are here now, so what is missing was deleted by the application.
    let arrivals = Set(arrived)
    let deleted = zones.filter { here[$0.key] == nil && !arrivals.contains($0.key) }
    let toDelete = deleted.filter(\.value.isThere).map(\.key)
    let toMake = state.zones.keys.filter {
      isSynced($0) && state.zones[$0]?.isThere == false && deleted[$0] == nil && $0 != .default
    }
    if !toDelete.isEmpty || !toMake.isEmpty {
      let result = try await remote.modifyZones(saving: toMake.map { here[$0] ?? Zone($0) }, deleting: toDelete)
      var errors = result.errors
      for id in toDelete where errors[id]?.code == .zoneNotFound || errors[id]?.code == .userDeletedZone { errors[id] = nil }
      let whole = errors.values.first { !$0.isOfOneZone }
      let made = Set(toMake.filter { errors[$0] == nil })
      let failed = Set(errors.keys)
      try await commit { _, state in
        for id in made { state.zones[id]?.isThere = true }
        for id in deleted.keys where !failed.contains(id) { state.forgetZone(id) }
      }
      if let whole { throw whole }
      return errors
    } else if !deleted.isEmpty {
      try await commit { _, state in for id in deleted.keys { state.forgetZone(id) } }
    }
    return [:]
  }

  /// One side does not have the zone, though it had: the round begins again with what there is.
  private func restartMissing(_ id: Zone.ID) async throws {
    if id == .default { return }
    // If another device deleted it there, the feed of zones says so.
    try await fetchZones()
    let isThere = try await remote.zones().contains { $0.id == id }
    try await commit { _, state in
      if let zone = state.zones[id], !isThere { state.addZone(id, isHere: zone.isHere, isThere: false) }
    }
  }

  /// Removes what is still stored of zones that are no more.
  private func purge() async throws {
    let store = store
    while let number = state.head.abandoned.first {
      try await commit { transaction, state in
        if try store.purge(number, limit: 1000, transaction) { state.head.abandoned.removeFirst() }
      }
    }
  }
}

extension RecordReader where Self: ~Copyable {
  /// Whether the zone is there.
  func hasZone(_ id: Zone.ID) throws(DatabaseError) -> Bool { try zones().contains { $0.id == id } }
}

extension DatabaseError {
  /// Whether the token is of no use any more, and the feed is to be read from its beginning.
  var isOfToken: Bool {
    switch code {
    case .changeTokenExpired, .changeTokenForked: true
    default: partialZoneErrors.values.contains(where: \.isOfToken)
    }
  }

  /// Whether other zones can be kept equal all the same.
  var isOfOneZone: Bool {
    switch code {
    case .zoneNotFound, .userDeletedZone, .zoneBusy, .permissionFailure, .invalidArguments, .badDatabase,
      .serverRejectedRequest,
      .formatTooNew, .corrupted, .changeTokenExpired, .changeTokenForked:
      true
    default: false
    }
  }

  static var sameToken: DatabaseError {
    DatabaseError(.serverRejectedRequest, "The server says that there is more after a page, and gives the same token again.")
  }
}
