import Daybook

extension Commands {
  static let dump = Command(
    name: "dump", summary: "Print the records, one line of JSON each, ordered by zone and name.",
    positionals: ["FILE"],
    options: [
      .zone, .owner, .type, .flag("--metadata", "Add change tags, dates, users and devices."),
      .value("--format", "FORMAT", "How to print; ndjson when left out.", choices: RecordFormat.allCases.map(\.rawValue)),
      .flag("--json", "The same as --format ndjson."),
    ],
    details: """
      A line is {"zone","name","type","parent"?,"fields":{key:{"type","value"}}} with keys in order of their bytes;
      `daybook import` reads it back, except for the metadata. Equal records give equal lines.
        date       seconds since 2001-01-01 UTC, exact
        double     the shortest digits that are exact; infinities are "inf" and "-inf"
        bytes      base64
        location   {"latitude","longitude",…}; reference {"name","action"}; asset {"sha256","byteCount"}
                 and for a small one, which lies in its record, "content"; `daybook export --assets` writes all of them
      Control characters and marks of direction are escaped in texts, which JSON reads as the same.
      cloudkit-json prints a line a record in the shape of CloudKit Web Services, times in milliseconds.
      A type that no record has is told on standard error.
      text is for reading. Records that cannot be read any more are named on standard error; the status is then 3.
      """
  ) { invocation in
    let format = invocation.arguments.value("--format").flatMap { RecordFormat(rawValue: $0) } ?? .ndjson
    if invocation.arguments.has("--json"), format != .ndjson {
      throw ToolError.usage("--json and --format \(format.rawValue) exclude each other.")
    }
    return try invocation.reading(invocation.arguments[0]) { database in
      try invocation.warn(ofUnknownType: invocation.arguments.value("--type"), keys: [], database)
      let withMetadata = invocation.arguments.has("--metadata")
      return try invocation.forEachRecord(database, database.snapshot()) { record in
        try invocation.output.append { bytes in
          try format.append(record, withMetadata: withMetadata, to: &bytes)
          if format == .text { bytes.append(0x0A) }
        }
      }
    }
  }
}

/// How records are printed.
enum RecordFormat: String, CaseIterable {
  case ndjson, text
  case cloudKitJSON = "cloudkit-json"

  /// Appends a record with the end of its line or lines.
  func append(_ record: Record, withMetadata: Bool, to bytes: inout [UInt8]) throws {
    switch self {
    case .ndjson:
      try RecordLine.append(record, withMetadata: withMetadata, to: &bytes)
      bytes.append(0x0A)
    case .text: RecordText.append(record, withMetadata: withMetadata, to: &bytes)
    case .cloudKitJSON:
      CloudKitLine.append(record, to: &bytes)
      bytes.append(0x0A)
    }
  }
}

extension Invocation {
  private static let recordsPerPage = 200

  /// Calls `body` with every record that `--zone` and `--type` select, ordered by zone and name, all of the snapshot's moment.
  ///
  /// Records that are damaged are left out and named on standard error.
  /// - Parameters:
  ///   - done: what becomes of the records, in a word.
  ///   - isQuiet: nothing is named: for records that are read twice.
  /// - Returns: `.done`, or `.damaged` when something was left out.
  func forEachRecord(
    _ database: Database, _ snapshot: borrowing Snapshot, done: String = "printed", isQuiet: Bool = false,
    _ body: (Record) throws -> Void
  ) throws -> ExitStatus {
    let type = arguments.value("--type")
    var damage = Damage(errors, isQuiet: isQuiet)
    for zone in try selectedZones(database, snapshot) {
      // Lists of one type are in another order.
      try forEachRecord(in: zone, after: nil, database, snapshot, &damage) { record in
        if type == nil || record.type == type { try body(record) }
      }
    }
    try damage.tell(done)
    return damage.isEmpty ? .done : .damaged
  }

  /// Calls `body` with the records of a zone, those after a name, ordered by name; after damage with those that can be read.
  func forEachRecord(
    in zone: Zone.ID, after name: String?, _ database: Database, _ snapshot: borrowing Snapshot, _ damage: inout Damage,
    _ body: (Record) throws -> Void
  ) throws {
    var last = name
    while true {
      let page: [Record]
      do {
        page = try snapshot.records(in: zone, after: last, limit: Self.recordsPerPage)
      } catch {
        guard error.code == .corrupted else { throw error }
        return try forEachIntactRecord(in: zone, after: last, database, snapshot, &damage, body)
      }
      for record in page { try body(record) }
      guard page.count == Self.recordsPerPage, let lastRecord = page.last else { return }
      last = lastRecord.id.name
    }
  }
}
