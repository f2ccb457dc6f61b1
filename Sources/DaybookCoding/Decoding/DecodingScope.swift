#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// One record while a value is made from it: its fields.
final class DecodingScope: CodingScope {
  let fields: FieldReader
  /// Finds the records that this one refers to; nil when references are not followed.
  let graph: GraphDecoding?
  /// The type asked for them by their key.
  private(set) var hasGivenSystemFields = false
  /// The types of flattened values that are being made and have no field.
  var emptyTypes: Set<ObjectIdentifier> = []

  /// The stored fields, when keys are their names, no rule or option changes what is in them, and the record was not edited: then
  /// containers look here first for the usual kinds, and go the careful way for all else.
  let plain: RecordBody?

  init(
    _ record: Record, _ options: RecordCodingOptions, rules: [String: FieldRule], recordNameKey: String,
    graph: GraphDecoding?, base: [String]
  ) {
    fields = FieldReader(record)
    self.graph = graph
    let isPlain = rules.isEmpty && options.isPlain
    plain = isPlain ? record.uneditedBody : nil
    super.init(options, rules: rules, recordNameKey: recordNameKey, base: base)
  }

  /// The value of a key; nil when there is none. Of a flattened value there is none either.
  @inline(__always)
  func value(_ key: some CodingKey, _ above: PathStep?) throws -> Record.Value? {
    switch meaning(key, above) {
    case .field(let target): try value(target)
    case .systemFields: .bytes(systemFields())
    case .recordName: .string(fields.record.id.name)
    case .nothing: nil
    }
  }

  /// Whether the record has an encrypted value where the type looks for a plain one.
  func isEncrypted(_ key: some CodingKey, _ above: PathStep?) -> Bool {
    guard case .field(let target) = meaning(key, above), target.rule == nil else { return false }
    return fields.record.encryptedValues.keys.contains { $0.utf8.elementsEqual(target.field.utf8) }
  }

  private func systemFields() -> Data {
    hasGivenSystemFields = true
    return fields.record.systemFields
  }

  @inline(__always)
  func value(_ target: FieldTarget) throws -> Record.Value? {
    guard let value = try stored(target) else { return target.fallback }
    // A default says nothing about whether the value around it is there.
    target.above?.markFields()
    return value
  }

  @inline(__always)
  private func stored(_ target: FieldTarget) throws -> Record.Value? {
    do throws(DatabaseError) {
      switch target.rule {
      case nil: return try fields.value(target.field)
      case .encrypted?: return try fields.encryptedValue(target.field)
      case .parent?: return fields.record.parent.map { .reference($0) }
      case .locationText?:
        switch try fields.value(target.field) {
        case .location(let location)?: return .string(LocationText.shortText(of: location))
        case .locations(let list)?: return .strings(list.map { LocationText.shortText(of: $0) })
        case let value: return value
        }
      default: return try fields.value(target.field)
      }
    } catch {
      throw RecordCodingError(
        .database, "The field cannot be read.", path: base + target.path, facts: error.facts, cause: error)
    }
  }

  /// Whether a flattened value is there by fields of its own, so that the default of its key is not meant.
  func hasOnlyFieldsBelow(_ target: FieldTarget) -> Bool {
    guard target.fallback != nil, isFlattened(target), (fields.record[target.field] as Record.Value?) == nil else {
      return false
    }
    return hasFields(target)
  }

  /// Whether there is a value for a key.
  func contains(_ key: some CodingKey, _ above: PathStep?) -> Bool {
    switch meaning(key, above) {
    case .field(let target):
      if case .parent? = target.rule { return fields.record.parent != nil }
      if isFlattened(target) { return target.fallback != nil || hasFields(target) }
      if case .encrypted? = target.rule {
        // One that cannot be opened is there: asking for it says why.
        do { return try fields.encryptedValue(target.field) != nil } catch { return true }
      }
      return fields.record[target.field] as Record.Value? != nil || target.fallback != nil
    case .systemFields, .recordName: return true
    case .nothing: return false
    }
  }

  /// The names of all fields, in the order of their bytes: what begins alike is together.
  private lazy var names = fields.fields.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }

  /// The fields whose names begin with a text.
  private func names(beginningWith text: String) -> some Sequence<String> {
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle].utf8.lexicographicallyPrecedes(text.utf8) { low = middle + 1 } else { high = middle }
    }
    return names[low...].prefix { $0.utf8.starts(with: text.utf8) }
  }

  /// Whether there is a field of a flattened value, plain or encrypted, or its mark.
  func hasFields(_ target: FieldTarget) -> Bool {
    let prefix = target.above?.prefix ?? ""
    func isOwn(_ field: String) -> Bool {
      options.isField(field, of: target.key, after: prefix) && options.isField(field, below: target.above)
    }
    let mark = names(beginningWith: target.field).first { _ in true }
    if let mark, mark.equalsBytes(of: target.field), isOwn(mark) { return true }
    return names(beginningWith: target.field + "_").contains(where: isOwn)
  }

  /// The keys that there are fields for, of those that the key type has.
  func keys<Key: CodingKey>(_ above: PathStep?) -> [Key] {
    if !RecordCodingOptions.isOpen(Key.self), let all = Key.self as? any CaseIterable.Type {
      return RecordCodingOptions.cases(of: all).compactMap { $0 as? Key }.filter { contains($0, above) }
    }
    let prefix = above?.prefix ?? ""
    var known: Set<String> = []
    var keys: [Key] = []
    func isAdded(_ key: Key) -> Bool {
      if known.contains(key.stringValue) { return true }
      guard contains(key, above) else { return false }
      known.insert(key.stringValue)
      keys.append(key)
      return true
    }
    for field in names(beginningWith: prefix) where options.isField(field, below: above) {
      let name = field.dropFirst(prefix.count)
      // The longest key comes first: it is the one that the field belongs to.
      for beginning in RecordCodingOptions.beginnings(of: name).reversed() {
        guard let key = options.key(spelled: String(beginning), of: Key.self) else { continue }
        if beginning.endIndex < name.endIndex {
          // A field below a key is one of a flattened value.
          guard case .field(let target) = meaning(key, above), isFlattened(target) else { continue }
        }
        if isAdded(key) { break }
      }
    }
    return keys
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
