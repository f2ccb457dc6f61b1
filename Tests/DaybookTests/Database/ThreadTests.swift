import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Readers and writers together, meant for the thread sanitizer: money moves between accounts, and no snapshot ever sees
// some on its way. Every reader does something else: records, pages, feeds, long-lived snapshots, checks.

@Suite("threads", .timeLimit(.minutes(15)))
struct ThreadTests {
  private static let accountCount = 40
  private static let total: Int64 = 40_000

  private static func start(_ database: Database) throws -> Zone.ID {
    let zone = try database.zone("Bank")
    try database.write { transaction in
      for number in 0..<accountCount {
        try transaction.save(
          .fresh("account-\(number)", in: zone, type: "Account", ["balance": .int(total / Int64(accountCount))]))
      }
    }
    return zone
  }

  /// One transfer: two records and a third that counts, in one transaction.
  private static func transfer(
    _ database: Database, _ zone: Zone.ID, _ generator: inout SeededGenerator, goesBack: Bool
  ) throws {
    let from = try Record.ID("account-\(Int.random(in: 0..<accountCount, using: &generator))", in: zone)
    let to = try Record.ID("account-\(Int.random(in: 0..<accountCount, using: &generator))", in: zone)
    let amount = Int64.random(in: 1...50, using: &generator)
    if from == to { return }
    let slip = try Record.ID("slip-\(Int.random(in: 0..<30, using: &generator))", in: zone)
    try database.write { transaction in
      guard var source = try transaction.record(from), var target = try transaction.record(to) else {
        throw DatabaseError(.unknownItem)
      }
      source["balance"] = (source["balance"] ?? 0) - amount
      try transaction.save(source)
      target["balance"] = (target["balance"] ?? 0) + amount
      try transaction.save(target)
      if try transaction.record(slip) != nil {
        try transaction.delete(slip)
      } else {
        try transaction.save(Record(type: "Slip", id: slip))
      }
      if goesBack { throw Intended() }
    }
  }

  private static func sum(_ records: [Record]) -> Int64 {
    records.reduce(0) { sum, record in
      let balance: Int64? = record.type == "Account" ? record["balance"] : 0
      return sum + (balance ?? .min / 2)
    }
  }

  private static func look(
    _ database: Database, _ zone: Zone.ID, _ way: Int, _ generator: inout SeededGenerator, _ mirror: inout Mirror
  ) throws {
    switch way {
    case 0:
      let all = try database.records(in: zone)
      #expect(sum(all) == total)
    case 1:
      let ids = try (0..<accountCount).map { try Record.ID("account-\($0)", in: zone) }
      let found = try database.records(ids)
      #expect(found.count == accountCount && sum(Array(found.values)) == total)
    case 2:
      let snapshot = try database.snapshot()
      var seen: [Record] = []
      var next: RecordCursor?
      repeat {
        let page = try snapshot.recordPage(in: zone, ofType: "Account", after: next, limit: 7)
        seen += page.records
        next = page.next
      } while next != nil
      #expect(seen.count == accountCount && sum(seen) == total)
      let count = try snapshot.recordCount(in: zone)
      let listed = try snapshot.records(in: zone).count
      let types = try snapshot.recordTypes(in: zone).reduce(0) { $0 + $1.count }
      #expect(count == listed && types == listed)
    case 3:
      let report = try database.check(Bool.random(using: &generator) ? .deep : .structure)
      #expect(report.isClean, "\(report.findings)")
    default:
      try mirror.follow(database, zone)
      #expect(sum(Array(mirror.records.values)) == total)
    }
  }

  /// A copy that lives on the feed alone: pages applied one by one, whole only at the end of a feed.
  private struct Mirror {
    var records: [Record.ID: Record] = [:]
    var token: ChangeToken?

    mutating func follow(_ database: Database, _ zone: Zone.ID) throws {
      try database.read { snapshot in
        while true {
          let page = try snapshot.changes(in: zone, since: token, limit: 5)
          for record in page.saved { records[record.id] = record }
          for gone in page.deleted { records[gone.id] = nil }
          token = page.token
          if !page.moreComing { break }
        }
      }
    }
  }

  /// Runs writers and readers on threads of their own.
  private static func run(_ database: Database, writers: Int, readers: Int, transfers: Int) throws {
    let zone = try start(database)
    let writing = Locked(writers)
    let group = DispatchGroup()
    let queue = DispatchQueue(label: "test", attributes: .concurrent)
    let errors = Locked<[String]>([])
    for writer in 0..<writers {
      queue.async(group: group) {
        defer { writing.withLock { $0 -= 1 } }
        var generator = SeededGenerator(seed: UInt64(writer))
        for number in 0..<transfers {
          do {
            try transfer(database, zone, &generator, goesBack: number % 9 == 0)
          } catch is Intended {
          } catch { errors.withLock { $0.append("\(error)") } }
        }
      }
    }
    for reader in 0..<readers {
      queue.async(group: group) {
        var generator = SeededGenerator(seed: 100 + UInt64(reader))
        var mirror = Mirror()
        while writing.withLock({ $0 > 0 }) {
          do { try look(database, zone, reader % 5, &generator, &mirror) } catch { errors.withLock { $0.append("\(error)") } }
        }
        do { try look(database, zone, reader % 5, &generator, &mirror) } catch { errors.withLock { $0.append("\(error)") } }
      }
    }
    group.wait()
    #expect(errors.withLock { $0 } == [])
    let last = try database.records(in: zone)
    #expect(sum(last) == total)
    var mirror = Mirror()
    try mirror.follow(database, zone)
    #expect(mirror.records.values.sorted { $0.id < $1.id } == last)
    try database.expectClean()
  }

  @Test("no reader ever sees money on its way, in memory")
  func inMemory() throws {
    var options = Database.Options()
    options.checkpoint.minimumLogByteCount = 32 << 10
    options.checkpoint.maximumLogByteCount = 64 << 10
    let database = try Database.inMemory(options: options)
    try Self.run(database, writers: 3, readers: 5, transfers: 120)
    try database.close()
  }

  @Test("nor in a file, at any durability", arguments: Database.Options.Durability.allCases)
  func inFile(_ durability: Database.Options.Durability) throws {
    let folder = try TemporaryFolder()
    var options = Database.Options()
    options.durability = durability
    options.checkpoint.minimumLogByteCount = 32 << 10
    options.checkpoint.maximumLogByteCount = 64 << 10
    options.limits.changesPerPage = 9
    let database = try Database.open(at: folder.file("bank.daybook"), options: options)
    try Self.run(database, writers: 3, readers: 5, transfers: 60)
    try database.close()
    let again = try Database.open(at: folder.file("bank.daybook"))
    #expect(again.lastRecovery.wasClosed)
    #expect(Self.sum(try again.records(in: Zone.ID("Bank"))) == Self.total)
    try again.expectClean()
  }

  @Test("a database that is closed in the middle refuses the rest, and has all that it acknowledged")
  func closing() throws {
    let folder = try TemporaryFolder()
    for round in 0..<4 {
      let path = folder.file("\(round).daybook")
      let database = try Database.open(at: path)
      let acknowledged = Locked(0)
      let group = DispatchGroup()
      let queue = DispatchQueue(label: "test", attributes: .concurrent)
      for writer in 0..<3 {
        queue.async(group: group) {
          for number in 0... {
            let error = failure { try database.put("r\(writer)-\(number)") }
            if error != nil {
              #expect(error?.code == .closed)
              return
            }
            acknowledged.withLock { $0 += 1 }
          }
        }
      }
      queue.async(group: group) {
        while true {
          let error = failure { try database.recordCount(in: .default) }
          if error != nil { return #expect(error?.code == .closed) }
        }
      }
      while acknowledged.withLock({ $0 < 20 * (round + 1) }) { Thread.sleep(forTimeInterval: 0.001) }
      try database.close()
      group.wait()
      let again = try Database.open(at: path)
      #expect(again.lastRecovery.wasClosed)
      #expect(try again.recordCount(in: .default) == acknowledged.withLock { $0 })
      try again.expectClean()
    }
  }
}
