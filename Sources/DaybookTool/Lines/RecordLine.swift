import Daybook
import Foundation

/// A record as one line of JSON, as `dump` prints it and `import` reads it back:
///
///     {"zone":"Library","name":"dune","type":"Movie","fields":{"title":{"type":"string","value":"Dune"},…}}
///
/// After `type` may stand `"parent"`, a name in the same zone; after `fields` `"encrypted"`, the encrypted values in the
/// same form; before `zone` nothing, after it `"owner"` where the zone is another user's. Keys are in the order of their
/// bytes, numbers have their shortest exact form, so equal records have equal lines. The values:
///
///     string      text                              int    whole number, exact
///     double      number; "inf", "-inf"             bytes  base64
///     date        seconds since 2001-01-01 UTC, exact; reading also takes ISO 8601 text
///     location    {"latitude","longitude", then what else is known of it}
///     reference   {"name","action"}: a record of the same zone
///     asset       {"sha256","byteCount"}; small ones, which lie in their record, also "content" in base64
///     lists       strings, ints, doubles, bytesList, dates, locations, references, assets: [ … ]
enum RecordLine {
  /// Appends the line, without its end.
  ///
  /// - Parameter withMetadata: adds change tag, dates, users and device, which an import does not take over.
  static func append(_ record: Record, withMetadata: Bool = false, to bytes: inout [UInt8]) throws(DatabaseError) {
    append(#"{"zone":"#, &bytes)
    JSONText.append(record.id.zone.name, to: &bytes)
    if !record.id.zone.isOwn {
      append(#","owner":"#, &bytes)
      JSONText.append(record.id.zone.owner, to: &bytes)
    }
    append(#","name":"#, &bytes)
    JSONText.append(record.id.name, to: &bytes)
    append(#","type":"#, &bytes)
    JSONText.append(record.type, to: &bytes)
    if let parent = record.parent {
      append(#","parent":"#, &bytes)
      JSONText.append(parent.id.name, to: &bytes)
    }
    append(#","fields":{"#, &bytes)
    var isFirst = true
    for (key, value) in record.fieldValues() {
      guard let value else { throw unreadable(key) }
      appendField(key, isFirst: isFirst, to: &bytes)
      try append(value, to: &bytes)
      isFirst = false
    }
    append("}", &bytes)
    try appendEncrypted(record, to: &bytes)
    if withMetadata, let metadata = record.metadata { append(metadata, to: &bytes) }
    append("}", &bytes)
  }

  /// A value whose bytes are not of its kind: the record was read whole, so they were written so.
  private static func unreadable(_ key: String) -> DatabaseError {
    DatabaseError(.corrupted, "A stored value is damaged.", facts: .init(key: key))
  }

  private static func append(_ text: String, _ bytes: inout [UInt8]) { bytes.append(contentsOf: text.utf8) }

  private static func appendField(_ key: String, isFirst: Bool, to bytes: inout [UInt8]) {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    JSONText.append(key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }

  private static func appendEncrypted(_ record: Record, to bytes: inout [UInt8]) throws(DatabaseError) {
    let fields = record.fieldValues(isEncrypted: true)
    if fields.isEmpty { return }
    append(#","encrypted":{"#, &bytes)
    for (index, field) in fields.enumerated() {
      appendField(field.key, isFirst: index == 0, to: &bytes)
      if let value = field.value {
        try append(value, to: &bytes)
      } else {
        // Only an application with the cipher can open it.
        append(#"{"type":"sealed","value":null}"#, &bytes)
      }
    }
    append("}", &bytes)
  }

  private static func append(_ metadata: Record.Metadata, to bytes: inout [UInt8]) {
    append(#","tag":"#, &bytes)
    JSONText.append(metadata.changeTag, to: &bytes)
    append(#","created":{"#, &bytes)
    append(metadata.creationDate, metadata.creatorUserID, to: &bytes)
    append(#"},"modified":{"#, &bytes)
    append(metadata.modificationDate, metadata.lastModifiedUserID, to: &bytes)
    if let device = metadata.modifiedByDevice {
      append(#","device":"#, &bytes)
      JSONText.append(device, to: &bytes)
    }
    append("}", &bytes)
  }

  private static func append(_ date: Date, _ user: String?, to bytes: inout [UInt8]) {
    append(#""date":"#, &bytes)
    JSONText.append(date.timeIntervalSinceReferenceDate, to: &bytes)
    append(#","time":"#, &bytes)
    JSONText.append(CalendarDate.text(secondsSinceReference: date.timeIntervalSinceReferenceDate), to: &bytes)
    if let user {
      append(#","user":"#, &bytes)
      JSONText.append(user, to: &bytes)
    }
  }

  // MARK: values

  /// `{"type":…,"value":…}`
  static func append(_ value: Record.Value, to bytes: inout [UInt8]) throws(DatabaseError) {
    append(#"{"type":""#, &bytes)
    append(value.kind.name, &bytes)
    append(#"","value":"#, &bytes)
    try appendBare(value, to: &bytes)
    append("}", &bytes)
  }

  /// The value alone.
  static func appendBare(_ value: Record.Value, to bytes: inout [UInt8]) throws(DatabaseError) {
    switch value {
    case .string(let text): JSONText.append(text, to: &bytes)
    case .int(let number): JSONText.append(number, to: &bytes)
    case .double(let number): JSONText.append(number, to: &bytes)
    case .bytes(let content): append(content, to: &bytes)
    case .date(let date): JSONText.append(date.timeIntervalSinceReferenceDate, to: &bytes)
    case .location(let place): append(place, to: &bytes)
    case .asset(let asset): try append(asset, to: &bytes)
    case .reference(let reference): append(reference, to: &bytes)
    case .strings(let list): appendList(list, to: &bytes) { JSONText.append($0, to: &$1) }
    case .ints(let list): appendList(list, to: &bytes) { JSONText.append($0, to: &$1) }
    case .doubles(let list): appendList(list, to: &bytes) { JSONText.append($0, to: &$1) }
    case .bytesList(let list): appendList(list, to: &bytes) { append($0, to: &$1) }
    case .dates(let list):
      appendList(list, to: &bytes) { JSONText.append($0.timeIntervalSinceReferenceDate, to: &$1) }
    case .locations(let list): appendList(list, to: &bytes) { append($0, to: &$1) }
    case .references(let list): appendList(list, to: &bytes) { append($0, to: &$1) }
    case .assets(let list):
      try appendList(list, to: &bytes) { (asset, bytes) throws(DatabaseError) in try append(asset, to: &bytes) }
    }
  }

  private static func appendList<T, E: Error>(
    _ list: [T], to bytes: inout [UInt8], _ appendOne: (T, inout [UInt8]) throws(E) -> Void
  ) throws(E) {
    bytes.append(UInt8(ascii: "["))
    var isFirst = true
    for element in list {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      try appendOne(element, &bytes)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private static func append(_ content: Data, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: content.base64EncodedData())
    bytes.append(UInt8(ascii: "\""))
  }

  private static func append(_ place: Location, to bytes: inout [UInt8]) {
    func part(_ name: String, _ number: Double?) {
      guard let number else { return }
      append(name, &bytes)
      JSONText.append(number, to: &bytes)
    }
    part(#"{"latitude":"#, place.latitude)
    part(#","longitude":"#, place.longitude)
    part(#","altitude":"#, place.altitude)
    part(#","horizontalAccuracy":"#, place.horizontalAccuracy)
    part(#","verticalAccuracy":"#, place.verticalAccuracy)
    part(#","course":"#, place.course)
    part(#","speed":"#, place.speed)
    part(#","timestamp":"#, place.timestamp?.timeIntervalSinceReferenceDate)
    append("}", &bytes)
  }

  private static func append(_ reference: Record.Reference, to bytes: inout [UInt8]) {
    append(#"{"name":"#, &bytes)
    JSONText.append(reference.id.name, to: &bytes)
    append(#","action":""#, &bytes)
    append(reference.action.rawValue, &bytes)
    append(#""}"#, &bytes)
  }

  private static func append(_ asset: Asset, to bytes: inout [UInt8]) throws(DatabaseError) {
    append("{", &bytes)
    if let digest = asset.sha256 {
      append(#""sha256":""#, &bytes)
      append(digest, &bytes)
      append(#"","#, &bytes)
    }
    append(#""byteCount":"#, &bytes)
    JSONText.append(Int64(asset.byteCount), to: &bytes)
    // Others may have gigabytes; `export --assets` writes them out.
    if let content = asset.data {
      append(#","content":"#, &bytes)
      append(content, to: &bytes)
    }
    append("}", &bytes)
  }
}

extension Zone.ID {
  /// Whether the zone belongs to the user of the database.
  var isOwn: Bool { owner == Zone.ID.default.owner }
}
