#if !canImport(CloudKit)
  import Daybook
  import DaybookCoding
  import Foundation

  /// Makes records of a value and of all values below it, those that others refer to before them, its own last.
  ///
  /// A property whose value is a ``CKCodable`` becomes a reference, an array of them a list of references in its order. A text like
  /// `48.2;16.37` becomes a location, an array of such texts a list; bytes and files become assets.
  public class CKRecordEncoder {
    /// The zone of the records.
    public var zoneID: CKRecordZone.ID?

    // Where a library has classes of these names itself, a call means its: code that imports it compiles.
    /// An encoder.
    @_disfavoredOverload
    public init(zoneID: CKRecordZone.ID? = nil) { self.zoneID = zoneID }

    /// The records of a value: each once, its own last.
    /// - Throws: ``CKCodableError``.
    public func encode(_ value: any CKEncodable) throws -> [CKRecord] {
      do throws(RecordCodingError) { return try ObjectGraph(zoneID ?? .default).encode(value) } catch {
        throw CKCodableError(error)
      }
    }
  }

  /// The values of a graph while they are encoded: a reference to a value puts it on a list, and nothing is encoded within anything
  /// else, so no chain of values uses up the stack.
  private final class ObjectGraph: @unchecked Sendable {
    private struct Vertex {
      let id: CKRecord.ID
      let value: any CKEncodable
      var fields: Record?
      var record: CKRecord?
      var targets: [Int] = []
    }

    private let zoneID: CKRecordZone.ID
    private var vertices: [Vertex] = []
    private var numbers: [CKRecord.ID: Int] = [:]
    private var waiting: [Int] = []
    /// Second values of a name that is known: they have to be the same record.
    private var repeated: [(value: any CKEncodable, vertex: Int)] = []
    private var current = 0
    private var isComparing = false

    init(_ zoneID: CKRecordZone.ID) { self.zoneID = zoneID }

    func encode(_ root: any CKEncodable) throws(RecordCodingError) -> [CKRecord] {
      _ = refer(to: root)
      while let next = waiting.popLast() {
        current = next
        let layer = layer()
        let (value, id) = (vertices[next].value, vertices[next].id)
        let fields = try fields(of: value, layer)
        let record = CKRecord(recordType: value.cloudKitRecordType, recordID: id)
        if case .failure(let error) = record.content.base {
          throw RecordCodingError(
            .invalidIdentity, "Type or identifier of a record are not valid.", facts: error.facts, cause: error)
        }
        CodingFields.put(fields, into: record, layer)
        vertices[next].fields = fields
        vertices[next].record = record
      }
      isComparing = true
      for (value, vertex) in repeated { try compare(value, with: vertices[vertex]) }
      return order()
    }

    private func compare(_ value: any CKEncodable, with vertex: Vertex) throws(RecordCodingError) {
      if Swift.type(of: value) is AnyObject.Type, value as AnyObject === vertex.value as AnyObject { return }
      let fields = try fields(of: value, layer())
      guard let known = vertex.fields, value.cloudKitRecordType == vertex.value.cloudKitRecordType, known.isSame(as: fields)
      else {
        throw RecordCodingError(
          .conflictingValues, "Two different values have the same identifier.", facts: .init(name: vertex.id.recordName))
      }
    }

    private func layer() -> FieldLayer { FieldLayer { [self] value, field in try reference(value, field) } }

    private func fields(of value: any CKEncodable, _ layer: FieldLayer) throws(RecordCodingError) -> Record {
      var options = RecordCodingOptions()
      options.layer = layer
      options.data = .asset
      for property in value.ignoredProperties() { options.rules[property] = .ignored }
      actions = value.cloudKitReferenceActions()
      let zone = (try? zoneID.daybookID) ?? .default
      return LocationTexts.asLocations(try CodingFields.record(of: value, zone: zone, options: options))
    }

    // MARK: references

    private var actions: [String: CKRecord.Reference.Action] = [:]

    private func reference(_ value: Any, _ field: String) throws -> Record.Value? {
      let action = actions[field] ?? .deleteSelf
      func reference(_ target: any CKEncodable) throws -> Record.Reference {
        try CKRecord.Reference(recordID: refer(to: target), action: action).daybookReference
      }
      if let target = value as? any CKEncodable { return .reference(try reference(target)) }
      guard let list = value as? [any CKEncodable] else { return nil }
      // An empty array can be cast to any.
      if list.isEmpty, !isOfRecords(Swift.type(of: value)) { return nil }
      return .references(try list.map { try reference($0) })
    }

    private func isOfRecords(_ type: Any.Type) -> Bool {
      (type as? any TypedList.Type).map { $0.elementType is any CKEncodable.Type } ?? false
    }

    /// The identity of a value, which is encoded later if it is new.
    private func refer(to value: any CKEncodable) -> CKRecord.ID {
      let id = CKRecord.ID(recordName: value.cloudKitIdentifier, zoneID: zoneID)
      if let known = numbers[id] {
        if !isComparing {
          vertices[current].targets.append(known)
          repeated.append((value, known))
        }
        return id
      }
      // Compared with its equal, a value refers to nothing new; if it does, the two differ anyway.
      if isComparing { return id }
      let number = vertices.count
      if number > 0 { vertices[current].targets.append(number) }
      vertices.append(Vertex(id: id, value: value))
      numbers[id] = number
      waiting.append(number)
      return id
    }

    /// Depth first from the root, each record after those that it refers to, as far as they do not refer back.
    private func order() -> [CKRecord] {
      GraphOrder.depthFirst(vertices.map(\.targets)).compactMap { vertices[$0].record }
    }
  }

  extension Record {
    /// Whether the fields are the same, and the bytes of assets.
    fileprivate func isSame(as other: Record) -> Bool {
      keys == other.keys
        && keys.allSatisfy { key in
          guard let own = self[key] as Value?, let value = other[key] as Value? else { return false }
          return own.isSame(as: value)
        }
    }
  }

  /// Places that a model has as texts like `48.2;16.37`.
  enum LocationTexts {
    /// The record with locations for its texts.
    static func asLocations(_ record: Record) -> Record {
      var record = record
      for key in record.keys {
        switch record[key] as Record.Value? {
        case .string(let text)?:
          if let place = location(text) { record[key] = .location(place) }
        case .strings(let list)?:
          let places = list.compactMap { location($0) }
          if !places.isEmpty, places.count == list.count { record[key] = .locations(places) }
        default: continue
        }
      }
      return record
    }

    static func text(_ place: Location) -> String { "\(place.latitude);\(place.longitude)" }

    /// Nil for a text that is not a latitude and a longitude, and for one that would come back as another: "48;16" is rather a class of
    /// a school.
    private static func location(_ text: String) -> Location? {
      let parts = text.split(separator: ";", omittingEmptySubsequences: false)
      guard parts.count == 2, let latitude = Double(parts[0]), let longitude = Double(parts[1]), abs(latitude) <= 90,
        abs(longitude) <= 180
      else { return nil }
      let place = Location(latitude: latitude, longitude: longitude)
      return self.text(place) == text ? place : nil
    }
  }
#endif
