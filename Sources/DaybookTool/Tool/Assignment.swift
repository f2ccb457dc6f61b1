import Daybook
import Foundation

/// `KEY=VALUE` or `KEY:KIND=VALUE`.
struct Assignment {
  let key: String
  private let kind: FieldKind?
  private let text: String

  init(_ word: String) throws(ToolError) {
    guard let (left, right) = word.splitAtEquals() else {
      throw .usage("\(word) is not KEY=VALUE.", advice: "For example title=Dune, or year:string=1984.")
    }
    if let (name, kindName) = left.split(at: UInt8(ascii: ":")) {
      guard let kind = FieldKind(name: kindName) else {
        let names = FieldKind.allCases.map(\.name)
        let nearest = Spelling.nearest(to: kindName, among: names)
        throw .usage(
          "There is no kind \(kindName)\(nearest.map { "; \($0) is one" } ?? "").",
          advice: "The kinds are \(names.joined(separator: ", ")).")
      }
      self.kind = kind
      key = name
    } else {
      kind = nil
      key = left
    }
    text = right
  }

  /// The value, in whose zone references point.
  func value(in zone: Zone.ID) throws -> Record.Value {
    guard let kind else { return Self.guessed(text) }
    if let value = try explicit(kind, zone) { return value }
    throw ToolError.usage(
      "The value of \(key) is not of the kind \(kind.name).",
      advice: "For example \(key):\(kind.name)=\(Self.example(of: kind))")
  }

  /// A value as a shell takes it.
  private static func example(of kind: FieldKind) -> String {
    switch kind {
    case .string: "Dune"
    case .int: "2021"
    case .double: "8.1"
    case .bytes: "SGVsbG8="
    case .date: "2024-05-01, or 2024-05-01T18:30:00Z"
    case .location: "48.86,2.35"
    case .asset: "poster.jpg"
    case .reference: "dune"
    case .strings: "'[\"drama\", \"sport\"]'"
    case .ints: "'[1, 2]'"
    case .doubles: "'[1.5, 2]'"
    case .bytesList: "'[\"SGVsbG8=\"]'"
    case .dates: "'[\"2024-05-01\"]'"
    case .locations: "'[{\"latitude\": 48.86, \"longitude\": 2.35}]'"
    case .references: "'[{\"name\": \"dune\"}]'"
    case .assets: "'[{\"byteCount\": 5, \"content\": \"SGVsbG8=\"}]'"
    }
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
      let parts = text.commaParts.map { Double($0) }
      guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
      return .location(Location(latitude: latitude, longitude: longitude))
    case .asset: return .asset(try Asset(fileURL: URL(fileURLWithPath: text)))
    case .reference:
      return .reference(Record.Reference(try Record.ID(text, in: zone)))
    case .double where text.isWord("inf", "-inf"):
      return try RecordLine.value(.string(text), kind, in: zone)
    default:
      guard let bare = try? JSONParser.parse(text) else { return nil }
      return try RecordLine.value(bare, kind, in: zone)
    }
  }
}
