import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Deletes find the reserve on a full disk, whatever came in between.
@Suite("reserve")
struct ReserveTests {
  @Test("deletes work on a full disk after a compaction that found no room twice, beside a delete", arguments: [false, true])
  func besideDelete(deletes: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.onFullDisk(disk)
    let attempts = Atomic(0)
    let hasDeleted = Atomic(false)
    disk.observe { (call) throws(DiskFailure) in
      let text = "\(call)"
      guard text.contains(".compacted") else { return }
      if text.contains("create") { attempts.add(1, ordering: .relaxed) }
      guard deletes, attempts.load(ordering: .relaxed) == 2, text.contains("write"),
        !hasDeleted.exchange(true, ordering: .relaxed)
      else { return }
      BackgroundThread(name: "delete") { try? database.write { try $0.delete(Record.ID("r39")) } }?.join()
    }
    #expect(failure { try database.compact() }?.code == .diskFull)
    disk.observe(nil)
    #expect(attempts.load(ordering: .relaxed) == 2 && hasDeleted.load(ordering: .relaxed) == deletes)
    // Another program takes what is free.
    disk.freeByteCount = 0
    for number in 0..<10 { try database.write { try $0.delete(Record.ID("r\(number)")) } }
    disk.freeByteCount = nil
    try database.close()
    let again = try Database.open(on: disk)
    #expect(try again.recordCount(in: .default) == (deletes ? 29 : 30))
    try again.close()
  }

  @Test("a transaction that only deletes has the reserve, also when it took back a save")
  func savepoint() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.onFullDisk(disk)
    struct Undone: Error {}
    for number in 0..<30 {
      try database.write { transaction in
        do {
          try transaction.savepoint {
            try transaction.save(.fresh("new", ["k": .bytes(Data(count: 3_000))]))
            throw Undone()
          }
        } catch is Undone {}
        try transaction.delete(Record.ID("r\(number)"))
      }
    }
    disk.freeByteCount = nil
    #expect(try database.recordCount(in: .default) == 10)
    try database.close()
  }
}

extension Database {
  /// A database of forty records on a disk on which only the reserve is left.
  static func onFullDisk(_ disk: SimulatedDisk) throws -> Database {
    let database = try Database.open(on: disk) {
      $0.reserveByteCount = 24 << 10
      $0.checkpoint = .init()
    }
    for number in 0..<40 { try database.put("r\(number)", ["k": .bytes(Data(count: 3_000))]) }
    disk.freeByteCount = 0
    #expect(failure { try database.put("none", ["k": .bytes(Data(count: 100_000))]) }?.code == .diskFull)
    return database
  }
}
