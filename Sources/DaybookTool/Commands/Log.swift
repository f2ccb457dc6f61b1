import Daybook
import DaybookEngine
import Foundation

extension Commands {
  static let log = Command(
    name: "log", summary: "List the frames of the log: where they are, what they are, what they did.",
    positionals: ["FILE"], options: [.value("--kind", "KIND", "Only frames of this kind.", choices: frameKinds), .json],
    details: """
      NUMBER counts all frames, SEQUENCE the commits; DURABLE is the highest frame known to be on the disk when this one
      was written. A commit's frame tells when, by whom, and how many records it saved and deleted.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let kind = invocation.arguments.value("--kind")
      let output = invocation.output
      if invocation.arguments.has("--json") {
        var list = try JSONListWriter(output)
        try database.frames { frame in
          if kind == nil || frame.kind == kind { try list.append(json(frame)) }
          return true
        }
        try list.end()
        return .done
      }
      try output.line("    OFFSET  KIND           NUMBER  SEQUENCE       BYTES   DURABLE")
      try database.frames { frame in
        guard kind == nil || frame.kind == kind else { return true }
        let cells = [
          left(frame.offset, 10), Help.padded(frame.kind, to: 10), left(frame.number, 9), left(frame.sequence, 8),
          left(frame.byteCount, 10), left(frame.durableThrough, 8), deeds(frame),
        ]
        let line = cells.joined(separator: "  ")
        try output.line(cells.last == "" ? String(line.dropLast(2)) : line)
        return true
      }
      return .done
    }
  }

  /// What frames are called; those of later versions have numbers.
  private static let frameKinds = [
    FrameHeader.Kind.commit, .part, .pages, .checkpoint, .closed, .note, .superseded, .declarations,
  ].map(\.name)

  private static func left(_ number: UInt64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: " ", count: max(0, width - digits.count)) + digits
  }

  /// What a commit did, in words.
  static func deeds(_ frame: Database.FrameInfo) -> String {
    var words: [String] = []
    if let date = frame.date { words.append(RecordText.moment(date)) }
    if let origin = frame.origin { words.append("by \(origin)") }
    if frame.savedCount > 0 { words.append("saved \(Wording.count(frame.savedCount))") }
    if frame.deletedCount > 0 { words.append("deleted \(Wording.count(frame.deletedCount))") }
    if frame.zoneOperationCount > 0 { words.append("zones \(frame.zoneOperationCount)") }
    if frame.metadataOperationCount > 0 { words.append("metadata \(frame.metadataOperationCount)") }
    return words.joined(separator: "  ")
  }

  static func json(_ frame: Database.FrameInfo) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(key: "offset", value: .count(frame.offset)), .init(key: "kind", value: .string(frame.kind)),
      .init(key: "number", value: .count(frame.number)), .init(key: "sequence", value: .count(frame.sequence)),
      .init(key: "byteCount", value: .count(frame.byteCount)),
      .init(key: "durableThrough", value: .count(frame.durableThrough)),
    ]
    if let date = frame.date {
      members.append(.init(key: "date", value: .double(date.timeIntervalSinceReferenceDate)))
      members.append(.init(key: "time", value: .string(RecordText.moment(date))))
    }
    if let origin = frame.origin { members.append(.init(key: "origin", value: .string(origin))) }
    if frame.kind == "commit" || frame.kind == "part" {
      members.append(.init(key: "savedCount", value: .count(frame.savedCount)))
      members.append(.init(key: "deletedCount", value: .count(frame.deletedCount)))
      members.append(.init(key: "zoneOperationCount", value: .count(frame.zoneOperationCount)))
      members.append(.init(key: "metadataOperationCount", value: .count(frame.metadataOperationCount)))
    }
    return .object(members)
  }
}
