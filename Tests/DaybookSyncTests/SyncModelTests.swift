import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// Random edits on several devices and the server, with networks that fail, engines that end in the middle, tokens that expire
/// and zones that come and go: in the end all are equal.
@Suite("many devices, many days")
struct SyncModelTests {
  /// How many runs of each kind, and the first; DAYBOOK_SYNCS makes them more.
  private static let count = ProcessInfo.processInfo.environment["DAYBOOK_SYNCS"].flatMap { Int($0) } ?? 24
  private static let first = ProcessInfo.processInfo.environment["DAYBOOK_SYNC_SEED"].flatMap { Int($0) } ?? 0

  private func device(_ server: Database, _ database: Database, _ policy: SyncPolicy, _ page: Int) async throws -> Device {
    try await Device(server, .of(policy) { $0.pageRecordCount = page }, database: database)
  }

  private func spoil(_ device: Device, _ choice: inout Choice) {
    switch choice(4) {
    case 0: device.network.fail(skipping: choice(12), count: 1 + choice(2), losing: choice(2) == 0 ? .answer : .request)
    case 1: device.network.fail(.modify, skipping: choice(3), losing: .answer)
    default: break
    }
  }

  private static let policies: [SyncPolicy] = [
    .greaterModifiedDateWins, .serverRecordWins, .clientRecordWins,
    .userTellsWhichWins { conflict in
      // Deterministic, and sometimes a deletion.
      guard var record = conflict.server, let client = conflict.client else { return conflict.client ?? nil }
      if let value = client["shared"] as Record.Value? { record["shared"] = value }
      return record
    },
  ]

  @Test("all are equal in the end, whatever happened", arguments: first..<first + count)
  func convergence(_ seed: Int) async throws {
    var choice = Choice(UInt64(seed) + 1)
    let server = try Database.inMemory()
    let policy = Self.policies[seed % Self.policies.count]
    var devices: [Device] = []
    for _ in 0..<3 { devices.append(try await device(server, try Database.inMemory(), policy, 1 + choice(9))) }
    let zones = [library, try Zone.ID("Second"), .default]
    for step in 0..<250 {
      let number = choice(4)
      let database = number < 3 ? devices[number].database : server
      let zone = zones[choice(8) == 0 ? 1 + choice(2) : 0]
      let name = "r\(choice(12))"
      switch choice(20) {
      case 0..<9:
        try database.put(
          name, in: zone, ["k\(choice(4))": .int(Int64(step)), "shared": choice(3) == 0 ? .int(Int64(step)) : nil])
      case 9..<12:
        if try await database.zones().contains(where: { $0.id == zone }) {
          try await database.delete(try Record.ID(name, in: zone))
        }
      case 12:
        if zone != .default, try await database.zones().contains(where: { $0.id == zone }), choice(3) == 0 {
          try await database.deleteZone(zone)
        }
      case 13:
        let last = try await database.statistics().lastSequence
        if last > 2 { try await database.write { try $0.forgetDeletions(through: last - 1) } }
      case 14:
        // The application ends and begins again.
        let index = choice(3)
        devices[index] = try await device(server, devices[index].database, policy, 1 + choice(9))
      case 15:
        let owner = try Record.ID("r\(choice(12))", in: zone)
        try await database.write { transaction in
          guard try transaction.zones().contains(where: { $0.id == zone }) else { return }
          guard try transaction.record(owner) != nil, try transaction.record(try Record.ID(name, in: zone)) == nil else {
            return
          }
          var record = try Record(type: "Film", id: try Record.ID(name, in: zone))
          record["owner"] = Record.Reference(owner, action: .deleteSelf)
          try transaction.save(record)
        }
      default:
        let device = devices[choice(3)]
        spoil(device, &choice)
        do { try await device.sync() } catch let error as DatabaseError {
          #expect(error.code == .networkFailure, "\(error)")
        }
        device.network.stopFailing()
      }
    }
    for _ in 0..<3 { for device in devices { try await device.sync() } }
    let expected = try contents(server)
    for device in devices {
      let found = try contents(device.database)
      let differing = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
      #expect(
        differing.isEmpty, "seed \(seed): \(differing.map { "\($0): \(found[$0] as Any) \(expected[$0] as Any)" })")
      #expect(try await device.engine.outbox().isEmpty)
      #expect(try await device.engine.quarantine().isEmpty)
      #expect(try await device.sync() == SyncReport())
    }
  }

  @Test("no device's last word on a field of its own is lost, under any policy", arguments: first..<first + count)
  func lastWords(_ seed: Int) async throws {
    var choice = Choice(UInt64(seed) + 1000)
    let server = try Database.inMemory()
    // The application's answer above drops fields on purpose.
    let policy = Self.policies[seed % 3]
    var devices: [Device] = []
    for _ in 0..<3 { devices.append(try await device(server, try Database.inMemory(), policy, 1 + choice(9))) }
    var words: [String: [String: Int64]] = [:]
    for step in 0..<300 {
      let number = choice(3)
      switch choice(10) {
      case 0..<6:
        let name = "r\(choice(10))"
        try devices[number].database.put(name, ["d\(number)": .int(Int64(step)), "shared": .int(Int64(choice(5)))])
        words[name, default: [:]]["d\(number)"] = Int64(step)
      case 6: devices[number] = try await device(server, devices[number].database, policy, 1 + choice(9))
      default:
        spoil(devices[number], &choice)
        do { try await devices[number].sync() } catch let error as DatabaseError {
          #expect(error.code == .networkFailure, "\(error)")
        }
        devices[number].network.stopFailing()
      }
    }
    for _ in 0..<3 { for device in devices { try await device.sync() } }
    for (name, fields) in words {
      let record = try #require(try server.film(name), "seed \(seed)")
      for (key, value) in fields { #expect(record[key] == value, "seed \(seed), \(name), \(key)") }
    }
    for device in devices { #expect(try contents(device.database) == contents(server), "seed \(seed)") }
  }
}
