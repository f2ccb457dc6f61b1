import Daybook
import Foundation

extension Commands {
  static let subscriptions = Command(
    name: "subscriptions", summary: "List the subscriptions: what is watched, and which changes are told.",
    positionals: ["FILE"], options: [.json],
    details: """
      With --json also what a notification shows and has with it. Applications save subscriptions; the tool tells nobody.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let subscriptions = try database.subscriptions()
      if invocation.arguments.has("--json") {
        try invocation.printArray(try subscriptions.map { try json($0) })
        return .done
      }
      try invocation.printTable(
        ["SUBSCRIPTION", "TO", "FIRES ON"], subscriptions.map { [$0.id.name, target(of: $0), triggers(of: $0)] })
      return .done
    }
  }

  static func target(of subscription: Subscription) -> String {
    let type = subscription.recordType.map { ", only \($0)" } ?? ""
    return switch subscription.target {
    case .query(let query): "query \(query)"
    case .zone(let zone): "zone \(zone)\(type)"
    case .database: "database\(type)"
    }
  }

  /// Zones and the database tell of everything.
  private static func triggers(of subscription: Subscription) -> String {
    guard case .query = subscription.target else { return "all changes" }
    return (subscription.firesOn.names + (subscription.firesOnce ? ["once"] : [])).joined(separator: ", ")
  }

  private static func json(_ subscription: Subscription) throws -> JSONValue {
    var members: [JSONValue.Member] = [.init(key: "id", value: .string(subscription.id.name))]
    func add(_ key: String, _ value: JSONValue?) { if let value { members.append(.init(key: key, value: value)) } }
    func add(_ zone: Zone.ID?) {
      add("zone", zone.map { .string($0.name) })
      if let zone, !zone.isOwn { add("owner", .string(zone.owner)) }
    }
    switch subscription.target {
    case .query(let query):
      add("target", "query")
      add("recordType", query.recordType.map { .string($0) } ?? .null)
      add("predicate", .string("\(query.predicate)"))
      add(query.zone)
      add("firesOn", .array(subscription.firesOn.names.map { .string($0) }))
      add("firesOnce", .bool(subscription.firesOnce))
    case .zone(let zone):
      add("target", "zone")
      add(zone)
      add("recordType", subscription.recordType.map { .string($0) })
    case .database:
      add("target", "database")
      add("recordType", subscription.recordType.map { .string($0) })
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    add("info", try JSONParser.parse(String(decoding: encoder.encode(subscription.info), as: UTF8.self)))
    return .object(members)
  }
}

extension Subscription.Trigger {
  /// What it asks for, by the names of the interface.
  fileprivate var names: [String] {
    let all: [(Self, String)] = [(.creation, "creation"), (.update, "update"), (.deletion, "deletion")]
    return all.filter { contains($0.0) }.map { $0.1 }
  }
}
