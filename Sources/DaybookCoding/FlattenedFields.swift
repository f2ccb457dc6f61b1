import Daybook

/// The fields that flattened values may have left in a record: a value that became nil, or a dictionary that lost a key, does not name them.
/// They are looked for in the stored record.
struct FlattenedFields: Sendable {
  /// What the fields begin with.
  private var prefixes: [String] = []
  /// The fields that the value has, or says are nil.
  private var claimed: Set<String> = []

  /// All fields below a field are the value's; those that it does not name go.
  mutating func add(_ field: String) { prefixes.append(field + "_") }

  mutating func setClaimed(_ fields: some Sequence<String>) { claimed = Set(fields) }

  /// Takes the fields of a stored record out of one that is to be saved over it.
  func clear(_ record: inout Record, of stored: Record) throws(DatabaseError) {
    for key in stored.keys where !claimed.contains(key) && prefixes.contains(where: { key.utf8.starts(with: $0.utf8) }) {
      try record.set(nil, forKey: key)
    }
  }
}
