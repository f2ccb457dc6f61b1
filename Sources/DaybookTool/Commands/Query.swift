import Daybook
import DaybookEngine

extension Commands {
  static let predicateHelp = """
    A PREDICATE is what CloudKit and NSPredicate take: year > 2000 AND title BEGINSWITH 'D'. It has
      = != < <= > >=, BETWEEN {1, 5}, IN {'a', 'b'}, CONTAINS, BEGINSWITH, ENDSWITH, LIKE 'D*', key == nil,
      with [c] case and with [d] accents are ignored: title CONTAINS[cd] 'ete'; AND, OR, NOT, parentheses
      ANY genres = 'Drama'                    an element of a list
      self CONTAINS 'dune arrakis'            one of these words, in any text of the record
      distanceToLocation:fromLocation:(location, location(29.6, 35.4)) < 500        kilometres
      released > CAST('2021-09-15', 'NSDate') AND modificationDate < now()
      creationDate, modificationDate, recordName, recordType, creatorUserRecordID, parent
    """

  static let query = Command(
    name: "query", summary: "Print the records of a type that a predicate accepts, a line of JSON each.",
    positionals: ["FILE", "TYPE", "PREDICATE"], optionalCount: 1,
    options: [
      .zone, .owner, .value("--where", "PREDICATE", "The predicate, if it does not follow the type."),
      .value("--sort", "KEY", "By this field, with - before it downwards; several in turn.", mayRepeat: true),
      .value("--limit", "N", "At most so many records."),
      .value("--keys", "KEYS", "Only these fields, with commas between them."),
      .flag("--count", "Print how many records there are."), .flag("--explain", "Print how the query would be answered."),
      .flag("--metadata", "Add change tags, dates, users and devices."),
      .value("--format", "FORMAT", "How to print; ndjson when left out.", choices: RecordFormat.allCases.map(\.rawValue)),
      .json,
    ],
    details: """
      TYPE is a record type, or '*' for all. Without --sort the records come by zone and name, a zone after the other, and --explain
      has a plan for each. The lines are those of dump. The first 10,000 are asked for by the query: that is the limit of a plan
      without --limit. More are found by one walk over all records, or with --sort read in pages of 65,536. A type or key
      that the database does not know is told on standard error. Records that cannot be read any more are left out and named
      there; the status is then 3.
      \(predicateHelp)
      """
  ) { invocation in
    let query = try invocation.query()
    return try invocation.reading(invocation.arguments[0]) { database in
      try invocation.warn(ofUnknownNamesIn: query, shown: invocation.shownKeys ?? [], database)
      if invocation.arguments.has("--explain") { return try invocation.explain(query, database) }
      return try invocation.run(query, database)
    }
  }

  static let explain = Command(
    name: "explain", summary: "Print how a query would be answered.", positionals: ["FILE", "TYPE", "PREDICATE"],
    optionalCount: 1,
    options: [
      .zone, .owner, .value("--where", "PREDICATE", "The predicate, if it does not follow the type."),
      .value("--sort", "KEY", "By this field, with - before it downwards; several in turn.", mayRepeat: true),
      .value("--limit", "N", "At most so many records."), .json,
    ],
    details: predicateHelp
  ) { invocation in
    let query = try invocation.query()
    return try invocation.reading(invocation.arguments[0]) { database in
      try invocation.warn(ofUnknownNamesIn: query, database)
      return try invocation.explain(query, database)
    }
  }
}

extension Invocation {
  private static let recordsPerPage = 10_000
  /// In an order each page may look at all records: fewer pages, which still fit in memory.
  private static let recordsPerLaterPage = 65_536

  /// The query of the arguments, in all zones.
  fileprivate func query() throws -> Query {
    let given = [arguments.positionals.count > 2 ? arguments[2] : nil, arguments.value("--where")].compactMap { $0 }
    if given.count > 1 { throw ToolError.usage("The predicate is given twice.", advice: command.usage) }
    let predicate = try given.first.map { text in try self.predicate(text) } ?? Query.Predicate.true
    let limit = try arguments.count("--limit")
    let type = arguments[1]
    return type.isWord("*")
      ? Query(where: predicate, sort: sort, limit: limit) : Query(type, where: predicate, sort: sort, limit: limit)
  }

  /// The fields that the options ask for; nil for all.
  fileprivate var shownKeys: [String]? { arguments.value("--keys").map { $0.commaParts.filter { !$0.isEmpty } } }

  /// The order that the options say; empty where they say none.
  var sort: [Query.Sort] {
    arguments.allValues("--sort").map { word in
      word.afterBytes("-").map { Query.Sort.descending(String($0)) } ?? .ascending(word)
    }
  }

  /// A predicate's text; what is wrong with it is shown where it is.
  func predicate(_ text: String) throws -> Query.Predicate {
    do throws(DatabaseError) { return try Query.Predicate(format: text) } catch {
      let parts = [error.facts.expected.map { "expected: \($0)" }, error.facts.found.map { "found: \($0)" }]
        .compactMap { $0 }
      let facts = parts.isEmpty ? "" : " (\(ShownText.escaped(parts.joined(separator: ", "))))"
      let place = error.facts.offset.map { offset in
        let bytes = Array(text.utf8)
        let before = String(decoding: bytes.prefix(offset).suffix(60), as: UTF8.self)
        let after = String(decoding: bytes.dropFirst(offset).prefix(60), as: UTF8.self)
        return "Here, at byte \(offset): " + ShownText.escaped("\(before) --> \(after)")
      }
      let key = error.facts.key.map { " (key: \(ShownText.escaped($0)))" } ?? ""
      throw ToolError.usage(
        "\(error.message)\(facts)\(key)", advice: place ?? "`daybook help query` says what a predicate has.")
    }
  }

  /// What is asked in turn for a query, and printed in this order: a count, or the first page of each result. `explain` explains the
  /// same.
  private func queries(_ query: Query, _ database: Database, _ snapshot: borrowing Snapshot) throws -> [Query] {
    var query = query
    let counts = arguments.has("--count")
    let isByName = query.sort.isEmpty && !counts
    if isByName { query.sort = [.ascending(Query.Field.recordName)] }
    if counts { query.sort = [] } else { query.limit = min(query.limit ?? .max, Self.recordsPerPage) }
    // By zone and name: a zone after the other.
    guard isByName || namesZone else { return [query] }
    return try zonesWithRecords(of: query.recordType, database, snapshot).map { zone in
      var own = query
      own.zone = zone
      return own
    }
  }

  /// Not those without a record of the type, of which a plan would say nothing; all the same one, if there is no other.
  private func zonesWithRecords(
    of type: String?, _ database: Database, _ snapshot: borrowing Snapshot
  ) throws -> [Zone.ID] {
    let zones = try selectedZones(database, snapshot)
    guard let type, zones.count > 1 else { return zones }
    // What cannot be counted, because of damage, is looked at.
    let found = zones.filter { zone in (try? database.recordCount(in: zone, ofType: type)) != 0 }
    return found.isEmpty ? Array(zones.prefix(1)) : found
  }

  fileprivate func run(_ query: Query, _ database: Database) throws -> ExitStatus {
    let format = arguments.value("--format").flatMap { RecordFormat(rawValue: $0) } ?? .ndjson
    if arguments.has("--json"), format != .ndjson {
      throw ToolError.usage("--json and --format \(format.rawValue) exclude each other.")
    }
    let keys = shownKeys
    let counts = arguments.has("--count")
    let withMetadata = arguments.has("--metadata")
    let snapshot = try database.snapshot()
    func show(_ record: Record) throws {
      try output.append { bytes in
        try format.append(record, withMetadata: withMetadata, to: &bytes)
        if format == .text { bytes.append(0x0A) }
      }
    }
    var rest = query.limit ?? .max
    var count = 0
    var damage = Damage(errors)
    /// Why records were looked at one by one.
    var obstacle: DatabaseError?
    for var own in try queries(query, database, snapshot) where rest > 0 {
      if counts {
        if query.limit != nil { own.limit = rest }
        var found = 0
        do throws(DatabaseError) { found = try snapshot.count(own) } catch {
          guard error.code == .corrupted else { throw error }
          obstacle = error
          try forEachIntactMatch(own, limit: rest, database, snapshot, &damage) { _ in found += 1 }
        }
        count += found
        rest -= found
        continue
      }
      var cursor: Query.Cursor?
      /// What was printed of this query: in the order of names the last record.
      var shown: [Record.ID] = []
      repeat {
        own.limit = min(rest, shown.isEmpty ? Self.recordsPerPage : Self.recordsPerLaterPage)
        let page: Query.Page
        do throws(DatabaseError) { page = try snapshot.query(own, after: cursor, desiredKeys: keys) } catch {
          guard error.code == .corrupted else { throw error }
          obstacle = error
          try forEachIntactMatch(
            own, isByName: query.sort.isEmpty, after: shown, limit: rest, desiredKeys: keys, database, snapshot, &damage
          ) { record in
            try show(record)
            rest -= 1
          }
          break
        }
        for record in page.records { try show(record) }
        if query.sort.isEmpty { shown = page.records.suffix(1).map(\.id) } else { shown += page.records.map(\.id) }
        rest -= page.records.count
        cursor = page.next
        if query.sort.isEmpty, cursor != nil, rest > 0 {
          // Each page in the order of names would look at all records of the type: one walk looks at each once.
          try forEachIntactMatch(
            own, isByName: true, after: shown, limit: rest, desiredKeys: keys, database, snapshot, &damage
          ) { record in
            try show(record)
            rest -= 1
          }
          break
        }
      } while cursor != nil && rest > 0
    }
    if counts {
      let object: JSONValue = ["count": .count(count)]
      try output.line(arguments.has("--json") ? object.json : "\(count)")
    }
    try damage.tell(counts ? "counted" : query.limit == nil ? "printed" : "printed, up to the limit")
    guard let obstacle else { return damage.isEmpty ? .done : .damaged }
    if damage.isEmpty {
      // An index, or a record after the limit.
      try note("daybook: \(obstacle.message)")
      try note("  What was asked for is complete all the same. Run `daybook check` for the places of the damage.")
    }
    return .damaged
  }

  fileprivate func explain(_ query: Query, _ database: Database) throws -> ExitStatus {
    let snapshot = try database.snapshot()
    for own in try queries(query, database, snapshot) {
      var plan = try snapshot.explain(own)
      // Whose zones are all asked in turn asks for none by name.
      if !namesZone { plan.warnings.removeAll { $0.reason == .noRecords } }
      if arguments.has("--json") {
        try output.line(json(plan).json)
        continue
      }
      // They were told on standard error, once for all plans.
      plan.warnings = []
      // Names in it are escaped by themselves; lines are its own.
      for line in plan.description.split(separator: "\n") { try output.line(ShownText.escaped(String(line))) }
    }
    return .done
  }

  private func json(_ plan: Query.Plan) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(key: "access", value: .string(plan.access.rawValue)),
      .init(key: "index", value: plan.index.map { .string($0) } ?? .null),
      .init(key: "indexKind", value: plan.indexKind.map { .string($0.rawValue) } ?? .null),
      .init(key: "recordType", value: plan.recordType.map { .string($0) } ?? .null),
      .init(key: "zones", value: .array(plan.zones.map { .string($0.name) })),
      .init(key: "recordCount", value: .count(plan.recordCount)),
      .init(key: "filter", value: plan.filter.map { .string("\($0)") } ?? .null),
      .init(key: "ordering", value: .string(plan.ordering.rawValue)),
      .init(key: "sort", value: .array(plan.sort.map { .string("\($0)") })),
    ]
    if let limit = plan.limit { members.append(.init(key: "limit", value: .count(limit))) }
    members.append(.init(key: "warnings", value: .array(plan.warnings.map(json))))
    members.append(
      .init(
        key: "unused",
        value: .array(
          plan.unused.map {
            ["key": .string($0.key), "kind": .string($0.kind.rawValue), "reason": .string($0.reason.rawValue)]
          })))
    return .object(members)
  }

  private func json(_ warning: Query.Warning) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(key: "reason", value: .string(warning.reason.rawValue)), .init(key: "name", value: .string(warning.name)),
    ]
    if let zone = warning.zone { members.append(.init(key: "zone", value: .string(zone.name))) }
    if !warning.closeNames.isEmpty {
      members.append(.init(key: "closeNames", value: .array(warning.closeNames.map { .string($0) })))
    }
    if let constant = warning.constant {
      members.append(.init(key: "kinds", value: .array(warning.kinds.map { .string($0.rawValue) })))
      members.append(.init(key: "constant", value: .string(constant.rawValue)))
    }
    members.append(.init(key: "text", value: .string("\(warning)")))
    return .object(members)
  }
}
