/// What became of each zone of a modification of zones, in the order in which they were given.
public struct ModifyZonesResult: Sendable {
  /// A zone that was to be saved.
  public struct SavedZone: Sendable {
    /// The zone's identity.
    public let id: Zone.ID
    /// The zone with its capabilities, or why it was not saved.
    public let result: Result<Zone, DatabaseError>

    /// The outcome of one save.
    public init(id: Zone.ID, result: Result<Zone, DatabaseError>) {
      self.id = id
      self.result = result
    }
  }

  /// A zone that was to be deleted.
  public struct DeletedZone: Sendable {
    /// The zone's identity.
    public let id: Zone.ID
    /// Success, or why it was not deleted.
    public let result: Result<Void, DatabaseError>

    /// The outcome of one deletion.
    public init(id: Zone.ID, result: Result<Void, DatabaseError>) {
      self.id = id
      self.result = result
    }
  }

  /// The saves, in order.
  public var saves: [SavedZone]
  /// The deletions, in order.
  public var deletes: [DeletedZone]

  /// The outcomes of a modification.
  public init(saves: [SavedZone] = [], deletes: [DeletedZone] = []) {
    self.saves = saves
    self.deletes = deletes
  }

  /// The saves by identity.
  public var saved: [Zone.ID: Result<Zone, DatabaseError>] {
    Dictionary(saves.map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
  }

  /// The deletions by identity.
  public var deleted: [Zone.ID: Result<Void, DatabaseError>] {
    Dictionary(deletes.map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
  }

  /// The errors of all zones that failed.
  public var errors: [Zone.ID: DatabaseError] {
    var errors: [Zone.ID: DatabaseError] = [:]
    for save in saves { if case .failure(let error) = save.result { errors[save.id] = error } }
    for delete in deletes { if case .failure(let error) = delete.result { errors[delete.id] = error } }
    return errors
  }

  /// Throws a `partialFailure` with the error of each zone, unless all succeeded.
  public func get() throws(DatabaseError) {
    let errors = errors
    if !errors.isEmpty { throw DatabaseError(.partialFailure, partialZoneErrors: errors) }
  }
}
