/// What a save does when the stored record is not the one that the client changed.
public enum SavePolicy: String, Hashable, Codable, Sendable, CaseIterable {
  /// Save the changed keys, unless the stored record has another change tag: then `serverRecordChanged`.
  case ifServerRecordUnchanged
  /// Save the changed keys over whatever is stored.
  case changedKeys
  /// Save all keys over whatever is stored; keys that only the stored record has stay.
  case allKeys
}
