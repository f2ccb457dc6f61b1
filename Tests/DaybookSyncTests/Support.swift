import Daybook
import DaybookSync
import DaybookTesting
import Foundation
import Testing

/// A device: a database, and an engine between it and a server that may fail.
final class Device: Sendable {
  let database: Database
  let network: FaultInjectingDatabase
  let engine: SyncEngine

  init(
    _ server: Database, _ configuration: SyncEngine.Configuration = .quick, database: Database? = nil
  ) async throws {
    self.database = try database ?? Database.inMemory()
    network = FaultInjectingDatabase(server)
    engine = try await SyncEngine(local: self.database, remote: network, configuration: configuration)
  }

  @discardableResult
  func sync() async throws -> SyncReport { try await engine.sync() }
}

extension SyncEngine.Configuration {
  /// One attempt, and nothing to wait for.
  static var quick: Self { .of(.greaterModifiedDateWins) }

  static func of(_ policy: SyncPolicy, _ change: (inout Self) -> Void = { _ in }) -> Self {
    var configuration = Self(policy: policy)
    configuration.attempts = 1
    configuration.retryDelays = .milliseconds(1)...(.milliseconds(5))
    change(&configuration)
    return configuration
  }
}

/// Zone, name and type of a record, and its fields in words: what two equal databases have in common.
func contents(_ database: Database) throws -> [String: [String: String]] {
  var all: [String: [String: String]] = [:]
  for zone in try database.zones() {
    // It has no feed there.
    if zone.id == .default, database.options.dialect == .cloudKit { continue }
    var token: ChangeToken?
    repeat {
      let page = try database.changes(in: zone.id, since: token)
      for record in page.saved {
        var fields: [String: String] = ["type": record.type]
        for key in record.keys { fields["." + key] = words(record[key]) }
        for key in record.encryptedValues.keys { fields["*" + key] = words(record.encryptedValues[key]) }
        if let parent = record.parent { fields["parent"] = parent.id.name }
        all["\(zone.id.name)/\(record.id.name)"] = fields
      }
      token = page.moreComing ? page.token : nil
    } while token != nil
    if zone.id != .default { all["\(zone.id.name)/"] = [:] }
  }
  return all
}

func words(_ value: Record.Value?) -> String {
  if case .asset(let asset)? = value { return "asset \(asset.sha256 ?? "?") \((try? asset.content().count) ?? -1)" }
  return value.map { "\($0)" } ?? "nil"
}

let library = try! Zone.ID("Library")

extension Record.ID {
  static func film(_ name: String) -> Record.ID { try! Record.ID(name, in: library) }
}

extension Database {
  /// Saves a film with these fields over what is there.
  func put(_ name: String, in zone: Zone.ID = library, _ fields: [String: Record.Value?]) throws {
    try write { transaction in
      if try !transaction.zones().contains(where: { $0.id == zone }) { try transaction.save(Zone(zone)) }
      let id = try Record.ID(name, in: zone)
      var record = try transaction.record(id) ?? Record(type: "Film", id: id)
      for (key, value) in fields { record[key] = value }
      try transaction.save(record)
    }
  }

  func film(_ name: String) throws -> Record? { try record(.film(name)) }
}

/// A clock that tests set.
final class TestClock: Sendable {
  private let seconds = Lock(0.0)

  func set(_ value: Double) { seconds.set(value) }
  func now() -> Date { Date(timeIntervalSinceReferenceDate: seconds.get()) }
}

final class Lock<T: Sendable>: @unchecked Sendable {
  private var value: T
  private let lock = NSLock()

  init(_ value: T) { self.value = value }

  func set(_ new: T) { lock.withLock { value = new } }
  func get() -> T { lock.withLock { value } }
  func change(_ body: (inout T) -> Void) { lock.withLock { body(&value) } }
}

/// Waits until something is so; a test that works waits a moment, however busy the machine is.
func until(_ condition: () async throws -> Bool) async throws {
  for _ in 0..<6000 {
    if try await condition() { return }
    try await Task.sleep(for: .milliseconds(20))
  }
  Issue.record("it did not come to that within two minutes")
}

/// A small generator, so that a failing seed repeats.
struct Choice {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  /// A number below `count`.
  mutating func callAsFunction(_ count: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(count))
  }
}
