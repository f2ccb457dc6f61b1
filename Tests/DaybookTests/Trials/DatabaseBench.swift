import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What the tests of databases share: databases in memory, on a simulated disk and in a real file, all with a clock and
// random numbers that a seed decides; the error of a call; the checker.

/// A clock that moves one second at each look, from 1000 seconds after the reference date.
final class TestClock: Sendable {
  private let seconds: Locked<Double>

  init(_ start: Double = 1000) { seconds = Locked(start) }

  func next() -> Date {
    Date(
      timeIntervalSinceReferenceDate: seconds.withLock { seconds in
        seconds += 1
        return seconds
      })
  }

  /// The date that was given last.
  var date: Date { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }
}

extension Database.Options {
  /// Everything decided by a seed; no thread in the background; checkpoints every few kilobytes.
  static func simulated(seed: UInt64, clock: TestClock = TestClock()) -> Database.Options {
    let generator = Locked(SeededGenerator(seed: seed))
    var options = Database.Options()
    options.random = { generator.withLock { $0.next() } }
    options.now = { clock.next() }
    options.hasBackgroundThread = false
    // Without a background thread no notes are written, so a reader that opens beside a writer would wait in vain.
    options.proofTimeout = .zero
    options.checkpoint.minimumLogByteCount = 16 << 10
    options.checkpoint.maximumLogByteCount = 64 << 10
    options.closeCheckpointByteCount = 2 << 10
    options.reserveByteCount = 600
    return options
  }
}

extension Database {
  /// A database in memory with a clock of its own.
  static func scratch(
    seed: UInt64 = 1, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed)
    change(&options)
    return try .inMemory(options: options)
  }

  /// A database on a simulated disk.
  static func open(
    on disk: SimulatedDisk, seed: UInt64 = 1, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed)
    change(&options)
    return try .open(at: "test.daybook", options: options, disk: disk)
  }

  /// Walks the whole file.
  func expectClean(_ depth: CheckDepth = .deep, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try check(depth)
    #expect(report.isClean, "\(report.findings)", sourceLocation: sourceLocation)
  }

  /// Saves a record with one field, as a client that has never seen it would, over whatever is there.
  @discardableResult
  func put(_ name: String, in zone: Zone.ID = .default, type: String = "Note", _ values: [String: Record.Value] = [:])
    throws -> Record
  {
    try write { transaction in
      try transaction.save(.fresh(name, in: zone, type: type, values), policy: .changedKeys)
    }
  }

  /// Makes a zone.
  @discardableResult
  func zone(_ name: String) throws -> Zone.ID {
    let id = try Zone.ID(name)
    try write { try $0.save(Zone(id)) }
    return id
  }
}

extension Record {
  /// A record that no database has seen.
  static func fresh(
    _ name: String, in zone: Zone.ID = .default, type: String = "Note", _ values: [String: Record.Value] = [:]
  ) throws -> Record {
    var record = try Record(type: type, id: Record.ID(name, in: zone))
    for (key, value) in values { try record.set(value, forKey: key) }
    return record
  }

  /// All plain values.
  var values: [String: Record.Value] {
    var values: [String: Record.Value] = [:]
    for key in keys { values[key] = self[key] as Record.Value? }
    return values
  }
}

/// The error of a call; nil when it threw none. Another kind of error is a failure.
@discardableResult
func failure<R>(
  sourceLocation: SourceLocation = #_sourceLocation, of body: () throws -> R
) -> DatabaseError? {
  do {
    _ = try body()
    return nil
  } catch let error as DatabaseError {
    return error
  } catch {
    Issue.record("not a DatabaseError: \(error)", sourceLocation: sourceLocation)
    return nil
  }
}

/// A folder that goes away with the value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }
}

/// All notices of a stream that ends.
func collect(_ stream: AsyncStream<CommitNotice>) async -> [CommitNotice] {
  var notices: [CommitNotice] = []
  for await notice in stream { notices.append(notice) }
  return notices
}

/// The synchronous calls of an asynchronous test.
@discardableResult
func now<R>(_ body: () throws -> R) rethrows -> R { try body() }

/// A record that counts commits: what was acknowledged must be in it.
extension Database {
  private static let counter = try! Record.ID("counter")

  func increment() throws {
    try write { transaction in
      var record = try transaction.record(Self.counter) ?? Record(type: "Counter", id: Self.counter)
      record["n"] = (record["n"] ?? 0) + 1
      try transaction.save(record)
    }
  }

  func count() throws -> Int? { try record(Self.counter)?["n"] }
}

/// An error that a test throws on purpose.
struct Intended: Error {}

extension ZoneChanges {
  var savedNames: [String] { saved.map(\.id.name) }
  var deletedNames: [String] { deleted.map(\.id.name) }
}

/// Tests of the tokens of one zone and of the whole database beside it.
protocol TokenSuite {
  var zone: Zone.ID { get }
}

extension TokenSuite {
  /// The newest of both.
  func tokens(_ database: Database) throws -> [ChangeToken] {
    [try database.changes(in: zone, since: nil, limit: 1000).token, try database.databaseChanges(since: nil).token]
  }

  /// What a database says to each: nil where it answers.
  func codes(_ tokens: [ChangeToken], in database: Database) -> [DatabaseError.Code?] {
    let zoneError = failure { try database.changes(in: zone, since: tokens[0]) }
    let databaseError = failure { try database.databaseChanges(since: tokens[1]) }
    return [zoneError?.code, databaseError?.code]
  }
}
