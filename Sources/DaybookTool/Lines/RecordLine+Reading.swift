import Daybook
import DaybookEngine
import Foundation

/// Reading what `dump` prints.
extension RecordLine {
  /// What keeps a line from being a record.
  struct Fault: Error {
    let reason: String
  }

  private static let topKeys = [
    "zone", "owner", "name", "type", "parent", "fields", "encrypted", "tag", "created", "modified",
  ]

  /// Whether a row is meant as a line of a dump, sound or not, and is no row of other data that happens to have a key `fields`: then it
  /// has the keys of a line and no others, and a field says its type, if there is one.
  static func isRecordLine(_ row: JSONValue) -> Bool {
    guard case .object(let members) = row, case .object(let fields)? = row["fields"], row["name"]?.text != nil,
      row["type"]?.text != nil, row["zone"]?.text != nil,
      members.allSatisfy({ member in topKeys.contains { $0.equalsBytes(of: member.key) } })
    else { return false }
    return fields.isEmpty || fields.contains { $0.value["type"]?.text != nil }
  }

  /// The record of a line: without metadata, every field a change.
  ///
  /// - Parameter sealedCount: counts the encrypted values that only a cipher could open, and that are left out.
  static func record(
    _ row: JSONValue, sealedCount: inout Int, assets folder: SourceFolder? = nil
  ) throws -> Record {
    guard isRecordLine(row), let zoneName = row["zone"]?.text, let name = row["name"]?.text,
      let type = row["type"]?.text, case .object(let fields)? = row["fields"]
    else { throw Fault(reason: "this is not a line of a dump, as the rows before it are.") }
    let zone = try Zone.ID(zoneName, owner: row["owner"]?.text)
    var record = try Record(restoring: type, id: Record.ID(name, in: zone))
    for field in inOrder(fields) { try record.set(value(field.value, field.key, in: zone, folder), forKey: field.key) }
    if case .object(let encrypted)? = row["encrypted"] {
      for field in inOrder(encrypted) {
        if isSealed(field.value) {
          sealedCount += 1
          continue
        }
        try record.encryptedValues.set(value(field.value, field.key, in: zone, nil), forKey: field.key)
      }
    }
    if let parent = row["parent"] {
      guard let parentName = parent.text else { throw Fault(reason: "a parent is the name of a record.") }
      record.parent = Record.Reference(try Record.ID(existing: parentName, in: zone))
    }
    return record
  }

  /// The keys of encrypted values that a line names without what they are: only a cipher can open them.
  static func sealedKeys(of row: JSONValue) -> [String] {
    guard case .object(let encrypted)? = row["encrypted"] else { return [] }
    return encrypted.filter { isSealed($0.value) }.map(\.key)
  }

  private static func isSealed(_ field: JSONValue) -> Bool { field["type"]?.text?.equalsBytes(of: "sealed") == true }

  /// In the order of keys, as `dump` writes them: fields that are set in another one are moved for each that is set.
  private static func inOrder(_ fields: [JSONValue.Member]) -> [JSONValue.Member] {
    let isInOrder = zip(fields, fields.dropFirst()).allSatisfy { UTF8Order.compare($0.key, $1.key) <= 0 }
    return isInOrder ? fields : fields.sorted { UTF8Order.compare($0.key, $1.key) < 0 }
  }

  private static func value(
    _ field: JSONValue, _ key: String, in zone: Zone.ID, _ folder: SourceFolder?
  ) throws -> Record.Value {
    guard case .object(let parts) = field, parts.count == 2, field["type"] != nil, field["value"] != nil else {
      throw Fault(reason: "the field \(key) is not an object with a type and a value.")
    }
    guard let name = field["type"]?.text, let kind = FieldKind(name: name) else {
      throw Fault(reason: "\(key) is of a kind that does not exist.")
    }
    guard let bare = field["value"], let value = try value(bare, kind, in: zone, assets: folder) else {
      throw Fault(reason: "the value of \(key) is not of the kind \(name).")
    }
    return value
  }

  /// A bare value as one of a kind; nil when it is not of it.
  static func value(
    _ bare: JSONValue, _ kind: FieldKind, in zone: Zone.ID, assets folder: SourceFolder? = nil
  ) throws -> Record.Value? {
    switch kind {
    case .string: return bare.text.map { .string($0) }
    case .int: return int(bare).map { .int($0) }
    case .double: return double(bare).map { .double($0) }
    case .bytes: return bytes(bare).map { .bytes($0) }
    case .date: return date(bare).map { .date($0) }
    case .location: return location(bare).map { .location($0) }
    case .asset: return try asset(bare, folder).map { .asset($0) }
    case .reference: return try reference(bare, in: zone).map { .reference($0) }
    case .strings: return list(bare) { $0.text }.map { .strings($0) }
    case .ints: return list(bare, int).map { .ints($0) }
    case .doubles: return list(bare, double).map { .doubles($0) }
    case .bytesList: return list(bare, bytes).map { .bytesList($0) }
    case .dates: return list(bare, date).map { .dates($0) }
    case .locations: return list(bare, location).map { .locations($0) }
    case .assets: return try list(bare) { try asset($0, folder) }.map { .assets($0) }
    case .references: return try list(bare) { try reference($0, in: zone) }.map { .references($0) }
    }
  }

  private static func list<T>(_ bare: JSONValue, _ one: (JSONValue) throws -> T?) rethrows -> [T]? {
    guard case .array(let elements) = bare else { return nil }
    var result: [T] = []
    for element in elements {
      guard let value = try one(element) else { return nil }
      result.append(value)
    }
    return result
  }

  private static func int(_ bare: JSONValue) -> Int64? {
    if case .int(let number) = bare { number } else { nil }
  }

  private static func double(_ bare: JSONValue) -> Double? {
    switch bare {
    case .double(let number): number
    case .int(let number): Double(exactly: number)
    case .hugeInt(let digits): Double(digits)
    case .string(let text) where text.equalsBytes(of: "inf"): .infinity
    case .string(let text) where text.equalsBytes(of: "-inf"): -.infinity
    default: nil
    }
  }

  private static func bytes(_ bare: JSONValue) -> Data? { bare.text.flatMap { Data(base64Encoded: $0) } }

  private static func date(_ bare: JSONValue) -> Date? {
    if let number = double(bare) { return Date(timeIntervalSinceReferenceDate: number) }
    return bare.text.flatMap { DateScanner.iso8601($0) }.map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  private static func location(_ bare: JSONValue) -> Location? {
    guard case .object(let members) = bare, let latitude = bare["latitude"].flatMap(double),
      let longitude = bare["longitude"].flatMap(double)
    else { return nil }
    var place = Location(latitude: latitude, longitude: longitude)
    for member in members {
      guard let number = double(member.value) else { return nil }
      switch member.key {
      case "latitude", "longitude": break
      case "altitude": place.altitude = number
      case "horizontalAccuracy": place.horizontalAccuracy = number
      case "verticalAccuracy": place.verticalAccuracy = number
      case "course": place.course = number
      case "speed": place.speed = number
      case "timestamp": place.timestamp = Date(timeIntervalSinceReferenceDate: number)
      default: return nil
      }
    }
    return place
  }

  private static func reference(_ bare: JSONValue, in zone: Zone.ID) throws -> Record.Reference? {
    guard let name = bare["name"]?.text,
      case let spelled = bare["action"]?.text ?? "none",
      let action = Record.Reference.Action.allCases.first(where: { $0.rawValue.equalsBytes(of: spelled) })
    else { return nil }
    return Record.Reference(try Record.ID(existing: name, in: zone), action: action)
  }

  /// An asset with its content in the line, or in a directory, where its file is called by its SHA-256.
  private static func asset(_ bare: JSONValue, _ folder: SourceFolder?) throws -> Asset? {
    guard let count = bare["byteCount"].flatMap(int), let byteCount = Int(exactly: count), byteCount >= 0 else { return nil }
    if let content = bare["content"] {
      guard let data = bytes(content), data.count == byteCount else { return nil }
      // With its digest it is known to be the one that is stored, or not to be.
      let digest = AssetDigest([UInt8](data).withView { SHA256.digest(of: $0) })
      if let name = bare["sha256"], name.text?.equalsBytes(of: digest.name) != true {
        throw Fault(reason: "the content of an asset is not what its SHA-256 says.")
      }
      return Asset(data: data).claiming(digest.bytes)
    }
    guard let name = bare["sha256"]?.text, let digest = AssetDigest(name: name) else { return nil }
    guard let folder else {
      throw Fault(reason: "an asset without its content; --assets names the directory that `daybook export` wrote it to.")
    }
    let url = URL(fileURLWithPath: folder.path + "/" + name)
    // As for a column of files: the author of the dump, and of the directory, does not choose which other files are read.
    guard let asset = try AssetColumn.asset(at: url, below: [folder]) else {
      throw Fault(reason: "\(url.path) leads out of the directory that --assets names.")
    }
    guard asset.byteCount == byteCount else { throw Fault(reason: "\(url.path) has not the size of its asset.") }
    return asset.claiming(digest.bytes)
  }
}
