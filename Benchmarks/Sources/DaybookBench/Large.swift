import Daybook
import DaybookBenchmarking
import Foundation

/// What large databases cost: keys, records and small zones, each loaded, changed at random, read, compacted, closed and
/// opened; after each step the time, the file, what lives in it, and the most anonymous memory that the process held.
///
/// A hundredth as many zones as records, of ten records each. Indexes of an application's own are not there yet: records
/// stand in the trees that every zone has, by name, by sequence and by type.
enum LargeReport {
  enum Part: CaseIterable { case keys, records, zones }

  static func run(_ parts: [Part] = Part.allCases, in directory: String, recordCount: Int) throws {
    print("\(recordCount) keys, \(recordCount) records of ten fields, \(recordCount / 100) zones of ten records\n")
    print("| work | done | a second | seconds | file MB | live MB | most anonymous MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for part in parts {
      switch part {
      case .keys: try keys(directory + "/keys.daybook", recordCount)
      case .records: try records(directory + "/records.daybook", recordCount)
      case .zones: try zones(directory + "/zones.daybook", max(recordCount / 100, 10))
      }
    }
  }

  /// Counts: what was done. Bytes: of the file, and of what lives in it.
  private static func step(
    _ name: String, _ count: @autoclosure () throws -> Int, _ work: () throws -> Void,
    bytes: () throws -> (file: Int, live: Int)?
  ) throws {
    sync()
    let memory = MemoryWatch()
    let start = DispatchTime.now().uptimeNanoseconds
    try work()
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let most = memory.stop()
    let counts = try bytes()
    let count = try count()
    func megabytes(_ count: Int?) -> String { count.map { String(format: "%.0f", Double($0) / 1e6) } ?? "–" }
    print(
      "| \(name) | \(count) | \(String(format: "%.0f", Double(count) / seconds)) | \(String(format: "%.4f", seconds)) "
        + "| \(megabytes(counts?.file)) | \(megabytes(counts?.live)) | \(megabytes(most)) |")
    fflush(nil)
  }

  private static func keys(_ path: String, _ count: Int) throws {
    try workOnKeys(path, count)
    var store: EngineStore?
    try step("keys: open", 1, { store = try EngineStore(path: path, durability: .relaxed) }, bytes: { nil })
    try store?.close()
    try Files.remove(path)
  }

  /// A function of its own, as below: with its end the objects are gone, and the open that follows does not pay for that.
  private static func workOnKeys(_ path: String, _ count: Int) throws {
    let store = try EngineStore(path: path, durability: .relaxed, compactsItself: true)
    let all = UInt64(count)
    func step(_ name: String, _ count: Int, _ work: () throws -> Void) throws {
      try Self.step("keys: \(name)", count, work) { try store.byteCounts() }
    }
    try step("load at random, 1,000 a transaction", count) { try store.benchmarkLoad(0..<all, perTransaction: 1000) }
    try step("update at random, 1,000 a transaction", count) {
      try store.benchmarkUpdate(count, among: all, round: 1, perTransaction: 1000)
    }
    try step("update at random, 100 a transaction", count / 10) {
      try store.benchmarkUpdate(count / 10, among: all, round: 2, perTransaction: 100)
    }
    var beside: EngineStore?
    try Self.step(
      "keys: open beside, replaying as after a crash (MB)", beside.map { $0.replayedByteCount >> 20 } ?? 0,
      { beside = try EngineStore(path: path, isReadOnly: true) }, bytes: { nil })
    try beside?.close()
    try step("get at random", count / 10) { _ = try store.benchmarkGet(count / 10, among: all, round: 3, ownSnapshots: true) }
    try step("compact", count) { try store.compact() }
    try step("visit all in order", count) { _ = try store.benchmarkScan() }
    try Self.step("keys: close", 1, { try store.close() }, bytes: { nil })
  }

  private static func records(_ path: String, _ count: Int) throws {
    try workOnRecords(path, count)
    var engine: DaybookRecords?
    try step("records: open", 1, { engine = try DaybookRecords(path, isSynced: false) }, bytes: { nil })
    try engine?.close()
    try Files.remove(path)
  }

  private static func workOnRecords(_ path: String, _ count: Int) throws {
    let all = UInt64(count)
    let engine = try DaybookRecords(path, isSynced: false)
    func step(_ name: String, _ count: Int, _ work: () throws -> Void) throws {
      try Self.step("records: \(name)", count, work, bytes: { try engine.byteCounts() })
    }
    try step("insert at random, 1,000 a transaction", count) { try engine.insert(0..<all, perTransaction: 1000) }
    try step("save existing, 1,000 a transaction", count / 5) {
      try engine.save(count / 5, among: all, round: 1, perTransaction: 1000)
    }
    var readOnly = Database.Options()
    readOnly.isReadOnly = true
    var beside: Database?
    try Self.step(
      "records: open beside, replaying as after a crash (MB)",
      (beside?.lastRecovery.replayedByteCount ?? 0) >> 20,
      { beside = try Database.open(at: path, options: readOnly) }, bytes: { nil })
    try beside?.close()
    try step("fetch ten fields", count / 20) { _ = try engine.fetchTenFields(count / 20, among: all, round: 2, ownSnapshots: true) }
    try step("one transaction", min(count, 1_000_000)) {
      try engine.insert(all..<all + UInt64(min(count, 1_000_000)), perTransaction: 1_000_000)
    }
    try step("compact", count) { try engine.compact() }
    try Self.step("records: close", 1, { try engine.close() }, bytes: { nil })
  }

  private static func zones(_ path: String, _ zoneCount: Int) throws {
    var options = Database.Options()
    options.durability = .relaxed
    try workOnZones(path, zoneCount, options)
    var database: Database?
    try step("zones: open", 1) {
      database = try Database.open(at: path, options: options)
    } bytes: {
      try database.map { try Self.bytes(of: $0) }
    }
    try database?.close()
    try Files.remove(path)
  }

  private static func bytes(of database: Database) throws -> (file: Int, live: Int) {
    let statistics = try database.statistics()
    return (statistics.fileByteCount, statistics.liveByteCount)
  }

  private static func workOnZones(_ path: String, _ zoneCount: Int, _ options: Database.Options) throws {
    let database = try Database.open(at: path, options: options)
    let names = try (0..<zoneCount).map { try Zone.ID("Shelf \($0)") }
    try step("zones: ten records each, 10 zones a transaction", zoneCount) {
      for start in stride(from: 0, to: zoneCount, by: 10) {
        try database.write { transaction in
          for index in start..<min(start + 10, zoneCount) {
            // Not in the order of their names.
            let zone = names[Int(UInt64(index) * 7919 % UInt64(zoneCount))]
            try transaction.save(Zone(zone))
            for number in 0..<10 {
              var record = try Record(type: "Note", id: Record.ID("note \(number)", in: zone))
              record["text"] = String(repeating: "x", count: 100)
              try transaction.save(record)
            }
          }
        }
      }
    } bytes: {
      try bytes(of: database)
    }
    try step(
      "zones: read one record of each", zoneCount,
      {
        for zone in names {
          guard try database.record(Record.ID("note 7", in: zone)) != nil else { throw BenchmarkFault("a record is gone") }
        }
      }, bytes: { nil })
    try step("zones: change one record of each, 1,000 a transaction", zoneCount) {
      for start in stride(from: 0, to: zoneCount, by: 1000) {
        try database.write { transaction in
          for zone in names[start..<min(start + 1000, zoneCount)] {
            guard var record = try transaction.record(Record.ID("note 3", in: zone)) else {
              throw BenchmarkFault("a record is gone")
            }
            record["text"] = "changed"
            try transaction.save(record)
          }
        }
      }
    } bytes: {
      try bytes(of: database)
    }
    try step("zones: close", 1, { try database.close() }, bytes: { nil })
  }
}

/// The most anonymous memory of the process while it lives, looked at fifty times a second.
final class MemoryWatch: @unchecked Sendable {
  private let lock = NSLock()
  private var most = MemoryWatch.now() ?? 0
  private var isOver = false

  init() {
    Thread.detachNewThread { [self] in
      while true {
        let now = Self.now() ?? 0
        lock.lock()
        most = max(most, now)
        let isOver = isOver
        lock.unlock()
        if isOver { return }
        Thread.sleep(forTimeInterval: 0.02)
      }
    }
  }

  func stop() -> Int {
    lock.lock()
    defer { lock.unlock() }
    isOver = true
    return max(most, Self.now() ?? 0)
  }

  private static func now() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
      return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }
    return nil
  }
}
