import Daybook
import DaybookEngine
import DaybookSync
import Foundation

extension Commands {
  static let sync = Command(
    name: "sync", summary: "Make two databases equal: send what changed in one to the other, and back.",
    positionals: ["LOCAL", "REMOTE"],
    options: [
      .value(
        "--policy", "POLICY", "Who wins where both changed the same field: the later change, REMOTE or LOCAL.",
        choices: ["latest", "server", "client"]),
      .value("--zone", "ZONE", "Only this zone; may come several times.", mayRepeat: true),
      .flag("--retry", "Also try again what is in quarantine."), .json,
    ],
    details: """
      LOCAL keeps what it knows of REMOTE, so the next sync sends and fetches only what changed since, and knows what was
      deleted. A REMOTE that is missing is made. Fields that only one side changed are kept from that side under every
      policy; a change wins over a deletion with latest. Change tags, dates and users stay each database's own.
      Both files are opened for writing. Records that one side refuses do not stop the others: `daybook quarantine LOCAL`
      lists them, and the exit status is 1.
      """, changesFile: { _ in true }
  ) { invocation in
    let arguments = invocation.arguments
    let (here, there) = (arguments[0], arguments[1])
    guard there != "-" else { throw ToolError.usage("REMOTE is a file.", advice: invocation.command.usage) }
    guard !isSameFile(here, there) else {
      throw ToolError.usage("LOCAL and REMOTE are the same file.", advice: invocation.command.usage)
    }
    var configuration = SyncEngine.Configuration()
    switch arguments.value("--policy") {
    case "server"?: configuration.policy = .serverRecordWins
    case "client"?: configuration.policy = .clientRecordWins
    default: configuration.policy = .greaterModifiedDateWins
    }
    var options = invocation.databaseOptions
    // What fits into one file fits into the other.
    options.limits = .unlimited
    let report = Mutable<SyncReport>(SyncReport())
    let status = try invocation.writing(here, mayCreate: false, options: options) { local in
      let names = arguments.allValues("--zone")
      // No file is made for a zone that is nowhere.
      if !invocation.isThere(there) { for name in names { _ = try zone(named: name, in: [local]) } }
      return try invocation.writing(there, mayCreate: true, options: options) { remote in
        var configuration = configuration
        if !names.isEmpty {
          // A zone that only one side has is meant, too.
          configuration.zones = Set(try names.map { try zone(named: $0, in: [local, remote]) })
        }
        let (chosen, retries) = (configuration, arguments.has("--retry"))
        do {
          report.value = try Awaiting.result {
            let engine = try await SyncEngine(local: local, remote: remote, configuration: chosen)
            return retries ? try await engine.retry() : try await engine.sync()
          }
        } catch let error as DatabaseError where error.code == .partialFailure {
          // The other zones are equal.
          for (id, error) in error.partialZoneErrors.sorted(by: { $0.key < $1.key }) {
            try invocation.note("daybook: zone \(ShownText.escaped("\(id)")): \(ToolError(error).message)")
          }
          guard
            let first = error.partialZoneErrors.values.first(where: { $0.code == .corrupted })
              ?? error.partialZoneErrors.values.first
          else { throw error }
          throw ToolError(
            ToolError(first).status,
            "\(Wording.count(error.partialZoneErrors.count, "zone")) could not be kept equal; the others are.",
            advice: first.code == .corrupted
              ? "`daybook check LOCAL` and `daybook check REMOTE` say what is damaged; `daybook salvage` copies what can be read."
              : nil)
        }
        return report.value.quarantined == 0 ? .done : .finding
      }
    }
    let result = report.value
    if arguments.has("--json") {
      let value: JSONValue = [
        "sent": .count(result.sent), "fetched": .count(result.fetched), "conflicts": .count(result.conflicts),
        "quarantined": .count(result.quarantined),
      ]
      try invocation.output.line(value.json)
    } else {
      try invocation.output.line(
        "\(Wording.count(result.sent, "record")) sent, \(result.fetched) fetched, "
          + "\(Wording.count(result.conflicts, "conflict")) resolved")
    }
    for zone in result.deletedZones {
      try invocation.note(
        "daybook: the zone \(ShownText.escaped("\(zone)")) is gone here with all that was in it: it was deleted on the other side"
      )
    }
    if result.quarantined > 0 {
      try invocation.note(
        "daybook: \(Wording.count(result.quarantined, "record")) could not be kept equal; "
          + "`daybook quarantine \(ShownText.escaped(here))` says why")
    }
    return status
  }

  static let outbox = Command(
    name: "outbox", summary: "List the changes that the next sync will send.", positionals: ["FILE"],
    options: [.value("--limit", "N", "At most so many."), .json],
    details: """
      What changed since the last sync, by zone: a line a record with the change (save or delete), zone, type and name; of
      each remote, where FILE was synced with several. A file that was never synced has no outbox: its first sync sends
      everything.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      if try !SyncEngine.hasState(in: database) {
        try invocation.note(
          "daybook: \(ShownText.escaped(invocation.arguments[0])) was never synced; a first sync sends everything")
      }
      let pending = try SyncEngine.outbox(of: database, limit: try invocation.arguments.count("--limit") ?? .max)
      if invocation.arguments.has("--json") {
        try invocation.printArray(
          pending.map {
            [
              "change": .string($0.change.rawValue), "zone": .string($0.id.zone.name), "type": .string($0.type),
              "name": .string($0.id.name),
            ]
          })
      } else {
        try invocation.printTable(
          ["CHANGE", "ZONE", "TYPE", "NAME"], pending.map { [$0.change.rawValue, $0.id.zone.name, $0.type, $0.id.name] })
      }
      return .done
    }
  }

  static let quarantine = Command(
    name: "quarantine", summary: "List the records that a sync could not keep equal, and why.", positionals: ["FILE"],
    options: [.json],
    details: """
      A line a record: which side refused it (sending: the remote refused what is here; fetching: what the remote has could
      not be saved here), zone, name, the error and its sentence. One that was refused is sent again when it is changed. The exit
      status is 1 when there is any.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let records = try SyncEngine.quarantine(of: database)
      if invocation.arguments.has("--json") {
        try invocation.printArray(
          records.map {
            [
              "direction": .string($0.direction.rawValue), "zone": .string($0.id.zone.name), "name": .string($0.id.name),
              "code": .string("\($0.code)"), "message": .string($0.message),
            ]
          })
      } else {
        try invocation.printTable(
          ["DIRECTION", "ZONE", "NAME", "ERROR", "WHY"],
          records.map { [$0.direction.rawValue, $0.id.zone.name, $0.id.name, "\($0.code)", $0.message] })
      }
      return records.isEmpty ? .done : .finding
    }
  }

  private static func isSameFile(_ first: String, _ second: String) -> Bool {
    let paths = [first, second].map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().standardizedFileURL.path }
    if paths[0] == paths[1] { return true }
    // Two names of one file, as `ln` makes them.
    let files = paths.map { path in (try? SystemDisk().identity(of: path)) ?? nil }
    return files[0] != nil && files[0] == files[1]
  }

  private static func zone(named name: String, in databases: [Database]) throws -> Zone.ID {
    for database in databases {
      let found = try database.zones().map(\.id).filter { $0.name == name }
      if let zone = found.first(where: \.isOwn) ?? found.first { return zone }
    }
    throw ToolError.usage("Neither database has a zone \(ShownText.escaped(name)).", advice: ToolError.zoneAdvice)
  }
}

/// A value that a closure of another function sets.
private final class Mutable<T> {
  var value: T

  init(_ value: T) { self.value = value }
}
