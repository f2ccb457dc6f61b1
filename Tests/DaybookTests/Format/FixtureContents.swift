import Foundation

@testable import Daybook

/// All that a database says, line by line: zones, records with their dates, users and values, versions, deletions, metadata,
/// subscriptions, schema, indexes. Nothing in it is of the system or of the version of the library that reads.
enum FixtureContents {
  static func lines(of database: Database) throws -> [String] {
    var lines: [String] = []
    for zone in try database.zones().sorted(by: { $0.id.key.lexicographicallyPrecedes($1.id.key) }) {
      lines.append("zone \(name(zone.id)) with capabilities \(zone.capabilities.rawValue)")
      let changes = try database.changes(in: zone.id, since: nil, limit: 100_000)
      for record in changes.saved { lines += try self.lines(of: record, database) }
      for record in changes.deleted { lines.append("  deleted \(name(record.id)), \(text(record.type))") }
      for type in try database.recordTypes(in: zone.id) { lines.append("  \(type.count) of \(text(type.type))") }
    }
    for zone in try database.databaseChanges(since: nil).deleted {
      lines.append("deleted zone \(name(zone.id)), \(zone.reason)")
    }
    for key in ["state", "empty", "gone"] {
      lines.append("metadata \(key): \(try database.metadata(forKey: key).map(bytes) ?? "none")")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    for subscription in try database.subscriptions() {
      lines.append("subscription \(String(decoding: try encoder.encode(subscription), as: UTF8.self))")
    }
    for type in try database.schema().types {
      lines.append("type \(text(type.name)), indexes \(type.indexes.map { text($0.key) })")
      for field in type.fields {
        lines.append("  \(text(field.key)): \(field.isEncrypted ? "encrypted " : "")\(field.kinds.map(\.rawValue))")
      }
    }
    for index in try database.indexes() {
      lines.append(
        "\(index.kind.rawValue) index of \(text(index.recordType)) \(text(index.key)): \(index.entryCount) entries, \(index.isComplete ? "complete" : "not complete")"
      )
    }
    return lines
  }

  /// Those that say what records are, and nothing of their versions: a compaction forgets these.
  static func records(in lines: [String]) -> [String] {
    let start = lines.firstIndex { $0.hasPrefix("metadata ") } ?? lines.endIndex
    return lines[..<start].filter { !$0.hasPrefix("    version ") }
  }

  private static func lines(of record: Record, _ database: Database) throws -> [String] {
    var lines = ["  record \(name(record.id)), \(text(record.type))"]
    if let metadata = record.metadata {
      lines.append(
        "    tag \(text(metadata.changeTag)), made \(number(metadata.creationDate)) by \(text(metadata.creatorUserID)), "
          + "changed \(number(metadata.modificationDate)) by \(text(metadata.lastModifiedUserID)) at \(text(metadata.modifiedByDevice))"
      )
    }
    if let parent = record.parent { lines.append("    parent \(name(parent.id))") }
    for key in record.keys { lines.append("    \(text(key)) = \(try value(record[key]))") }
    for key in record.encryptedValues.keys {
      lines.append("    \(text(key)), encrypted = \(try value(record.encryptedValues[key]))")
    }
    for version in try database.history(of: record.id) {
      lines.append(
        "    version \(text(version.changeTag)) of \(number(version.date))\(version.record == nil ? ", deleted" : "")")
    }
    let sources = try database.referencing(record.id)
    if !sources.isEmpty { lines.append("    referenced by \(sources.map { name($0.id) })") }
    return lines
  }

  // MARK: values

  private static func value(_ value: Record.Value?) throws -> String {
    guard let value else { return "none" }
    let what: String
    switch value {
    case .string(let string): what = text(string)
    case .int(let int): what = "\(int)"
    case .double(let double): what = "\(double)"
    case .bytes(let data): what = bytes(data)
    case .date(let date): what = number(date)
    case .location(let location): what = place(location)
    case .asset(let asset): what = try content(asset)
    case .reference(let reference): what = target(reference)
    case .strings(let list): what = "\(list.map { text($0) })"
    case .ints(let list): what = "\(list)"
    case .doubles(let list): what = "\(list)"
    case .bytesList(let list): what = "\(list.map(bytes))"
    case .dates(let list): what = "\(list.map(number))"
    case .locations(let list): what = "\(list.map(place))"
    case .assets(let list): what = "\(try list.map(content))"
    case .references(let list): what = "\(list.map(target))"
    }
    return "\(value.kind.name) \(what)"
  }

  private static func name(_ id: Zone.ID) -> String { text(id.name) + (id.hasDefaultOwner ? "" : " of " + text(id.owner)) }
  private static func name(_ id: Record.ID) -> String { "\(name(id.zone))/\(text(id.name))" }
  private static func number(_ date: Date) -> String { "\(date.timeIntervalSinceReferenceDate) s" }
  private static func target(_ reference: Record.Reference) -> String { "\(reference.action) \(name(reference.id))" }

  private static func place(_ place: Location) -> String {
    let parts = [place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course, place.speed]
    let text = ([place.latitude, place.longitude] + parts).map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
    return "(\(text) \(place.timestamp.map(number) ?? "-"))"
  }

  private static func content(_ asset: Asset) throws -> String {
    "\(asset.byteCount) \(asset.sha256 ?? "-") \(bytes(try asset.content()))"
  }

  /// Long ones by length and sum.
  private static func bytes(_ data: Data) -> String {
    if data.count > 64 {
      return "\(data.count) bytes, sum \(data.reduce(into: UInt64(0)) { $0 = $0 &* 0x100_0000_01B3 &+ UInt64($1) + 1 })"
    }
    return "<" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ">"
  }

  /// In ASCII, so that nothing turns on a system's tables.
  private static func text(_ text: String?) -> String {
    guard let text else { return "nobody" }
    if text.utf8.count > 300 { return bytes(Data(text.utf8)) }
    return "\""
      + text.unicodeScalars.map { $0.value >= 32 && $0.value < 127 ? String($0) : "\\{\(String($0.value, radix: 16))}" }
      .joined()
      + "\""
  }
}
