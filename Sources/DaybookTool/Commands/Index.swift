import Daybook

extension Commands {
  static let index = Command(
    name: "index", summary: "List the indexes, make one of a field, or drop it.",
    positionals: ["FILE", "TYPE", "KEY"], optionalCount: 2,
    options: [
      .value("--kinds", "LIST", "What it is for: queryable, sortable, or both with a comma between, which is the default."),
      .flag("--drop", "Drop the index with all its entries."), .json,
    ],
    details: """
      Without TYPE and KEY the indexes are listed. With them an index is made, or completed where its making was cut off: queries that
      compare the field, or sort by it, then look at few records instead of all. Each save of the type keeps it up.
      """
  ) { invocation in
    let arguments = invocation.arguments
    guard arguments.positionals.count != 2, arguments.positionals.count == 3 || !arguments.has("--drop") else {
      throw ToolError.usage("An index is named by TYPE and KEY.", advice: invocation.command.usage)
    }
    if arguments.positionals.count == 1 {
      return try invocation.reading(arguments[0]) { database in try invocation.listIndexes(database) }
    }
    let (type, key) = (arguments[1], arguments[2])
    return try invocation.writing(arguments[0], mayCreate: false) { database in
      if arguments.has("--drop") {
        if try !database.dropIndex(on: key, ofType: type) {
          throw ToolError(.usage, "There is no index of \(ShownText.escaped("\(type).\(key)")).")
        }
        return .done
      }
      let kinds = try invocation.indexKinds()
      var bar = ProgressBar("building", on: invocation.errors)
      try database.setIndex(kinds, on: key, ofType: type) { done, total in
        // A bar that cannot be drawn is no reason to stop.
        try? bar.update(done, of: total)
        return true
      }
      try bar.clear()
      return try invocation.listIndexes(database)
    }
  }
}

extension Invocation {
  fileprivate func indexKinds() throws -> IndexKinds {
    var kinds: IndexKinds = []
    for word in (arguments.value("--kinds") ?? "queryable,sortable").split(separator: ",") {
      switch word {
      case "queryable": kinds.insert(.queryable)
      case "sortable": kinds.insert(.sortable)
      default:
        throw ToolError.usage("There is no index of the kind \(ShownText.escaped(String(word))).", advice: command.usage)
      }
    }
    if kinds.isEmpty { throw ToolError.usage("--kinds has no kind.", advice: command.usage) }
    return kinds
  }

  fileprivate func listIndexes(_ database: Database) throws -> ExitStatus {
    let indexes = try database.indexes()
    if arguments.has("--json") {
      try printArray(indexes.map(\.json))
      return .done
    }
    try printTable(
      ["TYPE", "KEY", "STATE", "ENTRIES"],
      indexes.map { [$0.recordType, $0.key, $0.stateName, Wording.count($0.entryCount)] }, numeric: [3])
    return .done
  }
}

extension IndexState {
  fileprivate var stateName: String { isComplete ? "complete" : "building" }

  var json: JSONValue {
    ["type": .string(recordType), "key": .string(key), "state": .string(stateName), "entryCount": .count(entryCount)]
  }
}
