import Daybook

/// A change of this database in the server's words.
struct Outgoing: Sendable {
  enum Change: Sendable {
    /// The record to save: with the server's change tag, and only the fields that changed. And what all fields are here.
    case save(Record, localTag: String, fields: [FieldName: FieldDigest])
    /// The server's change tag of the version that was deleted: a deletion itself has none that the server would compare.
    case delete(serverTag: String)
  }

  let id: Record.ID
  let change: Change
  /// The type; of a deleted record that which it had.
  let type: String

  /// What is to be sent of a record, by what is here and what was agreed on.
  enum Need {
    case nothing
    /// What is here was saved once more, and is what was agreed on.
    case agreed(MergeBase)
    case send(Outgoing)
  }

  static func need(_ id: Record.ID, client: Record?, base: MergeBase?) throws(DatabaseError) -> Need {
    guard let client else {
      guard let base else { return .nothing }
      return .send(
        Outgoing(
          id: id, change: .delete(serverTag: base.serverTag),
          type: try Record(systemFields: base.systemFields).type))
    }
    let tag = client.changeTag ?? ""
    guard let base else {
      let fields = try FieldValues(client)
      var record = try Record(type: client.type, id: id)
      for (name, value) in fields.values { try record.set(value, name) }
      return .send(Outgoing(id: id, change: .save(record, localTag: tag, fields: fields.digests), type: client.type))
    }
    if base.localTag == tag { return .nothing }
    var record = try Record(systemFields: base.systemFields)
    // Made again as another type: the server's goes first.
    guard record.type == client.type else {
      return .send(Outgoing(id: id, change: .delete(serverTag: base.serverTag), type: record.type))
    }
    let fields = try FieldValues(client)
    var isChanged = false
    for name in Set(fields.digests.keys).union(base.fields.keys) where fields.digests[name] != base.fields[name] {
      try record.set(fields.values[name], name)
      isChanged = true
    }
    guard isChanged else {
      var agreed = base
      agreed.localTag = tag
      agreed.merged = nil
      return .agreed(agreed)
    }
    return .send(Outgoing(id: id, change: .save(record, localTag: tag, fields: fields.digests), type: client.type))
  }

  /// What the server is told, as it is remembered until there is an answer.
  var sentVersion: SentVersion {
    if case .save(_, _, let fields) = change { SentVersion(fields: fields) } else { SentVersion(fields: nil) }
  }

  /// Bytes that count towards a request.
  var byteCount: Int { if case .save(let record, _, _) = change { record.encodedByteCount } else { 0 } }
}

/// What the server said to a change.
enum SendOutcome: Sendable {
  case saved(Record)
  case deleted
  /// The server's record is another one than the change began with.
  case conflict(Record)
  /// The server has no such record.
  case missing
  /// Nothing was done, for a reason that may go away in this sync.
  case again(DatabaseError)
  case refused(DatabaseError)

  /// - Throws: what concerns the request or the zone, not this record.
  init(_ result: Result<Record, DatabaseError>) throws(DatabaseError) {
    switch result {
    case .success(let record): self = .saved(record)
    case .failure(let error):
      switch error.code {
      case .serverRecordChanged:
        guard let server = error.conflict?.server else { self = .again(error); return }
        self = .conflict(server)
      case .unknownItem: self = .missing
      default: self = try Self.failed(error)
      }
    }
  }

  init(deletion result: Result<Void, DatabaseError>) throws(DatabaseError) {
    switch result {
    case .success: self = .deleted
    case .failure(let error): self = error.code == .unknownItem ? .deleted : try Self.failed(error)
    }
  }

  private static func failed(_ error: DatabaseError) throws(DatabaseError) -> SendOutcome {
    switch error.code {
    case .batchRequestFailed, .referenceViolation: .again(error)
    // They concern every record.
    case let code where code.isTransient: throw error
    case .zoneNotFound, .userDeletedZone, .notAuthenticated, .quotaExceeded, .managedAccountRestricted, .operationCancelled,
      .serverResponseLost, .closed, .readOnly, .ioFailed, .diskFull, .outcomeUnknown:
      throw error
    default: .refused(error)
    }
  }
}
