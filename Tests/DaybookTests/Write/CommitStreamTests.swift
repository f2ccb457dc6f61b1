import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The stream of commits: in order, without one's own when asked, never holding up a writer, never silent about what was
// left out.

@Suite("the stream of commits", .timeLimit(.minutes(15)))
struct CommitStreamTests {
  private func put(_ database: Database, _ name: String, in zone: Zone.ID = .default, origin: Origin? = nil) throws {
    try database.write(origin: origin) { try $0.save(.fresh(name, in: zone), policy: .changedKeys) }
  }

  @Test("every commit comes once, in order, with what it did, and the stream ends with the database")
  func order() async throws {
    let database = try Database.scratch()
    let stream = database.commits()
    try now {
      let zone = try Zone.ID("Library")
      try database.write(origin: "window 1") { transaction in
        try transaction.save(Zone(zone))
        try transaction.save(.fresh("a", in: zone))
        try transaction.save(.fresh("b"))
      }
      for number in 0..<20 { try put(database, "r\(number)") }
      try? database.write { transaction in
        try transaction.save(.fresh("never"))
        throw Intended()
      }
      try database.write { try $0.delete(Record.ID("r3")) }
      try database.write { try $0.setMetadata(Data(), forKey: "state") }
      try database.close()
    }
    let notices = await collect(stream)
    #expect(notices.map(\.sequence) == Array(1...23))
    let library = try Zone.ID("Library")
    #expect(
      notices[0]
        == .commit(
          .init(
            sequence: 1, origin: "window 1", zones: [library, .default],
            saved: [try Record.ID("a", in: library), try Record.ID("b")])))
    #expect(notices[5].saved == [try Record.ID("r4")] && notices[5].origin == nil)
    #expect(notices[21].deleted == [try Record.ID("r3")] && notices[21].saved.isEmpty)
    #expect(notices[22].zones.isEmpty && notices[22].saved.isEmpty)
  }

  @Test("a record is told once, by what became of it last; a savepoint that went back is not told")
  func onceEach() async throws {
    let database = try Database.scratch()
    let stream = database.commits()
    let (library, other) = (try Zone.ID("Library"), try Zone.ID("Other"))
    try now {
      try database.write { transaction in
        try transaction.save(Zone(library))
        try transaction.save(Zone(other))
        for name in ["a", "b", "a", "c"] { try transaction.save(.fresh(name, in: library), policy: .changedKeys) }
        try transaction.delete(Record.ID("b", in: library))
        try transaction.delete(Record.ID("c", in: library))
        try transaction.save(.fresh("c", in: library))
        try? transaction.savepoint {
          try transaction.save(.fresh("default"))
          try transaction.delete(Record.ID("a", in: library))
          throw Intended()
        }
        try transaction.save(.fresh("gone with its zone", in: other))
        try transaction.deleteZone(other)
      }
      try database.close()
    }
    let notices = await collect(stream)
    let commit = try #require(notices.first?.commit)
    #expect(commit.zones == [library, other])
    #expect(commit.saved.map(\.name) == ["a", "c"] && commit.deleted.map(\.name) == ["b"])
  }

  @Test("an observer can leave out its own commits")
  func origins() async throws {
    let database = try Database.scratch()
    let others = database.commits(excluding: "sync")
    let all = database.commits()
    try now {
      try put(database, "a", origin: "sync")
      try put(database, "b", origin: "window")
      try put(database, "c")
      try put(database, "d", origin: "sync")
      _ = try database.modify(saving: [.fresh("e")], origin: "sync")
      _ = try database.modifyZones(saving: [Zone(.init("Z"))], origin: "sync")
      try database.close()
    }
    let seen = await collect(others)
    #expect(seen.map(\.sequence) == [2, 3] && seen.map(\.origin) == ["window", nil])
    let everything = await collect(all)
    #expect(everything.map(\.sequence) == Array(1...6))
  }

  @Test("a slow listener keeps 1,024 notices, then learns which it missed, and hears the next ones")
  func missed() async throws {
    let database = try Database.scratch { $0.durability = .relaxed }
    let stream = database.commits()
    try now { for _ in 0..<1100 { try put(database, "a") } }
    var iterator = stream.makeAsyncIterator()
    for number in 1...1024 as ClosedRange<UInt64> {
      let notice = await iterator.next()
      #expect(notice?.sequence == number && notice?.commit != nil)
    }
    let missed = await iterator.next()
    #expect(missed == .missed(from: 1025, to: 1100))
    try now { try put(database, "b") }
    let next = await iterator.next()
    #expect(next?.sequence == 1101 && next?.saved.map(\.name) == ["b"])
    try now { try database.close() }
    let end = await iterator.next()
    #expect(end == nil)
  }

  @Test("who begins to listen while a commit is under way hears of it")
  func listeningLate() async throws {
    let database = try Database.scratch()
    let streams = Locked<[AsyncStream<CommitNotice>]>([])
    try now {
      try database.write { transaction in
        streams.withLock { $0.append(database.commits()) }
        try transaction.save(.fresh("a"))
      }
      try put(database, "b")
      try database.close()
    }
    let notices = await collect(streams.withLock { $0[0] })
    #expect(notices.map(\.sequence) == [1, 2])
    #expect(notices.first == .missed(from: 1, to: 1), "what it did was not noted")
  }

  @Test("a notice comes when its commit can be read")
  func visibility() async throws {
    let database = try Database.scratch()
    let stream = database.commits()
    let writer = Task.detached {
      for number in 0..<200 { try database.put("r\(number)") }
      try database.close()
    }
    var count = 0
    for await notice in stream {
      count += 1
      let record = try? await database.record(Record.ID("r\(notice.sequence - 1)"))
      let isClosed = failure { try database.record(Record.ID("x")) }?.code == .closed
      #expect(record != nil || isClosed)
    }
    #expect(count == 200)
    try await writer.value
  }

  @Test("a listener that is cancelled or let go of leaves, and the others stay")
  func leaving() async throws {
    let database = try Database.scratch()
    let stays = database.commits()
    do { _ = database.commits() }
    let task = Task { await collect(database.commits()) }
    await Task.yield()
    task.cancel()
    _ = await task.value
    try now {
      try put(database, "a")
      try database.close()
    }
    let notices = await collect(stays)
    #expect(notices.count == 1)
  }

  @Test("a stream of a closed database ends at once")
  func closed() async throws {
    let database = try Database.scratch()
    try now { try database.close() }
    let notices = await collect(database.commits())
    #expect(notices.isEmpty)
  }

  @Test("two loops over one stream share its notices, and both end with the database")
  func twoLoops() async throws {
    let database = try Database.scratch()
    let stream = database.commits()
    let waiting = Locked(0)
    let heard = Locked<[UInt64]>([])
    let loops = (0..<2).map { _ in
      Task {
        var iterator = stream.makeAsyncIterator()
        while true {
          waiting.withLock { $0 += 1 }
          guard let notice = await iterator.next() else { return }
          heard.withLock { $0.append(notice.sequence) }
        }
      }
    }
    while waiting.withLock({ $0 }) < 2 { await Task.yield() }
    for number in 0..<20 {
      try now { try put(database, "r\(number)") }
      while heard.withLock({ $0.count }) <= number { await Task.yield() }
    }
    try now { try database.close() }
    for loop in loops { await loop.value }
    #expect(heard.withLock { $0.sorted() } == Array(1...20))
  }

  @Test("a loop that is cancelled ends the stream for the other one, too")
  func cancelledLoop() async throws {
    let database = try Database.scratch()
    let stream = database.commits()
    let loops = (0..<2).map { _ in Task { for await _ in stream {} } }
    await Task.yield()
    loops[0].cancel()
    for loop in loops { await loop.value }
    // A stream of one's own goes on.
    let other = database.commits()
    try now {
      try put(database, "a")
      try database.close()
    }
    #expect(await collect(other).count == 1)
  }
}
