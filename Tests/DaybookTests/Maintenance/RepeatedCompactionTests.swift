import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Compactions with a rate that are cancelled while they sleep, and those that a full disk makes begin again.
@Suite("compactions that begin again or sleep")
struct RepeatedCompactionTests {
  /// The first attempt meets a full disk far into the file, and the second one's first pause is nearer to its beginning.
  private static func beginAgain(bytesPerSecond: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    var options = Database.Options.simulated(seed: 1)
    options.compaction.bytesPerSecond = bytesPerSecond
    options.checkpoint = .init()
    let database = try Database.open(at: "a.daybook", options: options, disk: disk)
    try database.write { try $0.setMetadata(Data(count: 300_000), forKey: "state") }
    for number in 0..<40 { try database.put("r\(number)", ["k": .bytes(Data(count: 20_000))]) }
    let isDone = Atomic(false)
    disk.observe { (call) throws(DiskFailure) in
      guard "\(call)".contains(".compacted"), !isDone.load(ordering: .relaxed),
        (disk.bytes(of: "a.daybook.compacted")?.count ?? 0) > 500_000
      else { return }
      isDone.store(true, ordering: .relaxed)
      BackgroundThread(name: "commit") {
        try? database.write { try $0.setMetadata(Data(count: 120_000), forKey: "state") }
      }?.join()
    }
    disk.freeByteCount = 900_000
    try? database.compact()
    disk.observe(nil)
    disk.freeByteCount = nil
    let count = try database.recordCount(in: .default)
    precondition(isDone.load(ordering: .relaxed) && count == 40)
    try database.expectClean()
    try database.close()
  }

  @Test("a compaction with a rate that began again on a full disk ended the process")
  func traps() async {
    await #expect(processExitsWith: .success) { try RepeatedCompactionTests.beginAgain(bytesPerSecond: 50 << 20) }
  }

  @Test("the same with a large rate never ended")
  func endsWithLargeRate() async {
    await #expect(processExitsWith: .success) {
      limitChild(seconds: 120)
      try RepeatedCompactionTests.beginAgain(bytesPerSecond: 2 << 30)
    }
  }

  @Test("after a compaction that a full disk refused, deletes found no room any more", arguments: [false, true])
  func reserve(compacts: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.onFullDisk(disk)
    if compacts { #expect(failure { try database.compact() }?.code == .diskFull) }
    // Another program takes what is free by now.
    disk.freeByteCount = 0
    for number in 0..<10 { try database.write { try $0.delete(Record.ID("r\(number)")) } }
    disk.freeByteCount = nil
    #expect(try database.recordCount(in: .default) == 30)
    try database.close()
  }

  @Test("a compaction with a rate is asked whether it goes on while it sleeps")
  func cancelled() throws {
    var options = Database.Options.simulated(seed: 1)
    // For what is there it would take hours.
    options.compaction.bytesPerSecond = 100
    options.checkpoint = .init()
    let database = try Database.open(at: "a.daybook", options: options, disk: SimulatedDisk(seed: 1))
    try database.write { transaction in
      for number in 0..<300 { try transaction.save(.fresh("r\(number)", ["k": .bytes(Data(count: 3_000))])) }
    }
    let counts = Locked((asked: 0, done: 0, total: 0))
    let code = failure {
      try database.compact { done, total in
        counts.withLock { counts in
          counts = (counts.asked + 1, done, total)
          return counts.asked < 8
        }
      }
    }?.code
    #expect(code == .operationCancelled)
    let last = counts.withLock { $0 }
    #expect(last.asked == 8 && last.total == 300 && last.done < 300)
    #expect(try database.recordCount(in: .default) == 300)
    try database.close()
  }
}
