import Daybook

extension Invocation {
  /// Says on standard error that a query has a type or key that the database does not know: it finds nothing then, as if all was well.
  /// - Parameter shown: keys of the fields that are asked for.
  func warn(ofUnknownNamesIn query: Query, shown: [String] = [], _ database: Database) throws {
    do {
      // What is no query is said first.
      _ = try database.explain(query)
      let schema = try database.schema()
      try warn(ofUnknownType: query.recordType, keys: query.keys + shown, in: schema, database)
      try warn(ofOtherKindsIn: query, schema)
    } catch let error as DatabaseError where error.code == .corrupted {
      // What can be found is printed all the same.
    }
  }

  /// The same of a command that prints what it can of a damaged database: then nothing is said of names.
  func warn(ofUnknownType type: String?, keys: [String], _ database: Database) throws {
    if type == nil, keys.isEmpty { return }
    do { try warn(ofUnknownType: type, keys: keys, in: database.schema(), database) } catch let error as DatabaseError
      where error.code == .corrupted
    {}
  }

  /// The same of a type, nil for any, and its keys.
  func warn(ofUnknownType type: String?, keys: [String], in schema: Schema, _ database: Database) throws {
    guard let type else { return try warn(ofUnknown: keys, schema.types, "no record has the key") }
    let known = schema.types.first { UTF8Order.equal($0.name, type) }
    let zones = try selectedZones(database)
    // That a type of the database has no records anywhere is no slip; that it has none in a zone that is named may be one.
    if try known != nil && !namesZone || zones.contains(where: { try database.recordCount(in: $0, ofType: type) > 0 }) {
      return try warn(
        ofUnknown: keys, known.map { [$0] } ?? [], "no record of type \(ShownText.escaped(type)) has the key")
    }
    let names = try Set(schema.types.map(\.name) + zones.flatMap { try database.recordTypes(in: $0).map(\.type) })
    let zone = try zoneName().map { " in zone \(ShownText.escaped($0))" } ?? ""
    try note(
      "daybook: there is no record of type \(ShownText.escaped(type))\(zone)."
        + Spelling.question(for: type, among: names.subtracting([type]).sorted()))
  }

  /// A condition on a field of another kind finds nothing, as if there was no such record.
  private func warn(ofOtherKindsIn query: Query, _ schema: Schema) throws {
    let types = schema.types.filter { type in query.recordType.map { UTF8Order.equal($0, type.name) } ?? true }
    for compared in query.comparedKinds {
      let fields = types.flatMap(\.fields).filter { UTF8Order.equal($0.key, compared.key) && !$0.isEncrypted }
      let known = Set(fields.flatMap(\.kinds).map(\.rawValue)).sorted()
      let constant = Self.elementKind(compared.kind.name)
      let isFound = known.contains { [Schema.RecordType].areCompared(Self.elementKind($0), constant) }
      if known.isEmpty || isFound { continue }
      try note(
        "daybook: \(ShownText.escaped(compared.key)) is of the kind \(known.joined(separator: " or ")), and finds nothing where it "
          + "is compared with one of the kind \(compared.kind.name).")
    }
  }

  /// A list is compared by its elements, too.
  private static func elementKind(_ kind: String) -> String { FieldKind(name: kind)?.element.name ?? kind }

  private func warn(ofUnknown keys: [String], _ types: [Schema.RecordType], _ sentence: String) throws {
    let known = types.flatMap { type in type.fields.map(\.key) + type.indexes.map(\.key) }
    var seen: Set<[UInt8]> = []
    for key in keys where seen.insert(Array(key.utf8)).inserted && !known.contains(where: { UTF8Order.equal($0, key) }) {
      try note(
        "daybook: \(sentence) \(ShownText.escaped(key))." + Spelling.question(for: key, among: Array(Set(known)).sorted()))
    }
  }
}
