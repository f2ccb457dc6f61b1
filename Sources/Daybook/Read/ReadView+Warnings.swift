import DaybookEngine

/// What a query names and a version of the database does not have; the schema is read whole only where something is unknown.
extension ReadView {
  /// So many unknown keys are compared with those that there are; a predicate may name thousands.
  private static let mostGuesses = 32

  /// First of the type, then of keys, then of kinds of values.
  /// - Parameter others: more keys of fields that are asked for.
  func warnings(of query: Query, naming others: [String] = []) throws(DatabaseError) -> [Query.Warning] {
    var result: [Query.Warning] = []
    if let type = query.recordType, let warning = try warning(ofType: type, in: query.zone) {
      result.append(warning)
      if warning.reason == .unknownType { return result }
    }
    var types: [Schema.RecordType]?
    func knownTypes() throws(DatabaseError) -> [Schema.RecordType] {
      if let types { return types }
      let all = try schema()
      let found = query.recordType.map { name in all[name].map { [$0] } ?? [] } ?? all.types
      types = found
      return found
    }
    var kinds: [Query.Field: [FieldKind]] = [:]
    var guessCount = 0
    for field in query.fields + others.map({ Query.Field(key: $0) }) where kinds[field] == nil {
      let known: [FieldKind]?
      if query.recordType != nil {
        known = try self.kinds(of: field.name, in: query).map { $0.kinds(isEncrypted: false) }
      } else {
        let fields = try knownTypes().compactMap { $0[field.name] }
        known =
          fields.isEmpty ? nil : fields.filter { !$0.isEncrypted }.flatMap(\.kinds).compactMap { FieldKind(name: $0.rawValue) }
      }
      kinds[field] = known ?? []
      if known != nil { continue }
      var warning = Query.Warning(reason: .unknownKey, name: field.name, recordType: query.recordType)
      guessCount += 1
      if guessCount <= Self.mostGuesses { warning.closeNames = Self.names(closeTo: field.name, in: try knownTypes()) }
      result.append(warning)
    }
    var seen: Set<Query.Warning> = []
    query.predicate.forEachCondition { condition in
      let field = condition.field
      let known = field.system.map { $0.kind.map { [$0] } ?? [] } ?? kinds[field.whole] ?? []
      for (reason, constant) in condition.mismatches(with: known) {
        let warning = Query.Warning(
          reason: reason, name: field.name, recordType: query.recordType,
          kinds: FieldKind.allCases.filter { known.contains($0) }.compactMap { Schema.Kind(rawValue: $0.name) },
          constant: Schema.Kind(rawValue: constant.name))
        if seen.insert(warning).inserted { result.append(warning) }
      }
    }
    return result
  }

  /// That a type of the database has no records anywhere is no slip; that it has none in a zone that is named may be one.
  private func warning(ofType type: String, in asked: Zone.ID?) throws(DatabaseError) -> Query.Warning? {
    if let asked, try count(ofType: type, in: try existingZone(asked)) > 0 { return nil }
    let zones = try self.zones().map(\.id)
    var isKnown = false
    for zone in zones where !isKnown { isKnown = try count(ofType: type, in: try existingZone(zone)) > 0 }
    let schema = isKnown ? Schema() : try self.schema()
    if isKnown || schema[type]?.fields.isEmpty == false {
      return asked.map { Query.Warning(reason: .noRecords, name: type, zone: $0) }
    }
    var names = schema.types.map(\.name)
    for zone in zones { names += try recordTypes(in: zone).map(\.type) }
    let others = Set(names).subtracting([type]).sorted()
    return Query.Warning(reason: .unknownType, name: type, closeNames: Spelling.close(to: type, among: others))
  }

  /// Keys of fields, and names of system fields, that are close to a key. An `id` is kept as the record's name.
  private static func names(closeTo key: String, in types: [Schema.RecordType]) -> [String] {
    let system = Query.SystemField.allCases.filter { $0 != .text }.map(\.rawValue)
    let close = Spelling.close(to: key, among: Set(types.flatMap(\.fields).map(\.key)).sorted() + system)
    let isOfName = ["id", "_id", "identifier", "uuid"].contains { UTF8Order.equal($0, key.lowercased()) }
    return isOfName ? Array(([Query.SystemField.recordName.rawValue] + close).prefix(3)) : close
  }
}

extension RecordReader where Self: ~Copyable {
  /// The warnings of a query's plan, and of more keys that are asked for beside it.
  /// - Throws: as ``explain(_:)``.
  package func warnings(of query: Query, naming keys: [String] = []) throws(DatabaseError) -> [Query.Warning] {
    try reading { (view) throws(DatabaseError) in
      // What is no query is said first.
      _ = try view.prepareFilter(query)
      return try view.warnings(of: query, naming: keys)
    }
  }
}
