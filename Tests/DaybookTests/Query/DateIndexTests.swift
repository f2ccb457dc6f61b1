import DaybookEngine
import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// Indexes of the dates that the database keeps, where they meet copies that part, backups, salvage and containers.

@Suite("indexes of dates beside other features")
struct DateIndexTests {
  private let seconds = Locked(0.0)

  private func options(seed: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.now = { [seconds] in Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }
    return options
  }

  private func save(_ name: String, type: String = "Note", in zone: Zone.ID = .default, at time: Double, _ database: Database)
    throws
  {
    seconds.withLock { $0 = time }
    try database.write { try $0.save(.fresh(name, in: zone, type: type, ["x": .double(time)]), policy: .replace) }
  }

  private func makeIndexes(_ database: Database, type: String = "Note") throws {
    try database.setIndex([.queryable, .sortable], on: "creationDate", ofType: type)
    try database.setIndex([.queryable, .sortable], on: "modificationDate", ofType: type)
  }

  /// Asks each question by its index, and a loop over all records.
  private func expectRight(_ database: Database, type: String = "Note", at location: SourceLocation = #_sourceLocation) throws {
    let all = try database.records(Query(type))
    #expect(!all.isEmpty, sourceLocation: location)
    for field in [Query.Field.creationDate, .modificationDate] {
      let found = try all.map { try ($0.id, #require(field == .creationDate ? $0.creationDate : $0.modificationDate)) }
      let dates = Set(found.map(\.1)).sorted()
      for date in dates.prefix(40) {
        let query = Query(type, where: field >= date)
        let expected = found.filter { $0.1 >= date }.map(\.0)
        #expect(try database.records(query).map(\.id) == expected, sourceLocation: location)
        #expect(try database.count(query) == expected.count, sourceLocation: location)
      }
      let values = try database.distinctValues(of: field.name, for: Query(type))
      #expect(values.map(\.value) == dates.map { .date($0) }, sourceLocation: location)
      #expect(values.map(\.count).reduce(0, +) == all.count, sourceLocation: location)
      let index = try database.indexes().first { $0.key == field.name && $0.recordType == type }
      #expect(index?.entryCount == all.count, sourceLocation: location)
    }
    try database.expectClean()
  }

  @Test("two copies that part, under clocks of their own, have right indexes, and so have their backups and what is salvaged")
  func parted() throws {
    let disk = SimulatedDisk(seed: 11)
    let original = try Database.open(at: "a.daybook", options: options(seed: 1), disk: disk)
    try makeIndexes(original)
    for number in 0..<200 { try save("r\(number)", at: Double(number % 17), original) }
    let copiedDisk = disk.killed()
    let copy = try Database.open(at: "a.daybook", options: options(seed: 2), disk: copiedDisk)
    for number in 0..<60 {
      try save("r\(number * 3)", at: Double(1_000 - number), original)
      try save("r\(number * 2)", at: Double(number % 5) - 100, copy)
      try save("new\(number)", at: Double(number), copy)
    }
    try original.write { try $0.delete(Record.ID("r0")) }
    for (database, disk) in [(original, disk), (copy, copiedDisk)] {
      try expectRight(database)
      try database.backup(to: "b.daybook", disk: disk)
      let backup = try Database.open(at: "b.daybook", options: options(seed: 3), disk: disk)
      try expectRight(backup)
      try save("r5", at: 5_000, backup)
      try expectRight(backup)
      try database.compact()
      try expectRight(database)
    }
    let expected = try copy.records(Query("Note")).map { [$0.creationDate, $0.modificationDate] }
    try copy.close()
    let image = copiedDisk.killed()
    let reopened = try Database.open(at: "a.daybook", options: options(seed: 4), disk: image)
    #expect(try reopened.records(Query("Note")).map { [$0.creationDate, $0.modificationDate] } == expected)
    try expectRight(reopened)
  }

  @Test("a container's user records are not found by an index of dates, and other types are found by theirs")
  func container() throws {
    let folder = try TemporaryFolder()
    var options = options(seed: 1)
    options.durability = .relaxed
    let container = try Container.open("com.example.Notes", in: folder.path, options: options)
    let database = container.publicDatabase
    try makeIndexes(database, type: "Users")
    try makeIndexes(database)
    for number in 0..<90 {
      try save("r\(number)", at: Double(number % 13), database)
      if number % 9 == 0 {
        seconds.withLock { $0 = Double(number) }
        var record = try database.userRecord()
        record["nickname"] = "n\(number)"
        try database.write { [record] in try $0.save(record) }
      }
    }
    try expectRight(database)
    let users = Query("Users", where: .creationDate < Date.distantFuture)
    #expect(failure { try database.records(users) }?.code == .invalidArguments)
    let untyped = try database.records(Query(where: .modificationDate >= Date(timeIntervalSinceReferenceDate: -1)))
    #expect(untyped.count == 90 && untyped.allSatisfy { $0.type == "Note" })
    try container.close()
    let again = try Container.open("com.example.Notes", in: folder.path, options: options)
    try expectRight(again.publicDatabase)
    try again.close()
  }
}
