import Foundation

@testable import Daybook

// The naive twin of a database: dictionaries of versions, copied as a whole when something may go back. It knows nothing
// of trees, journals or logs; what it says is what MODEL.md says.

/// One version of a record: what was saved, or that it was deleted.
struct ModelVersion {
  var tag: String
  var type: String
  var values: [String: Record.Value] = [:]
  var parent: String?
  var isDeleted = false
  var creationDate = Date.distantPast
  var modificationDate = Date.distantPast
}

/// One way in which a record points at another.
struct ModelPointer {
  var target: String
  /// Nil for a parent.
  var action: Record.Reference.Action?

  var needsTarget: Bool { action == nil || action == .validate }
}

extension ModelVersion {
  var pointers: [ModelPointer] {
    var found: [ModelPointer] = []
    if let parent { found.append(ModelPointer(target: parent)) }
    for value in values.values {
      switch value {
      case .reference(let one): found.append(ModelPointer(target: one.id.name, action: one.action))
      case .references(let list): found += list.map { ModelPointer(target: $0.id.name, action: $0.action) }
      default: break
      }
    }
    return found
  }
}

/// A name that the zone knows: all versions that are still linked, oldest first.
struct ModelRow {
  var versions: [ModelVersion]
  /// When the last version was made: the commit, and the number of all changes so far.
  var sequence: UInt64
  var order: Int

  var current: ModelVersion { versions[versions.count - 1] }
  var live: ModelVersion? { current.isDeleted ? nil : current }
}

struct ModelZone {
  /// Which life of the zone; no two are alike.
  var life: Int
  var rows: [String: ModelRow] = [:]
  var capabilities: Zone.Capabilities
  var lastSequence: UInt64 = 0
  var deletion: DatabaseChanges.DeletedZone.Reason?
}

/// A record as a client has it: what it was read with, and what was changed since.
struct ModelClient {
  var record: Record
  var base: [String: Record.Value] = [:]
  var baseParent: String?
  var tag: String?

  init(_ record: Record) {
    self.record = record
    base = record.values
    baseParent = record.parent?.id.name
    tag = record.metadata?.changeTag
  }

  var changedValues: [String: Record.Value] {
    var values: [String: Record.Value] = [:]
    for key in record.changedKeys { values[key] = record[key] as Record.Value? }
    return values
  }

  /// A reference that was set leads to another zone.
  var pointsElsewhere: Bool {
    record.changedKeys.contains { key in
      switch record[key] as Record.Value? {
      case .reference(let one): one.id.zone != record.id.zone
      case .references(let list): list.contains { $0.id.zone != record.id.zone }
      default: false
      }
    }
  }
}

struct ModelDatabase {
  var zones: [Zone.ID: ModelZone] = [.default: ModelZone(life: 0, capabilities: [])]
  /// By the bytes of the keys: `==` of strings takes composed and decomposed letters for the same.
  var metadata: [[UInt8]: Data] = [:]
  /// All that was ever saved: type, key, kinds.
  var schema: [String: [String: Set<String>]] = [:]
  /// Type, key and kind of each index.
  var indexes: Set<[String]> = []
  var sequence: UInt64 = 0
  /// Counts every change; a feed's order.
  var order = 0
  var horizon: UInt64 = 0
  /// Contents of assets, by their SHA-256, that a collection has found without a name since they were saved last.
  var collected: Set<String> = []
  var date = Date.distantPast

  /// What a client is told of a zone that is not there; nil when it is.
  func fault(of id: Zone.ID) -> DatabaseError.Code? {
    guard let zone = zones[id] else { return .zoneNotFound }
    guard let deletion = zone.deletion else { return nil }
    return deletion == .purged ? .userDeletedZone : .zoneNotFound
  }

  func live(_ id: Record.ID) -> ModelVersion? {
    guard let zone = zones[id.zone], zone.deletion == nil else { return nil }
    return zone.rows[id.name]?.live
  }

  // MARK: changing

  private mutating func touch(_ id: Zone.ID) {
    order += 1
    zones[id]?.lastSequence = sequence
  }

  mutating func save(_ zone: Zone) {
    if zone.id == .default { return }
    if let known = zones[zone.id], known.deletion == nil {
      if known.capabilities == zone.capabilities { return }
      zones[zone.id]?.capabilities = zone.capabilities
    } else {
      zones[zone.id] = ModelZone(life: order + 1, capabilities: zone.capabilities)
    }
    touch(zone.id)
  }

  mutating func deleteZone(_ id: Zone.ID, _ reason: DatabaseChanges.DeletedZone.Reason) -> DatabaseError.Code? {
    if id == .default { return .invalidArguments }
    if let fault = fault(of: id) { return fault }
    zones[id]?.deletion = reason
    zones[id]?.rows = [:]
    touch(id)
    return nil
  }

  /// The save matrix, and what no policy lets through. The tag of a new version is not known yet.
  func outcome(
    of client: ModelClient, _ policy: SavePolicy
  ) -> Result<ModelVersion, ModelFault> {
    let merged = merge(of: client, policy)
    guard case .success = merged, client.pointsElsewhere else { return merged }
    return .failure(ModelFault(code: .invalidArguments))
  }

  private func merge(of client: ModelClient, _ policy: SavePolicy) -> Result<ModelVersion, ModelFault> {
    let id = client.record.id
    if let fault = fault(of: id.zone) { return .failure(ModelFault(code: fault)) }
    let row = zones[id.zone]?.rows[id.name]
    guard let server = row?.live else {
      if client.tag != nil, policy == .ifServerRecordUnchanged { return .failure(ModelFault(code: .unknownItem)) }
      return .success(
        ModelVersion(
          tag: "", type: client.record.type, values: client.record.values, parent: client.record.parent?.id.name,
          creationDate: date, modificationDate: date))
    }
    if server.type != client.record.type { return .failure(ModelFault(code: .invalidArguments)) }
    if policy == .ifServerRecordUnchanged, client.tag != server.tag {
      let ancestor = row?.versions.dropLast().last { !$0.isDeleted && $0.tag == client.tag }
      return .failure(ModelFault(code: .serverRecordChanged, server: server, ancestor: ancestor))
    }
    var values = policy == .replace ? client.base : server.values
    if policy == .allKeys { values.merge(client.base) { $1 } }
    for key in client.record.removedKeys { values[key] = nil }
    values.merge(client.changedValues) { $1 }
    var parent = server.parent
    if policy == .allKeys { parent = client.baseParent ?? parent }
    if policy == .replace { parent = client.baseParent }
    if client.record.hasParentChange { parent = client.record.parent?.id.name }
    return .success(
      ModelVersion(
        tag: "", type: server.type, values: values, parent: parent, creationDate: server.creationDate, modificationDate: date))
  }

  mutating func append(_ version: ModelVersion, to id: Record.ID) {
    if !version.isDeleted {
      schema[version.type, default: [:]].merge(version.values.mapValues { [$0.kind.name] }) { $0.union($1) }
    }
    touch(id.zone)
    var row = zones[id.zone]?.rows[id.name] ?? ModelRow(versions: [], sequence: 0, order: 0)
    row.versions.append(version)
    row.sequence = sequence
    row.order = order
    zones[id.zone]?.rows[id.name] = row
  }

  mutating func setMetadata(_ value: Data?, _ key: String) {
    if value == nil, metadata[Array(key.utf8)] == nil { return }
    metadata[Array(key.utf8)] = value
    order += 1
  }

  mutating func raiseHorizon(_ wanted: UInt64) {
    if wanted <= horizon { return }
    horizon = wanted
    order += 1
    for (id, zone) in zones {
      if zone.deletion != nil {
        if zone.lastSequence <= wanted { zones[id] = nil }
        continue
      }
      for (name, row) in zone.rows where row.current.isDeleted && row.sequence <= wanted {
        zones[id]?.rows[name] = nil
      }
    }
  }

  // MARK: references

  /// The names of a zone's live records that point at one, and how.
  func sources(of target: String, in zone: Zone.ID, _ isWanted: (ModelPointer) -> Bool = { _ in true }) -> [String] {
    let rows = zones[zone]?.rows ?? [:]
    return rows.filter { row in
      row.value.live?.pointers.contains { $0.target == target && isWanted($0) } ?? false
    }.keys.sorted()
  }

  /// Everything that goes with a record: looked for again and again until nothing more is found.
  func victims(of id: Record.ID) -> Set<String> {
    var gone: Set<String> = [id.name]
    while true {
      let found = gone.reduce(into: Set<String>()) {
        $0.formUnion(sources(of: $1, in: id.zone) { $0.action == .deleteSelf })
      }
      if found.isSubset(of: gone) { return gone }
      gone.formUnion(found)
    }
  }

  /// Live records whose parent or validated target is not there.
  var dangling: [(source: Record.ID, target: Record.ID)] {
    var found: [(Record.ID, Record.ID)] = []
    for (id, zone) in zones where zone.deletion == nil {
      for (name, row) in zone.rows {
        for pointer in row.live?.pointers ?? [] where pointer.needsTarget && zone.rows[pointer.target]?.live == nil {
          found.append((Record.ID(unchecked: name, in: id), Record.ID(unchecked: pointer.target, in: id)))
        }
      }
    }
    return found
  }

  // MARK: feeds

  /// The rows of a zone that changed after a position, in order.
  func changes(in id: Zone.ID, after order: Int) -> [(name: String, row: ModelRow)] {
    (zones[id]?.rows ?? [:]).filter { $0.value.order > order }.map { (name: $0.key, row: $0.value) }
      .sorted { $0.row.order < $1.row.order }
  }

  /// The names of a type's live records in the order of their last saves.
  func names(ofType type: String, in id: Zone.ID) -> [String] {
    changes(in: id, after: 0).filter { $0.row.live?.type == type }.map(\.name)
  }

  func zoneChanges(after sequence: UInt64) -> [Zone.ID] {
    zones.filter { $0.key != .default && $0.value.lastSequence > sequence }
      .sorted { a, b in
        a.value.lastSequence != b.value.lastSequence ? a.value.lastSequence < b.value.lastSequence : a.key < b.key
      }
      .map(\.key)
  }
}

/// What a save should have been refused with.
struct ModelFault: Error {
  var code: DatabaseError.Code
  var server: ModelVersion?
  var ancestor: ModelVersion?
}
