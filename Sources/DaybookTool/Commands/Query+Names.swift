import Daybook

extension Invocation {
  /// Says on standard error what a query names and the database does not have: it finds nothing then, as if all was well.
  /// - Parameter shown: keys of the fields that are asked for.
  /// - Returns: whether there was anything to say.
  @discardableResult
  func warn(ofUnknownNamesIn query: Query, shown: [String] = [], _ database: Database) throws -> Bool {
    var query = query
    if query.zone == nil { query.zone = try selectedZone(database) }
    let warnings: [Query.Warning]
    do throws(DatabaseError) { warnings = try database.warnings(of: query, naming: shown) } catch {
      // What can be found is printed all the same.
      if error.code == .corrupted { return false }
      throw error
    }
    for warning in warnings { try note("daybook: \(warning)") }
    let isSQL = query.predicate.hasWildcardOfSQL
    if isSQL { try note("daybook: the wildcards of LIKE are * and ?; % is a character as others.") }
    return isSQL || !warnings.isEmpty
  }

  /// The same of a type, nil for any, and keys of its fields.
  @discardableResult
  func warn(ofUnknownType type: String?, keys: [String], _ database: Database) throws -> Bool {
    if type == nil, keys.isEmpty { return false }
    var query = Query(where: .true)
    query.recordType = type
    return try warn(ofUnknownNamesIn: query, shown: keys, database)
  }
}
