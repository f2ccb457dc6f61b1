import Daybook

/// Values on their way into a database: their records, made before the transaction, and what becomes of the values when these are
/// stored. All forms of `save`, of one value and of many, go through it.
struct ReadyValues<T: RecordEncodable>: Sendable {
  private let made: MadeRecords
  /// Of the values that have assets or files.
  private let withAssets: Set<Int>
  private let options: RecordCodingOptions

  init(
    _ values: [T], in zone: Zone.ID, _ policy: SavePolicy?, _ options: RecordCodingOptions
  ) throws(RecordCodingError) {
    let encoder = RecordEncoder(zone: zone, options: options)
    var records: [Record] = []
    records.reserveCapacity(values.count)
    var keepsSystemFields = false
    var flattened: [Int: FlattenedFields] = [:]
    var withAssets: Set<Int> = []
    var referred: [ReferredValue] = []
    for value in values {
      let encoded = try encoder.encoded(value)
      if encoded.hasAssets { withAssets.insert(records.count) }
      if let fields = encoded.flattened { flattened[records.count] = fields }
      records.append(encoded.record)
      referred += encoded.referred
      keepsSystemFields = keepsSystemFields || encoded.keepsSystemFields
    }
    made = MadeRecords(
      records: records, policy: policy ?? .suiting(keepsSystemFields: keepsSystemFields), flattened: flattened,
      referred: referred)
    self.withAssets = withAssets
    self.options = options
  }

  func save(in transaction: Transaction) throws -> [Record] { try made.save(in: transaction) }

  func save(in database: Database, _ origin: Origin?) throws -> [Record] {
    if made.areSavedAsTheyAre { return try database.save(made.records, policy: made.policy, origin: origin) }
    return try database.write(origin: origin) { [made] in try made.save(in: $0) }
  }

  func save(in database: Database, _ origin: Origin?) async throws -> [Record] {
    if made.areSavedAsTheyAre { return try await database.save(made.records, policy: made.policy, origin: origin) }
    return try await database.write(origin: origin) { [made] in try made.save(in: $0) }
  }
}

/// The records of values, whatever type these have.
private struct MadeRecords: Sendable {
  let records: [Record]
  /// The caller's, or the one that suits the type.
  let policy: SavePolicy
  /// Of the records whose values have flattened properties.
  let flattened: [Int: FlattenedFields]
  /// The records of values to which they have references.
  let referred: [ReferredValue]

  /// Nothing that is stored is asked for.
  var areSavedAsTheyAre: Bool { flattened.isEmpty && referred.isEmpty }

  /// Saves the records, and takes out of the stored ones what flattened values no longer have.
  func save(in transaction: Transaction) throws -> [Record] {
    var records = records
    // A record that comes twice is saved twice, the second over the first.
    var places: [Record.ID: [Int]] = [:]
    for index in records.indices where flattened.count > 1 { places[records[index].id, default: []].append(index) }
    for (index, fields) in flattened {
      try fields.clear(&records[index], in: transaction, policy)
      for earlier in places[records[index].id] ?? [] where earlier < index {
        try fields.clear(&records[index], of: self.records[earlier])
      }
    }
    let saved = try transaction.save(records, policy: policy)
    for value in referred { value.requireRecord(in: transaction) }
    return saved
  }
}

extension SavePolicy {
  /// A type that keeps no system fields cannot know what is there: it is saved over it.
  static func suiting(keepsSystemFields: Bool) -> SavePolicy {
    keepsSystemFields ? .ifServerRecordUnchanged : .changedKeys
  }
}

extension ReadyValues where T: RecordDecodable {
  /// Makes a value one with its record, which has been saved: nothing is thrown any more.
  func refresh(_ value: inout T, _ index: Int, _ saved: Record) {
    // Only assets are others once they are stored. A value that cannot be decoded, now or from what was encoded, stays as it is.
    let decoder = RecordDecoder(options: options)
    if withAssets.contains(index), made.records[index].editedAssets.contains(where: { !$0.isStored }),
      (try? decoder.decode(T.self, from: made.records[index])) != nil,
      let decoded = try? decoder.decode(T.self, from: saved)
    {
      value = decoded
    }
    value.systemFields = saved.systemFields
  }

  func refresh(_ values: inout [T], _ saved: [Record]) {
    for index in values.indices { refresh(&values[index], index, saved[index]) }
  }
}
