import Daybook
import Foundation

/// A record in the form in which CloudKit Web Services send it:
///
///     {"recordName":"dune","recordType":"Movie","recordChangeTag":"5","zoneID":{"zoneName":"Library",…},
///      "fields":{"title":{"value":"Dune","type":"STRING"}},"created":{"timestamp":…},"modified":{…}}
///
/// Times are whole milliseconds since 1970, as they are there; a finer date loses its rest, and an infinite number or
/// date, which JSON does not have, becomes null. Encrypted values are not sent in the clear there, so not here either.
enum CloudKitLine {
  static func append(_ record: Record, to bytes: inout [UInt8]) {
    var members: [JSONValue.Member] = [
      .init(key: "recordName", value: .string(record.id.name)),
      .init(key: "recordType", value: .string(record.type)),
    ]
    if let metadata = record.metadata {
      members.append(.init(key: "recordChangeTag", value: .string(metadata.changeTag)))
    }
    members.append(.init(key: "zoneID", value: zone(record.id.zone)))
    if let parent = record.parent {
      members.append(.init(key: "parent", value: ["recordName": .string(parent.id.name)]))
    }
    var fields: [JSONValue.Member] = []
    for case (let key, let value?) in record.fieldValues() {
      let (wire, type) = wire(value, record.id.zone)
      fields.append(.init(key: key, value: ["value": wire, "type": .string(type)]))
    }
    members.append(.init(key: "fields", value: .object(fields)))
    if let metadata = record.metadata {
      members.append(.init(key: "created", value: stamp(metadata.creationDate, metadata.creatorUserID, nil)))
      members.append(
        .init(
          key: "modified",
          value: stamp(metadata.modificationDate, metadata.lastModifiedUserID, metadata.modifiedByDevice)))
    }
    JSONValue.object(members).append(to: &bytes)
  }

  private static func zone(_ id: Zone.ID) -> JSONValue {
    ["zoneName": .string(id.name), "ownerRecordName": .string(id.owner)]
  }

  private static func stamp(_ date: Date, _ user: String?, _ device: String?) -> JSONValue {
    var members: [JSONValue.Member] = [.init(key: "timestamp", value: milliseconds(date))]
    if let user { members.append(.init(key: "userRecordName", value: .string(user))) }
    if let device { members.append(.init(key: "deviceID", value: .string(device))) }
    return .object(members)
  }

  private static func milliseconds(_ date: Date) -> JSONValue {
    Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()).map { .int($0) } ?? .null
  }

  private static func number(_ number: Double) -> JSONValue { number.isFinite ? .double(number) : .null }

  private static func wire(_ value: Record.Value, _ zone: Zone.ID) -> (JSONValue, type: String) {
    switch value {
    case .string(let text): (.string(text), "STRING")
    case .int(let whole): (.int(whole), "INT64")
    case .double(let double): (number(double), "DOUBLE")
    case .bytes(let content): (.string(content.base64EncodedString()), "BYTES")
    case .date(let date): (milliseconds(date), "TIMESTAMP")
    case .location(let place): (location(place), "LOCATION")
    case .asset(let asset): (self.asset(asset), "ASSETID")
    case .reference(let target): (reference(target, zone), "REFERENCE")
    case .strings(let list): (.array(list.map { .string($0) }), "STRING_LIST")
    case .ints(let list): (.array(list.map { .int($0) }), "INT64_LIST")
    case .doubles(let list): (.array(list.map(number)), "DOUBLE_LIST")
    case .bytesList(let list): (.array(list.map { .string($0.base64EncodedString()) }), "BYTES_LIST")
    case .dates(let list): (.array(list.map(milliseconds)), "TIMESTAMP_LIST")
    case .locations(let list): (.array(list.map(location)), "LOCATION_LIST")
    case .assets(let list): (.array(list.map { self.asset($0) }), "ASSETID_LIST")
    case .references(let list): (.array(list.map { reference($0, zone) }), "REFERENCE_LIST")
    }
  }

  private static func location(_ place: Location) -> JSONValue {
    var members: [JSONValue.Member] = []
    func part(_ key: String, _ value: Double?) {
      if let value { members.append(.init(key: key, value: number(value))) }
    }
    part("latitude", place.latitude)
    part("longitude", place.longitude)
    part("horizontalAccuracy", place.horizontalAccuracy)
    part("verticalAccuracy", place.verticalAccuracy)
    part("altitude", place.altitude)
    part("speed", place.speed)
    part("course", place.course)
    if let timestamp = place.timestamp { members.append(.init(key: "timestamp", value: milliseconds(timestamp))) }
    return .object(members)
  }

  private static func asset(_ asset: Asset) -> JSONValue {
    var members: [JSONValue.Member] = []
    if let digest = asset.sha256 { members.append(.init(key: "fileChecksum", value: .string(digest))) }
    members.append(.init(key: "size", value: .count(asset.byteCount)))
    return .object(members)
  }

  private static func reference(_ target: Record.Reference, _ zone: Zone.ID) -> JSONValue {
    let action =
      switch target.action {
      case .none: "NONE"
      case .deleteSelf: "DELETE_SELF"
      case .validate: "VALIDATE"
      }
    return ["recordName": .string(target.id.name), "zoneID": self.zone(target.id.zone), "action": .string(action)]
  }
}
