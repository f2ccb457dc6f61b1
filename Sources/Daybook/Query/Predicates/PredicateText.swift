#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A predicate as the text that `init(format:)` reads back to the same predicate.
///
/// Always true: what `Query.Predicate.fault` finds nothing wrong with is read back from its text, and is equal then.
struct PredicateText {
  private(set) var text = ""

  init(_ predicate: Query.Predicate) { append(predicate, isInner: false) }

  private mutating func append(_ predicate: Query.Predicate, isInner: Bool) {
    switch predicate.term {
    case .constant(let isTrue): text += isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .condition(let condition): append(condition)
    case .and(let parts): append(parts, " AND ", isInner)
    case .or(let parts): append(parts, " OR ", isInner)
    case .not(let part):
      text += "NOT ("
      append(part, isInner: false)
      text += ")"
    }
  }

  private mutating func append(_ parts: [Query.Predicate], _ word: String, _ isInner: Bool) {
    if isInner { text += "(" }
    for (index, part) in parts.enumerated() {
      if index > 0 { text += word }
      append(part, isInner: true)
    }
    if isInner { text += ")" }
  }

  private mutating func append(_ condition: Query.Condition) {
    let field = condition.field.description
    let options = condition.options.suffix
    switch condition.test {
    case .compare(let comparison, let operand):
      text += "\(field) \(comparison.rawValue)\(options) "
      append(operand)
    case .between(let lower, let upper):
      text += "\(field) BETWEEN {"
      append(lower)
      text += ", "
      append(upper)
      text += "}"
    case .isIn(let values):
      text += "\(field) IN\(options) "
      append(values)
    case .contains(let value):
      text += "\(field) CONTAINS\(options) "
      append(value)
    case .text(let match, let other):
      text += "\(field) \(match.rawValue)\(options) "
      append(quoted: other.text)
    case .words(let words):
      text += condition.field.system == .text ? "self CONTAINS " : "\(field) TOKENMATCHES[cdl] "
      append(quoted: words.text)
    case .distance(let comparison, let place, let kilometres):
      text += "distanceToLocation:fromLocation:(\(field), "
      append(.location(place))
      text += ") \(comparison.rawValue) "
      append(kilometres)
    case .isAbsent: text += "\(field) == nil"
    }
  }

  private mutating func append(_ operand: Query.Operand) {
    switch operand {
    case .now: text += "now()"
    case .value(let value): append(value)
    }
  }

  private mutating func append(_ value: Record.Value) {
    switch value {
    case .string(let string): append(quoted: string)
    case .int(let number): text += "\(number)"
    case .double(let number): append(number)
    case .bytes(let bytes): text += "CAST('\(bytes.base64EncodedString())', 'NSData')"
    case .date(let date):
      text += "CAST("
      append(date.timeIntervalSinceReferenceDate)
      text += ", 'NSDate')"
    case .location(let place): append(place)
    case .reference(let reference): append(reference.id)
    case .asset: text += "CAST('', 'asset')"
    case .strings(let list): append(list.map { .string($0) }, of: value.kind)
    case .ints(let list): append(list.map { .int($0) }, of: value.kind)
    case .doubles(let list): append(list.map { .double($0) }, of: value.kind)
    case .bytesList(let list): append(list.map { .bytes($0) }, of: value.kind)
    case .dates(let list): append(list.map { .date($0) }, of: value.kind)
    case .locations(let list): append(list.map { .location($0) }, of: value.kind)
    case .assets(let list): append(list.map { .asset($0) }, of: value.kind)
    case .references(let list): append(list.map { .reference($0) }, of: value.kind)
    }
  }

  /// A list that is a value: an empty one has to say its kind.
  private mutating func append(_ values: [Record.Value], of kind: FieldKind) {
    if values.isEmpty { text += "CAST({}, '\(kind.name)')" } else { append(values) }
  }

  private mutating func append(_ values: [Record.Value]) {
    text += "{"
    for (index, value) in values.enumerated() {
      if index > 0 { text += ", " }
      append(value)
    }
    text += "}"
  }

  /// The shortest digits that are exact; with a point or an exponent, so that it is no whole number.
  private mutating func append(_ number: Double) {
    text += number.isFinite ? "\(number)" : "CAST('\(number)', 'double')"
  }

  private mutating func append(_ place: Location) {
    var parts = [
      place.latitude, place.longitude, place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course,
      place.speed, place.timestamp?.timeIntervalSinceReferenceDate,
    ]
    while parts.count > 2, parts[parts.count - 1] == nil { parts.removeLast() }
    text += "location("
    for (index, part) in parts.enumerated() {
      if index > 0 { text += ", " }
      if let part { append(part) } else { text += "nil" }
    }
    text += ")"
  }

  private mutating func append(_ id: Record.ID) {
    text += "reference("
    append(quoted: id.name)
    if id.zone != .default {
      text += ", "
      append(quoted: id.zone.name)
      if !id.zone.hasDefaultOwner {
        text += ", "
        append(quoted: id.zone.owner)
      }
    }
    text += ")"
  }

  private mutating func append(quoted string: String) {
    text += "'"
    for scalar in string.unicodeScalars {
      switch scalar {
      case "'": text += "\\'"
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        // What a terminal would act on, or turn around, is written as a number.
        if scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || PredicateText.isDirection(scalar) {
          let digits = String(scalar.value, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
    }
    text += "'"
  }

  private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}

extension Query.Predicate: CustomStringConvertible {
  /// The text that ``init(format:_:)`` reads: `year > 2000 AND NOT (title BEGINSWITH 'The ')`.
  public var description: String { PredicateText(self).text }
}

extension Query.Predicate: Codable {
  /// Reads the text that ``encode(to:)`` writes; a refused one is a `DecodingError` with the `DatabaseError` underneath.
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    do throws(DatabaseError) { try self.init(format: text) } catch { throw DecodingError(error, decoder) }
  }

  /// Encodes the text.
  /// - Throws: `invalidArguments` for a predicate that no database would take: a key that is none, NaN, an asset.
  public func encode(to encoder: any Encoder) throws {
    if let fault { throw fault }
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
