import Daybook
import DaybookEngine

extension Commands {
  static let info = Command(
    name: "info", summary: "Tell what is in a database and how large it is.", positionals: ["FILE"],
    options: [.json],
    details: """
      Live bytes are the header, the pages of the trees and the newest version of every record; dead bytes are older
      versions, pages that were replaced, and the frames around them. Behind the number of records stand the live bytes of
      one on average: what its body takes in the log, and the trees that take a byte or more, once a checkpoint has them.
      blocked: something that is not Daybook's has a name which a compaction needs (FILE.compacted, FILE.compacted.new).
      Nothing but that waits for it; look at what it is, and move it away.
      in use: another process has the file open for writing. not closed: no process holds it at this moment; the last writer
      was ended without a close, which loses nothing that was acknowledged, or takes the file for each transaction
      (Options.lock = .perTransaction).
      late: the last writer could make no checkpoint for a while, so that opening replays far more of the log than it
      should. The next writer makes one, if the disk lets it.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let facts = try DatabaseFacts(database)
      if invocation.arguments.has("--json") {
        try invocation.output.line(facts.json.json)
      } else {
        try facts.print(invocation)
      }
      return .done
    }
  }
}

/// What `info` and `report` tell, gathered from one open.
struct DatabaseFacts {
  let path: String
  let id: String
  let formatVersion: Int
  let statistics: Database.Statistics
  let zones: [(id: Zone.ID, recordCount: Int)]
  let types: [(type: String, zone: Zone.ID, recordCount: Int)]
  let indexes: [IndexState]
  let checkpoints: [Database.FrameInfo]
  let recovery: Database.Recovery
  let liveBytes: Database.LiveBytes
  let isCheckpointOverdue: Bool
  let isBesideWriter: Bool

  init(_ database: Database) throws {
    path = database.path
    id = database.id.uuidString
    formatVersion = Int(database.store.header.formatVersion)
    statistics = try database.statistics()
    zones = try database.zones().map { ($0.id, try database.recordCount(in: $0.id)) }
    types = try zones.flatMap { zone in
      try database.recordTypes(in: zone.id).map { ($0.type, zone.id, $0.count) }
    }
    indexes = try database.indexes()
    var checkpoints: [Database.FrameInfo] = []
    try database.frames { frame in
      if frame.kind == "checkpoint" { checkpoints.append(frame) }
      return true
    }
    self.checkpoints = checkpoints
    recovery = database.lastRecovery
    liveBytes = try database.liveBytes()
    isCheckpointOverdue = database.store.isCheckpointOverdue
    isBesideWriter = database.store.recovery.isBesideWriter
  }

  var liveByteCount: Int { statistics.liveByteCount }
  /// Bytes behind the log's end, written ahead for the next commits.
  var preparedByteCount: Int { max(0, statistics.fileByteCount - statistics.logByteCount) }
  var deadByteCount: Int { max(0, statistics.fileByteCount - preparedByteCount - liveByteCount) }

  var json: JSONValue {
    [
      "path": .string(path), "id": .string(id), "formatVersion": .count(formatVersion),
      "fileByteCount": .count(statistics.fileByteCount), "liveByteCount": .count(liveByteCount),
      "liveByteCountOfLog": .count(liveBytes.log),
      "liveByteCountsOfTrees": .array(
        liveBytes.trees.map {
          ["tree": .string($0.name), "byteCount": .count(checkpoints.isEmpty ? 0 : $0.byteCount)]
        }),
      "deadByteCount": .count(deadByteCount), "preparedByteCount": .count(preparedByteCount),
      "recordCount": .count(statistics.recordCount), "pageCount": .count(statistics.pageCount),
      "nameCount": .count(statistics.nameCount),
      "compactionObstacle": statistics.compactionObstacle.map { .string($0) } ?? .null,
      "checkpointObstacle": statistics.checkpointObstacle.map { .string($0) } ?? .null,
      "collectionObstacle": statistics.collectionObstacle.map { .string($0) } ?? .null,
      "isCheckpointOverdue": .bool(isCheckpointOverdue),
      "lastSequence": .count(statistics.lastSequence),
      "assetCount": .count(statistics.assetCount),
      "assetByteCount": .count(statistics.assetByteCount),
      "zones": .array(
        zones.map {
          ["name": .string($0.id.name), "owner": .string($0.id.owner), "recordCount": .count($0.recordCount)]
        }),
      "types": .array(
        types.map {
          ["type": .string($0.type), "zone": .string($0.zone.name), "recordCount": .count($0.recordCount)]
        }),
      "indexes": .array(indexes.map(\.json)),
      "checkpoints": .array(
        checkpoints.map {
          ["offset": .count($0.offset), "number": .count($0.number), "sequence": .count($0.sequence)]
        }),
      "wasClosed": .bool(recovery.wasClosed), "isOpenElsewhere": .bool(isBesideWriter),
      "replayedCommitCount": .count(recovery.replayedCommitCount),
      "discardedByteCount": .count(recovery.discardedByteCount),
      "missingByteCount": .count(recovery.missingByteCount),
    ]
  }

  /// Where the live bytes of a record are, on average.
  private var bytesPerRecord: String {
    let count = statistics.recordCount
    guard count > 0 else { return "" }
    // Before the first checkpoint the trees are in memory alone.
    if checkpoints.isEmpty { return ", \(Wording.count(liveBytes.log / count)) bytes of log each" }
    let trees = liveBytes.trees.filter { $0.byteCount >= count }.map { "\($0.name) \(Wording.count($0.byteCount / count))" }
    return ", \(Wording.count(liveByteCount / count)) bytes each: "
      + (["log \(Wording.count(liveBytes.log / count))"] + trees).joined(separator: ", ")
  }

  func print(_ invocation: Invocation) throws {
    let output = invocation.output
    try output.line("\(path)  format \(formatVersion)  \(id)")
    try output.line(
      "  file      \(Wording.bytes(statistics.fileByteCount)): \(Wording.bytes(liveByteCount)) live, "
        + "\(Wording.bytes(deadByteCount)) dead"
        + (preparedByteCount > 0 ? ", \(Wording.bytes(preparedByteCount)) prepared" : ""))
    if statistics.nameCount > 1 {
      try output.line("  names     \(Wording.count(statistics.nameCount)) (hard links): it is not compacted")
    }
    if let obstacle = statistics.compactionObstacle {
      try output.line("  blocked   it cannot be compacted, and grows: \(obstacle)")
    }
    if let obstacle = statistics.checkpointObstacle {
      try output.line("  blocked   no checkpoint can be made, and the log grows: \(obstacle)")
    }
    if let obstacle = statistics.collectionObstacle {
      try output.line("  blocked   no assets are removed: \(obstacle)")
    }
    if isCheckpointOverdue {
      try output.line(
        "  late      \(Wording.bytes(recovery.replayedByteCount)) of log since the last checkpoint, replayed by each open")
    }
    try output.line(
      "  commits   \(Wording.count(statistics.lastSequence)), \(Wording.count(checkpoints.count, "checkpoint")), "
        + Wording.count(statistics.pageCount, "page"))
    try output.line("  records   \(Wording.count(statistics.recordCount))\(bytesPerRecord)")
    if statistics.assetCount > 0 {
      try output.line(
        "  assets    \(Wording.count(statistics.assetCount)) in files of their own, \(Wording.bytes(statistics.assetByteCount))"
      )
    }
    let typesByZone = Dictionary(grouping: types, by: \.zone)
    for zone in zones {
      try output.line("  zone      \(zone.id)  \(Wording.count(zone.recordCount, "record"))")
      for type in typesByZone[zone.id] ?? [] {
        try output.line("              \(type.type)  \(Wording.count(type.recordCount))")
      }
    }
    for index in indexes {
      try output.line(
        "  index     \(index.recordType).\(index.key)"
          + (index.kind == .value ? "" : " (\(index.kind.rawValue))") + "  \(Wording.count(index.entryCount)) entries"
          + (index.isComplete ? "" : ", being built"))
    }
    if let lost = recovery.lostSequences {
      try output.line(
        "  damaged   \(RecoveryReport.text(of: lost)) damaged; what is told here is the file as it was before"
      )
    }
    if recovery.missingByteCount > 0 {
      return try output.line("  cut short: \(Wording.bytes(recovery.missingByteCount)) are missing at the end of the file")
    }
    if let line = OpenState(recovery, isBesideWriter: isBesideWriter).line {
      try output.line("  " + line)
    }
  }
}

/// Whether a file was closed, and if not, why: a writer that is at work is no crash.
struct OpenState {
  private let recovery: Database.Recovery
  private let isBesideWriter: Bool

  init(_ recovery: Database.Recovery, isBesideWriter: Bool) {
    self.recovery = recovery
    self.isBesideWriter = isBesideWriter
  }

  /// Nil of a file that was closed, and of one that is damaged, which is another matter.
  var line: String? {
    if recovery.wasClosed || recovery.missingByteCount > 0 || recovery.lostSequences != nil {
      return nil
    }
    let commits = Wording.count(recovery.replayedCommitCount, "commit")
    if isBesideWriter {
      return
        "in use: another process has it open for writing; \(commits) of its log replayed to look at it"
    }
    let unfinished =
      recovery.discardedByteCount > 0
      ? ", \(Wording.bytes(recovery.discardedByteCount)) of an unfinished write left out" : ""
    return
      "not closed: its last writer ended without a close, or is between two transactions; \(commits) replayed"
      + unfinished
  }
}
