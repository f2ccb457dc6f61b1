#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values as a person sees them in a line of a log or in a debugger: quoted, escaped, and cut where they are long.
///
/// Reads no more than it prints: a text of a gigabyte takes as long as its first words.
enum Glimpse {
  /// How many scalars of a text, bytes of data, elements of a list and keys of a record are shown.
  static let (scalarLimit, byteLimit, elementLimit, keyLimit) = (64, 16, 8, 24)

  /// A text in quotes.
  static func text(_ text: String) -> String {
    let start = text.unicodeScalars.prefix(scalarLimit)
    let quoted = ShownText.escaped(String(start).debugDescription)
    return start.endIndex == text.endIndex ? quoted : "\(quoted)… (\(text.utf8.count) bytes)"
  }

  static func bytes(_ data: Data) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let start = data.prefix(byteLimit).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return "<\(data.count) bytes: \(String(decoding: start, as: UTF8.self))\(data.count > byteLimit ? "…" : "")>"
  }

  /// ISO 8601 with milliseconds; seconds since 2001 for moments that no calendar reaches.
  static func date(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    // About the years −1000 to 5000. Calendars count in whole numbers, which trap beyond theirs.
    guard abs(seconds) < 95e9 else { return "\(seconds) s since 2001" }
    return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  static func list<Element>(_ list: [Element], _ text: (Element) -> String) -> String {
    let shown = list.prefix(elementLimit).map(text).joined(separator: ", ")
    return list.count > elementLimit ? "[\(shown), … (\(list.count) elements)]" : "[\(shown)]"
  }
}

extension Record.Value: CustomStringConvertible {
  /// The value in a line: text in quotes, moments in ISO 8601, a reference as `→ name`; what is long is cut.
  public var description: String {
    switch self {
    case .string(let text): Glimpse.text(text)
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .bytes(let data): Glimpse.bytes(data)
    case .date(let date): Glimpse.date(date)
    case .location(let place): place.description
    case .asset(let asset): asset.description
    case .reference(let reference): reference.description
    case .strings(let list): Glimpse.list(list, Glimpse.text)
    case .ints(let list): Glimpse.list(list) { "\($0)" }
    case .doubles(let list): Glimpse.list(list) { "\($0)" }
    case .bytesList(let list): Glimpse.list(list, Glimpse.bytes)
    case .dates(let list): Glimpse.list(list, Glimpse.date)
    case .locations(let list): Glimpse.list(list, \.description)
    case .assets(let list): Glimpse.list(list, \.description)
    case .references(let list): Glimpse.list(list, \.description)
    }
  }
}

extension Record.Reference: CustomStringConvertible {
  /// `→ zone/name`, and what deleting the other record does, if anything.
  public var description: String {
    "→ \(ShownText.escaped(id.description))\(action == .none ? "" : " (\(action.rawValue))")"
  }
}

extension Location: CustomStringConvertible {
  /// Latitude and longitude in degrees, and what else is known.
  public var description: String {
    var text = "(\(latitude), \(longitude)"
    func add(_ name: String, _ number: Double?) {
      if let number { text += ", \(name) \(number)" }
    }
    add("altitude", altitude)
    add("accuracy", horizontalAccuracy)
    add("vertical accuracy", verticalAccuracy)
    add("course", course)
    add("speed", speed)
    if let timestamp { text += ", at \(Glimpse.date(timestamp))" }
    return text + ")"
  }
}

extension Asset: CustomStringConvertible, CustomReflectable {
  /// Size and the first digits of the SHA-256. Never the content.
  public var description: String {
    "asset of \(byteCount) bytes, \(sha256.map { "sha256 \($0.prefix(12))…" } ?? "not stored yet")"
  }

  /// Size and SHA-256.
  public var customMirror: Mirror {
    Mirror(self, children: ["byteCount": byteCount, "sha256": sha256 as Any], displayStyle: .struct)
  }
}
