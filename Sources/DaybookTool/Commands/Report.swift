import Daybook
import DaybookEngine

extension Commands {
  static let report = Command(
    name: "report", summary: "Write one page of HTML about a database: what is in it, and where its bytes are.",
    positionals: ["FILE"],
    options: [
      .value("-o", "OUT.html", "The file to write; standard output when left out."),
      .value("--records", "N", "How many records of each zone are listed, by name; 20 when left out."),
    ],
    details: """
      The page is one file: no scripts, nothing loaded from elsewhere. It has what info, zones, types, index, subscriptions,
      pages, map and the end of the log tell. Of records it has names, types, dates and users, and no values.
      OUT.html is written as the OUT of `daybook export --force`: it replaces a file of that name, but no database.
      """
  ) { invocation in
    let recordLimit = try invocation.arguments.count("--records") ?? 20
    return try invocation.reading(invocation.arguments[0]) { database in
      let report = try Report(database, recordLimit: recordLimit)
      let html = report.page.html
      guard let path = invocation.arguments.value("-o"), !path.isWord("-") else {
        try invocation.output.write(html)
        return try invocation.status(of: report.map, report.fault)
      }
      let file = try Output.named(path, database.outputRules())
      try file.write(html)
      try file.finish()
      try invocation.note("wrote a report into \(path)")
      return try invocation.status(of: report.map, report.fault)
    }
  }
}

/// The page, section by section.
private struct Report {
  /// As many zones are listed, with their records and trees.
  private static let zoneLimit = 100
  private static let commitLimit = 20

  private(set) var page: Page
  let map: Database.FileMap
  /// Why the page is not whole; nil when it is.
  private(set) var fault: DatabaseError?
  private let database: Database
  private let facts: DatabaseFacts
  private let recordLimit: Int

  init(_ database: Database, recordLimit: Int) throws {
    self.database = database
    self.recordLimit = recordLimit
    facts = try DatabaseFacts(database)
    map = try database.fileMap(blockLimit: MapDrawing.blockLimit)
    page = Page(title: database.path)
    addSummary()
    try addContents()
    try addSchema()
    try addRecords()
    try addBytes()
    try addCommits()
  }

  private mutating func addSummary() {
    let statistics = facts.statistics
    var rows = [
      ["identity", facts.id], ["format", String(facts.formatVersion)],
      [
        "file",
        "\(Wording.bytes(statistics.fileByteCount)): \(Wording.bytes(facts.liveByteCount)) live, "
          + "\(Wording.bytes(facts.deadByteCount)) dead, \(Wording.bytes(facts.preparedByteCount)) prepared",
      ],
      ["records", Wording.count(statistics.recordCount)],
      ["commits", "\(Wording.count(statistics.lastSequence)), \(Wording.count(facts.checkpoints.count, "checkpoint"))"],
      ["pages of trees", Wording.count(statistics.pageCount)],
    ]
    if statistics.assetCount > 0 {
      rows.append([
        "assets",
        "\(Wording.count(statistics.assetCount)) in files of their own, \(Wording.bytes(statistics.assetByteCount))",
      ])
    }
    for (name, obstacle) in [
      ("not compacted", statistics.compactionObstacle), ("no checkpoint", statistics.checkpointObstacle),
      ("assets stay", statistics.collectionObstacle),
    ] { if let obstacle { rows.append([name, obstacle]) } }
    if let lost = facts.recovery.lostSequences {
      rows.append(["damaged", "\(RecoveryReport.text(of: lost)) damaged; this is the file as it was before"])
    }
    if facts.recovery.missingByteCount > 0 {
      rows.append(["cut short", "\(Wording.bytes(facts.recovery.missingByteCount)) are missing at the end of the file"])
    }
    rows.append(["state", OpenState(facts.recovery, isBesideWriter: facts.isBesideWriter).line ?? "closed"])
    page.table([], rows)
  }

  private mutating func addContents() throws {
    page.heading("Zones and types")
    let zones = try database.zones().prefix(Self.zoneLimit)
    let types = Dictionary(grouping: facts.types, by: \.zone)
    var rows: [[String]] = []
    for zone in zones {
      rows.append([
        "\(zone.id)", "", Wording.count(facts.zones.first { $0.id == zone.id }?.recordCount ?? 0),
        zone.capabilities.names.joined(separator: ", "),
      ])
      for type in types[zone.id] ?? [] { rows.append(["", type.type, Wording.count(type.recordCount), ""]) }
    }
    page.table(["Zone", "Type", "Records", "Capabilities"], rows, numeric: [2])
    if facts.zones.count > zones.count { page.paragraph("… \(Wording.count(facts.zones.count, "zone")) in all") }
  }

  private mutating func addSchema() throws {
    let types = try database.schema().types
    if !types.isEmpty {
      page.heading("Fields")
      page.table(
        ["Type", "Key", "Kinds"],
        types.flatMap { type in
          type.fields.map { field in
            [
              type.name, field.key,
              field.kinds.map(\.rawValue).joined(separator: ", ") + (field.isEncrypted ? " (encrypted)" : ""),
            ]
          }
        })
    }
    if !facts.indexes.isEmpty {
      page.heading("Indexes")
      page.table(
        ["Type", "Key", "Kind", "Entries"],
        facts.indexes.map {
          [
            $0.recordType, $0.key, $0.kind.rawValue + ($0.isComplete ? "" : ", being built"),
            Wording.count($0.entryCount),
          ]
        }, numeric: [3])
    }
    let subscriptions = try database.subscriptions()
    if !subscriptions.isEmpty {
      page.heading("Subscriptions")
      page.table(["Subscription", "To"], subscriptions.map { [$0.id.name, Commands.target(of: $0)] })
    }
  }

  private mutating func addRecords() throws {
    for zone in facts.zones.prefix(Self.zoneLimit) where zone.recordCount > 0 {
      page.heading("Records of \(zone.id)")
      let records: [Record]
      do { records = try database.records(in: zone.id, limit: recordLimit) } catch {
        guard error.code == .corrupted else { throw error }
        fault = error
        page.paragraph("\(error)")
        continue
      }
      page.table(
        ["Name", "Type", "Created", "By", "Modified", "By"],
        records.map { record in
          let metadata = record.metadata
          return [
            record.id.name, record.type, metadata.map { RecordText.moment($0.creationDate) } ?? "",
            metadata?.creatorUserID ?? "", metadata.map { RecordText.moment($0.modificationDate) } ?? "",
            metadata?.lastModifiedUserID ?? "",
          ]
        })
      if zone.recordCount > records.count {
        page.paragraph("the first \(Wording.count(records.count)) of \(Wording.count(zone.recordCount)), by name")
      }
    }
  }

  private mutating func addBytes() throws {
    page.heading("Where the live bytes are")
    let all = Double(max(1, facts.liveByteCount))
    let trees = facts.checkpoints.isEmpty ? [] : facts.liveBytes.trees
    let parts = [("log", facts.liveBytes.log)] + trees.map { ($0.name, $0.byteCount) }
    page.bars(
      parts.filter { $0.1 > 0 }.map { (name: $0.0, value: Wording.bytes($0.1), share: Double($0.1) / all) })
    page.heading("The file")
    page.picture(MapDrawing.svg(map, title: "From its first byte to its last"))
    page.heading("The trees")
    let shown = Set(facts.zones.prefix(Self.zoneLimit).map(\.id))
    let found: [Database.TreeInfo]
    do { found = try database.trees() } catch {
      guard error.code == .corrupted else { throw error }
      fault = error
      return page.paragraph("\(error)")
    }
    page.picture(
      TreeDrawing.svg(
        found.filter { $0.zone.map { shown.contains($0) } ?? true }.map { TreeFacts($0) },
        title: "Level by level, as full as their pages are"))
  }

  private mutating func addCommits() throws {
    var commits: [Database.FrameInfo] = []
    try database.frames { frame in
      if frame.kind == "commit" {
        commits.append(frame)
        if commits.count > Self.commitLimit * 50 { commits.removeFirst(commits.count - Self.commitLimit) }
      }
      return true
    }
    guard !commits.isEmpty else { return }
    page.heading("The last commits")
    page.table(
      ["Sequence", "Bytes", "What it did"],
      commits.suffix(Self.commitLimit).reversed().map {
        [Wording.count($0.sequence), Wording.count($0.byteCount), Commands.deeds($0)]
      }, numeric: [0, 1])
  }
}
