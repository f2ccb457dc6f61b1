/// Zones, tokens, changes and results in a line each, for logs and debuggers.

extension Zone: CustomStringConvertible {
  /// The name, and the owner where it is not the user.
  public var description: String { id.description }
}

extension Zone.Capabilities: CustomStringConvertible {
  /// The names of the capabilities, as a list.
  public var description: String {
    let names: [(Zone.Capabilities, String)] = [
      (.fetchChanges, "fetchChanges"), (.atomic, "atomic"), (.sharing, "sharing"), (.zoneWideSharing, "zoneWideSharing"),
    ]
    return "[\(names.filter { contains($0.0) }.map(\.1).joined(separator: ", "))]"
  }
}

extension ChangeToken: CustomStringConvertible, CustomReflectable {
  /// Its position in the log: `token of Library at 12`. For people: a token is compared and stored as a whole.
  public var description: String {
    guard let parts else { return "token of \(wrapped?.count ?? 0) foreign bytes" }
    // The end of a commit is where nearly all tokens stand.
    let isWhole = parts.ordinal == 0 || parts.ordinal == .max
    let place = isWhole ? "\(parts.sequence)" : "\(parts.sequence).\(parts.ordinal)"
    return "token of \(parts.zone.map { ShownText.escaped($0.description) } ?? "the database") at \(place)"
  }

  /// The zone, and the place in the log.
  public var customMirror: Mirror {
    guard let parts else { return Mirror(self, children: ["wrapped": wrapped as Any], displayStyle: .struct) }
    return Mirror(
      self, children: ["zone": parts.zone as Any, "sequence": parts.sequence, "ordinal": parts.ordinal], displayStyle: .struct)
  }
}

extension ZoneChanges: CustomStringConvertible {
  /// How much was saved and deleted, and where the page ends.
  public var description: String {
    "\(saved.count) saved, \(deleted.count) deleted, \(moreComing ? "more coming, " : "")\(token)"
  }
}

extension DatabaseChanges: CustomStringConvertible {
  /// Which zones changed, and where the page ends.
  public var description: String {
    let names = Glimpse.list(changed) { ShownText.escaped($0.description) }
    return "changed \(names), \(deleted.count) deleted, \(moreComing ? "more coming, " : "")\(token)"
  }
}

extension RecordHistoryVersion: CustomStringConvertible {
  /// What the version is, its tag and date.
  public var description: String {
    let place = "tag \(ShownText.escaped(changeTag)), \(Glimpse.date(date))"
    switch content {
    case .saved(let record): return "saved \(record), \(place)"
    case .deleted(let deleted):
      return "deleted \(ShownText.escaped(deleted.type)) \(ShownText.escaped(deleted.id.description)), \(place)"
    }
  }
}

extension CommitNotice: CustomStringConvertible {
  /// The number of the commit, its origin, and what it did where.
  public var description: String {
    guard case .commit(let commit) = self else {
      guard case .missed(let from, let to) = self else { return "" }
      return "missed commits \(from) to \(to)"
    }
    let origin = commit.origin.map { " by \(ShownText.escaped($0.rawValue))" } ?? ""
    let zones = Glimpse.list(commit.zones) { ShownText.escaped($0.description) }
    let text = "commit \(commit.sequence)\(origin): \(commit.saved.count) saved, \(commit.deleted.count) deleted in \(zones)"
    if commit.deletedZones.isEmpty { return text }
    return text + ", deleted "
      + Glimpse.list(commit.deletedZones) { "\(ShownText.escaped($0.id.description)) with \($0.recordCount) records" }
  }
}

extension ModifyResult: CustomStringConvertible {
  /// How many items succeeded, and each error.
  public var description: String {
    Self.text(saves.map { ($0.id.description, $0.result.failure) }, deletes.map { ($0.id.description, $0.result.failure) })
  }

  static func text(
    _ saves: [(name: String, error: DatabaseError?)], _ deletes: [(name: String, error: DatabaseError?)]
  ) -> String {
    let succeeded = (saves.count { $0.error == nil }, deletes.count { $0.error == nil })
    let failures = (saves + deletes).compactMap { item in item.error.map { (item.name, $0) } }
    let text = "\(succeeded.0) saved, \(succeeded.1) deleted, \(failures.count) failed"
    if failures.isEmpty { return text }
    return text + ": " + Glimpse.list(failures) { "\(ShownText.escaped($0.0)): \($0.1)" }
  }
}

extension ModifyZonesResult: CustomStringConvertible {
  /// How many zones succeeded, and each error.
  public var description: String {
    ModifyResult.text(
      saves.map { ($0.id.description, $0.result.failure) }, deletes.map { ($0.id.description, $0.result.failure) })
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
