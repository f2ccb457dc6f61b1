/// What happens to a type, field or kind that the database has not seen yet.
public enum SchemaMode: String, Hashable, Codable, Sendable, CaseIterable {
  /// It is learned with the save, as in CloudKit's development environment.
  case justInTime
  /// The save is refused with `invalidArguments`, as in CloudKit's production environment.
  case locked
}
