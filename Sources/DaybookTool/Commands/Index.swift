import Daybook

extension Commands {
  static let index = Command(
    name: "index", summary: "List the indexes, make one of a field, or drop it.",
    positionals: ["FILE", "TYPE", "KEY"], optionalCount: 2,
    options: [
      .value("--kind", "KIND", "What is in it: value (the default), location or text."),
      .value("--kinds", "LIST", "The same by what it is for: queryable, sortable, searchable, location, with commas between."),
      .flag("--new", "Make it also before the first record has the type and the key."),
      .flag("--drop", "Drop the indexes of the field, or those of the kind, with all their entries."), .json,
    ],
    details: """
      Without TYPE and KEY the indexes are listed. With them an index is made, or completed where its making was cut off; those of other
      kinds stay. Queries then look at few records instead of all. Each save of the type keeps it up. A type or key that no
      record has is refused, with names that are close to it; --new makes its index for the records that come.
      --drop prints the indexes that it dropped.

        value      the field is compared (queryable), or sorted by (sortable); also creationDate and modificationDate
        location   places around another one, by distanceToLocation:fromLocation:
        text       words of the field (searchable); of all texts (self CONTAINS), where each text of the type has such an index
      """,
    changesFile: { $0.positionals.count > 1 }
  ) { invocation in
    let arguments = invocation.arguments
    let isOfOne =
      arguments.has("--drop") || arguments.has("--new") || arguments.value("--kind") != nil || arguments.value("--kinds") != nil
    guard arguments.positionals.count != 2, arguments.positionals.count == 3 || !isOfOne else {
      throw ToolError.usage("An index is named by TYPE and KEY.", advice: invocation.command.usage)
    }
    if arguments.positionals.count == 1 {
      return try invocation.reading(arguments[0]) { database in try invocation.listIndexes(database) }
    }
    let (type, key) = (arguments[1], arguments[2])
    return try invocation.writing(arguments[0], mayCreate: false) { database in
      let kinds = try invocation.indexKinds()
      if arguments.has("--drop") { return try invocation.dropIndexes(of: key, ofType: type, kinds, database) }
      try Database.requireIndexable(key, ofType: type)
      let isThere = try database.indexes().contains { UTF8Order.equal($0.recordType, type) && UTF8Order.equal($0.key, key) }
      // An index of a key that no record has is empty, and serves no query.
      if !isThere, !arguments.has("--new"), try invocation.warn(ofUnknownType: type, keys: [key], database) {
        throw ToolError.usage("No index was made.", advice: "--new makes one before the first record has the type and the key.")
      }
      var bar = ProgressBar("building", on: invocation.errors)
      try database.setIndex(kinds ?? [.queryable, .sortable], on: key, ofType: type) { done, total in
        // A bar that cannot be drawn is no reason to stop.
        try? bar.update(done, of: total)
        return true
      }
      try bar.clear()
      if !arguments.has("--new") { try invocation.warn(ofEmptyIndexesOf: key, ofType: type, database) }
      return try invocation.listIndexes(database)
    }
  }
}

extension Invocation {
  /// What is asked for; nil without an option.
  fileprivate func indexKinds() throws -> IndexKinds? {
    func unknown(_ word: String) -> ToolError {
      let kinds = IndexKind.allCases.map(\.rawValue).joined(separator: ", ")
      return .usage(
        "There is no index of the kind \(ShownText.escaped(word)); there are \(kinds).",
        advice: "--kinds takes queryable, sortable, searchable and location, with commas between.")
    }
    var kinds: IndexKinds?
    if let word = arguments.value("--kind") {
      switch IndexKind.allCases.first(where: { $0.rawValue.equalsBytes(of: word) }) {
      case .value: kinds = [.queryable, .sortable]
      case .location: kinds = .location
      case .text: kinds = .searchable
      case nil: throw unknown(word)
      }
    }
    guard let list = arguments.value("--kinds") else { return kinds }
    if kinds != nil { throw ToolError.usage("--kind and --kinds say the same.", advice: command.usage) }
    var found: IndexKinds = []
    let words: KeyValuePairs<String, IndexKinds> = [
      "queryable": .queryable, "sortable": .sortable, "searchable": .searchable, "location": .location,
    ]
    for word in list.commaParts where !word.isEmpty {
      guard let kinds = words.first(where: { $0.key.equalsBytes(of: word) })?.value else { throw unknown(word) }
      found.insert(kinds)
    }
    if found.isEmpty { throw ToolError.usage("--kinds has no kind.", advice: command.usage) }
    return found
  }

  /// An index that has nothing of the records that are there serves no query: the field has values of another kind.
  fileprivate func warn(ofEmptyIndexesOf key: String, ofType type: String, _ database: Database) throws {
    for index in try database.indexes()
    where index.entryCount == 0 && UTF8Order.equal(index.recordType, type) && UTF8Order.equal(index.key, key) {
      let content =
        switch index.kind {
        case .value: "value"
        case .location: "place"
        case .text: "text"
        }
      try note("daybook: the \(index.kind.rawValue) index is empty: no record of the type has a \(content) in the field.")
    }
  }

  /// Drops the indexes of a field and says which there were.
  fileprivate func dropIndexes(
    of key: String, ofType type: String, _ kinds: IndexKinds?, _ database: Database
  ) throws -> ExitStatus {
    let all = try database.indexes()
    let kinds = kinds.map { Set($0.indexKinds) }
    let dropped = all.filter { index in
      UTF8Order.equal(index.recordType, type) && UTF8Order.equal(index.key, key) && kinds?.contains(index.kind) != false
    }
    guard try database.dropIndex(on: key, ofType: type, kinds: kinds) else {
      let name = "\(type).\(key)"
      throw ToolError.usage(
        "There is no such index of \(ShownText.escaped(name))."
          + Spelling.question(for: name, among: all.map { "\($0.recordType).\($0.key)" }.filter { !UTF8Order.equal($0, name) }),
        advice: "`daybook index FILE` lists the indexes.")
    }
    if arguments.has("--json") {
      try printArray(dropped.map(\.json))
      return .done
    }
    for index in dropped {
      try output.line(
        "dropped the \(index.kind.rawValue) index of \(index.recordType).\(index.key), "
          + (index.entryCount == 1 ? "1 entry" : "\(Wording.count(index.entryCount)) entries"))
    }
    return .done
  }

  fileprivate func listIndexes(_ database: Database) throws -> ExitStatus {
    let indexes = try database.indexes()
    if arguments.has("--json") {
      try printArray(indexes.map(\.json))
      return .done
    }
    try printTable(
      ["TYPE", "KEY", "KIND", "STATE", "ENTRIES"],
      indexes.map { [$0.recordType, $0.key, $0.kind.rawValue, $0.stateName, Wording.count($0.entryCount)] }, numeric: [4])
    return .done
  }
}

extension IndexState {
  fileprivate var stateName: String { isComplete ? "complete" : "building" }

  var json: JSONValue {
    [
      "type": .string(recordType), "key": .string(key), "kind": .string(kind.rawValue), "state": .string(stateName),
      "entryCount": .count(entryCount),
    ]
  }
}
