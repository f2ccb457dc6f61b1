import Daybook
import Foundation

final class DaybookUse: UseEngine {
  private let database: Database
  private static let keys = (0..<200).map { "f\($0)" }

  init(_ path: String, isSynced: Bool) throws {
    var options = Database.Options()
    options.durability = isSynced ? .full : .relaxed
    // A megabyte is more than a record may have without being asked.
    options.limits.recordByteCount = 4 << 20
    database = try Database.open(at: path, options: options)
  }

  func close() throws { try database.close() }

  private static func id(_ number: Int) throws -> Record.ID { try Record.ID("r\(number)") }

  func insertWide(_ count: Int, fieldCount: Int) throws {
    let keys = Array(DaybookUse.keys.prefix(fieldCount))
    try database.write { transaction in
      for number in 0..<count {
        var record = try Record(type: "Wide", id: DaybookUse.id(number))
        for index in 0..<fieldCount { record[keys[index]] = Int64(number + index) }
        try transaction.save(record)
      }
    }
  }

  func fetchWide(_ count: Int, among recordCount: Int, fieldCount: Int, round: UInt64) throws -> UInt64 {
    let keys = Array(DaybookUse.keys.prefix(fieldCount))
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Int(Workload.pick(step, among: UInt64(recordCount), round: round))
      guard let record = try database.record(DaybookUse.id(number)) else { throw BenchmarkFault("Daybook finds no record") }
      for key in keys {
        guard let value: Int64 = record[key] else { throw BenchmarkFault("a record lacks a field") }
        sum &+= UInt64(bitPattern: value)
      }
    }
    return sum
  }

  func savepoints(_ count: Int, among recordCount: Int) throws {
    try database.write { transaction in
      for step in 0..<count {
        try transaction.savepoint {
          let number = Int(Workload.pick(step, among: UInt64(recordCount), round: 3))
          guard var record = try transaction.record(DaybookUse.id(number)) else {
            throw BenchmarkFault("Daybook finds no record")
          }
          record["f0"] = Int64(step)
          try transaction.save(record)
        }
      }
    }
  }

  private struct GoBack: Error {}

  func rollBack(_ count: Int) throws {
    do {
      try database.write { transaction in
        for number in 0..<count {
          var record = try Record(type: "Wide", id: Record.ID("gone\(number)"))
          for index in 0..<10 { record[DaybookUse.keys[index]] = Int64(number + index) }
          try transaction.save(record)
        }
        throw GoBack()
      }
    } catch is GoBack {}
  }

  func saveOne(_ number: Int) throws {
    var record = try Record(type: "Wide", id: Record.ID("one\(number)"))
    record["f0"] = Int64(number)
    try database.write { _ = try $0.save(record) }
  }

  func insertLarge(byteCount: Int) throws {
    var record = try Record(type: "Large", id: DaybookUse.id(0))
    record["value"] = Data(count: byteCount)
    try database.write { _ = try $0.save(record) }
  }

  func changeLarge(_ count: Int, byteCount: Int) throws {
    for step in 0..<count {
      try database.write { transaction in
        guard var record = try transaction.record(DaybookUse.id(0)), var value: Data = record["value"] else {
          throw BenchmarkFault("Daybook finds no record")
        }
        let place = Int(Workload.pick(step, among: UInt64(byteCount - 8), round: 1))
        withUnsafeBytes(of: UInt64(step)) { value.replaceSubrange(place..<place + 8, with: $0) }
        record["value"] = value
        try transaction.save(record)
      }
    }
  }

  func makeVersions(_ count: Int) throws {
    for number in 0..<count {
      try database.write { transaction in
        var record = try transaction.record(DaybookUse.id(0)) ?? Record(type: "Wide", id: DaybookUse.id(0))
        record["f0"] = Int64(number)
        try transaction.save(record)
      }
    }
  }

  func versions(limit: Int) throws -> UInt64 {
    var sum: UInt64 = 0
    for version in try database.history(of: DaybookUse.id(0), limit: limit) {
      guard let value: Int64 = version.record?["f0"] else { throw BenchmarkFault("a version lacks a field") }
      sum &+= UInt64(bitPattern: value)
    }
    return sum
  }

  func makeZones(_ count: Int) throws {
    try database.write { transaction in
      for number in 0..<count { try transaction.save(Zone(Zone.ID("zone number \(number)"))) }
    }
  }

  func listZones() throws -> UInt64 {
    // The default zone is always among them.
    try database.zones().reduce(0) { $0 &+ UInt64($1.id.name.utf8.count) } &- UInt64(Zone.ID.default.name.utf8.count)
  }

  func backUp(to path: String) throws { try database.backup(to: path) }

  func change(_ count: Int, among recordCount: Int, round: UInt64, perTransaction: Int) throws {
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try database.write { transaction in
        for step in done..<end {
          let number = Int(Workload.pick(step, among: UInt64(recordCount), round: round))
          guard var record = try transaction.record(DaybookUse.id(number)) else {
            throw BenchmarkFault("Daybook finds no record")
          }
          record["f0"] = Int64(step)
          try transaction.save(record)
        }
      }
      done = end
    }
  }

  func makeReader() throws -> (_ number: Int) throws -> UInt64 {
    let database = database
    return { number in
      guard let record = try database.record(DaybookUse.id(number)), let value: Int64 = record["f1"] else {
        throw BenchmarkFault("Daybook finds no record")
      }
      return UInt64(bitPattern: value)
    }
  }

  func saveFromTasks(_ numbers: Range<Int>) throws {
    let database = database
    let tasks = numbers.map { number in
      Task {
        var record = try Record(type: "Wide", id: Record.ID("task\(number)"))
        record["f0"] = Int64(number)
        let saved = record
        try await database.write { _ = try $0.save(saved) }
      }
    }
    let done = DispatchSemaphore(value: 0)
    let failures = Failures()
    Task {
      for task in tasks {
        do { try await task.value } catch { failures.add(error) }
      }
      done.signal()
    }
    done.wait()
    if let first = failures.first { throw first }
  }

  func compact() throws { try database.compact() }
}
