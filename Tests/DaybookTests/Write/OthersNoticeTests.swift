import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Word of commits that another process has made: when they become visible here, each once, in the order of all commits, and
// never of one's own.

@Suite("notices of others' commits", .timeLimit(.minutes(15)))
struct OthersNoticeTests {
  private func open(_ disk: SimulatedDisk, seed: UInt64, _ lock: Database.Options.Lock = .perTransaction) throws -> Database {
    try Database.open(on: disk, seed: seed) { $0.lock = lock }
  }

  @Test("commits of others that are there when a resume returns are told then, not at the next write")
  func resume() async throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try now { try open(disk, seed: 1, .whileOpen) }
    let stream = a.commits()
    try now {
      try a.put("own")
      try a.suspend()
      let b = try open(disk, seed: 2, .whileOpen)
      try b.put("others")
      try b.close()
      try a.resume()
      #expect(try a.record(Record.ID("others")) != nil)
      try a.close()
    }
    let notices = await collect(stream)
    #expect(notices.map(\.sequence) == [1, 2] && notices.last == .missed(from: 2, to: 2))
  }

  @Test("what a collection or a compaction finds of others' commits is told, also when more come before the next write")
  func holds() async throws {
    let disk = SimulatedDisk(seed: 2)
    let (a, b) = try now { (try open(disk, seed: 1), try open(disk, seed: 2)) }
    let stream = a.commits()
    try now {
      try a.put("own")
      for name in ["b", "c", "d"] { try b.put(name) }
      try a.collectAssets()
      try b.put("e")
      try a.compact()
      try b.put("f")
      try a.put("own")
      try a.close()
      try b.close()
    }
    let notices = await collect(stream)
    #expect(
      notices.map { $0.commit == nil ? $0 : .missed(from: $0.sequence, to: 0) } == [
        .missed(from: 1, to: 0), .missed(from: 2, to: 4), .missed(from: 5, to: 5), .missed(from: 6, to: 6),
        .missed(from: 7, to: 0),
      ], "\(notices)")
  }

  @Test("commits of others that came with a compacted file are told once")
  func otherFile() async throws {
    let disk = SimulatedDisk(seed: 3)
    let (a, b) = try now { (try open(disk, seed: 1), try open(disk, seed: 2)) }
    let stream = a.commits()
    try now {
      try a.put("own")
      for name in ["b", "c"] { try b.put(name) }
      try b.compact()
      #expect(try a.refresh())
      #expect(try !a.refresh())
      try a.put("own")
      try a.close()
      try b.close()
    }
    let notices = await collect(stream)
    #expect(notices.map(\.sequence) == [1, 3, 4] && notices[1] == .missed(from: 2, to: 3), "\(notices)")
    #expect(notices.last?.commit != nil)
  }

  @Test("a stream tells that an older file was put under the name, so nobody keeps records that are gone")
  func restoredUnder() async throws {
    let disk = SimulatedDisk(seed: 8)
    let database = try now { try open(disk, seed: 1) }
    let stream = database.commits()
    try now {
      for number in 0..<5 { try database.put("r\(number)") }
      try database.backup(to: "old.daybook", disk: disk)
      for number in 5..<10 { try database.put("r\(number)") }
      try disk.rename("old.daybook", to: "test.daybook")
      try database.refresh()
      #expect(try database.recordCount(in: .default) == 5)
      try database.put("new")
      try database.close()
    }
    let notices = await collect(stream)
    #expect(notices.map(\.sequence) == Array(1...10) + [5, 6] && notices[10] == .missed(from: 5, to: 5), "\(notices)")
  }

  @Test("a stream tells of the commits that a restored file has in place of those that were known", arguments: [2, 5, 9])
  func restoredAndWrittenTo(newCount: Int) async throws {
    let disk = SimulatedDisk(seed: 9)
    let (database, other) = try now { (try open(disk, seed: 1), try open(disk, seed: 2)) }
    let stream = database.commits()
    try now {
      for number in 0..<5 { try database.put("r\(number)") }
      try database.backup(to: "old.daybook", disk: disk)
      for number in 5..<10 { try database.put("r\(number)") }
      try other.close()
      try disk.rename("old.daybook", to: "test.daybook")
      let second = try open(disk, seed: 3)
      for number in 0..<newCount { try second.put("s\(number)") }
      try database.refresh()
      #expect(try database.recordCount(in: .default) == 5 + newCount)
      // A compaction of the same history takes nothing from it.
      try second.compact()
      try database.refresh()
      try second.put("last")
      try database.refresh()
      try second.close()
      try database.close()
    }
    let notices = await collect(stream)
    let (last, end) = (UInt64(5 + newCount), UInt64(6 + newCount))
    #expect(notices.suffix(2) == [.missed(from: 6, to: last), .missed(from: end, to: end)], "\(notices)")
    #expect(notices.map(\.sequence) == Array(1...10) + [last, end], "\(notices)")
  }

  @Test("refreshing beside the same database's own writes tells of none of them", arguments: [true, false])
  func refreshBesideOwnWrites(takesTurns: Bool) async throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try now { try open(disk, seed: 1, takesTurns ? .perTransaction : .whileOpen) }
    let (all, others) = (database.commits(), database.commits(excluding: "me"))
    let isDone = Locked(false)
    let failures = Locked<[String]>([])
    try now {
      let threads = (0..<2).compactMap { _ in
        BackgroundThread(name: "refresh") {
          while !isDone.withLock({ $0 }) {
            do { try database.refresh() } catch { failures.withLock { $0.append("\(error)") } }
          }
        }
      }
      for number in 0..<300 { try database.write(origin: "me") { try $0.save(.fresh("r\(number)")) } }
      isDone.withLock { $0 = true }
      for thread in threads { thread.join() }
      try database.close()
    }
    #expect(failures.withLock { $0 } == [])
    let heard = await collect(others)
    #expect(heard == [])
    let notices = await collect(all)
    #expect(notices.map(\.sequence) == Array(1...300) && notices.allSatisfy { $0.commit != nil })
  }

  @Test("with two writers that also look, everybody hears of every commit once, in order")
  func everybody() async throws {
    let disk = SimulatedDisk(seed: 5)
    let databases = try now { try (1...3).map { try open(disk, seed: $0) } }
    let streams = databases.map { $0.commits() }
    try now {
      var draw = SeededGenerator(seed: 5)
      for number in 0..<200 {
        let database = databases[Int.random(in: 0..<3, using: &draw)]
        switch Int.random(in: 0..<8, using: &draw) {
        case 0..<4: try database.put("r\(number)")
        case 4: try database.refresh()
        case 5: try database.collectAssets()
        case 6:
          try database.suspend()
          for other in databases where other !== database { try other.put("r\(number)") }
          try database.resume()
        default: try database.compact()
        }
      }
      for database in databases { try database.refresh() }
    }
    let last = databases[0].store.lastSequence
    try now { for database in databases { try database.close() } }
    for stream in streams {
      var next: UInt64 = 1
      for notice in await collect(stream) {
        switch notice {
        case .commit(let commit):
          #expect(commit.sequence == next)
          next = commit.sequence + 1
        case .missed(let from, let to):
          #expect(from == next && to >= from)
          next = to + 1
        }
      }
      #expect(next == last + 1)
    }
  }
}
