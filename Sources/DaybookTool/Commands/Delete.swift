import Daybook

extension Commands {
  static let delete = Command(
    name: "delete", summary: "Delete records, or a zone with everything in it.",
    positionals: ["FILE", "ZONE", "NAME…"], optionalCount: 1,
    options: [.flag("--whole-zone", "Delete the zone and all its records; without names."), .owner],
    details: "The exit status is 1 when none of the records is there, or the zone is not; 2 for --whole-zone then.",
    changesFile: { _ in true }
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
      guard try database.zones().contains(where: { $0.id == zone }) else {
        throw try invocation.unknownZone(arguments[1], in: database, isWholeZone ? .usage : .finding)
      }
      if isWholeZone {
        let count = try database.recordCount(in: zone)
        try database.write { transaction in try transaction.deleteZone(zone) }
        try invocation.output.line("deleted zone \(zone) with \(Wording.count(count, "record"))")
        return .done
      }
      var missing: [String] = []
      var deletedCount = 0
      try database.write { transaction in
        let before = try transaction.recordCount(in: zone)
        let ids = try names.map { name in try Record.ID(existing: name, in: zone) }
        // Before the first is deleted: it may take another one with it.
        for (name, id) in zip(names, ids) where try transaction.record(id) == nil { missing.append(name) }
        for id in ids where try transaction.record(id) != nil { try transaction.delete(id) }
        deletedCount = before - (try transaction.recordCount(in: zone))
      }
      let known = missing.isEmpty ? [] : try database.firstNames(in: zone)
      for name in missing {
        let question = Spelling.question(for: name, among: known)
        try invocation.note("daybook: there is no record \(zone)/\(name)\(question.isEmpty ? "" : "." + question)")
      }
      let asked = Set(names.map { Array($0.utf8) }).count - Set(missing.map { Array($0.utf8) }).count
      let others = deletedCount > asked ? ", \(deletedCount - asked) of them because they go with another one" : ""
      try invocation.output.line("deleted \(Wording.count(deletedCount, "record"))\(others)")
      return missing.count == names.count ? .finding : .done
    }
  }
}
