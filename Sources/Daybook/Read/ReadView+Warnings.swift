import DaybookEngine

/// What a query names and a version of the database does not have; the schema is read whole only where something is unknown.
///
/// A query may read less of a damaged database: where the look for names meets damage that the query does not, it says less.
extension ReadView {
  /// So many names are compared with unknown ones at most: a predicate may name thousands of keys, and a schema have as many.
  private static let mostComparisons = 100_000

  /// First of the type, then of keys, then of kinds of values.
  /// - Parameter others: more keys of fields that are asked for.
  func warnings(of query: Query, naming others: [String] = []) throws(DatabaseError) -> [Query.Warning] {
    var result: [Query.Warning] = []
    let zone = query.zone ?? (database.options.dialect == .cloudKit ? .default : nil)
    if let type = query.recordType {
      let found = try unlessDamaged { () throws(DatabaseError) in try warning(ofType: type, in: zone) }
      if let found { result.append(found) }
      if found?.reason == .unknownType { return result }
    }
    var types: [Schema.RecordType]?
    if query.recordType == nil {
      types = try unlessDamaged { () throws(DatabaseError) in try schema().types }
      // Nothing is known of any field.
      if types == nil { return result }
    }
    let fields = SchemaFields(query.recordType == nil ? types ?? [] : [])
    var kinds: [Query.Field: [FieldKind]] = [:]
    var names: [String]?
    var comparisonsLeft = Self.mostComparisons
    // Each record has the dates.
    let keys = others.filter { key in UTF8Order.withView(of: key) { Query.SystemField(indexKey: $0) == nil } }
    for field in query.fields + keys.map({ Query.Field(key: $0) }) where kinds[field] == nil {
      let known: KindBits? =
        query.recordType == nil ? fields.kinds(of: field.name) : try self.kinds(of: field.name, in: query)
      kinds[field] = known?.kinds(isEncrypted: false) ?? []
      if let known {
        if query.recordType == nil, kinds[field] == [], known.rawValue != 0 {
          result.append(Query.Warning(reason: .encryptedKey, name: field.name))
        }
        continue
      }
      var warning = Query.Warning(reason: .unknownKey, name: field.name, recordType: query.recordType)
      if comparisonsLeft > 0 {
        if names == nil {
          if types == nil {
            types = try unlessDamaged { () throws(DatabaseError) in
              let all = try schema()
              return query.recordType.flatMap { all[$0] }.map { [$0] } ?? []
            }
          }
          names = Set((types ?? []).flatMap(\.fields).map(\.key)).sorted() + Self.systemNames
        }
        comparisonsLeft -= min(names?.count ?? 0, Spelling.mostCandidates)
        warning.closeNames = Self.names(closeTo: field.name, among: names ?? [])
      }
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

  /// Nil where the look meets damage.
  private func unlessDamaged<R>(_ look: () throws(DatabaseError) -> R?) throws(DatabaseError) -> R? {
    do { return try look() } catch {
      if error.code == .corrupted { return nil }
      throw error
    }
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

  private static let systemNames = Query.SystemField.allCases.filter { $0 != .text }.map(\.rawValue)

  /// Keys of fields, and names of system fields, that are close to a key. An `id` is kept as the record's name.
  private static func names(closeTo key: String, among names: [String]) -> [String] {
    let close = Spelling.close(to: key, among: names)
    let isOfName = ["id", "_id", "identifier", "uuid"].contains { UTF8Order.equal($0, key.lowercased()) }
    return isOfName ? Array(([Query.SystemField.recordName.rawValue] + close).prefix(3)) : close
  }
}

/// The kinds that fields have had in any of some types.
private struct SchemaFields {
  private var all: [[UInt8]: KindBits] = [:]

  init(_ types: [Schema.RecordType]) {
    for field in types.flatMap(\.fields) {
      let key = Array(field.key.utf8)
      all[key] = field.kinds.compactMap { FieldKind(name: $0.rawValue) }
        .reduce(all[key] ?? KindBits(rawValue: 0)) { $0.union(KindBits($1, isEncrypted: field.isEncrypted)) }
    }
  }

  func kinds(of key: String) -> KindBits? { all[Array(key.utf8)] }
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
