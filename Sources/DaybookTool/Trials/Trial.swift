import Daybook
import DaybookEngine
import Foundation

/// A program that writes until it is killed, in steps that their number alone decides: so whoever finds the file knows what
/// must be in it from the number of the last step, without having seen the process that wrote.
///
/// One step is one commit. It also saves its number, in a zone of its own.
struct Trial {
  /// What the steps are like.
  enum Kind: String, CaseIterable {
    /// One record a commit.
    case single
    /// A hundred records a commit.
    case batches
    /// Twenty records come, fifteen of them go.
    case deletes
    /// Zones are made, filled, changed, deleted, and made again.
    case zones
    /// Large transactions in many parts, with a savepoint that goes back in the middle.
    case parts
    /// Commits that wait for no sync.
    case relaxed
    /// Checkpoints all the time.
    case checkpoints
    /// Closing and opening after each commit.
    case reopening
    /// Records that grow and shrink.
    case updates
    /// A compaction every few commits.
    case compactions
  }

  enum Edit {
    case save(String, in: String, Int, byteCount: Int)
    case delete(String, in: String)
    case saveZone(String)
    case deleteZone(String)
    /// A savepoint that goes back.
    case tried([Edit])
  }

  let kind: Kind

  /// What step `number` does, counted from 1.
  func edits(_ number: Int) -> [Edit] {
    func row(_ name: Int, _ byteCount: Int = 60) -> Edit {
      .save("row\(name)", in: "Rows", number, byteCount: byteCount)
    }
    let start: [Edit] = number == 1 ? [.saveZone("Steps"), .saveZone("Rows")] : []
    let step: Edit = .save("step", in: "Steps", number, byteCount: 0)
    switch kind {
    case .single, .relaxed, .reopening: return start + [row(number % 500), step]
    case .batches: return start + (0..<100).map { row((number * 100 + $0) % 5000) } + [step]
    case .checkpoints, .compactions: return start + (0..<10).map { row((number * 37 + $0 * 101) % 3000, 120) } + [step]
    case .updates: return start + (0..<5).map { row((number * 5 + $0) % 50, (number * 7919 + $0 * 104_729) % 5000) } + [step]
    case .deletes:
      // An odd step deletes of what the even one before it saved.
      if number % 2 == 0 { return start + (0..<20).map { row((number * 10 + $0) % 400) } + [step] }
      return start + (number == 1 ? [] : (0..<15).map { .delete("row\(((number - 1) * 10 + $0) % 400)", in: "Rows") }) + [step]
    case .zones:
      let zone = "Zone\(number / 3 % 5)"
      switch number % 3 {
      case 0:
        return [.saveZone(zone)] + (0..<40).map { .save("row\($0)", in: zone, number, byteCount: 50) } + [step]
      case 1 where number > 3:
        return (0..<10).map { .save("row\($0)", in: zone, number, byteCount: 80) }
          + (20..<25).map { .delete("row\($0)", in: zone) } + [step]
      case 2 where number > 9: return [.deleteZone("Zone\((number / 3 - 2) % 5)"), step]
      default: return start + [step]
      }
    case .parts:
      let rows = (0..<150).map { row((number * 50 + $0) % 600, 700) }
      let never = (0..<60).map { Edit.save("never\($0)", in: "Rows", -1, byteCount: 700) }
      return start + rows.prefix(90) + [.tried(never + [.delete("row\(number * 50 % 600)", in: "Rows")])]
        + rows.dropFirst(90) + [step]
    }
  }

  func options(isReadOnly: Bool = false) -> Database.Options {
    var options = Database.Options()
    options.isReadOnly = isReadOnly
    options.lockTimeout = .seconds(20)
    switch kind {
    case .relaxed: options.durability = .relaxed
    case .parts: options.partByteCount = 16 << 10
    case .checkpoints, .updates:
      options.checkpoint.minimumLogByteCount = 128 << 10
      options.checkpoint.maximumLogByteCount = 128 << 10
      options.closeCheckpointByteCount = 1
    default: break
    }
    return options
  }

  /// Does one step as one commit.
  func perform(_ number: Int, on database: Database) throws {
    try database.write { transaction in try Trial.apply(edits(number), transaction) }
    try compact(database, after: number)
  }

  /// A compaction that finds no room leaves the database as it was; the step has been done.
  private func compact(_ database: Database, after number: Int) throws {
    guard kind == .compactions, number % 7 == 0 else { return }
    do { try database.compact() } catch let error where error.code == .diskFull {}
  }

  /// Does the step behind the last one that the file holds; returns its number.
  func performNext(on database: Database) throws -> Int {
    let number = try database.write { transaction in
      let steps = try Zone.ID("Steps")
      let hasSteps = try transaction.zones().contains { $0.id == steps }
      let last: Int = hasSteps ? try transaction.record(Record.ID("step", in: steps))?["n"] ?? 0 : 0
      try Trial.apply(edits(last + 1), transaction)
      return last + 1
    }
    try compact(database, after: number)
    return number
  }

  private static func apply(_ edits: [Edit], _ transaction: borrowing Transaction) throws {
    struct Back: Error {}
    for edit in edits {
      switch edit {
      case .save(let name, let zone, let number, let byteCount):
        var record = try Record(type: "Row", id: Record.ID(name, in: Zone.ID(zone)))
        record["n"] = number
        record["bytes"] = Data(repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
        try transaction.save(record, policy: .allKeys)
      case .delete(let name, let zone): try transaction.delete(Record.ID(name, in: Zone.ID(zone)))
      case .saveZone(let zone): try transaction.save(Zone(Zone.ID(zone)))
      case .deleteZone(let zone): try transaction.deleteZone(Zone.ID(zone))
      case .tried(let edits):
        do {
          try transaction.savepoint {
            try apply(edits, transaction)
            throw Back()
          }
        } catch is Back {}
      }
    }
  }
}

/// What must be there after so many steps: a dictionary that does what the steps say.
struct TrialModel {
  private let trial: Trial
  private(set) var step = 0
  private var zones: [String: [String: (number: Int, byteCount: Int)]] = [:]

  init(_ trial: Trial) { self.trial = trial }

  mutating func advance(to target: Int) {
    while step < target {
      step += 1
      for edit in trial.edits(step) {
        switch edit {
        case .save(let name, let zone, let number, let byteCount): zones[zone]?[name] = (number, byteCount)
        case .delete(let name, let zone): zones[zone]?[name] = nil
        case .saveZone(let zone): zones[zone] = [:]
        case .deleteZone(let zone): zones[zone] = nil
        case .tried: break
        }
      }
    }
  }

  /// What is wrong with a database that ends with this step; nil when everything is as it must be.
  func difference(_ snapshot: borrowing Snapshot) throws -> String? {
    let found = try snapshot.zones().filter { $0.id != .default }.map(\.id.name)
    if Set(found) != Set(zones.keys) { return "step \(step): zones \(found.sorted()), not \(zones.keys.sorted())" }
    for (zone, expected) in zones {
      let records = try snapshot.records(in: Zone.ID(zone))
      if records.count != expected.count { return "step \(step): \(records.count) records in \(zone), not \(expected.count)" }
      for record in records {
        guard let known = expected[record.id.name] else { return "step \(step): \(record.id.name) in \(zone) should be gone" }
        let bytes: Data? = record["bytes"]
        guard record["n"] == known.number,
          bytes == Data(repeating: UInt8(truncatingIfNeeded: known.number), count: known.byteCount)
        else { return "step \(step): \(record.id.name) in \(zone) has other values" }
      }
    }
    return nil
  }
}

extension Database {
  /// The last step in a database; 0 when there is none.
  func lastStep() throws -> Int { try read { snapshot in try Trial.lastStep(snapshot) } }
}

extension Trial {
  static func lastStep(_ snapshot: borrowing Snapshot) throws -> Int {
    let zone = try Zone.ID("Steps")
    guard try snapshot.zones().contains(where: { $0.id == zone }) else { return 0 }
    return try snapshot.record(Record.ID("step", in: zone))?["n"] ?? 0
  }
}
