import Daybook
import DaybookTesting
import Foundation
import Testing

@Suite("power loss on a simulated disk")
struct PowerLossTests {
  @Test("what was acknowledged is there after a power loss, whatever becomes of the rest")
  func acknowledged() throws {
    let disk = SimulatedDisk()
    let accounts = try Accounts(on: disk)
    try accounts.open()
    for number in 1...6 {
      try accounts.transfer(number)
      for after in disk.afterPowerLosses(seeds: 0..<4) { #expect(try Accounts.count(on: after) == number) }
    }
    #expect(try accounts.count() == 6)
  }

  @Test("a power loss at any moment shows a transaction as a whole or not at all")
  func anyMoment() throws {
    var endCount = 0
    for change in 1... {
      let disk = SimulatedDisk(seed: UInt64(change))
      disk.losePower(atChange: change)
      var acknowledged = -2
      let error = failure {
        let accounts = try Accounts(on: disk)
        acknowledged = -1
        try accounts.open()
        acknowledged = 0
        for number in 1...4 {
          try accounts.transfer(number)
          acknowledged = number
        }
        try accounts.database.close()
      }
      #expect((error != nil) == disk.hasLostPower)
      if let error { #expect(error.code == .ioFailed || error.code == .outcomeUnknown, "\(error)") }
      for after in disk.afterPowerLosses(seeds: 0..<2) + [disk.afterKill()] {
        // Opening makes the file anew where not even that was acknowledged.
        let count = try Accounts.count(on: after)
        #expect(count == max(-1, acknowledged) || count == acknowledged + 1, "at change \(change)")
      }
      if !disk.hasLostPower { break }
      endCount += 1
    }
    #expect(endCount > 10)
  }

  @Test("commits that were not waited for go with the power, from the last one on, and stay after a kill and a sync")
  func relaxed() throws {
    var options = Database.Options()
    options.durability = .relaxed
    let disk = SimulatedDisk()
    let accounts = try Accounts(on: disk, options: options)
    try accounts.open()
    try accounts.database.sync()
    for number in 1...5 { try accounts.transfer(number) }
    for after in disk.afterPowerLosses(seeds: 0..<6) { #expect(try (0...5).contains(Accounts.count(on: after))) }
    #expect(try Accounts.count(on: disk.afterPowerLoss(keeping: .nothing)) == 0)
    #expect(try Accounts.count(on: disk.afterPowerLoss(keeping: .everything)) == 5)
    #expect(try Accounts.count(on: disk.afterKill()) == 5)
    try accounts.database.sync()
    for after in disk.afterPowerLosses(seeds: 0..<4) { #expect(try Accounts.count(on: after) == 5) }
  }

  @Test("an asset's content is there as long as its record, and its folder is on the simulated disk")
  func assets() throws {
    let disk = SimulatedDisk()
    let database = try Database.open(at: "/notes.daybook", on: disk)
    let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let id = try Record.ID("photo")
    var record = try Record(type: "Note", id: id)
    record["image"] = Asset(data: content)
    let prepared = try database.prepare(record)
    let changeCount = disk.changeCount
    try database.write { transaction in try transaction.save(prepared) }
    #expect(disk.paths.contains { $0.hasPrefix("/notes.daybook.assets/") })
    #expect(disk.changeCount > changeCount)
    #expect(!FileManager.default.fileExists(atPath: "/notes.daybook"))

    for after in disk.afterPowerLosses(seeds: 0..<4) {
      let again = try Database.open(at: "/notes.daybook", on: after)
      let image: Asset? = try again.record(id)?["image"]
      #expect(try image?.content() == content)
      #expect(try again.check(.deep).isClean)
    }
  }

  @Test("a power loss while an asset is saved leaves a record with its content, or none")
  func assetsAtAnyMoment() throws {
    let content = Data(repeating: 5, count: 70_000)
    let id = try Record.ID("photo")
    for change in 1... {
      let disk = SimulatedDisk()
      let database = try Database.open(at: "/notes.daybook", on: disk)
      disk.losePower(atChange: change)
      let error = failure {
        try database.write { transaction in
          var record = try Record(type: "Note", id: id)
          record["image"] = Asset(data: content)
          try transaction.save(record)
        }
      }
      for after in disk.afterPowerLosses(seeds: 0..<2) {
        let again = try Database.open(at: "/notes.daybook", on: after)
        let image: Asset? = try again.record(id)?["image"]
        if let image { #expect(try image.content() == content) } else { #expect(error != nil) }
        #expect(try again.check(.deep).isClean)
      }
      if !disk.hasLostPower {
        #expect(error == nil)
        break
      }
    }
  }

  @Test("a container is as safe as its databases")
  func container() throws {
    let disk = SimulatedDisk()
    let container = try Container.open("iCloud.com.example.Notes", in: "/data", on: disk)
    let notes = try Zone.ID("Notes")
    try container.privateDatabase.write { transaction in try transaction.save(Zone(notes)) }
    for after in disk.afterPowerLosses(seeds: 0..<3) {
      let again = try Container.open("iCloud.com.example.Notes", in: "/data", on: after)
      #expect(again.userRecordName == container.userRecordName)
      #expect(try again.privateDatabase.zones().contains { $0.id == notes })
      try again.close()
    }
    try container.close()
  }

  @Test("the same seeds give the same disk, byte for byte, and other seeds another one")
  func repeats() throws {
    func run(seed: UInt64) throws -> SimulatedDisk {
      let disk = SimulatedDisk(seed: seed)
      var options = Database.Options()
      options.now = { Date(timeIntervalSinceReferenceDate: 1000) }
      let accounts = try Accounts(on: disk, options: options)
      disk.losePower(atChange: 12)
      _ = failure {
        try accounts.open()
        for number in 1...20 { try accounts.transfer(number) }
      }
      #expect(disk.hasLostPower)
      return disk
    }
    func files(_ disk: SimulatedDisk) -> [String: [UInt8]?] {
      Dictionary(uniqueKeysWithValues: disk.paths.map { ($0, disk.bytes(of: $0)) })
    }
    let first = try run(seed: 3)
    let second = try run(seed: 3)
    // Compared by a name of its own: a failure would print the files.
    func areEqual(_ one: SimulatedDisk, _ two: SimulatedDisk) -> Bool { files(one) == files(two) }
    #expect(areEqual(first, second))
    #expect(!areEqual(first, try run(seed: 4)))
    for seed: UInt64 in 0..<4 { #expect(areEqual(first.afterPowerLoss(seed: seed), second.afterPowerLoss(seed: seed))) }

    // What is written after one crash is told apart from what is written after another, and from what comes without one.
    let worlds = [first.afterPowerLoss(keeping: .everything), first.afterPowerLoss(seed: 9), first.afterKill()]
    let tokens = try worlds.map { disk in
      let accounts = try Accounts(on: disk)
      try accounts.transfer(try accounts.count() + 1)
      return try accounts.database.changes(in: .default, since: nil).token
    }
    #expect(Set(tokens).count == worlds.count)
  }

  @Test("a file that an application has shipped before is put on a disk, and taken from it")
  func install() throws {
    let disk = SimulatedDisk()
    let accounts = try Accounts(on: disk)
    try accounts.open()
    try accounts.transfer(1)
    try accounts.database.close()
    let bytes = try #require(disk.bytes(of: Accounts.path))
    let other = SimulatedDisk(seed: 2)
    other.install(bytes, at: Accounts.path)
    #expect(other.paths == [Accounts.path] && other.changeCount == 0)
    #expect(try Accounts.count(on: other) == 1)
  }
}
