import Daybook

extension Commands {
  static let salvage = Command(
    name: "salvage", summary: "Copy everything that is intact of a damaged file into a new one.",
    positionals: ["FILE", "OUT"], options: [.json],
    details: """
      FILE stays as it is; OUT must not exist. Says which commits are lost, and of which only a part was found.
      A record whose last change is lost is copied as it was before it; what is missing from a file that was cut short
      cannot be named, only counted in bytes. The exit status is 1 when something is lost.
      """
  ) { invocation in
    var bar = ProgressBar("reading", on: invocation.errors)
    let report = try Database.salvage(from: invocation.arguments[0], to: invocation.arguments[1]) { done, total in
      // A bar that cannot be drawn is no reason to stop.
      try? bar.update(done, of: total)
      return true
    }
    try bar.clear()
    if invocation.arguments.has("--json") {
      try invocation.output.line(json(report).json)
    } else {
      for range in report.lostSequences {
        if range.count == 1, report.partialSequences.contains(range.lowerBound) {
          try invocation.output.line(
            "lost: a part of commit \(range.lowerBound); what else it changed was copied")
        } else {
          try invocation.output.line(
            range.count == 1
              ? "lost: commit \(range.lowerBound)"
              : "lost: commits \(range.lowerBound) to \(range.upperBound)")
        }
      }
      if !report.lostSequences.isEmpty {
        try invocation.output.line(
          "  a record that was changed there is as it was before, and one that was made there is missing"
        )
      }
      if report.missingByteCount > 0 {
        try invocation.output.line(
          "the file was cut short: \(Wording.bytes(report.missingByteCount)) are missing at its end; what commits there saved or "
            + "deleted is as it was before")
      }
      for sequence in report.partialSequences
      where !report.lostSequences.contains(sequence...sequence) {
        try invocation.output.line("of commit \(sequence) a part was found and copied")
      }
      for zone in report.remadeZones { try invocation.output.line("zone \(zone.name) was made again") }
      if report.skippedOperationCount > 0 {
        try invocation.output.line(
          "\(Wording.count(report.skippedOperationCount, "operation")) could not be applied, and was left out")
      }
      if report.unknownFeatures != 0 {
        try invocation.output.line(
          "the file needs features 0x\(String(report.unknownFeatures, radix: 16)) of a newer version of Daybook: use that one")
      }
      for record in report.unreadableRecords {
        try invocation.output.line(
          "record \(record.name), saved \(RecordText.moment(record.modificationDate)): what its fields are called is lost; it is at byte "
            + "\(record.offset), \(Wording.bytes(record.byteCount))")
      }
      for name in report.missingAssets { try invocation.output.line("the content of asset \(name) is missing or damaged") }
      if report.unreadableByteCount > 0 {
        try invocation.output.line("the disk could not read \(Wording.bytes(report.unreadableByteCount))")
      }
      if report.hasTornTail { try invocation.output.line("an unfinished write at the end was left out") }
      if report.usedHeaderCopy { try invocation.output.line("the first page is damaged; the log could be read without it") }
      try invocation.output.line(
        "\(report.isComplete ? "complete" : "incomplete"): copied \(Wording.count(report.recordCount, "record")) in "
          + Wording.count(report.zoneCount, "zone")
          + (report.assetCount > 0 ? ", \(Wording.count(report.assetCount, "asset"))" : "")
          + ", of \(Wording.count(report.commitCount, "whole commit"))")
    }
    return report.isComplete ? .done : .finding
  }

  private static func json(_ report: Database.SalvageReport) -> JSONValue {
    [
      "isComplete": .bool(report.isComplete), "commitCount": .count(report.commitCount),
      "recordCount": .count(report.recordCount), "zoneCount": .count(report.zoneCount),
      "lostSequences": .array(
        report.lostSequences.map { ["first": .count($0.lowerBound), "last": .count($0.upperBound)] }),
      "partialSequences": .array(report.partialSequences.map { .count($0) }),
      "remadeZones": .array(report.remadeZones.map { .string($0.name) }),
      "skippedOperationCount": .count(report.skippedOperationCount),
      "unreadableRecords": .array(
        report.unreadableRecords.map {
          ["name": .string($0.name), "offset": .count($0.offset), "byteCount": .count($0.byteCount)]
        }),
      "unknownFeatures": .count(report.unknownFeatures),
      "damagedByteCount": .count(report.damagedByteCount), "unreadableByteCount": .count(report.unreadableByteCount),
      "missingByteCount": .count(report.missingByteCount),
      "usedHeaderCopy": .bool(report.usedHeaderCopy),
      "hasTornTail": .bool(report.hasTornTail), "assetCount": .count(report.assetCount),
      "missingAssets": .array(report.missingAssets.map { .string($0) }),
    ]
  }
}
