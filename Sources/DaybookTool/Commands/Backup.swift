import Daybook

extension Commands {
  static let backup = Command(
    name: "backup", summary: "Copy a database, also a live one, into a new file.",
    positionals: ["FILE", "OUT"],
    options: [
      .flag("--verify", "Afterwards check the copy in depth."),
      .flag("--copy-assets", "Copy the contents of assets, also where a second name of their files would do."), .json,
    ],
    details: """
      The copy is the database as of one moment, under checksums of its own. OUT must not exist; it appears when the whole
      copy is durable. Contents of assets come along in OUT.assets; on one file system they share their blocks with
      FILE's. The exit status is 1 when --verify finds something.
      """
  ) { invocation in
    let (source, target) = (invocation.arguments[0], invocation.arguments[1])
    var options = invocation.databaseOptions
    options.isReadOnly = true
    let database = try Database.open(at: source, options: options)
    var bar = ProgressBar("copying", on: invocation.errors)
    do throws(DatabaseError) {
      try database.backup(to: target, linksAssets: !invocation.arguments.has("--copy-assets")) { done, total in
        // A bar that cannot be drawn is no reason to stop.
        try? bar.update(done, of: total)
        return true
      }
    } catch {
      guard error.code == .assetFileNotFound || error.code == .assetFileModified else { throw error }
      let problem = ToolError(error)
      throw ToolError(
        problem.status, problem.message,
        advice: "There is no copy. `daybook check FILE --deep` names what is damaged; `daybook salvage FILE OUT` copies all "
          + "else.")
    }
    try bar.clear()
    let copy = try Database.open(at: target, options: options)
    let findings = invocation.arguments.has("--verify") ? try copy.check(.deep).findings : []
    let isVerified = invocation.arguments.has("--verify") && findings.isEmpty
    let statistics = try copy.statistics()
    if invocation.arguments.has("--json") {
      let result: JSONValue = [
        "lastSequence": .count(Int(clamping: statistics.lastSequence)), "fileByteCount": .count(statistics.fileByteCount),
        "findings": .array(findings.map { .string("\($0)") }), "isVerified": .bool(isVerified),
      ]
      try invocation.output.line(result.json)
    } else {
      for finding in findings { try invocation.output.line("\(finding)") }
      try invocation.output.line(
        "\(target): \(Wording.count(Int(clamping: statistics.lastSequence), "commit")), "
          + Wording.bytes(statistics.fileByteCount) + (isVerified ? ", verified" : ""))
    }
    return findings.isEmpty ? .done : .finding
  }
}
