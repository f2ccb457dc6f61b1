import Daybook

extension Commands {
  static let get = Command(
    name: "get", summary: "Print one record.", positionals: ["FILE", "ZONE", "NAME"],
    options: [
      .flag("--json", "Print the line that dump prints, with metadata."),
      .value("--format", "FORMAT", "How to print; text if left out.", choices: RecordFormat.allCases.map(\.rawValue)), .owner,
    ],
    details: "The default zone is called _defaultZone. The exit status is 1 when there is no such record."
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let zone = try invocation.existingZone(invocation.arguments[1], in: database)
      let id = try Record.ID(existing: invocation.arguments[2], in: zone)
      guard let record = try database.record(id) else {
        let question = Spelling.question(for: invocation.arguments[2], among: try database.firstNames(in: zone))
        throw invocation.missing(
          .finding, "There is no record \(id).\(question)",
          advice: "`daybook dump FILE --zone \(zone.name)` lists what is there.", in: database)
      }
      try invocation.print(record)
      return .done
    }
  }
}

extension Invocation {
  /// Prints one record as `--json` and `--format` say.
  func print(_ record: Record) throws {
    let format =
      arguments.has("--json")
      ? .ndjson : arguments.value("--format").flatMap { RecordFormat(rawValue: $0) } ?? RecordFormat.text
    try output.append { try format.append(record, withMetadata: true, to: &$0) }
  }
}
