import Daybook
import Foundation

extension Invocation {
  /// The query of the options, in all zones; nil when commits are watched.
  func watchedQuery() throws -> Query? {
    guard let text = arguments.value("--query") else {
      for option in ["--type", "--zone", "--owner", "--sort"] where !arguments.allValues(option).isEmpty {
        throw ToolError.usage("\(option) goes with --query.", advice: command.usage)
      }
      return nil
    }
    if arguments.value("--since") != nil {
      throw ToolError.usage("--since and --query exclude each other.", advice: command.usage)
    }
    var query = Query(where: try predicate(text), sort: sort)
    query.recordType = arguments.value("--type")
    if query.sort.isEmpty { query.sort = [.ascending(.recordName)] }
    return query
  }

  /// Prints what becomes of the result of a query, until interrupted.
  ///
  /// The file is only read here, and of other processes' commits a query is always asked again; so it is asked here, after each
  /// look that finds commits.
  func watchResult(of query: Query, _ database: Database, atMost limit: Int) throws -> ExitStatus {
    try warn(ofUnknownNamesIn: query, database)
    var records: [Record] = []
    var left = limit
    var isFirst = true
    while left > 0 {
      let (sequence, new) = try database.read { snapshot in (snapshot.sequence, try snapshot.records(query)) }
      let difference = Query.Difference(from: records, to: new)
      if isFirst || !difference.isEmpty {
        try print(difference, from: records, at: sequence)
        try output.flush()
        left -= 1
      }
      isFirst = false
      records = new
      if left > 0 { repeat { Thread.sleep(forTimeInterval: 0.25) } while try !database.refresh() }
    }
    return .done
  }

  private func print(_ difference: Query.Difference, from old: [Record], at sequence: UInt64) throws {
    if arguments.has("--json") { return try output.line(try json(difference, at: sequence).json) }
    try output.line("commit \(sequence)  \(Wording.count(difference.count, "record"))")
    func line(_ word: String, _ place: String, _ id: Record.ID) throws {
      try output.line("  \(word)  \(place)  \(id)")
    }
    func line(_ word: String, _ placed: Query.Difference.Placed) throws {
      try output.line("  \(word)  \(placed.index)  " + (try Self.text(of: placed.record)))
    }
    for removal in difference.removed { try line("removed ", "\(removal.index)", removal.id) }
    for move in difference.moved { try line("moved   ", "\(move.from) to \(move.to)", move.id) }
    for placed in difference.inserted { try line("inserted", placed) }
    for placed in difference.updated { try line("updated ", placed) }
  }

  private func json(_ difference: Query.Difference, at sequence: UInt64) throws -> JSONValue {
    func of(_ id: Record.ID, _ places: [JSONValue.Member]) -> JSONValue {
      var members = places
      members.append(.init(key: "zone", value: .string(id.zone.name)))
      if !id.zone.isOwn { members.append(.init(key: "owner", value: .string(id.zone.owner))) }
      members.append(.init(key: "name", value: .string(id.name)))
      return .object(members)
    }
    func of(_ placed: Query.Difference.Placed) throws -> JSONValue {
      ["index": .count(placed.index), "record": try JSONParser.parse(try Self.text(of: placed.record))]
    }
    return [
      "sequence": .count(sequence), "count": .count(difference.count),
      "removed": .array(difference.removed.map { of($0.id, [.init(key: "index", value: .count($0.index))]) }),
      "moved": .array(
        difference.moved.map {
          of($0.id, [.init(key: "from", value: .count($0.from)), .init(key: "to", value: .count($0.to))])
        }),
      "inserted": .array(try difference.inserted.map(of)), "updated": .array(try difference.updated.map(of)),
    ]
  }

  /// The line of `dump`.
  private static func text(of record: Record) throws -> String {
    var bytes: [UInt8] = []
    try RecordLine.append(record, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
