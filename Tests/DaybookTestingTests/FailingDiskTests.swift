import Daybook
import DaybookTesting
import Foundation
import Testing

@Suite("a simulated disk that is full, or fails")
struct FailingDiskTests {
  let disk = SimulatedDisk()

  private func save(_ name: String, byteCount: Int, in database: Database) throws {
    try database.write { transaction in
      var record = try Record(type: "Note", id: Record.ID(name))
      record["text"] = Data(repeating: 1, count: byteCount)
      try transaction.save(record)
    }
  }

  @Test("a full disk gives diskFull, nothing is lost, and with room again the save goes through")
  func fullDisk() throws {
    let database = try Database.open(at: "/notes.daybook", on: disk)
    try save("first", byteCount: 1000, in: database)
    #expect(disk.freeByteCount == nil)
    disk.freeByteCount = 50_000
    #expect(disk.freeByteCount == 50_000)

    let error = failure { try save("large", byteCount: 200_000, in: database) }
    #expect(error?.code == .diskFull)
    #expect(error?.facts.size ?? 0 > 0)
    #expect(try database.records(in: .default).map(\.id.name) == ["first"])
    // A deletion finds room.
    disk.freeByteCount = 0
    try database.write { transaction in try transaction.delete(Record.ID("first")) }
    #expect(failure { try save("large", byteCount: 200_000, in: database) }?.code == .diskFull)

    disk.freeByteCount = nil
    try save("large", byteCount: 200_000, in: database)
    for after in disk.afterPowerLosses(seeds: 0..<4) {
      let again = try Database.open(at: "/notes.daybook", on: after)
      #expect(try again.records(in: .default).map(\.id.name) == ["large"])
      #expect(try again.check(.deep).isClean)
    }
  }

  @Test("a full disk refuses an asset, and the record stays as it was")
  func fullDiskAndAsset() throws {
    let database = try Database.open(at: "/notes.daybook", on: disk)
    var record = try Record(type: "Note", id: Record.ID("photo"))
    record["image"] = Asset(data: Data(repeating: 2, count: 300_000))
    disk.freeByteCount = 100_000
    let asset = record
    #expect(failure { try database.prepare(asset) }?.code == .diskFull)
    disk.freeByteCount = nil
    let prepared = try database.prepare(record)
    try database.write { transaction in try transaction.save(prepared) }
    let image: Asset? = try database.record(record.id)?["image"]
    #expect(try image?.content().count == 300_000)
  }

  @Test("a failed sync is never acknowledged: the outcome is unknown until the database is opened again")
  func failedSync() throws {
    let accounts = try Accounts(on: disk)
    try accounts.open()
    try accounts.transfer(1)
    disk.fail(.sync)
    #expect(failure { try accounts.transfer(2) }?.code == .outcomeUnknown)
    // The fault is over; the database still takes nothing, and reads what it had.
    #expect(failure { try accounts.transfer(2) }?.code == .outcomeUnknown)
    #expect(try accounts.database.records(in: .default, ofType: "Transfer").count == 1)
    for after in disk.afterPowerLosses(seeds: 0..<6) { #expect(try [1, 2].contains(Accounts.count(on: after))) }

    _ = failure { try accounts.database.close() }
    let again = try Accounts(on: disk)
    let found = try again.count()
    #expect(found == 1 || found == 2)
    try again.transfer(found + 1)
    for after in disk.afterPowerLosses(seeds: 0..<6) { #expect(try Accounts.count(on: after) == found + 1) }
  }

  @Test(
    "whichever call fails, once or for ever, what was acknowledged is there and the error says what to do",
    arguments: [false, true])
  func everyCall(forever: Bool) throws {
    for number in 1... {
      let disk = SimulatedDisk(seed: UInt64(number))
      disk.fail(.change, number: number, forever: forever)
      var acknowledged = -1
      let error = failure {
        let accounts = try Accounts(on: disk)
        try accounts.open()
        acknowledged = 0
        for number in 1...3 {
          try accounts.transfer(number)
          acknowledged = number
        }
        try accounts.database.close()
      }
      let hasFailed = disk.changeCount >= number
      disk.stopFailing()
      if let error { #expect(error.code == .ioFailed || error.code == .outcomeUnknown, "\(error)") }
      for after in disk.afterPowerLosses(seeds: 0..<2) + [disk.afterKill()] {
        let count = try Accounts.count(on: after)
        // Without a word of an unknown outcome, a transaction that failed is not there.
        #expect(count == acknowledged || error?.code == .outcomeUnknown && count == acknowledged + 1, "at call \(number)")
      }
      if !hasFailed {
        #expect(error == nil && acknowledged == 3)
        break
      }
    }
  }

  @Test("reads that fail throw ioFailed, and go on when the disk does")
  func failedReads() throws {
    try save("note", byteCount: 20_000, in: Database.open(at: "/notes.daybook", on: disk))
    var options = Database.Options()
    options.isReadOnly = true
    options.pageCacheByteCount = 0
    let database = try Database.open(at: "/notes.daybook", on: disk, options: options)
    #expect(database.options.access == .buffered)
    let id = try Record.ID("note")
    let readCount = disk.readCount
    disk.fail(.read, number: 1, forever: true)
    #expect(failure { try database.record(id) }?.code == .ioFailed)
    #expect(disk.readCount > readCount)
    disk.stopFailing()
    let text: Data? = try database.record(id)?["text"]
    #expect(text == Data(repeating: 1, count: 20_000))
  }

  @Test("the call that is to fail is counted from now, each kind for itself")
  func numbers() throws {
    let accounts = try Accounts(on: disk)
    try accounts.open()
    disk.fail(.write, number: 3)
    var passedCount = 0
    for number in 1... {
      let writeCount = disk.writeCount
      let error = failure { try accounts.transfer(number) }
      if let error {
        #expect(error.code == .ioFailed)
        break
      }
      passedCount += disk.writeCount - writeCount
    }
    #expect(passedCount <= 2)
    disk.fail(.sync, number: 1000)
    disk.stopFailing()
    let done = try accounts.count()
    try accounts.transfer(done + 1)
    #expect(try accounts.count() == done + 1)
  }

  @Test("a commit that is acknowledged was synced, one that is not waited for was not, and reads sync and write nothing")
  func counts() throws {
    let none = [disk.readCount, disk.writeCount, disk.syncCount, disk.changeCount]
    #expect(none.allSatisfy { $0 == 0 })
    let accounts = try Accounts(on: disk)
    try accounts.open()
    let (writeCount, syncCount, changeCount) = (disk.writeCount, disk.syncCount, disk.changeCount)
    for number in 1...10 { try accounts.transfer(number) }
    #expect(disk.syncCount == syncCount + 10)
    #expect(disk.writeCount >= writeCount + 10)
    #expect(disk.changeCount >= changeCount + 20)
    let after = [disk.writeCount, disk.syncCount, disk.changeCount]
    _ = try accounts.count()
    #expect(after == [disk.writeCount, disk.syncCount, disk.changeCount])

    let other = SimulatedDisk()
    var options = Database.Options()
    options.durability = .relaxed
    let relaxed = try Accounts(on: other, options: options)
    try relaxed.open()
    // The system may take a second over this, in which a sync is due.
    let before = other.syncCount
    for number in 1...10 { try relaxed.transfer(number) }
    #expect(other.syncCount < before + 10)
  }

  @Test("a second writer on one disk is locked out, and both sides of a power loss are open at once")
  func twoOpeners() throws {
    let accounts = try Accounts(on: disk)
    try accounts.open()
    #expect(failure { try Accounts(on: disk) }?.code == .locked)
    let other = try Accounts(on: disk.afterPowerLoss(seed: 1))
    try accounts.transfer(1)
    try other.transfer(1)
    try other.transfer(2)
    #expect(try accounts.count() == 1 && other.count() == 2)
  }
}
