import Daybook
import DaybookEngine
import Foundation

extension Commands {
  static let check = Command(
    name: "check", summary: "Look at the whole file and say what is wrong with it. Changes nothing without --rebuild.",
    positionals: ["FILE"],
    options: [
      .flag("--deep", "Also decode every record, replay the log to compare it with the trees, and hash every asset."),
      .flag("--rebuild", "Rebuild all trees from the log first, then check in depth."), .json,
    ],
    details: """
      Checks every frame, every page, the counts, that all trees tell the same story as the record bodies, and that the
      files of assets are there with their sizes.
      After a damaged commit it goes on with the next valid frame, and lists 100 damaged places of the log at most; records
      and assets are not looked at then.
      The exit status is 1 when something was found, 3 when the file cannot even be opened.
      """,
    changesFile: { $0.has("--rebuild") }
  ) { invocation in
    let path = invocation.arguments[0]
    var bar = ProgressBar("checking", on: invocation.errors)
    let progress = { (done: Int, total: Int) in
      // A bar that cannot be drawn is no reason to stop.
      try? bar.update(done, of: total)
      return true
    }
    let report: Database.CheckReport
    var recovery: Database.Recovery?
    var isBesideWriter = false
    if invocation.arguments.has("--rebuild") {
      guard FileManager.default.fileExists(atPath: path) else {
        throw ToolError(.inputOutput, "There is no file \(path).", advice: "Give the path of a database.")
      }
      report = try invocation.waiting(for: path, invocation.databaseOptions) {
        try Database.rebuild(at: path, options: $0, progress: progress)
      }
    } else {
      var options = invocation.databaseOptions
      options.isReadOnly = true
      let database = try Database.open(at: path, options: options)
      report = try database.check(invocation.arguments.has("--deep") ? .deep : .structure, progress: progress)
      recovery = database.lastRecovery
      isBesideWriter = database.store.recovery.isBesideWriter
    }
    try bar.clear()
    if invocation.arguments.has("--json") {
      try invocation.output.line(json(report, recovery, isBesideWriter: isBesideWriter).json)
    } else {
      for finding in report.findings { try invocation.output.line("\(finding)") }
      if recovery == nil { try invocation.output.line("all trees were rebuilt from the log") }
      if let recovery, let line = OpenState(recovery, isBesideWriter: isBesideWriter).line {
        try invocation.output.line(line)
      }
      let verdict = report.isClean ? "clean" : Wording.count(report.findings.count, "finding")
      try invocation.output.line(
        "\(verdict): \(Wording.count(report.frameCount, "frame")), \(Wording.count(report.commitCount, "commit")), "
          + Wording.count(report.pageCount, "page")
          + (report.looksAtRecords
            ? ", \(Wording.count(report.zoneCount, "zone")), \(Wording.count(report.recordCount, "record"))"
            : "")
          + (report.assetCount > 0 ? ", \(Wording.count(report.assetCount, "asset"))" : ""))
      if !report.looksAtRecords { try tellOfRest(recovery?.lostSequences, invocation) }
    }
    return report.isClean ? .done : .finding
  }

  /// What the findings mean, and what was not looked at.
  private static func tellOfRest(_ lost: ClosedRange<UInt64>?, _ invocation: Invocation) throws {
    try invocation.output.flush()
    if let lost {
      try invocation.note(
        "daybook: \(RecoveryReport.text(of: lost)) damaged: what was changed there may be lost. Commits before it can be read as they "
          + "are, those after it can be copied.")
    }
    try invocation.note(
      "daybook: records, subscriptions and assets were not looked at: the log or a tree is damaged."
    )
    try invocation.note(
      "  `daybook salvage FILE OUT` copies everything that is intact; where only trees are damaged, "
        + "`daybook check FILE --rebuild` makes them again.")
  }

  private static func json(
    _ report: Database.CheckReport, _ recovery: Database.Recovery?, isBesideWriter: Bool
  ) -> JSONValue {
    let findings: [JSONValue] = report.findings.map { finding in
      ["offset": finding.offset.map { .count($0) } ?? .null, "message": .string(finding.message)]
    }
    return [
      "isClean": .bool(report.isClean), "findings": .array(findings), "frameCount": .count(report.frameCount),
      "commitCount": .count(report.commitCount), "operationCount": .count(report.operationCount),
      "pageCount": .count(report.pageCount), "zoneCount": .count(report.zoneCount),
      "recordCount": .count(report.recordCount), "assetCount": .count(report.assetCount),
      "looksAtRecords": .bool(report.looksAtRecords), "wasRebuilt": .bool(recovery == nil),
      "wasClosed": recovery.map { .bool($0.wasClosed) } ?? .null,
      "isOpenElsewhere": .bool(isBesideWriter),
      "replayedCommitCount": recovery.map { .count($0.replayedCommitCount) } ?? .null,
      "discardedByteCount": recovery.map { .count($0.discardedByteCount) } ?? .null,
      "missingByteCount": recovery.map { .count($0.missingByteCount) } ?? .null,
    ]
  }
}
