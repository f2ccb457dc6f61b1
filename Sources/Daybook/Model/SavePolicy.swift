/// What a save does when the stored record is not the one that the client changed.
public enum SavePolicy: String, Hashable, Codable, Sendable, CaseIterable {
  /// Save the changed keys, unless the stored record has another change tag: then `serverRecordChanged`.
  case ifServerRecordUnchanged
  /// Save the changed keys over whatever is stored.
  case changedKeys
  /// Save all keys over whatever is stored; keys that only the stored record has stay. The policy for a record that was read
  /// from another database.
  case allKeys
  /// Make the stored record what this one is: as ``allKeys``, and keys, encrypted ones too, and a parent that this one does not
  /// have go. The policy that restores an older version. A record that was read with `desiredKeys` has no others, so they go.
  case replace
}
