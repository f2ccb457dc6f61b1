import Daybook
import Foundation

/// A record as a person reads it: a line of who it is, then a line a field, then an empty one.
///
///     Library/dune  Movie
///       title  string  Dune
///       year   int     2021
enum RecordText {
  static func append(_ record: Record, withMetadata: Bool, to bytes: inout [UInt8]) {
    var rows: [(key: String, kind: String, value: String)] = []
    for case (let key, let value?) in record.fieldValues() { rows.append((key, value.kind.name, text(of: value))) }
    for (key, value) in record.fieldValues(isEncrypted: true) {
      rows.append((key, value.map { "\($0.kind.name), encrypted" } ?? "sealed", value.map { text(of: $0) } ?? ""))
    }
    var lines = ["\(record.id)  \(record.type)" + (record.parent.map { "  child of \($0.id.name)" } ?? "")]
    if withMetadata, let metadata = record.metadata {
      lines.append("  tag \(metadata.changeTag)")
      lines.append("  created \(moment(metadata.creationDate))\(by(metadata.creatorUserID, nil))")
      lines.append(
        "  modified \(moment(metadata.modificationDate))\(by(metadata.lastModifiedUserID, metadata.modifiedByDevice))")
    }
    let keyWidth = rows.map(\.key.count).max() ?? 0
    let kindWidth = rows.map(\.kind.count).max() ?? 0
    for row in rows {
      lines.append("  \(Help.padded(row.key, to: keyWidth))  \(Help.padded(row.kind, to: kindWidth))  \(row.value)")
    }
    for line in lines {
      bytes.append(contentsOf: ShownText.escaped(line).utf8)
      bytes.append(0x0A)
    }
  }

  private static func by(_ user: String?, _ device: String?) -> String {
    (user.map { " by \($0)" } ?? "") + (device.map { " on \($0)" } ?? "")
  }

  static func moment(_ date: Date) -> String {
    CalendarDate.text(secondsSinceReference: date.timeIntervalSinceReferenceDate)
  }

  /// A value on one line, once it is escaped as everything is that a person sees.
  static func text(of value: Record.Value) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): String(number)
    case .double(let number): "\(number)"
    case .bytes(let content): bytes(content)
    case .date(let date): moment(date)
    case .location(let place): location(place)
    case .asset(let asset): self.asset(asset)
    case .reference(let target): reference(target)
    case .strings(let list): joined(list)
    case .ints(let list): joined(list.map { String($0) })
    case .doubles(let list): joined(list.map { "\($0)" })
    case .bytesList(let list): joined(list.map(bytes))
    case .dates(let list): joined(list.map(moment))
    case .locations(let list): joined(list.map(location))
    case .assets(let list): joined(list.map { self.asset($0) })
    case .references(let list): joined(list.map(reference))
    }
  }

  private static func joined(_ texts: [String]) -> String { "[" + texts.joined(separator: ", ") + "]" }

  private static func size(_ byteCount: Int) -> String { byteCount == 1 ? "1 byte" : "\(byteCount) bytes" }

  /// The size, and the text where it is JSON: that is what nested values of Codable types are kept as.
  private static func bytes(_ content: Data) -> String {
    let size = size(content.count)
    guard content.first == UInt8(ascii: "{") || content.first == UInt8(ascii: "["),
      let text = String(validating: content, as: UTF8.self), (try? JSONParser.parse(text)) != nil
    else { return size }
    return "\(size), \(text.prefix(longestJSON))\(text.count > longestJSON ? "…" : "")"
  }

  /// Characters of a nested value that are shown; `--json` has all of its bytes.
  private static let longestJSON = 200

  private static func location(_ place: Location) -> String { "\(place.latitude)°, \(place.longitude)°" }

  private static func asset(_ asset: Asset) -> String {
    size(asset.byteCount) + (asset.sha256.map { ", sha256 \($0)" } ?? "")
  }

  private static func reference(_ target: Record.Reference) -> String {
    "→ \(target.id.name)" + (target.action == .none ? "" : " (\(target.action.rawValue))")
  }
}
