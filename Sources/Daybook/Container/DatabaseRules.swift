import DaybookEngine

/// What a database of a container may not do, and where the `cloudKit` dialect has no feed. Databases that were opened by
/// themselves have no scope and none of these rules but the dialect's.
extension Database {
  /// Which of a container's databases this is; nil for one that was opened by itself.
  public var scope: DatabaseScope? { options.role?.scope }

  /// Whether there is an account to write with; `available` for a database that was opened by itself.
  public func accountStatus() -> AccountStatus { options.role?.status ?? .available }

  /// Throws when a zone has no feed.
  func requireFeed(of zone: Zone.ID) throws(DatabaseError) {
    if zone.isDefault, options.dialect == .cloudKit {
      throw DatabaseError(.invalidArguments, "AppDefaultZone does not support getChanges call", facts: .init(zone: zone))
    }
  }

  /// Throws when the database has no feed.
  func requireFeed() throws(DatabaseError) {
    if scope == .public, options.dialect == .cloudKit {
      throw DatabaseError(.badDatabase, "The public database has no feed of changes.")
    }
  }

  /// Throws for lists of records of a type that only its users see.
  func requireListable(_ type: String?) throws(DatabaseError) {
    if scope != nil, let type, UTF8Order.equal(type, NameRules.userType) {
      throw DatabaseError(.invalidArguments, "Can't query system types", facts: .init(recordType: type))
    }
  }

  /// The zones that there are in the database's scope.
  func inScope(_ zones: [Zone]) -> [Zone] { scope == .shared ? zones.filter { !$0.id.isDefault } : zones }

  func requireZoneInScope(_ zone: Zone.ID) throws(DatabaseError) {
    if scope == .shared, zone.hasDefaultOwner {
      throw DatabaseError(.invalidArguments, "Only shared zones can be accessed in the shared DB", facts: .init(zone: zone))
    }
  }
}

extension ReadView {
  /// The record of the container's user in a zone, stored or not.
  func userRecord(in zone: Zone.ID) throws(DatabaseError) -> Record {
    guard let role = database.options.role else {
      throw DatabaseError(.badContainer, "A database that was opened by itself has no user.", facts: .init(path: path))
    }
    try database.requireZoneInScope(zone)
    _ = try existingZone(zone)
    let id = Record.ID(unchecked: role.userRecordName, in: zone)
    return try record(id) ?? Record(body: RecordBody(newType: NameRules.userType, id: id))
  }
}

extension WriteContext {
  /// Zones are made and deleted by the user in the private database only.
  func requireZonesOfOneself(_ zone: Zone.ID) throws(DatabaseError) {
    guard let role = database.options.role, !mayShapeZones else { return }
    if role.scope != .private {
      throw DatabaseError(
        .badDatabase, "Only the private database has zones of one's own.",
        facts: .init(zone: zone, found: role.scope.rawValue))
    }
    if !zone.hasDefaultOwner {
      throw DatabaseError(.badDatabase, "Zones of other users are in the shared database.", facts: .init(zone: zone))
    }
  }

  /// The rules for a record that is about to be saved.
  func requireSavable(_ saved: Record, _ role: any DatabaseRole) throws(DatabaseError) {
    let id = saved.id
    try database.requireZoneInScope(id.zone)
    let facts = DatabaseError.Facts(zone: id.zone, name: id.name, recordType: saved.type)
    let isUserType = UTF8Order.equal(saved.type, NameRules.userType)
    let isUserName = UTF8Order.equal(id.name, role.userRecordName)
    if isUserType != isUserName {
      throw DatabaseError(
        .permissionFailure,
        isUserType ? "Only the user's own record can be saved." : "The name belongs to the record of the user.", facts: facts)
    }
    if isUserType {
      let references = saved.body.withBytes { ReferenceSet(of: $0) }.keys
      if references.contains(where: { ReferenceSet.parts(of: $0).kind != .none }) {
        throw DatabaseError(
          .invalidArguments, "The record of a user belongs to no other record.", facts: facts)
      }
    }
    if role.scope == .public, let key = saved.body.keys(isEncrypted: true).first {
      throw DatabaseError(
        .invalidArguments, "The public database has no encrypted values.",
        facts: .init(zone: id.zone, name: id.name, recordType: saved.type, key: key))
    }
  }

  /// The record of a user stays.
  func requireDeletable(_ id: Record.ID) throws(DatabaseError) {
    guard let role = database.options.role else { return }
    try database.requireZoneInScope(id.zone)
    if UTF8Order.equal(id.name, role.userRecordName) {
      throw DatabaseError(
        .permissionFailure, "The record of the user cannot be deleted.",
        facts: .init(zone: id.zone, name: id.name, recordType: NameRules.userType))
    }
  }
}
