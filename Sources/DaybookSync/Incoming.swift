import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the application answered to a conflict, and to which one: with other tags it is asked again.
struct ConflictAnswer: Sendable {
  let clientTag: String?
  let serverTag: String?
  /// Whether it counts whatever the tags are: the application is not asked without end.
  let isLast: Bool
  /// Nil deletes the record.
  let record: Result<Record?, DatabaseError>
}

/// Conflicts that only the application can decide: the transaction that met them is rolled back, and made again with answers.
struct UnansweredConflicts: Error {
  let conflicts: [SyncConflict]
}

/// Puts what the server has into this database, within one transaction.
///
///     here            there            becomes
///     as agreed       changed          the server's version
///     as agreed       deleted          deleted
///     changed         changed          merged; what is not the server's is to be sent
///     changed         deleted          by policy: kept, and to be sent as a new record; or deleted
///     deleted         changed          by policy: the server's version; or deleted, which is to be sent
///     not agreed on   there            merged without a base; equal records are agreed on from here on
///
/// "As agreed" is a change tag that is the merge base's. Whatever this saves, the base says in the same transaction.
struct Incoming {
  let store: SyncStore
  let configuration: SyncEngine.Configuration
  let answers: [Record.ID: ConflictAnswer]
  let number: UInt32
  let generation: UInt32

  private(set) var saved: [Record.ID] = []
  private(set) var deleted: [Record.ID] = []
  private(set) var resolved: [Record.ID] = []
  private(set) var quarantined: [QuarantinedRecord] = []
  private(set) var unanswered: [SyncConflict] = []

  init(
    _ store: SyncStore, _ configuration: SyncEngine.Configuration, _ zone: SyncState.ZoneState,
    answers: [Record.ID: ConflictAnswer]
  ) {
    self.store = store
    self.configuration = configuration
    self.answers = answers
    number = zone.number
    generation = zone.generation
  }

  // MARK: saved on the server

  /// A record as the server has it now.
  mutating func save(_ server: Record, _ transaction: borrowing Transaction) throws {
    let id = server.id
    var base = try store.base(of: id, number, transaction)
    if let known = base, known.serverTag == server.changeTag {
      // An echo of what was sent from here, or a page that comes again.
      if known.generation != generation {
        base?.generation = generation
        try store.setBase(base, of: id, number, transaction)
      }
      return
    }
    try guarded(id, base, .fetching, transaction) { incoming in try incoming.apply(server, base, transaction) }
  }

  /// Work on one record, which keeps no other from being taken over: after an error of its own nothing of it is left but the
  /// record's place in quarantine.
  private mutating func guarded(
    _ id: Record.ID, _ base: MergeBase?, _ direction: QuarantinedRecord.Direction, _ transaction: borrowing Transaction,
    _ body: (inout Incoming) throws -> Void
  ) throws {
    var attempt = self
    do {
      try transaction.savepoint { try body(&attempt) }
      self = attempt
    } catch let error as DatabaseError {
      if error.concernsWholeCommit || error.code == .zoneNotFound { throw error }
      try quarantine(id, error, direction, localTag: try transaction.record(id)?.changeTag, transaction)
      if var base, base.generation != generation {
        base.generation = generation
        try store.setBase(base, of: id, number, transaction)
      }
    }
  }

  private mutating func apply(_ server: Record, _ base: MergeBase?, _ transaction: borrowing Transaction) throws {
    let id = server.id
    let serverFields = try FieldValues(server)
    guard let client = try transaction.record(id) else {
      if let base { return try applyDeletedHere(server, serverFields, base, transaction) }
      return try take(server, serverFields, over: nil, transaction)
    }
    if let base, base.localTag == client.changeTag { return try take(server, serverFields, over: client, transaction) }
    guard client.type == server.type else {
      if let base { return try applyTypeChanged(server, serverFields, over: client, base, transaction) }
      throw DatabaseError(
        .invalidArguments, "Both sides have a record of this name, of different types.",
        facts: .init(zone: id.zone, name: id.name, recordType: client.type, expected: client.type, found: server.type))
    }
    let clientFields = try FieldValues(client)
    let editDate = editDate(of: client, base)
    var winner = Merge.Side.server
    switch configuration.policy {
    case .clientRecordWins: winner = .client
    case .serverRecordWins: break
    case .greaterModifiedDateWins:
      if let editDate, let other = configuration.editDate(server), editDate > other { winner = .client }
    case .userTellsWhichWins: break
    }
    let sent = try store.sent(of: id, number, transaction).compactMap(\.fields)
    let merge = Merge(
      clientFields, serverFields, base: base?.fields, sent: sent, winner: winner, byField: configuration.mergesFields)
    if case .userTellsWhichWins = configuration.policy, merge.isConflict {
      guard let answer = try answer(id, base, client: client, server: server, transaction) else { return }
      return try store(answer, server, serverFields, over: client, editDate, transaction)
    }
    if merge.isConflict { resolved.append(id) }
    if merge.changes.isEmpty { return try take(server, serverFields, over: client, transaction) }
    if merge.isClient {
      try agree(on: server, serverFields, localTag: "", base?.merged, transaction)
    } else {
      var merged = server
      for (name, value) in merge.changes { try merged.set(value, name) }
      try save(merged: merged, over: server, serverFields, editDate, transaction)
    }
    try sendAgain(id, transaction)
  }

  /// The record was deleted here and made again as another type, or there: the winner's type and fields are the record's.
  private mutating func applyTypeChanged(
    _ server: Record, _ fields: FieldValues, over client: Record, _ base: MergeBase, _ transaction: borrowing Transaction
  ) throws {
    let id = server.id
    switch configuration.policy {
    case .serverRecordWins:
      resolved.append(id)
      try take(server, fields, over: client, transaction)
    case .clientRecordWins, .greaterModifiedDateWins:
      resolved.append(id)
      // The server's is deleted first, and then this one is a new one.
      try agree(on: server, fields, localTag: "", base.merged, transaction)
      try sendAgain(id, transaction)
    case .userTellsWhichWins:
      guard let answer = try answer(id, base, client: client, server: server, transaction) else { return }
      let record = try answer.record.get()
      guard record?.type == client.type else { return try store(answer, server, fields, over: client, nil, transaction) }
      resolved.append(id)
      if let record { try transaction.save(record, policy: .replace) }
      try agree(on: server, fields, localTag: "", nil, transaction)
      try sendAgain(id, transaction)
    }
  }

  /// Both have the server's version now.
  mutating func take(
    _ server: Record, _ fields: FieldValues, over client: Record?, _ transaction: borrowing Transaction
  ) throws {
    var tag = client?.changeTag
    let isSame = try client.map { try $0.type == server.type && FieldValues($0).digests == fields.digests } ?? false
    if !isSame {
      // A name that was given to another record on the server: the type of one never changes.
      if let client, client.type != server.type { try transaction.delete(client.id) }
      tag = try transaction.save(server, policy: .replace).changeTag
      saved.append(server.id)
    }
    try agree(on: server, fields, localTag: tag ?? "", nil, transaction)
    try store.setHeld(nil, of: server.id, number, transaction)
  }

  private mutating func applyDeletedHere(
    _ server: Record, _ fields: FieldValues, _ base: MergeBase, _ transaction: borrowing Transaction
  ) throws {
    let id = server.id
    // Sent from here before it was deleted, and the answer was lost.
    let isOwn = try store.sent(of: id, number, transaction).contains { $0.fields == fields.digests }
    if isOwn {
      try agree(on: server, fields, localTag: "", nil, transaction)
      return try sendAgain(id, transaction)
    }
    switch configuration.policy {
    case .greaterModifiedDateWins, .serverRecordWins:
      resolved.append(id)
      try take(server, fields, over: nil, transaction)
    case .clientRecordWins:
      resolved.append(id)
      try agree(on: server, fields, localTag: "", nil, transaction)
      try sendAgain(id, transaction)
    case .userTellsWhichWins:
      guard let answer = try answer(id, base, client: nil, server: server, transaction) else { return }
      try store(answer, server, fields, over: nil, nil, transaction)
    }
  }

  // MARK: deleted on the server

  /// A record that the server does not have any more.
  mutating func delete(_ id: Record.ID, _ transaction: borrowing Transaction) throws {
    guard let base = try store.base(of: id, number, transaction) else {
      // Never agreed on: it was deleted there before it was made here, or could not be saved here.
      if try store.held(of: id, number, transaction)?.reason == .unsaved {
        let isHere = try transaction.record(id) != nil
        try store.setHeld(isHere ? .again(nil) : nil, of: id, number, transaction)
      }
      return
    }
    try guarded(id, base, .sending, transaction) { incoming in try incoming.delete(id, base, transaction) }
  }

  private mutating func delete(_ id: Record.ID, _ base: MergeBase, _ transaction: borrowing Transaction) throws {
    guard let client = try transaction.record(id) else {
      try forget(id, transaction)
      return try store.setHeld(nil, of: id, number, transaction)
    }
    if base.localTag == client.changeTag { return try take(deletionOf: id, transaction) }
    // Deleted from here, and made again: the answer to the deletion was lost.
    let isOwn = try store.sent(of: id, number, transaction).contains { $0.fields == nil }
    if isOwn {
      try forget(id, transaction)
      return try sendAgain(id, transaction)
    }
    resolved.append(id)
    switch configuration.policy {
    case .serverRecordWins: try take(deletionOf: id, transaction)
    case .greaterModifiedDateWins, .clientRecordWins:
      try forget(id, transaction)
      try sendAgain(id, transaction)
    case .userTellsWhichWins:
      resolved.removeLast()
      guard let answer = try answer(id, base, client: client, server: nil, transaction) else { return }
      resolved.append(id)
      guard let record = try decided(answer, id) else { return try take(deletionOf: id, transaction) }
      try transaction.save(record, policy: .replace)
      saved.append(id)
      try forget(id, transaction)
      try sendAgain(id, transaction)
    }
  }

  private mutating func take(deletionOf id: Record.ID, _ transaction: borrowing Transaction) throws {
    try transaction.delete(id)
    deleted.append(id)
    try forget(id, transaction)
    try store.setHeld(nil, of: id, number, transaction)
  }

  // MARK: the application's answers

  private mutating func answer(
    _ id: Record.ID, _ base: MergeBase?, client: Record?, server: Record?, _ transaction: borrowing Transaction
  ) throws -> ConflictAnswer? {
    if let answer = answers[id] {
      if answer.isLast || answer.clientTag == client?.changeTag && answer.serverTag == server?.changeTag { return answer }
    }
    var ancestor: Record?
    // Damage of an old version is no reason not to ask.
    if let base, !base.localTag.isEmpty { ancestor = try? transaction.record(id, withChangeTag: base.localTag) }
    unanswered.append(SyncConflict(id: id, ancestor: ancestor, client: client, server: server))
    return nil
  }

  /// What the application wants.
  private func decided(_ answer: ConflictAnswer, _ id: Record.ID) throws(DatabaseError) -> Record? {
    let record = try answer.record.get()
    guard record?.id ?? id == id else {
      throw DatabaseError(
        .invalidArguments, "A conflict is resolved by a version of its record.", facts: .init(zone: id.zone, name: id.name))
    }
    return record
  }

  private mutating func store(
    _ answer: ConflictAnswer, _ server: Record, _ fields: FieldValues, over client: Record?, _ editDate: Date?,
    _ transaction: borrowing Transaction
  ) throws {
    let id = server.id
    let decision = try decided(answer, id)
    resolved.append(id)
    guard let record = decision else {
      if client != nil {
        try transaction.delete(id)
        deleted.append(id)
      }
      try agree(on: server, fields, localTag: "", nil, transaction)
      return try sendAgain(id, transaction)
    }
    let wanted = try FieldValues(record)
    if wanted.digests == fields.digests { return try take(server, fields, over: client, transaction) }
    var merged = server
    for name in Set(wanted.digests.keys).union(fields.digests.keys) where wanted.digests[name] != fields.digests[name] {
      try merged.set(wanted.values[name], name)
    }
    try save(merged: merged, over: server, fields, editDate, transaction)
    try sendAgain(id, transaction)
  }

  /// Saves what is not on the server yet.
  private mutating func save(
    merged: Record, over server: Record, _ fields: FieldValues, _ editDate: Date?, _ transaction: borrowing Transaction
  ) throws {
    let tag = try transaction.save(merged, policy: .replace).changeTag ?? ""
    saved.append(server.id)
    try agree(
      on: server, fields, localTag: "", editDate.map { .init(tag: tag, editDate: $0) }, transaction)
  }

  // MARK: what is kept of it

  /// When the user changed what is here: the date of a version that a merge saved is that of the merge.
  private func editDate(of client: Record, _ base: MergeBase?) -> Date? {
    if let merged = base?.merged, merged.tag == client.changeTag { return merged.editDate }
    return configuration.editDate(client)
  }

  private func agree(
    on server: Record, _ fields: FieldValues, localTag: String, _ merged: MergeBase.Merged?,
    _ transaction: borrowing Transaction
  ) throws {
    let base = MergeBase(
      localTag: localTag, serverTag: server.changeTag ?? "", systemFields: server.systemFields,
      generation: generation,
      merged: merged, fields: fields.digests)
    try store.setBase(base, of: server.id, number, transaction)
    // What was sent is this version, or is refused from here on.
    try store.clearSent(of: server.id, number, transaction)
  }

  /// Nothing is agreed on, and nothing is on its way.
  private func forget(_ id: Record.ID, _ transaction: borrowing Transaction) throws {
    try store.setBase(nil, of: id, number, transaction)
    try store.clearSent(of: id, number, transaction)
  }

  /// What is here is to be sent, though the feed of this database may not say so again.
  func sendAgain(_ id: Record.ID, because error: DatabaseError? = nil, _ transaction: borrowing Transaction) throws {
    try store.setHeld(.again(error), of: id, number, transaction)
  }

  mutating func quarantine(
    _ id: Record.ID, _ error: DatabaseError, _ direction: QuarantinedRecord.Direction, localTag: String?,
    _ transaction: borrowing Transaction
  ) throws {
    let held = HeldRecord(
      reason: direction == .sending ? .refused : .unsaved, localTag: localTag, code: error.code.rawValue, message: error.message
    )
    try store.setHeld(held, of: id, number, transaction)
    quarantined.append(QuarantinedRecord(id: id, direction: direction, code: error.code, message: error.message))
  }
}
