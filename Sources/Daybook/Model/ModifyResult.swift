/// What became of each item of a modification, in the order in which the items were given.
public struct ModifyResult: Sendable {
  /// A record that was to be saved.
  public struct SavedRecord: Sendable {
    /// The record's identity.
    public let id: Record.ID
    /// The record with its new tag and dates, or why it was not saved.
    public let result: Result<Record, DatabaseError>

    /// The outcome of one save.
    public init(id: Record.ID, result: Result<Record, DatabaseError>) {
      self.id = id
      self.result = result
    }
  }

  /// A record that was to be deleted.
  public struct DeletedRecord: Sendable {
    /// The record's identity.
    public let id: Record.ID
    /// Success, also when there was no such record; or why it was not deleted.
    public let result: Result<Void, DatabaseError>

    /// The outcome of one deletion.
    public init(id: Record.ID, result: Result<Void, DatabaseError>) {
      self.id = id
      self.result = result
    }
  }

  /// The saves, in order.
  public var saves: [SavedRecord]
  /// The deletions, in order. Records that a cascade deleted are not among them; the change feed has them.
  public var deletes: [DeletedRecord]

  /// The outcomes of a modification.
  public init(saves: [SavedRecord] = [], deletes: [DeletedRecord] = []) {
    self.saves = saves
    self.deletes = deletes
  }

  /// The saves by identity.
  public var saved: [Record.ID: Result<Record, DatabaseError>] {
    Dictionary(saves.map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
  }

  /// The deletions by identity.
  public var deleted: [Record.ID: Result<Void, DatabaseError>] {
    Dictionary(deletes.map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
  }

  /// The errors of all items that failed.
  public var errors: [Record.ID: DatabaseError] {
    var errors: [Record.ID: DatabaseError] = [:]
    for save in saves { if case .failure(let error) = save.result { errors[save.id] = error } }
    for delete in deletes { if case .failure(let error) = delete.result { errors[delete.id] = error } }
    return errors
  }

  /// Throws a `partialFailure` with the error of each item, unless all succeeded.
  public func get() throws(DatabaseError) {
    let errors = errors
    if !errors.isEmpty { throw DatabaseError(.partialFailure, partialErrors: errors) }
  }
}
