import Daybook

/// Values on their way into a database: their records, made before the transaction, and what becomes of the values when these are
/// stored. All forms of `save`, of one value and of many, go through it.
struct ReadyValues<T: RecordEncodable>: Sendable {
  let records: [Record]
  /// The caller's, or the one that suits the type.
  let policy: SavePolicy
  private let options: RecordCodingOptions

  init(
    _ values: [T], in zone: Zone.ID, _ policy: SavePolicy?, _ options: RecordCodingOptions
  ) throws(RecordCodingError) {
    let encoder = RecordEncoder(zone: zone, options: options)
    var records: [Record] = []
    records.reserveCapacity(values.count)
    var keepsSystemFields = false
    for value in values {
      let encoded = try encoder.encoded(value)
      records.append(encoded.record)
      keepsSystemFields = keepsSystemFields || encoded.keepsSystemFields
    }
    self.records = records
    self.policy = policy ?? .suiting(keepsSystemFields: keepsSystemFields)
    self.options = options
  }
}

extension SavePolicy {
  /// A type that keeps no system fields cannot know what is there: it is saved over it.
  static func suiting(keepsSystemFields: Bool) -> SavePolicy {
    keepsSystemFields ? .ifServerRecordUnchanged : .changedKeys
  }
}

extension ReadyValues where T: RecordDecodable {
  /// Makes a value one with its record, which has been saved.
  func refresh(_ value: inout T, _ index: Int, _ saved: Record) throws {
    // Only what is in files moves with a save. A value that cannot be decoded from what was encoded stays as it is.
    let decoder = RecordDecoder(options: options)
    if records[index].editedAssets.contains(where: \.isOfCaller),
      (try? decoder.decode(T.self, from: records[index])) != nil
    {
      value = try decoder.decode(T.self, from: saved)
    }
    value.systemFields = saved.systemFields
  }

  func refresh(_ values: inout [T], _ saved: [Record]) throws {
    for index in values.indices { try refresh(&values[index], index, saved[index]) }
  }
}
