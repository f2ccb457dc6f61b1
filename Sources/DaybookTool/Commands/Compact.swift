import Daybook

extension Commands {
  static let compact = Command(
    name: "compact", summary: "Rewrite the file without dead data.",
    positionals: ["FILE"],
    options: [.value("--rate", "MB", "Write at most so many megabytes a second."), .json],
    details: """
      The new file takes the old one's name when all of it is durable; until then the old one is as it was. Records, deletions,
      change tags and tokens stay; older versions of records go. Needs free space for the live data, and the file for writing:
      while an application has it open, the application compacts. Readers follow to the new file.
      """,
    changesFile: { _ in true }
  ) { invocation in
    var options = invocation.databaseOptions
    options.compaction.isAutomatic = false
    options.compaction.bytesPerSecond = try invocation.arguments.count("--rate").map { $0 << 20 }
    var before = 0
    var bar = ProgressBar("compacting", on: invocation.errors)
    _ = try invocation.writing(invocation.arguments[0], mayCreate: false, options: options) { database in
      before = try database.statistics().fileByteCount
      try database.compact { done, total in
        // A bar that cannot be drawn is no reason to stop.
        try? bar.update(done, of: total)
        return true
      }
      try bar.clear()
      return .done
    }
    options.isReadOnly = true
    let statistics = try Database.open(at: invocation.arguments[0], options: options).statistics()
    if invocation.arguments.has("--json") {
      let result: JSONValue = [
        "fileByteCountBefore": .count(before), "fileByteCount": .count(statistics.fileByteCount),
        "liveByteCount": .count(statistics.liveByteCount),
      ]
      try invocation.output.line(result.json)
    } else {
      try invocation.output.line(
        "\(invocation.arguments[0]): \(Wording.bytes(before)) before, \(Wording.bytes(statistics.fileByteCount)) now, "
          + "\(Wording.bytes(statistics.liveByteCount)) live")
    }
    return .done
  }
}
