import Daybook

extension RecordEncoder {
  /// The records of a value and of all values below it that are ``RecordEncodable``: each once, those that others refer to before
  /// them, the value's own last.
  ///
  /// A property whose value is ``RecordEncodable`` becomes a reference, an array of them a list of references in its order; what
  /// they do is up to the type's ``RecordEncodable/fieldRules``, and `deleteSelf` where these say nothing. Two values of one zone
  /// and name are one record, also where objects refer to each other in a circle. However deep the values lie, no stack is used up.
  /// - Throws: `conflictingValues` when two values of one name would be different records.
  public func encodeGraph<T: RecordEncodable>(_ value: T) throws(RecordCodingError) -> [Record] {
    try SuperclassCheck.check(value, as: T.self, options)
    return try GraphEncoding(self).encode(value)
  }
}

/// The values of a graph while they are encoded. A reference to a value puts it on a list; nothing is encoded within anything else.
final class GraphEncoding {
  private struct Vertex {
    let id: Record.ID
    var record: Record?
    var targets: [Int] = []
  }

  private struct Waiting {
    let value: any RecordEncodable
    let vertex: Int
    /// A second value with the name of one that is known: it has to be the same record.
    let isRepeated: Bool
  }

  private let encoder: RecordEncoder
  private var vertices: [Vertex] = []
  private var numbers: [Record.ID: Int] = [:]
  /// Objects, which are kept alive by `objectValues`, so that no other gets the identity of one.
  private var objects: [ObjectIdentifier: Int] = [:]
  private var objectValues: [AnyObject] = []
  private var waiting: [Waiting] = []
  private var repeated: [Waiting] = []
  /// The vertex that is encoded now; nil while a repeated value is compared.
  private var current: Int?
  private var isComparing = false

  init(_ encoder: RecordEncoder) { self.encoder = encoder }

  func encode(_ root: any RecordEncodable) throws(RecordCodingError) -> [Record] {
    _ = try refer(to: root, in: encoder.zone)
    while let next = waiting.popLast() { try encode(next) }
    // Comparing finds no new ones.
    for next in repeated { try encode(next) }
    return order()
  }

  /// The identity of a value, which is encoded later if it is new.
  /// - Parameter zone: that of the record that refers to it; a value with system fields has its own.
  func refer(to value: any RecordEncodable, in zone: Zone.ID) throws(RecordCodingError) -> Record.ID {
    let object = type(of: value) is AnyObject.Type ? value as AnyObject : nil
    if let object, let known = objects[ObjectIdentifier(object)] {
      link(to: known)
      return vertices[known].id
    }
    // Once: a name may be another one each time it is asked for.
    let id = try RecordIdentity.id(of: value, in: zone)
    let known = numbers[id]
    let number = known ?? vertices.count
    if known == nil {
      if isComparing {
        // The value that it is compared with refers to no such record, so the two differ anyway.
        return id
      }
      vertices.append(Vertex(id: id))
      numbers[id] = number
    }
    if !isComparing {
      if let object {
        objects[ObjectIdentifier(object)] = number
        objectValues.append(object)
      }
      link(to: number)
      if known == nil {
        waiting.append(Waiting(value: value, vertex: number, isRepeated: false))
      } else {
        repeated.append(Waiting(value: value, vertex: number, isRepeated: true))
      }
    }
    return id
  }

  private func link(to number: Int) {
    if !isComparing, let current { vertices[current].targets.append(number) }
  }

  private func encode(_ next: Waiting) throws(RecordCodingError) {
    current = next.vertex
    isComparing = next.isRepeated
    defer {
      current = nil
      isComparing = false
    }
    let record = try record(of: next.value, id: vertices[next.vertex].id)
    guard let known = vertices[next.vertex].record else {
      vertices[next.vertex].record = record
      return
    }
    guard known == record else {
      throw RecordCodingError(
        .conflictingValues, "Two different values have the same record name.",
        facts: .init(zone: record.id.zone, name: record.id.name, recordType: record.type, found: known.type))
    }
  }

  private func record(of value: some RecordEncodable, id: Record.ID) throws(RecordCodingError) -> Record {
    // A name that is another one each time was asked for before.
    let empty: Record =
      if value.systemFields == nil {
        try RecordIdentity.record(of: type(of: value).recordType, id: id)
      } else {
        try encoder.emptyRecord(of: value, in: id.zone)
      }
    return try encoder.encode(value, FieldWriter(empty, keepsEqualValues: false), graph: self).record
  }

  /// Depth first from the root, each record after those that it refers to, as far as they do not refer back.
  private func order() -> [Record] {
    GraphOrder.depthFirst(vertices.map(\.targets)).compactMap { vertices[$0].record }
  }
}
