import Daybook

extension Commands {
  static let history = Command(
    name: "history", summary: "List the versions of a record that the file still has, newest first.",
    positionals: ["FILE", "ZONE", "NAME"],
    options: [.value("--limit", "N", "At most so many versions, from the newest."), .owner, .json],
    details: "A version lists what differs from the one before it. The exit status is 1 when there is none."
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let zone = try invocation.existingZone(invocation.arguments[1], in: database)
      let id = try Record.ID(existing: invocation.arguments[2], in: zone)
      let limit = try invocation.arguments.count("--limit")
      // One more, because a version lists what differs from the one before it.
      var versions = try database.history(of: id, limit: limit.map { $0 == .max ? $0 : $0 + 1 } ?? .max)
      let older = versions.count > limit ?? .max ? versions.removeLast() : nil
      if invocation.arguments.has("--json") {
        var list = try JSONListWriter(invocation.output)
        for version in versions { try list.append { try append(version, to: &$0) } }
        try list.end()
      } else {
        for (index, version) in versions.enumerated() {
          let before = index + 1 < versions.count ? versions[index + 1] : older
          try printText(version, before: before, invocation.output)
        }
      }
      if versions.isEmpty {
        try invocation.note("daybook: there is no version of \(id)")
        return .finding
      }
      return .done
    }
  }

  /// `{"tag","date","time","sequence"?,"record":…}`, or `"deleted":{"name","type"}` in place of the record.
  private static func append(_ version: RecordHistoryVersion, to bytes: inout [UInt8]) throws {
    let seconds = version.date.timeIntervalSinceReferenceDate
    var members: [JSONValue.Member] = [
      .init(key: "tag", value: .string(version.changeTag)), .init(key: "date", value: .double(seconds)),
      .init(key: "time", value: .string(CalendarDate.text(secondsSinceReference: seconds))),
    ]
    if let sequence = version.sequence { members.append(.init(key: "sequence", value: .count(sequence))) }
    switch version.content {
    case .deleted(let record):
      members.append(
        .init(key: "deleted", value: ["name": .string(record.id.name), "type": .string(record.type)]))
      JSONValue.object(members).append(to: &bytes)
    case .saved(let record):
      JSONValue.object(members).append(to: &bytes)
      bytes.removeLast()
      bytes.append(contentsOf: ",\"record\":".utf8)
      try RecordLine.append(record, withMetadata: true, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func printText(
    _ version: RecordHistoryVersion, before: RecordHistoryVersion?, _ output: Output
  ) throws {
    let commit = version.sequence.map { "  commit \($0)" } ?? ""
    let what = version.record == nil ? "deleted" : before?.record == nil ? "made" : "changed"
    try output.line("\(RecordText.moment(version.date))  \(what)  tag \(version.changeTag)\(commit)")
    guard let record = version.record else { return }
    let values = valuesByKey(record)
    let older = before?.record.map { valuesByKey($0) } ?? [:]
    for key in Set(values.keys).union(older.keys).sorted() {
      let (value, old) = (values[key], older[key])
      if value == old, value?.kind == old?.kind { continue }
      try output.line("  \(key) = \(value.map { RecordText.text(of: $0) } ?? "(removed)")")
    }
  }

  /// In one walk over the record: to look for each key is to walk from the front each time.
  private static func valuesByKey(_ record: Record) -> [String: Record.Value] {
    var values: [String: Record.Value] = [:]
    for (key, value) in record.fieldValues() { values[key] = value }
    return values
  }
}
