import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What an application keeps beside its records: in the same commit, in no feed, under keys that are told apart by bytes.

@Suite("metadata of the application")
struct MetadataTests {
  @Test("bytes come back as they were kept, empty ones too, and nil removes them")
  func roundTrip() throws {
    let database = try Database.scratch()
    for data in [Data(), Data([0]), Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })] {
      try database.write { try $0.setMetadata(data, forKey: "state") }
      #expect(try database.metadata(forKey: "state") == data)
    }
    try database.write { try $0.setMetadata(nil, forKey: "state") }
    #expect(try database.metadata(forKey: "state") == nil)
    let sequence = try database.snapshot().sequence
    try database.write { try $0.setMetadata(nil, forKey: "state") }
    #expect(try database.snapshot().sequence == sequence, "removing nothing is no commit")
    try database.expectClean()
  }

  @Test("metadata is in the commit of the data that it describes, or in none, and survives reopening")
  func sameCommit() throws {
    let disk = SimulatedDisk(seed: 2)
    let database = try Database.open(on: disk)
    let zone = try database.zone("Library")
    try database.write { transaction in
      try transaction.save(.fresh("a", in: zone))
      try transaction.setMetadata(Data([1]), forKey: "token")
    }
    try? database.write { transaction in
      try transaction.save(.fresh("b", in: zone))
      try transaction.setMetadata(Data([2]), forKey: "token")
      throw Intended()
    }
    try? database.write { transaction in
      try transaction.savepoint {
        try transaction.setMetadata(nil, forKey: "token")
        throw Intended()
      }
    }
    #expect(try database.metadata(forKey: "token") == Data([1]))
    var again = try Database.open(on: disk.killed(), seed: 2)
    #expect(try again.metadata(forKey: "token") == Data([1]) && again.recordCount(in: zone) == 1)
    try database.close()
    again = try .open(on: disk, seed: 3)
    #expect(try again.metadata(forKey: "token") == Data([1]))
    try again.expectClean()
  }

  @Test("metadata is in no feed")
  func noFeed() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    let token = try database.changes(in: zone, since: nil).token
    try database.write { try $0.setMetadata(Data([1]), forKey: "token") }
    let changes = try database.changes(in: zone, since: token)
    #expect(changes.saved.isEmpty && changes.deleted.isEmpty)
    #expect(try database.changes(in: .default, since: nil).saved.isEmpty)
    #expect(try database.databaseChanges(since: nil).changed == [zone])
    #expect(try database.recordCount(in: .default) == 0)
  }

  @Test("keys are told apart by their bytes, up to 1,024 of them")
  func keys() throws {
    let database = try Database.scratch()
    let keys = ["état", "e\u{301}tat", "a", "a\u{0}", String(repeating: "é", count: 512), "🗝️", " "]
    try database.write { transaction in
      for (index, key) in keys.enumerated() { try transaction.setMetadata(Data([UInt8(index)]), forKey: key) }
    }
    for (index, key) in keys.enumerated() { #expect(try database.metadata(forKey: key) == Data([UInt8(index)])) }
    for key in ["", String(repeating: "é", count: 513)] {
      let error = failure { try database.write { try $0.setMetadata(Data(), forKey: key) } }
      #expect(error?.code == .invalidArguments)
      #expect(try database.metadata(forKey: key) == nil)
    }
    try database.expectClean()
  }
}
