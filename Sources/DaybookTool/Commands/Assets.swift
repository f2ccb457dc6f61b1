import Daybook

extension Commands {
  static let assets = Command(
    name: "assets", summary: "List the asset files that records refer to, or remove those that no record refers to.",
    positionals: ["FILE", "collect"], optionalCount: 1,
    options: [
      .value("--grace", "SECONDS", "With collect: how long a file must have been unreferenced; 600 when left out."),
      .flag("--take-over", "With collect: the folder of assets is this file's from now on, whosever it was."), .json,
    ],
    details: """
      A line is the SHA-256, which is also the file's name, the size, how many times records refer to it, and its state:
      stored, missing, damaged (another size), unreadable (the disk fails), unreferenced. `daybook check --deep` looks at all bytes.
      collect removes files that no record refers to, and what crashes have left. The time counts from the first collection
      that found them so; --grace 0 takes them at once, and a reader in another process may then miss one.
      A folder that another database has made, or that was made for another file of this one, is left alone until
      --take-over says that no other file needs it.
      The exit status of the list is 1 when something is missing, damaged or unreadable.
      """,
    changesFile: { $0.positionals.count > 1 }
  ) { invocation in
    let path = invocation.arguments[0]
    guard invocation.arguments.positionals.count > 1 else {
      return try invocation.reading(path) { database in try list(try database.storedAssets(), invocation) }
    }
    guard invocation.arguments[1].isWord("collect") else {
      throw ToolError.usage("What follows FILE is collect, or nothing.", advice: "Usage: \(invocation.command.usage)")
    }
    var grace: Duration?
    if let text = invocation.arguments.value("--grace") {
      guard let seconds = Int(text), seconds >= 0 else { throw ToolError.usage("--grace needs a whole number of seconds.") }
      grace = .seconds(seconds)
    }
    return try invocation.writing(path, mayCreate: false) { database in
      if invocation.arguments.has("--take-over") { try database.takeOverAssets() }
      try tell(try database.collectAssets(grace: grace), invocation)
      return .done
    }
  }

  private static func list(_ assets: [Database.StoredAsset], _ invocation: Invocation) throws -> ExitStatus {
    if invocation.arguments.has("--json") {
      try invocation.printArray(
        assets.map {
          [
            "sha256": .string($0.sha256), "byteCount": .count($0.byteCount), "referenceCount": .count($0.referenceCount),
            "state": .string($0.state.rawValue), "path": .string($0.path),
          ]
        })
    } else {
      try invocation.printTable(
        ["sha256", "bytes", "names", "state"],
        assets.map { [$0.sha256, "\($0.byteCount)", "\($0.referenceCount)", $0.state.rawValue] }, numeric: [1, 2])
    }
    return assets.contains { [.missing, .damaged, .unreadable].contains($0.state) } ? .finding : .done
  }

  private static func tell(_ report: Database.AssetCollection, _ invocation: Invocation) throws {
    if invocation.arguments.has("--json") {
      let result: JSONValue = [
        "keptCount": .count(report.keptCount), "waitingCount": .count(report.waitingCount),
        "removedCount": .count(report.removedCount), "removedByteCount": .count(report.removedByteCount),
        "removedLeftoverCount": .count(report.removedLeftoverCount),
        "removedLeftoverByteCount": .count(report.removedLeftoverByteCount),
        "strangerCount": .count(report.strangerCount),
      ]
      return try invocation.output.line(result.json)
    }
    try invocation.output.line(
      "\(Wording.count(report.removedCount, "asset")) removed, \(Wording.bytes(report.removedByteCount)); "
        + "\(Wording.count(report.keptCount)) in use, \(Wording.count(report.waitingCount)) waiting")
    if report.removedLeftoverCount > 0 {
      try invocation.output.line(
        "\(Wording.count(report.removedLeftoverCount, "leftover")) removed, \(Wording.bytes(report.removedLeftoverByteCount))")
    }
    if report.strangerCount > 0 {
      try invocation.output.line("\(Wording.count(report.strangerCount, "file")) of other users, not touched")
    }
  }
}
