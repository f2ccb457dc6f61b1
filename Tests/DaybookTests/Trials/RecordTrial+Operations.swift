import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// What a transaction does, on the database and on its twin.
extension RecordTrial {
  func operation(_ transaction: borrowing Transaction, _ next: inout ModelDatabase, depth: Int) throws {
    stepCount += 1
    switch number(0...99) {
    case 0..<48: try save(transaction, &next)
    case 48..<62: try delete(transaction, &next)
    case 62..<68: try saveZone(transaction, &next)
    case 68..<70: try deleteZone(transaction, &next)
    case 70..<76:
      let key = pick(["state", "état", "e\u{301}tat"])
      let value = chance(1, in: 3) ? nil : Data(repeating: 7, count: number(0...300))
      try transaction.setMetadata(value, forKey: key)
      next.setMetadata(value, key)
    case 76 where chance(1, in: 4):
      let wanted = UInt64(number(0...Int(next.sequence - 1)))
      try transaction.forgetDeletions(through: wanted)
      next.raiseHorizon(wanted)
    case 77..<87 where depth < 3:
      let before = next
      do {
        try savepoint(transaction, &next, depth: depth)
      } catch is Intended {
        next = before
      }
    case 87..<89: try declare(transaction, &next)
    case 89..<92: try index(transaction, &next)
    default: try look(transaction, next)
    }
  }

  func savepoint(_ transaction: borrowing Transaction, _ next: inout ModelDatabase, depth: Int) throws {
    try transaction.savepoint {
      for _ in 0..<number(1...4) { try operation(transaction, &next, depth: depth + 1) }
      if chance(1, in: 2) { throw Intended() }
    }
  }

  /// A record to point at: one that is there, most of the time.
  func target(in zone: Zone.ID, _ next: ModelDatabase) -> Record.ID {
    let live = (next.zones[zone]?.rows ?? [:]).filter { $0.value.live != nil }.keys.sorted()
    return Record.ID(unchecked: live.isEmpty || chance(1, in: 12) ? pick(names) : pick(live), in: zone)
  }

  func reference(in zone: Zone.ID, _ next: ModelDatabase) -> Record.Reference {
    Record.Reference(target(in: zone, next), action: pick([.none, .none, .deleteSelf, .deleteSelf, .validate]))
  }

  /// A value for a field of a record; now and then a reference to where none may lead.
  func value(for client: ModelClient, _ next: ModelDatabase) -> Record.Value {
    value(in: chance(1, in: 40) ? pick(zones) : client.record.id.zone, next)
  }

  func value(in zone: Zone.ID, _ next: ModelDatabase) -> Record.Value {
    switch number(0...9) {
    case 9: chance(1, in: 4) ? .assets((0..<number(0...2)).map { _ in pick(contents).asset }) : .asset(pick(contents).asset)
    case 7: .reference(reference(in: zone, next))
    case 8: .references((0..<number(0...3)).map { _ in reference(in: zone, next) })
    case 0 where chance(1, in: 2):
      .string((0..<number(0...4)).map { _ in pick(["Dune", "dunes", "of", "the", "sea", "É"]) }.joined(separator: " "))
    case 0: .string(String(repeating: pick(["a", "é", "👩‍👩‍👧", "سلام"]), count: number(0...40)))
    case 1: .int(Int64(number(-5...5)))
    case 2 where chance(1, in: 2):
      .location(Location(latitude: pick([-90, 0, 0.1, 60, 91]), longitude: pick([-180, -179.9, 0, 0.1, 180])))
    case 2: .double(Double(number(-5...5)) / 4)
    case 3: .bytes(Data(repeating: 3, count: chance(1, in: 6) ? number(0...3000) : number(0...20)))
    case 4: .strings([])
    case 5: .date(Date(timeIntervalSinceReferenceDate: Double(number(0...9))))
    default: .ints([1, Int64(number(0...9))])
    }
  }

  /// A client's record: new, as it is stored now, or from an earlier time; then changed.
  func client(_ transaction: borrowing Transaction, _ next: ModelDatabase) throws -> ModelClient {
    var client: ModelClient
    let id = try Record.ID(pick(names), in: pick(zones))
    let way = number(0...9)
    if way < 3, !clients.isEmpty {
      client = pick(clients)
    } else if way < 8, let known = try transaction.record(id) {
      client = ModelClient(known)
      if chance(1, in: 6), let some = try transaction.records([id], desiredKeys: [pick(keys)])[id] {
        client = ModelClient(some)
      }
    } else {
      client = ModelClient(try Record(type: pick(types), id: id))
    }
    for _ in 0..<number(0...4) {
      client.record[pick(keys)] = chance(1, in: 4) ? nil : value(for: client, next)
    }
    if chance(1, in: 8) {
      client.record.parent = chance(1, in: 3) ? nil : Record.Reference(target(in: client.record.id.zone, next))
    }
    return client
  }

  func save(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let client = try client(transaction, next)
    let policy = pick([SavePolicy.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys, .replace])
    let expected = next.outcome(of: client, policy)
    let id = client.record.id
    do {
      let saved = try transaction.save(client.record, policy: policy)
      guard case .success(var version) = expected else {
        throw Mismatch(description: "saving \(id) \(policy) should fail: \(expected)")
      }
      let tag = saved.metadata?.changeTag ?? ""
      try require(tags.insert(tag).inserted, "the tag \(tag) was given twice")
      version.tag = tag
      try take(assetsOf: saved, into: &version, &next)
      try compare(saved, version, "saved \(id) \(policy)")
      next.append(version, to: id)
      clients.append(ModelClient(saved))
    } catch let error as DatabaseError where error.code != .diskFull && error.code != .ioFailed {
      if mayMissContents(error, expected, next) { return }
      guard case .failure(let fault) = expected else {
        throw Mismatch(description: "saving \(id) \(policy): \(error)")
      }
      try require(error.code == fault.code, "saving \(id) \(policy): \(error), expected \(fault.code)")
      if fault.code == .serverRecordChanged {
        guard let conflict = error.conflict, let server = conflict.server else {
          throw Mismatch(description: "a conflict without its records")
        }
        try compare(server, fault.server, "server of \(id)")
        try compare(conflict.ancestor, fault.ancestor, "ancestor of \(id), client tag \(client.tag ?? "none")")
        try require(conflict.client == client.record, "client of \(id)")
        if chance(1, in: 2) { clients.append(ModelClient(server)) }
      }
    }
    clients.append(client)
    if clients.count > 40 { clients.remove(at: number(0...39)) }
  }

  func delete(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let id = try Record.ID(pick(names), in: pick(zones))
    let error = try codeOf { try transaction.delete(id) }
    try require(error == next.fault(of: id.zone), "deleting \(id): \(String(describing: error))")
    guard error == nil, next.live(id) != nil else { return }
    var gone = next.victims(of: id)
    try recordDeletion(of: id, transaction, &next)
    gone.remove(id.name)
    // What belongs to it goes in the order of names, what belongs to the last of them first.
    var owners = [id.name]
    while let owner = owners.last {
      let owned = next.sources(of: owner, in: id.zone) { $0.action == .deleteSelf }
      if owned.isEmpty { owners.removeLast() }
      for name in owned {
        try require(gone.remove(name) != nil, "\(name) does not go with \(id)")
        try recordDeletion(of: Record.ID(name, in: id.zone), transaction, &next)
        if !next.sources(of: name, in: id.zone, { $0.action == .deleteSelf }).isEmpty { owners.append(name) }
      }
    }
    try require(gone.isEmpty, "\(gone) should have gone with \(id)")
  }

  func recordDeletion(
    of id: Record.ID, _ transaction: borrowing Transaction, _ next: inout ModelDatabase
  ) throws {
    guard let known = next.live(id) else { throw Mismatch(description: "\(id) is gone already") }
    try require(try transaction.record(id) == nil, "\(id) is still there")
    let history = try transaction.history(of: id)
    guard let tag = history.first?.changeTag else { throw Mismatch(description: "a deletion without history") }
    try require(tags.insert(tag).inserted, "the tag \(tag) was given twice, to a deletion")
    next.append(ModelVersion(tag: tag, type: known.type, isDeleted: true, modificationDate: next.date), to: id)
  }

  func saveZone(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    var zone = Zone(pick(zones))
    if chance(1, in: 6) { zone.capabilities = [.fetchChanges] }
    try transaction.save(zone)
    next.save(zone)
  }

  func deleteZone(_ transaction: borrowing Transaction, _ next: inout ModelDatabase) throws {
    let zone = pick(zones)
    let reason = pick(DatabaseChanges.DeletedZone.Reason.allCases)
    let error = try codeOf { try transaction.deleteZone(zone, reason: reason) }
    let expected = next.deleteZone(zone, reason)
    try require(error == expected, "deleting zone \(zone): \(String(describing: error))")
  }

  /// The code that a call throws. Errors of the disk go on.
  func codeOf(_ body: () throws -> Void) throws -> DatabaseError.Code? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError where error.code != .diskFull && error.code != .ioFailed {
      return error.code
    }
  }
}
