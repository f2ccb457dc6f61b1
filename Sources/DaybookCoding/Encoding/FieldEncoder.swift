import Daybook

/// The encoder of one field, or of one element of a list: it waits for what kind of container a type asks, and the field becomes
/// a single value, a list, JSON or several fields accordingly.
final class FieldEncoder: Encoder {
  private enum State {
    case empty
    case removed
    case value(Record.Value)
    /// A number that only JSON has room for.
    case unsigned(UInt64)
    /// An element that is a record of its own, if the whole list is one of references.
    case referred(any RecordEncodable)
    case list(ListEncoding)
    case json(JSONSlot)
    case flattened
  }

  /// What became of the field.
  enum Result {
    case nothing
    case value(Record.Value)
    case json([UInt8])
    case flattened
  }

  let scope: EncodingScope
  let target: FieldTarget
  /// An element of a list is never several fields.
  private let isElement: Bool
  private var state = State.empty
  private var knownStep: PathStep?
  /// What a value with keys, or a list that is none of a record's, is written as in the end.
  var form = RecordCodingOptions.AssetFormat.json
  /// So many elements together come in no order; 0 where they have one.
  var unorderedGroupCount = 0
  /// What an empty list is a list of, when the type tells.
  var emptyList: Record.Value?

  init(_ scope: EncodingScope, _ target: FieldTarget, isElement: Bool = false) {
    self.scope = scope
    self.target = target
    self.isElement = isElement
  }

  /// The path of what is within the field; made when it is asked for.
  var step: PathStep {
    if let knownStep { return knownStep }
    let step = scope.step(target.key, after: target.above, prefix: target.field + "_")
    knownStep = step
    return step
  }

  var codingPath: [any CodingKey] { DaybookCoding.codingPath(target.above, target.key) }
  var userInfo: [CodingUserInfoKey: Any] { scope.userInfo }

  var isEmptyList: Bool {
    if case .list(let list) = state { list.elements.isEmpty } else { false }
  }

  // MARK: containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .reference? = target.rule { scope.fail(notARecord) }
    if case .parent? = target.rule { scope.fail(notARecord) }
    if isFlattened {
      switch state {
      case .empty, .flattened:
        state = .flattened
        scope.ruleCheck?.seeKeys(type, of: step)
        scope.markFlattened(type, below: step)
        return KeyedEncodingContainer(FieldsEncodingContainer<Key>(scope: scope, above: step))
      default: break
      }
    }
    return slotEncoder().container(keyedBy: type)
  }

  private var isFlattened: Bool { !isElement && scope.isFlattened(target) }

  private func slotEncoder() -> JSONSlotEncoder {
    switch state {
    case .json(let slot): return JSONSlotEncoder(slot: slot, scope: scope, step: step)
    case .empty: break
    default: scope.fail(isFilled)
    }
    let slot = JSONSlot(form: form)
    slot.unorderedGroupCount = unorderedGroupCount
    if case .empty = state { state = .json(slot) }
    return JSONSlotEncoder(slot: slot, scope: scope, step: step)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    // A list within a list has no other place.
    if isElement || isJSONAlone { return slotEncoder().unkeyedContainer() }
    switch state {
    case .list(let list): return ListEncodingContainer(list: list, encoder: self)
    case .empty: break
    default: scope.fail(isFilled)
    }
    let list = ListEncoding()
    if case .empty = state { state = .list(list) }
    return ListEncodingContainer(list: list, encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { FieldSingleValueContainer(encoder: self) }

  fileprivate var isFilled: RecordCodingError {
    target.error(.unsupportedValue, "The type encoded two values in the place of one.")
  }

  private var notARecord: RecordCodingError {
    target.error(.unsupportedValue, "Only a value that is RecordEncodable can become a reference.")
  }

  // MARK: single values

  /// - Parameter type: of the value that is in the place of the type's own.
  fileprivate func set(_ value: Record.Value?, of type: Any.Type = Any.self) throws {
    guard case .empty = state else { throw isFilled }
    // The rule of a list is for the list.
    if let value, target.rule != nil, !isElement {
      // A type that is JSON may be a single value at times; of an asset a size is promised.
      if case .json? = target.rule {} else { try target.checkEffect(on: value, of: type) }
    }
    state = value.map { .value($0) } ?? .removed
  }

  private func set(_ referred: any RecordEncodable) throws {
    guard isElement else { return try set(.reference(try scope.reference(of: referred, target))) }
    guard case .empty = state else { throw isFilled }
    state = .referred(referred)
  }

  fileprivate func set(integer number: some FixedWidthInteger) throws {
    if isElement, let large = UInt64(exactly: number), large > UInt64(Int64.max) {
      guard case .empty = state else { throw isFilled }
      state = .unsigned(large)
    } else {
      try set(try scope.integer(number, target))
    }
  }

  fileprivate func encode<T: Encodable>(_ value: T) throws {
    if let number = largeNumber(value) { return try set(integer: number) }
    if !scope.isJSONList(T.self, target), let leaf = try scope.leaf(value, target) { return try set(leaf, of: T.self) }
    if let referred = try scope.referred(value, target) { return try set(referred) }
    let groupCount = DaybookCoding.unorderedGroupCount(T.self)
    if groupCount > 0 { unorderedGroupCount = groupCount }
    // In the place of a wrapper, or of an optional.
    if isFlattened, TypeMemory.isOfEnum(value) { step.isOfEnum = true }
    try scope.checkHidesNothing(value, step)
    try scope.nesting(step) { try value.encode(to: self) }
    if isEmptyList, emptyList == nil { emptyList = try scope.emptyList(T.self, target) }
  }

  // MARK: results

  /// What the type put into the field.
  func result() throws -> Result {
    switch state {
    case .empty: throw target.error(.unsupportedValue, "The type did not encode a value.")
    case .removed: return .nothing
    case .value(let value): return .value(value)
    case .unsigned(let number): return .value(try scope.integer(number, target))
    case .flattened: return .flattened
    case .json(let slot): return .json(slot.text())
    case .referred(let value): return .value(.reference(try scope.reference(of: value, target)))
    case .list(let list): return try result(of: list)
    }
  }

  private func result(of list: ListEncoding) throws -> Result {
    if list.elements.isEmpty {
      if let emptyList { return .value(emptyList) }
      return isOfReferences ? .value(.references([])) : .json(Array("[]".utf8))
    }
    if unorderedGroupCount == 2 { list.sortPairs(in: scope, step) }
    if let values = try list.values(in: scope), let whole = ListValue.list(of: values) {
      return .value(unorderedGroupCount == 1 ? whole.sortedList : whole)
    }
    if isOfReferences {
      throw target.error(.unsupportedValue, "A list of references has no room for nil, other values or lists.")
    }
    let slot = JSONSlot(.array, form: form)
    slot.unorderedGroupCount = unorderedGroupCount
    for (index, element) in list.elements.enumerated() {
      slot.append(try element.slot(scope, PathStep(PlainKey(intValue: index), after: step), form: form))
    }
    return .json(slot.text())
  }

  /// Whether the rule says that even a list of plain values is JSON.
  private var isJSONAlone: Bool {
    switch target.rule {
    case .json?, .asset?: true
    default: false
    }
  }

  private var isOfReferences: Bool { if case .reference? = target.rule { true } else { false } }

  /// What a value that was encoded here is as an element of a list.
  func element(of value: any Encodable) throws -> ListEncoding.Element {
    switch state {
    case .empty: throw target.error(.unsupportedValue, "The type did not encode a value.")
    case .removed: return .null
    case .value(let made): return .value(made, of: value)
    case .unsigned(let number): return .unsigned(number)
    case .referred(let record): return .referred(record, target, of: value)
    case .json(let slot): return .json(slot)
    // Elements are never flattened, and their lists are JSON.
    case .list, .flattened: return .null
    }
  }
}

/// A number that JSON has room for and a record has not; nil for any other value. Generic code encodes numbers as any type.
func largeNumber<T>(_ value: T) -> UInt64? {
  let number: UInt64
  if T.self == UInt64.self {
    number = value as! UInt64
  } else if T.self == UInt.self {
    number = UInt64(value as! UInt)
  } else {
    return nil
  }
  return number > UInt64(Int64.max) ? number : nil
}

/// The container of a field that is one value.
private struct FieldSingleValueContainer: SingleValueEncodingContainer {
  let encoder: FieldEncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() throws { try encoder.set(nil) }
  func encode(_ value: Bool) throws { try encoder.set(.int(value ? 1 : 0)) }
  func encode(_ value: String) throws { try encoder.encode(value) }
  func encode(_ value: Double) throws { try encoder.encode(value) }
  func encode(_ value: Float) throws { try encoder.encode(value) }
  func encode(_ value: Int) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: Int8) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: Int16) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: Int32) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: Int64) throws { try encoder.set(.int(value)) }
  func encode(_ value: Int128) throws { try encoder.set(integer: value) }
  func encode(_ value: UInt) throws { try encoder.set(integer: value) }
  func encode(_ value: UInt8) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: UInt16) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: UInt32) throws { try encoder.set(.int(Int64(value))) }
  func encode(_ value: UInt64) throws { try encoder.set(integer: value) }
  func encode(_ value: UInt128) throws { try encoder.set(integer: value) }
  func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }
}
