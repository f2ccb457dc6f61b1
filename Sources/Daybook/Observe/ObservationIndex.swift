import DaybookEngine

/// What a change must have to concern an observation, as a key to look up: a change without it needs no test.
enum ObservationKey: Hashable, Sendable {
  case record(Record.ID)
  /// A field's key as bytes, and a hash of its value as an index of values has it: those of equal values are equal, and the test tells
  /// others apart.
  case field([UInt8], UInt64)

  /// The key of a predicate that only records with one certain value of a field pass; nil if it has no such condition.
  init?(_ predicate: Query.Predicate, dialect: Query.Dialect) {
    switch predicate.term {
    case .condition(let condition):
      guard condition.field.system == nil, !condition.field.isAny, condition.options.isEmpty,
        case .compare(.equal, .value(let value)) = condition.test
      else { return nil }
      switch value {
      case .int, .date, .bytes, .reference: break
      case .double(let number): if number.isNaN { return nil }
      // This dialect ignores case, so equal strings may have different hashes.
      case .string: if dialect == .cloudKit { return nil }
      default: return nil
      }
      let buffer = ByteBuffer(capacity: 64)
      IndexKey.append(value, to: buffer)
      self = .field(Array(condition.field.name.utf8), Self.hash(buffer))
    case .and(let parts):
      guard let key = parts.lazy.compactMap({ Self($0, dialect: dialect) }).first else { return nil }
      self = key
    case .constant, .or, .not: return nil
    }
  }

  /// The hash of a record's field; nil where it has none that is equal to a single value.
  static func hash(_ field: [UInt8], of body: RecordBody?, _ buffer: ByteBuffer) -> UInt64? {
    guard let body else { return nil }
    return field.withView { key in
      body.withValue(key) { value in
        guard let value, !value.kind.isList else { return nil }
        buffer.removeAll()
        IndexKey.append(value, to: buffer)
        return hash(buffer)
      }
    }
  }

  private static func hash(_ buffer: ByteBuffer) -> UInt64 { XXH3.hash(buffer.view, seed: 0) }
}

/// The observations of a group, by what a change has to have: one that asks for a record, or for a value of a field, costs nothing
/// where others change.
struct ObservationIndex {
  private typealias Targets = [ObjectIdentifier: any ObservationTarget]

  private var byKey: [ObservationKey: Targets] = [:]
  /// Those that test each change.
  private var others: Targets = [:]
  /// How many have a key of the field.
  private var fieldCounts: [[UInt8]: Int] = [:]
  /// How many have a key of a record.
  private var recordCount = 0

  var isEmpty: Bool { byKey.isEmpty && others.isEmpty }

  var all: [any ObservationTarget] { byKey.values.flatMap(\.values) + others.values }

  mutating func add(_ target: any ObservationTarget) {
    guard let key = target.key else { return others[ObjectIdentifier(target)] = target }
    if byKey[key, default: [:]].updateValue(target, forKey: ObjectIdentifier(target)) == nil { count(key, 1) }
  }

  /// Returns whether it was there.
  mutating func remove(_ target: any ObservationTarget) -> Bool {
    guard let key = target.key else { return others.removeValue(forKey: ObjectIdentifier(target)) != nil }
    guard byKey[key]?.removeValue(forKey: ObjectIdentifier(target)) != nil else { return false }
    if byKey[key]?.isEmpty == true { byKey[key] = nil }
    count(key, -1)
    return true
  }

  private mutating func count(_ key: ObservationKey, _ change: Int) {
    switch key {
    case .record: recordCount += change
    case .field(let field, _):
      let count = fieldCounts[field, default: 0] + change
      fieldCounts[field] = count == 0 ? nil : count
    }
  }

  /// Tells of a commit those that it may concern.
  func tell(_ commit: CommitChanges, _ records: [RecordChange]) {
    // What went with a zone is not named.
    if commit.zoneChanges.contains(where: { $0.deletion != nil }) {
      for target in all { target.tell(commit, records) }
      return
    }
    for target in others.values { target.tell(commit, records) }
    if byKey.isEmpty { return }
    var found: [ObjectIdentifier: (target: any ObservationTarget, records: [RecordChange])] = [:]
    let buffer = ByteBuffer(capacity: 64)
    for record in records {
      func look(_ key: ObservationKey) {
        for (id, target) in byKey[key] ?? [:] { found[id, default: (target, [])].records.append(record) }
      }
      if recordCount > 0 { look(.record(record.id)) }
      for field in fieldCounts.keys {
        let old = ObservationKey.hash(field, of: record.old, buffer)
        let new = ObservationKey.hash(field, of: record.new, buffer)
        if let old { look(.field(field, old)) }
        if let new, new != old { look(.field(field, new)) }
      }
    }
    for (target, records) in found.values { target.tell(commit, records) }
  }
}
