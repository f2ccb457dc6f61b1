import Daybook
import Foundation

extension Commands {
  static let changes = Command(
    name: "changes", summary: "List what changed in a zone, each record once, and a token for the next time.",
    positionals: ["FILE", "ZONE"],
    options: [
      .value("--since", "TOKEN", "Only what changed after the token that an earlier call printed."),
      .value("--limit", "N", "At most this many changes; the token then leads to the rest."), .owner, .json,
    ],
    details: """
      The last line is the token. With --json: {"saved":[lines of a dump with metadata],"deleted":[{"name","type"}],
      "token","moreComing"}. The exit status is 1 when the token has expired or belongs to another copy of the database.
      """
  ) { invocation in
    let arguments = invocation.arguments
    let limit = try arguments.count("--limit")
    var token: ChangeToken?
    if let text = arguments.value("--since") {
      guard let data = Data(base64Encoded: text), let parsed = try? ChangeToken(data: data) else {
        throw ToolError.usage("--since is not a token.", advice: "A token is what this command prints in its last line.")
      }
      token = parsed
    }
    return try invocation.reading(arguments[0]) { database in
      let zone = try invocation.zone(arguments[1], in: database)
      var printer = try ChangePrinter(invocation.output, isJSON: arguments.has("--json"))
      var left = limit ?? .max
      while true {
        let page: ZoneChanges
        do throws(DatabaseError) { page = try database.changes(in: zone, since: token, limit: min(left, 500)) } catch {
          if error.code == .zoneNotFound { throw try invocation.unknownZone(arguments[1], in: database, .usage) }
          throw error
        }
        try printer.append(page)
        left -= page.saved.count + page.deleted.count
        if page.moreComing, page.token == token {
          throw ToolError(.damaged, "The changes of the zone do not end.", advice: "Run `daybook check FILE`.")
        }
        token = page.token
        if !page.moreComing || left <= 0 {
          try printer.end(page.token, moreComing: page.moreComing)
          return .done
        }
      }
    }
  }
}

/// Prints pages of changes as they come.
private struct ChangePrinter {
  private let output: Output
  private let isJSON: Bool
  private var saved: JSONListWriter?
  private var deleted: [JSONValue] = []

  init(_ output: Output, isJSON: Bool) throws {
    self.output = output
    self.isJSON = isJSON
    if isJSON {
      try output.write("{\"saved\":")
      saved = try JSONListWriter(output)
    }
  }

  mutating func append(_ page: ZoneChanges) throws {
    for record in page.saved {
      if isJSON {
        try saved?.append { try RecordLine.append(record, withMetadata: true, to: &$0) }
      } else {
        try output.line("saved    \(record.id.name)  \(record.type)")
      }
    }
    for record in page.deleted {
      if isJSON {
        deleted.append(["name": .string(record.id.name), "type": .string(record.type)])
      } else {
        try output.line("deleted  \(record.id.name)  \(record.type)")
      }
    }
  }

  func end(_ token: ChangeToken, moreComing: Bool) throws {
    let text = token.data.base64EncodedString()
    guard isJSON else {
      if moreComing { try output.line("more     there are more changes after the token") }
      try output.line("token    \(text)")
      return
    }
    try saved?.end()
    try output.line(
      ",\"deleted\":\(JSONValue.array(deleted).json),\"token\":\"\(text)\",\"moreComing\":\(moreComing)}")
  }
}
