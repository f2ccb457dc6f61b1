#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// One record while a value is made from it, and what all containers of that value need.
final class DecodingScope {
  let fields: FieldReader
  let options: RecordCodingOptions
  var userInfo: [CodingUserInfoKey: Any] { options.userInfo }
  private let rules: [String: FieldRule]
  private let recordNameKey: String
  /// Finds the records that this one refers to; nil when references are not followed.
  let graph: GraphDecoding?
  /// The path to this record within a graph.
  let base: [String]
  private let isPlain: Bool
  /// The type asked for them by their key.
  private(set) var hasGivenSystemFields = false
  private var depth = 0
  /// Where a type's own code threw, if nobody caught it since.
  private(set) var failurePath: [String]?

  init(
    _ record: Record, _ options: RecordCodingOptions, rules: [String: FieldRule], recordNameKey: String,
    graph: GraphDecoding?, base: [String]
  ) {
    fields = FieldReader(record)
    self.options = options
    self.rules = options.rules.isEmpty ? rules : rules.merging(options.rules) { _, own in own }
    self.recordNameKey = recordNameKey
    self.graph = graph
    self.base = base
    if case .asIs = options.keys { isPlain = self.rules.isEmpty } else { isPlain = false }
  }

  // MARK: places

  /// What a key stands for.
  enum Place {
    /// A field, or a flattened value.
    case field(FieldPlace)
    case systemFields
    case recordName
    /// A key that is ignored.
    case nothing
  }

  @inline(__always)
  func place(_ key: some CodingKey, _ above: PathStep?) -> Place {
    let name = key.stringValue
    if above == nil {
      if name == "systemFields" { return .systemFields }
      if name == recordNameKey { return .recordName }
      if isPlain { return .field(FieldPlace(field: name, key: key, above: nil, rule: nil)) }
    }
    return placeByRule(name, key, above)
  }

  private func placeByRule(_ name: String, _ key: any CodingKey, _ above: PathStep?) -> Place {
    var rule: FieldRule?
    if !rules.isEmpty {
      rule = rules[above == nil ? name : pathTexts(above, key).joined(separator: ".")]
      if case .ignored? = rule { return .nothing }
    }
    return .field(FieldPlace(field: (above?.prefix ?? "") + options.field(of: name), key: key, above: above, rule: rule))
  }

  /// The value of a key; nil when there is none. Of a flattened value there is none either.
  @inline(__always)
  func value(_ key: some CodingKey, _ above: PathStep?) throws -> Record.Value? {
    switch place(key, above) {
    case .field(let place): try value(place)
    case .systemFields: .bytes(systemFields())
    case .recordName: .string(fields.record.id.name)
    case .nothing: nil
    }
  }

  private func systemFields() -> Data {
    hasGivenSystemFields = true
    return fields.record.systemFields
  }

  @inline(__always)
  func value(_ place: FieldPlace) throws -> Record.Value? {
    let value = try stored(place)
    if value != nil { place.above?.markFields() }
    return value
  }

  @inline(__always)
  private func stored(_ place: FieldPlace) throws -> Record.Value? {
    do throws(DatabaseError) {
      switch place.rule {
      case nil: return try fields.value(place.field)
      case .parent?: return fields.record.parent.map { .reference($0) }
      case .locationText?:
        switch try fields.value(place.field) {
        case .location(let location)?: return .string(LocationText.shortText(of: location))
        case .locations(let list)?: return .strings(list.map { LocationText.shortText(of: $0) })
        case let value: return value
        }
      default: return try fields.value(place.field)
      }
    } catch {
      throw RecordCodingError(.database, "The field cannot be read.", path: base + place.path, facts: error.facts, cause: error)
    }
  }

  /// Whether a place is that of a flattened value.
  func isFlattened(_ place: FieldPlace) -> Bool {
    switch place.rule {
    case .flattened?: true
    case nil: if case .flattened = options.nested { true } else { false }
    default: false
    }
  }

  /// Whether there is a value for a key.
  func contains(_ key: some CodingKey, _ above: PathStep?) -> Bool {
    switch place(key, above) {
    case .field(let place):
      if case .parent? = place.rule { return fields.record.parent != nil }
      if isFlattened(place) { return fields.hasField(place.field, orBelow: place.field + "_") }
      return fields.record[place.field] as Record.Value? != nil
    case .systemFields, .recordName: return true
    case .nothing: return false
    }
  }

  /// The keys that there are fields for, of those that the key type has.
  func keys<Key: CodingKey>(_ above: PathStep?) -> [Key] {
    let prefix = above?.prefix ?? ""
    var known: Set<String> = []
    var keys: [Key] = []
    @discardableResult
    func add(_ key: Key?) -> Bool {
      guard let key, contains(key, above) else { return false }
      if known.insert(key.stringValue).inserted { keys.append(key) }
      return true
    }
    if let all = Key.self as? any CaseIterable.Type {
      for case let key as Key in cases(all) { add(key) }
    }
    // Which key has a field is known the other way round only: what could be it is tried.
    for field in fields.fields where field.utf8.starts(with: prefix.utf8) {
      let name = String(field.dropFirst(prefix.count))
      if case .asIs = options.keys {
        if add(Key(stringValue: name)) { continue }
      } else if add(Key(stringValue: RecordCodingOptions.camelCase(name))) || add(Key(stringValue: name)) {
        continue
      }
      // A field of a flattened value: its key is one of the beginnings.
      for (index, character) in zip(name.indices, name) where character == "_" {
        if let key = Key(stringValue: String(name[..<index])), case .field(let place) = place(key, above), isFlattened(place) {
          add(key)
        }
      }
    }
    return keys
  }

  private func cases<C: CaseIterable>(_ type: C.Type) -> [Any] { type.allCases.map { $0 } }

  // MARK: nesting

  func nesting<R>(_ step: PathStep?, _ body: () throws -> R) throws -> R {
    guard depth < 2 * PathStep.maximumDepth, (step?.depth ?? 0) <= PathStep.maximumDepth else {
      throw RecordCodingError(
        .tooDeep, "Values are nested too deeply, or contain themselves.", path: Array((base + pathTexts(step)).prefix(8)),
        facts: .init(limit: PathStep.maximumDepth))
    }
    depth += 1
    defer { depth -= 1 }
    do {
      let result = try body()
      failurePath = nil
      return result
    } catch {
      if failurePath == nil { failurePath = pathTexts(step) }
      throw error
    }
  }
}

/// Where the value of a decoder comes from.
enum DecodingSource {
  /// There is no field.
  case absent
  case value(Record.Value)
  case json(JSON)

  /// What it is, for errors.
  var name: String {
    switch self {
    case .absent: "nothing"
    case .value(let value): value.kind.name
    case .json(let json): json.name
    }
  }

  var isNil: Bool {
    switch self {
    case .absent, .json(.null): true
    default: false
    }
  }
}
