import Daybook
import Foundation

extension Commands {
  static let put = Command(
    name: "put", summary: "Make a record, or change some of its values.",
    positionals: ["FILE", "ZONE", "NAME", "KEY=VALUE…"], optionalCount: 1,
    options: [
      .value("--type", "TYPE", "The type; needed for a new record."),
      .value("--remove", "KEY", "Remove a value.", mayRepeat: true),
      .flag("--json", "Print the saved record as a line of JSON."),
    ],
    details: """
      A value that reads as a number is one, true and false are 1 and 0, everything else is text.
      KEY:KIND=VALUE names the kind: string, int, double, bytes (base64), date (ISO 8601), location (LAT,LON),
      reference (a name in the same zone), and lists as JSON: strings, ints, doubles, dates.
      Keys that are not named stay as they are. A missing file or zone is made.
        daybook put movies.daybook Library dune --type Movie title=Dune year=2021 title2:string=1984
      """
  ) { invocation in
    let arguments = invocation.arguments
    let values = try arguments.positionals.dropFirst(3).map { word throws(ToolError) in try Assignment(word) }
    return try invocation.writing(arguments[0], mayCreate: true) { database in
      let zone = try invocation.zone(arguments[1], in: database)
      let id = try Record.ID(arguments[2], in: zone)
      var isNewZone = false
      let saved = try database.write { transaction in
        if try !transaction.zones().contains(where: { $0.id == zone }) {
          try transaction.save(Zone(zone))
          isNewZone = true
        }
        var record: Record
        if let existing = try transaction.record(id) {
          record = existing
          if let type = arguments.value("--type"), type != existing.type {
            throw ToolError.usage("\(id) is a \(existing.type), and a record never changes its type.")
          }
        } else {
          guard let type = arguments.value("--type") else {
            throw ToolError.usage("There is no record \(id) yet, and a new one needs --type.")
          }
          record = try Record(type: type, id: id)
        }
        for key in arguments.allValues("--remove") { try record.set(nil, forKey: key) }
        for value in values { try record.set(try value.value(in: zone), forKey: value.key) }
        return try transaction.save(record)
      }
      if isNewZone { try invocation.note("made zone \(zone)") }
      try invocation.print(saved)
      return .done
    }
  }

  static let delete = Command(
    name: "delete", summary: "Delete records, or a zone with everything in it.",
    positionals: ["FILE", "ZONE", "NAME…"], optionalCount: 1,
    options: [.flag("--whole-zone", "Delete the zone and all its records; without names.")],
    details: "The exit status is 1 when none of the records is there."
  ) { invocation in
    let arguments = invocation.arguments
    let names = Array(arguments.positionals.dropFirst(2))
    let isWholeZone = arguments.has("--whole-zone")
    if names.isEmpty != isWholeZone {
      throw ToolError.usage(
        isWholeZone ? "--whole-zone takes no names." : "Which records? Name them, or say --whole-zone.",
        advice: "Usage: \(invocation.command.usage)")
    }
    return try invocation.writing(arguments[0], mayCreate: false) { database in
      let zone = try invocation.zone(arguments[1], in: database)
      if isWholeZone {
        let count = try database.recordCount(in: zone)
        try database.write { transaction in try transaction.deleteZone(zone) }
        try invocation.output.line("deleted zone \(zone) with \(Wording.count(count, "record"))")
        return .done
      }
      var missing: [String] = []
      try database.write { transaction in
        for name in names {
          let id = try Record.ID(name, in: zone)
          if try transaction.record(id) == nil { missing.append(name) } else { try transaction.delete(id) }
        }
      }
      for name in missing { try invocation.note("daybook: there is no record \(zone)/\(name)") }
      try invocation.output.line("deleted \(Wording.count(names.count - missing.count, "record"))")
      return missing.count == names.count ? .finding : .done
    }
  }
}

/// `KEY=VALUE` or `KEY:KIND=VALUE`.
struct Assignment {
  let key: String
  private let kind: FieldKind?
  private let text: String

  init(_ word: String) throws(ToolError) {
    guard let (left, right) = word.splitAtEquals() else {
      throw .usage("\(word) is not KEY=VALUE.", advice: "For example title=Dune, or year:string=1984.")
    }
    var name = left[...]
    if let colon = name.firstIndex(of: ":") {
      let kindName = String(name[name.index(after: colon)...])
      guard let kind = FieldKind(name: kindName) else {
        let names = FieldKind.allCases.map(\.name)
        let nearest = Spelling.nearest(to: kindName, among: names)
        throw .usage(
          "There is no kind \(kindName)\(nearest.map { "; \($0) is one" } ?? "").",
          advice: "The kinds are \(names.joined(separator: ", ")).")
      }
      self.kind = kind
      name = name[..<colon]
    } else {
      kind = nil
    }
    key = String(name)
    text = right
  }

  /// The value, in whose zone references point.
  func value(in zone: Zone.ID) throws -> Record.Value {
    guard let kind else { return Self.guessed(text) }
    if let value = try explicit(kind, zone) { return value }
    throw ToolError.usage("The value of \(key) is not of the kind \(kind.name).", advice: "`daybook help put` has examples.")
  }

  private static func guessed(_ text: String) -> Record.Value {
    switch try? JSONParser.parse(text) {
    case .int(let number)?: .int(number)
    case .double(let number)?: .double(number)
    case .bool(let value)?: .int(value ? 1 : 0)
    default: .string(text)
    }
  }

  private func explicit(_ kind: FieldKind, _ zone: Zone.ID) throws -> Record.Value? {
    switch kind {
    case .string, .bytes: return try RecordLine.value(.string(text), kind, in: zone)
    case .date:
      let bare = DateScanner.iso8601(text) == nil ? (try? JSONParser.parse(text)) ?? .null : .string(text)
      return try RecordLine.value(bare, kind, in: zone)
    case .location:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
      return .location(Location(latitude: latitude, longitude: longitude))
    case .reference:
      return .reference(Record.Reference(try Record.ID(text, in: zone)))
    case .double where text == "inf" || text == "-inf":
      return try RecordLine.value(.string(text), kind, in: zone)
    default:
      guard let bare = try? JSONParser.parse(text) else { return nil }
      return try RecordLine.value(bare, kind, in: zone)
    }
  }
}
