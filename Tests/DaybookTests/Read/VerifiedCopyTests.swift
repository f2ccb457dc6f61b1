import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// A byte of the log may change at any time, also right after it was verified. What is made of an operation is made of the
// bytes that were verified. A test changes them at that very moment.

#if DEBUG
  @Suite("bytes that change after they were verified", .serialized)
  struct VerifiedCopyTests {
    /// Runs `body`. Meanwhile the first letter that is `U` becomes another as soon as an operation or a frame with the text
    /// "Untouched" has been verified. Returns how often that was.
    private func changing(_ disk: SimulatedDisk, _ salt: UInt64, _ body: () throws -> Void) throws -> Int {
      let text = Array("Untouched".utf8)
      let count = Locked(0)
      // Tests beside this one read, too, and a generator with the same seed gives their files the same salt.
      let thread = ObjectIdentifier(Thread.current)
      VerifiedBytes.watch { verified, offset in
        guard ObjectIdentifier(Thread.current) == thread, verified == salt, let bytes = disk.bytes(of: "test.daybook") else {
          return
        }
        // No commit of these tests is longer.
        let last = min(Int(offset) + 400, bytes.count - text.count)
        guard Int(offset) < last,
          let found = (Int(offset)..<last).first(where: { bytes[$0..<$0 + text.count].elementsEqual(text) })
        else { return }
        disk.corrupt("test.daybook", at: found, mask: 2)
        count.withLock { $0 += 1 }
      }
      defer { VerifiedBytes.watch(nil) }
      try body()
      return count.withLock { $0 }
    }

    @Test("a save merges into what was verified: a byte that changes right afterwards gets no new checksum")
    func save() throws {
      let disk = SimulatedDisk(seed: 1)
      let database = try Database.open(on: disk)
      var record = try database.put("a", ["title": "Untouched", "n": 1])
      record["n"] = 2
      let count = try changing(disk, database.store.header.salt) {
        try database.write { _ = try $0.save(record) }
      }
      let read = try #require(try database.record(record.id))
      #expect(count == 1 && read["title"] == "Untouched" && read["n"] == 2)
    }

    @Test("a save of what its transaction has just read does not read it again")
    func saveAfterRead() throws {
      let disk = SimulatedDisk(seed: 5)
      let database = try Database.open(on: disk)
      let id = try database.put("a", ["title": "Untouched", "n": 1]).id
      try database.put("b", ["n": 1])
      let count = Locked(0)
      let (thread, salt) = (ObjectIdentifier(Thread.current), database.store.header.salt)
      VerifiedBytes.watch { verified, _ in
        if ObjectIdentifier(Thread.current) == thread, verified == salt { count.withLock { $0 += 1 } }
      }
      defer { VerifiedBytes.watch(nil) }
      try database.write { transaction in
        var record = try #require(try transaction.record(id))
        try transaction.save(.fresh("c"))
        record["n"] = 2
        try transaction.save(record)
      }
      #expect(count.withLock { $0 } == 1)
      try database.update(id) { $0["n"] = 3 }
      #expect(count.withLock { $0 } == 2)
      VerifiedBytes.watch(nil)
      #expect(try database.record(id)?["n"] == 3 as Int64?)
    }

    @Test("a transaction reads a record as it was verified")
    func read() throws {
      let disk = SimulatedDisk(seed: 2)
      let database = try Database.open(on: disk)
      let id = try database.put("a", ["title": "Untouched"]).id
      let count = try changing(disk, database.store.header.salt) {
        let read = try database.write { try $0.record(id) }
        #expect(read?["title"] == "Untouched")
      }
      #expect(count == 1)
    }

    @Test("metadata is returned as it was verified")
    func metadata() throws {
      let disk = SimulatedDisk(seed: 3)
      let database = try Database.open(on: disk)
      try database.write { try $0.setMetadata(Data("Untouched".utf8), forKey: "state") }
      let count = try changing(disk, database.store.header.salt) {
        let read = try database.metadata(forKey: "state")
        #expect(read == Data("Untouched".utf8))
      }
      #expect(count == 1)
    }

    @Test("a change takes those references out of the trees that the verified body had")
    func contributions() throws {
      let disk = SimulatedDisk(seed: 4)
      let database = try Database.open(on: disk)
      let target = try database.put("Untouched").id
      let id = try database.put("source", ["link": .reference(.init(target))]).id
      var record = try Record.fresh("source", ["n": 1])
      record["n"] = 2
      _ = try changing(disk, database.store.header.salt) {
        try database.write { _ = try $0.save(record, policy: .replace) }
      }
      #expect(try database.referencing(target).isEmpty)
      #expect(try database.record(id)?["n"] == 2)
    }

    @Test("an open puts into the trees what was verified, or fails: no record is lost to another name")
    func replay() throws {
      let disk = SimulatedDisk(seed: 5)
      let salt: UInt64
      do {
        let database = try Database.open(on: disk)
        salt = database.store.header.salt
        try database.put("Untouched", ["n": 1])
        // Proves the first durable: else the open would write it again, from a copy that it verifies.
        try database.put("b")
        disk.stop()
      }
      let killed = disk.killed()
      var refused: DatabaseError?
      let count = try changing(killed, salt) {
        do {
          let database = try Database.open(on: killed)
          let found = try database.record(Record.ID("Untouched"))
          #expect(found != nil)
        } catch let error as DatabaseError { refused = error }
      }
      #expect(count > 0)
      // Where the file is mapped, the open applies other bytes than it has verified: it finds that out.
      if let refused { #expect(refused.code == .corrupted) }
    }
  }
#endif
