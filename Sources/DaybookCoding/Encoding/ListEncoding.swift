import Daybook

/// The elements of a list while a type encodes them.
///
/// What each of them would be in a list of the record is known at once, whether there can be such a list only at the end. Where it
/// cannot be, because of a nil or of several kinds, the elements are written once more as JSON has them: ``JSONSlotEncoder``.
final class ListEncoding {
  enum Element {
    case value(Record.Value, of: any Encodable)
    /// Becomes a record of its own only when the list is one of references.
    case referred(any RecordEncodable, FieldTarget, of: any Encodable)
    case unsigned(UInt64)
    case null
    case json(JSONSlot)

    /// The element within JSON or a property list.
    func slot(
      _ scope: EncodingScope, _ step: PathStep, form: RecordCodingOptions.AssetFormat
    ) throws -> JSONSlot {
      switch self {
      case .null: return JSONSlot(.null)
      case .unsigned(let number): return JSONSlot(.unsigned(number))
      case .json(let slot): return slot
      case .value(_, let value), .referred(_, _, let value):
        let slot = JSONSlot(form: form)
        try JSONSlotEncoder(slot: slot, scope: scope, step: step).encode(value)
        return slot
      }
    }
  }

  private(set) var elements: [Element] = []

  func append(_ element: Element) { elements.append(element) }

  /// Puts keys and their values, one after the other, into the order that the keys have as JSON.
  func sortPairs(in scope: EncodingScope, _ step: PathStep) {
    guard elements.count.isMultiple(of: 2) else { return }
    let pairs = stride(from: 0, to: elements.count, by: 2).map { place in
      // A key that JSON cannot hold, a file, stays as it is.
      (key: (try? elements[place].slot(scope, step, form: .json).text()) ?? [], place: place)
    }
    let sorted = pairs.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    elements = sorted.flatMap { elements[$0.place...($0.place + 1)] }
  }

  /// The elements, if all are values of records. Nothing is referred to before that is known.
  func values(in scope: EncodingScope) throws -> [Record.Value]? {
    var hasReferred = false
    var hasOthers = false
    for element in elements {
      switch element {
      case .referred: hasReferred = true
      case .value(.reference, _): break
      case .value: hasOthers = true
      default: return nil
      }
    }
    if hasReferred && hasOthers { return nil }
    return try elements.compactMap {
      switch $0 {
      case .value(let value, _): value
      case .referred(let value, let target, _): .reference(try scope.reference(of: value, target))
      default: nil
      }
    }
  }
}

/// The container of the elements.
struct ListEncodingContainer: UnkeyedEncodingContainer {
  let list: ListEncoding
  let encoder: FieldEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { list.elements.count }
  private var scope: EncodingScope { encoder.scope }

  /// The place of the next element: it has the rules of the list.
  private var target: FieldTarget {
    FieldTarget(
      field: encoder.target.field, key: PlainKey(intValue: count), above: encoder.step, rule: encoder.target.rule)
  }

  func encodeNil() throws { list.append(.null) }
  func encode(_ value: Bool) throws { list.append(.value(.int(value ? 1 : 0), of: value)) }
  func encode(_ value: String) throws { list.append(.value(.string(value), of: value)) }
  func encode(_ value: Double) throws { list.append(.value(try scope.number(value, target), of: value)) }
  func encode(_ value: Float) throws { list.append(.value(try scope.number(Double(value), target), of: value)) }
  private func encode(integer value: some FixedWidthInteger & Encodable) throws {
    if let large = UInt64(exactly: value), large > UInt64(Int64.max) {
      list.append(.unsigned(large))
    } else {
      list.append(.value(try scope.integer(value, target), of: value))
    }
  }
  func encode(_ value: Int) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: Int8) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: Int16) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: Int32) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: Int64) throws { list.append(.value(.int(value), of: value)) }
  func encode(_ value: Int128) throws { try encode(integer: value) }
  func encode(_ value: UInt) throws { try encode(integer: value) }
  func encode(_ value: UInt8) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: UInt16) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: UInt32) throws { list.append(.value(.int(Int64(value)), of: value)) }
  func encode(_ value: UInt64) throws { try encode(integer: value) }
  func encode(_ value: UInt128) throws { try encode(integer: value) }

  func encode<T: Encodable>(_ value: T) throws {
    if let number = largeNumber(value) { return list.append(.unsigned(number)) }
    let target = target
    // A list within the list is JSON, which has room for more than a list of the record.
    if !(T.self is any ListOfElements.Type), let leaf = try scope.leaf(value, target), leaf.elementCount == nil {
      return list.append(.value(leaf, of: value))
    }
    if let referred = try scope.referred(value, target) { return list.append(.referred(referred, target, of: value)) }
    let element = FieldEncoder(scope, target, isElement: true)
    element.form = encoder.form
    element.unorderedGroupCount = unorderedGroupCount(T.self)
    try scope.checkHidesNothing(value, element.step)
    try scope.nesting(element.step) { try value.encode(to: element) }
    list.append(try element.element(of: value))
  }

  /// An element that is encoded later than those after it.
  private func pendingElement() -> JSONSlotEncoder {
    let slot = JSONSlot(form: encoder.form)
    let step = scope.step(PlainKey(intValue: count), after: encoder.step)
    list.append(.json(slot))
    return JSONSlotEncoder(slot: slot, scope: scope, step: step)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
    pendingElement().container(keyedBy: keyType)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { pendingElement().unkeyedContainer() }
  func superEncoder() -> any Encoder {
    let encoder = pendingElement()
    scope.checkSuper(encoder.step)
    return encoder
  }
}
