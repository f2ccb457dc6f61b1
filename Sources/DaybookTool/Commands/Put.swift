import Daybook
import Foundation

extension Commands {
  static let put = Command(
    name: "put", summary: "Make a record, or change some of its values.",
    positionals: ["FILE", "ZONE", "NAME", "KEY=VALUE…"], optionalCount: 1,
    options: [
      .value("--type", "TYPE", "The type; needed for a new record."),
      .value("--remove", "KEY", "Remove a value.", mayRepeat: true), .owner,
      .flag("--json", "Print the saved record as a line of JSON."),
    ],
    details: """
      A value that reads as a number is one, true and false are 1 and 0, everything else is text.
      KEY:KIND=VALUE names the kind: string, int, double, bytes (base64), date (ISO 8601), location (LAT,LON),
      reference (a name in the same zone), and lists as JSON: strings, ints, doubles, dates.
      Keys that are not named stay as they are. A key is given once. A missing file or zone is made, unless
      the call is refused. Where nothing changes no version is written, and that is told. A type that the file did not have
      so far, and a key that its type did not have, are told, with names that are close to them; so is a value of another
      kind than the key had before, such as text in the place of a number.
        daybook put movies.daybook Library dune --type Movie title=Dune year=2021 title2:string=1984
      """,
    changesFile: { _ in true }
  ) { invocation in
    let arguments = invocation.arguments
    let values = try arguments.positionals.dropFirst(3).map { word throws(ToolError) in try Assignment(word) }
    var keys: Set<[UInt8]> = []
    for value in values where !keys.insert(Array(value.key.utf8)).inserted {
      throw ToolError.usage(
        "The key \(ShownText.escaped(value.key)) is given twice.", advice: "Usage: \(invocation.command.usage)")
    }
    // What a new database would refuse is told by one in memory: no file is made for it.
    if !invocation.isThere(arguments[0]) { _ = try invocation.save(values, in: Database.inMemory(), isTrial: true) }
    return try invocation.writing(arguments[0], mayCreate: true) { database in
      let known = try database.schema().types
      let zones = try database.zones().map(\.id.name)
      let (saved, former, isNewZone) = try invocation.save(values, in: database)
      if isNewZone {
        let question = Spelling.question(for: saved.id.zone.name, among: zones)
        try invocation.note("made zone \(saved.id.zone)\(question.isEmpty ? "" : "." + question)")
      }
      if let former, former.metadata?.changeTag == saved.metadata?.changeTag {
        try invocation.note("daybook: nothing changed, and no version was written")
      }
      try invocation.tellOfNewKinds(in: saved, former, set: values.map(\.key), known)
      try invocation.tellOfNewNames(
        in: saved, former, set: values.map(\.key), removed: arguments.allValues("--remove"), known)
      try invocation.print(saved)
      return .done
    }
  }
}

extension Invocation {
  /// Saves the record that the arguments of `put` name, with values, in its zone.
  /// - Parameter isTrial: assets are opened, and not saved: a large one does not fit in memory.
  /// - Returns: the record as it was saved; that from before, nil for a new one; whether its zone was made.
  fileprivate func save(
    _ values: [Assignment], in database: Database, isTrial: Bool = false
  ) throws -> (saved: Record, former: Record?, isNewZone: Bool) {
    let zone = try zone(arguments[1], in: database)
    let id = try Record.ID(arguments[2], in: zone)
    var isNewZone = false
    var former: Record?
    let saved = try database.write { transaction in
      if try !transaction.zones().contains(where: { $0.id == zone }) {
        try transaction.save(Zone(zone))
        isNewZone = true
      }
      var record: Record
      if let existing = try transaction.record(id) {
        record = existing
        former = existing
        if let type = arguments.value("--type"), type != existing.type {
          throw ToolError.usage("\(id) is of type \(existing.type), and a record never changes its type.")
        }
      } else {
        guard let type = arguments.value("--type") else {
          throw ToolError.usage("There is no record \(id) yet, and a new one needs --type.")
        }
        record = try Record(type: type, id: id)
      }
      for key in arguments.allValues("--remove") {
        // An encrypted value has its key to itself.
        if record.encryptedValues.keys.contains(where: { UTF8Order.equal($0, key) }) {
          try record.encryptedValues.set(nil, forKey: key)
        } else {
          try record.set(nil, forKey: key)
        }
      }
      for value in values {
        let content = try value.value(in: zone)
        try record.set(content, forKey: value.key)
        if isTrial, case .asset(let asset) = content {
          try asset.tryReading()
          try record.set(nil, forKey: value.key)
        }
      }
      if let former, record.isSame(as: former) { return former }
      return try transaction.save(record)
    }
    return (saved, former, isNewZone)
  }

  /// Says where a value is of another kind than the one before it, or than those of other records: text in the place of a number is
  /// found by no condition on numbers. Whole numbers and others are compared with each other.
  /// - Parameters:
  ///   - former: the record from before the save; nil for a new one.
  ///   - known: the types from before the save.
  fileprivate func tellOfNewKinds(
    in record: Record, _ former: Record?, set keys: [String], _ known: [Schema.RecordType]
  ) throws {
    for key in keys {
      guard let kind = (record[key] as Record.Value?)?.kind.name else { continue }
      let before = (former?[key] as Record.Value?)?.kind.name
      let others = before.map { [Schema.RecordType].areCompared($0, kind) ? nil : [$0] }
      guard let expected = others ?? known.otherKinds(of: key, in: record.type, than: kind) else { continue }
      let contrast = before == nil ? "other records of type \(ShownText.escaped(record.type)) have" : "it was"
      try note(
        "daybook: \(ShownText.escaped(key)) is of the kind \(kind) now; \(contrast) \(expected.joined(separator: " or ")). "
          + "KEY:KIND=VALUE names the kind.")
    }
  }

  /// Says which names a save has brought in, on standard error: a slip makes a new type or key, as if all was well. The first type of a
  /// file is no news, nor are the keys of a type's first record.
  /// - Parameters:
  ///   - former: the record from before the save; nil for a new one.
  ///   - known: the types from before the save.
  fileprivate func tellOfNewNames(
    in record: Record, _ former: Record?, set keys: [String], removed: [String], _ known: [Schema.RecordType]
  ) throws {
    let names = known.map(\.name)
    guard let type = known.first(where: { UTF8Order.equal($0.name, record.type) }) else {
      if names.isEmpty { return }
      return try note(
        "made type \(ShownText.escaped(record.type))."
          + Spelling.question(for: record.type, among: names))
    }
    let fields = type.fields.map(\.key)
    func isNew(_ key: String) -> Bool { !fields.contains { UTF8Order.equal($0, key) } }
    if fields.isEmpty { return }
    for key in keys where isNew(key) {
      try note(
        "made key \(ShownText.escaped(key)) of type \(ShownText.escaped(record.type))."
          + Spelling.question(for: key, among: fields))
    }
    for key in removed where !(former?.hasValue(forKey: key) ?? false) {
      let owner = isNew(key) ? "no record of type \(ShownText.escaped(record.type)) has" : "\(record.id) does not have"
      let question = isNew(key) ? Spelling.question(for: key, among: fields) : ""
      try note("daybook: \(owner) the key \(ShownText.escaped(key)).\(question)")
    }
  }
}

extension Record {
  fileprivate func hasValue(forKey key: String) -> Bool {
    (keys + encryptedValues.keys).contains { UTF8Order.equal($0, key) }
  }
}

extension Asset {
  /// Throws when the content cannot be read; reads no more than its first piece.
  fileprivate func tryReading() throws {
    struct Enough: Error {}
    do { try readContent { _ in throw Enough() } } catch is Enough {}
  }
}
