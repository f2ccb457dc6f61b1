import Daybook

/// The fields that flattened values may have left in a record: a value that became nil, a dictionary that lost a key, an enum of another
/// case do not name them. They are looked for in the stored record, plain and encrypted.
struct FlattenedFields: Sendable {
  /// A value whose fields are beside those of others.
  private struct Part: Sendable {
    let path: [String]
    /// The keys that lead to it, the innermost first, each with what is in front of the names of those beside it.
    let owners: [(key: any CodingKey, prefix: String)]
    let prefix: String
    /// The keys that it has; nil where any may be.
    let keys: (any CodingKey.Type)?
    /// Nothing of the value is left.
    let isGone: Bool
  }

  private let options: RecordCodingOptions
  private var parts: [Part] = []
  /// The fields that the value has, or says are nil.
  private var claimed: Set<String> = []
  /// Keys of the record whose fields stay.
  private var kept: (any CodingKey.Type)?

  init(options: RecordCodingOptions) { self.options = options }

  /// A field that is below a value's step and of its keys is the value's; those that it does not name go.
  /// - Parameter keys: nil where any field below may be its own.
  mutating func add(_ keys: (any CodingKey.Type)?, below: PathStep?, isGone: Bool) {
    var owners: [(key: any CodingKey, prefix: String)] = []
    var next = below
    while let step = next {
      owners.append((step.key, step.parent?.prefix ?? ""))
      next = step.parent
    }
    parts.append(Part(path: pathTexts(below), owners: owners, prefix: below?.prefix ?? "", keys: keys, isGone: isGone))
  }

  /// Fields of the record's own keys stay, named or not.
  mutating func keepFields(of keys: any CodingKey.Type) { kept = keys }

  mutating func setClaimed(_ fields: some Sequence<String>) { claimed = Set(fields) }

  private func isLeftOver(_ field: String) -> Bool {
    !claimed.contains(field) && !(kept.map { options.isField(field, after: "", ofAKeyOf: $0) } ?? false)
      && parts.contains { part in
        guard isBelow(field, part) else { return false }
        // Where keys cannot be found by their fields, a value that is gone takes all with it that begin as its own do: it would come back.
        guard let keys = part.keys, !part.isGone || options.canFindKeys(of: keys) else { return true }
        return options.isField(field, after: part.prefix, ofAKeyOf: keys)
      }
  }

  private func isBelow(_ field: String, _ part: Part) -> Bool {
    field.utf8.starts(with: part.prefix.utf8)
      && part.owners.allSatisfy { options.isField(field, of: $0.key, after: $0.prefix) }
  }

  /// A field that decoding would take for one of another value than the value of its key; the first, with the path of that other.
  /// - Parameter paths: the fields that were encoded, with the paths of their keys.
  func misread(_ paths: [String: [String]]) -> (field: String, path: [String], other: [String])? {
    let beginnings = Dictionary(grouping: parts) { $0.prefix }
    var found: (field: String, path: [String], other: [String])?
    for (field, path) in paths where found.map({ field < $0.field }) ?? true {
      for end in field.indices where field[end] == "_" {
        for part in beginnings[String(field[...end]), default: []] where !path.starts(with: part.path) && isBelow(field, part) {
          if let keys = part.keys, !options.isField(field, after: part.prefix, ofAKeyOf: keys) { continue }
          found = (field, path, part.path)
        }
      }
    }
    return found
  }

  /// Takes the fields of a stored record out of one that is to be saved over it.
  func clear(_ record: inout Record, of stored: Record) throws(DatabaseError) {
    for key in stored.keys where isLeftOver(key) { try record.set(nil, forKey: key) }
    for key in stored.encryptedValues.keys where isLeftOver(key) { try record.encryptedValues.set(nil, forKey: key) }
  }

  /// The same in the transaction that saves the record. A value that knows its record knows the version that it was made from: what others
  /// added since is theirs. A save that is refused anyway then says of its own removals alone.
  func clear(_ record: inout Record, in transaction: Transaction, _ policy: SavePolicy) throws {
    if policy == .ifServerRecordUnchanged {
      guard let tag = record.changeTag, let base = try transaction.record(record.id, withChangeTag: tag) else { return }
      try clear(&record, of: base)
    } else if let stored = try transaction.record(record.id) {
      try clear(&record, of: stored)
    }
  }
}
