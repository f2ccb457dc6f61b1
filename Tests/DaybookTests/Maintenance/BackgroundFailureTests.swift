import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Work in the background has no caller to throw to: what it failed at is kept, and shown, until it succeeds.

@Suite("failures in the background")
struct BackgroundFailureTests {
  /// A disk that has no room for pages of trees while `isFull` is true; commits of a few hundred bytes go on.
  private func makeDisk(_ isFull: Locked<Bool>) -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 1)
    disk.observe { (call) throws(DiskFailure) in
      if isFull.withLock({ $0 }), call.operation == .write, call.byteCount ?? 0 >= Page.byteCount {
        throw DiskFailure(.write, path: call.path, kind: .full, code: ErrorNumber.noSpace)
      }
    }
    return disk
  }

  private func fill(_ database: Database, _ range: Range<Int>) throws {
    for number in range { try database.put("r\(number)", ["text": .string(String(repeating: "x", count: 100))]) }
  }

  @Test("a checkpoint that fails is told by the statistics; commits go on, and the next checkpoint that works clears it")
  func checkpoint() throws {
    let isFull = Locked(false)
    let disk = makeDisk(isFull)
    let database = try Database.open(on: disk)
    #expect(try database.statistics().checkpointObstacle == nil)
    isFull.withLock { $0 = true }
    try fill(database, 0..<200)
    let obstacle = try #require(try database.statistics().checkpointObstacle)
    #expect(obstacle.contains("test.daybook"), "\(obstacle)")
    #expect(try database.recordCount(in: .default) == 200)
    isFull.withLock { $0 = false }
    try fill(database, 200..<201)
    #expect(try database.statistics().checkpointObstacle == nil)
    try database.expectClean()
  }

  @Test("an open that replays far more than the budget of the log says that a checkpoint is overdue")
  func overdue() throws {
    let isFull = Locked(false)
    let disk = makeDisk(isFull)
    do {
      let database = try Database.open(on: disk)
      isFull.withLock { $0 = true }
      try fill(database, 0..<1000)
      #expect(try database.statistics().checkpointObstacle != nil)
      disk.stop()
    }
    let killed = disk.killed()
    let reader = try Database.open(on: killed) { $0.isReadOnly = true }
    #expect(reader.store.isCheckpointOverdue)
    #expect(try reader.statistics().checkpointObstacle == nil, "it is the writer's")
    try reader.close()
    let writer = try Database.open(on: killed)
    try writer.close()
    let second = try Database.open(on: killed) { $0.isReadOnly = true }
    #expect(!second.store.isCheckpointOverdue)
  }

  @Test("a file is compacted that is larger than 64 MB and than twice its live data")
  func rule() {
    let limit = 64 << 20
    #expect(Store.leastCompactedByteCount == limit)
    #expect(!Store.isCompactionDue(byteCount: limit, liveByteCount: 0))
    #expect(Store.isCompactionDue(byteCount: limit + 1, liveByteCount: 0))
    #expect(Store.isCompactionDue(byteCount: limit + 1, liveByteCount: limit / 2))
    #expect(!Store.isCompactionDue(byteCount: limit + 1, liveByteCount: limit / 2 + 1))
    #expect(!Store.isCompactionDue(byteCount: 8 * limit, liveByteCount: 4 * limit))
    #expect(Store.isCompactionDue(byteCount: 8 * limit + 1, liveByteCount: 4 * limit))
    // What a forged file may claim.
    #expect(!Store.isCompactionDue(byteCount: .max, liveByteCount: .max))
  }
}
