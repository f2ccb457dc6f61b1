import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What those who watch are told of a commit: each record as it was and as it is, zones that went, and what cannot be told; once
// each, in order, and only what has come to stay.

/// Notes what it is told.
private final class Listener: CommitWatcher {
  private let state = Locked((notices: [WatchNotice](), isFinished: false))
  var notices: [WatchNotice] { state.withLock { $0.notices } }
  var isFinished: Bool { state.withLock { $0.isFinished } }
  /// A word for each notice.
  var texts: [String] { notices.map(\.text) }

  func tell(_ notice: WatchNotice) { state.withLock { $0.notices.append(notice) } }
  func finish() { state.withLock { $0.isFinished = true } }
}

extension RecordChange {
  /// Name, and the number before and after the commit.
  fileprivate var text: String {
    func number(_ body: RecordBody?) -> String {
      guard let body else { return "–" }
      let value: Int? = Record(body: body)["n"]
      return value.map { "\($0)" } ?? "?"
    }
    return "\(id.name) \(number(old))→\(number(new))" + (isDeleted ? " gone" : "")
  }
}

extension WatchNotice {
  fileprivate var changes: CommitChanges? { if case .commit(let changes) = self { changes } else { nil } }

  fileprivate var text: String {
    switch self {
    case .commit(let changes): "\(changes.sequence)"
    case .untold(let sequence, _, let gap): "\(sequence) \(gap)"
    case .others(let others): "\(others.known)–\(others.last)" + (others.isReopened ? " reopened" : "")
    }
  }
}

@Suite("what watchers are told of commits", .timeLimit(.minutes(15)))
struct CommitWatchTests {
  private func watch(
    _ database: Database, _ interest: WatchInterest = WatchInterest()
  ) throws -> (listener: Listener, watch: CommitWatch) {
    let listener = Listener()
    return (listener, try #require(database.hub.add(listener, interest)))
  }

  private func put(_ transaction: borrowing Transaction, _ name: String, _ number: Int, in zone: Zone.ID = .default) throws {
    try transaction.save(.fresh(name, in: zone, ["n": .int(Int64(number))]), policy: .changedKeys)
  }

  @Test("each record is told once, as it was before the commit and as it is since")
  func oldAndNew() throws {
    let database = try Database.scratch()
    for (name, number) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] { try database.write { try put($0, name, number) } }
    let (listener, watch) = try watch(database)
    try database.write(origin: "me") { transaction in
      try put(transaction, "new", 10)
      try put(transaction, "a", 11)
      try put(transaction, "a", 12)
      try transaction.delete(Record.ID("b"))
      try transaction.delete(Record.ID("c"))
      try put(transaction, "c", 13)
      try put(transaction, "passing", 14)
      try transaction.delete(Record.ID("passing"))
    }
    try database.write { try $0.setMetadata(Data([1]), forKey: "state") }
    let changes = try #require(listener.notices.first?.changes)
    #expect(changes.records.map(\.text) == ["new –→10", "a 1→12", "b 2→– gone", "c 3→13", "passing –→– gone"])
    #expect(changes.origin == "me" && changes.zones == [.default] && changes.zoneChanges.isEmpty)
    #expect(listener.texts == ["5", "6"], "a commit that changes no record is one, too")
    #expect(listener.notices.last?.changes?.records.isEmpty == true)
    withExtendedLifetime(watch) {}
    try database.close()
    #expect(listener.isFinished)
  }

  @Test("what deletes itself with a record is told with its own body")
  func cascade() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      try put(transaction, "owner", 1)
      var part = try Record.fresh("part", ["n": 2])
      part["owner"] = .reference(.init(id: try Record.ID("owner"), action: .deleteSelf))
      try transaction.save(part)
    }
    let (listener, watch) = try watch(database)
    try database.write { try $0.delete(Record.ID("owner")) }
    #expect(listener.notices.first?.changes?.records.map(\.text) == ["owner 1→– gone", "part 2→– gone"])
    withExtendedLifetime(watch) {}
  }

  @Test("nothing is told of what went back: a transaction, a savepoint, an item of a request, a violated reference")
  func goneBack() throws {
    let database = try Database.scratch()
    let (listener, watch) = try watch(database)
    try? database.write { transaction in
      try put(transaction, "never", 1)
      throw Intended()
    }
    let refused = failure {
      try database.write { transaction in
        var orphan = try Record.fresh("orphan")
        orphan["target"] = .reference(.init(id: try Record.ID("nobody"), action: .validate))
        try transaction.save(orphan)
      }
    }
    #expect(refused?.code == .referenceViolation && listener.notices.isEmpty)
    try database.write { transaction in
      try put(transaction, "a", 1)
      try? transaction.savepoint {
        try put(transaction, "a", 2)
        try put(transaction, "b", 2)
        try? transaction.savepoint {
          try transaction.delete(Record.ID("a"))
          throw Intended()
        }
        throw Intended()
      }
      _ = failure { try transaction.save(.fresh("a")) }
    }
    #expect(listener.notices.map { $0.changes?.records.map(\.text) } == [["a –→1"]])
    let zone = try database.zone("Atomic")
    _ = try database.modify(saving: [.fresh("x", in: zone), .fresh("a")])
    #expect(listener.notices.last?.changes?.records.map(\.id.name) == ["x"])
    withExtendedLifetime(watch) {}
  }

  @Test("a sync that fails tells nothing of its commit, however often somebody looks")
  func failedSync() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    try database.put("before")
    let (listener, watch) = try watch(database)
    try database.put("told")
    disk.inject(SimulatedFault([.sync], call: 1))
    #expect(failure { try database.put("lost") }?.code == .outcomeUnknown)
    #expect(failure { try database.put("after") } != nil)
    _ = try? database.sync()
    _ = try? database.close()
    #expect(listener.texts == ["2"] && listener.isFinished)
    withExtendedLifetime(watch) {}
  }

  @Test("a deleted zone is told with the numbers of what went with it, and what it held is not named")
  func zones() throws {
    let database = try Database.scratch()
    let library = try database.zone("Library")
    try database.write { transaction in
      for name in ["a", "b", "c"] { try put(transaction, name, 1, in: library) }
      try transaction.save(.fresh("m", in: library, type: "Map"))
    }
    let (listener, watch) = try watch(database)
    try database.write { transaction in
      try put(transaction, "a", 2, in: library)
      try transaction.deleteZone(library, reason: .purged)
      try transaction.save(Zone(library))
      try put(transaction, "b", 3, in: library)
      let passing = try Zone.ID("Passing")
      try transaction.save(Zone(passing))
      try put(transaction, "z", 1, in: passing)
      try transaction.deleteZone(passing)
    }
    let changes = try #require(listener.notices.first?.changes)
    #expect(changes.records.map(\.text) == ["b –→3"])
    #expect(changes.zoneChanges.count == 1)
    let change = try #require(changes.zoneChanges.first)
    #expect(change.id == library && change.isNew && change.deletion?.reason == .purged && change.deletion?.recordCount == 4)
    #expect(change.deletion?.types?.map { "\($0.type) \($0.count)" } == ["Map 1", "Note 3"])
    #expect(changes.notice.saved.map(\.name) == ["b"])
    withExtendedLifetime(watch) {}
  }

  @Test("a watcher of a zone or a type hears of nothing else, and gets the bodies of its own")
  func interests() throws {
    let database = try Database.scratch()
    let (library, other) = (try database.zone("Library"), try database.zone("Other"))
    let ofLibrary = try watch(database, WatchInterest(zones: [library]))
    let maps = WatchInterest(zones: [library], types: ["Map"])
    let ofMaps = try watch(database, maps)
    let ofNames = try watch(database, WatchInterest(zones: [other], wantsBodies: false))
    func save(_ name: String, _ type: String, in zone: Zone.ID) throws {
      try database.write { try $0.save(.fresh(name, in: zone, type: type, ["n": 1]), policy: .changedKeys) }
    }
    try save("a", "Note", in: library)  // 3
    try save("m", "Map", in: library)
    try save("m", "Map", in: other)  // 5
    try save("d", "Map", in: .default)
    try database.write { try $0.setMetadata(Data([1]), forKey: "state") }  // 7
    try database.write { transaction in
      try transaction.delete(Record.ID("m", in: library))
      try transaction.delete(Record.ID("a", in: library))
    }
    try save("a", "Note", in: library)  // 9
    try database.write { try $0.deleteZone(library) }
    #expect(ofLibrary.listener.texts == ["3", "4", "8", "9", "10"])
    #expect(ofMaps.listener.texts == ["4", "8"], "no map went with the zone")
    #expect(ofNames.listener.texts == ["5"])
    #expect(ofMaps.listener.notices.last?.changes?.records(for: maps).map(\.text) == ["m 1→– gone"])
    #expect(ofNames.listener.notices.last?.changes?.records.map(\.text) == ["m –→–"], "who wants names only gets no bodies")
    withExtendedLifetime((ofLibrary.watch, ofMaps.watch, ofNames.watch)) {}
  }

  @Test("what another process has committed is told as that, and a file that was opened again, too")
  func others() throws {
    let disk = SimulatedDisk(seed: 2)
    let (a, b) = (
      try Database.open(on: disk, seed: 1) { $0.lock = .perTransaction },
      try Database.open(on: disk, seed: 2) { $0.lock = .perTransaction }
    )
    let (listener, watch) = try watch(a, WatchInterest(zones: [Zone.ID("Nowhere")]))
    try b.put("b1")
    try b.put("b2")
    try a.refresh()
    try a.put("own")
    try b.put("b4")
    try b.compact()
    try a.refresh()
    #expect(listener.texts == ["0–2", "3–4 reopened"], "whoever watches a part only hears of what may be in it")
    withExtendedLifetime(watch) {}
    try a.close()
    try b.close()
  }

  @Test("a transaction that changes more than is kept is told as too much, unless a savepoint takes it back")
  func bounds() async throws {
    let database = try Database.scratch {
      $0.watchLimits.changeCount = 10
      $0.watchLimits.bodyByteCount = 2000
    }
    let bodies = try watch(database)
    let names = try watch(database, .names)
    let stream = database.commits()
    try { () throws in
      try database.write { for number in 0..<1000 { try put($0, "r\(number)", number) } }
      try database.write { transaction in
        try put(transaction, "a", 1)
        try? transaction.savepoint {
          for number in 0..<1000 { try put(transaction, "r\(number)", number) }
          throw Intended()
        }
        try put(transaction, "b", 2)
      }
      try database.write { transaction in
        try transaction.save(.fresh("large", ["n": 1, "k": .bytes(Data(count: 3000))]))
        try put(transaction, "b", 3)
      }
      try database.write { transaction in
        try? transaction.savepoint {
          try transaction.delete(Record.ID("large"))
          throw Intended()
        }
        try put(transaction, "b", 4)
      }
      try database.close()
    }()
    #expect(bodies.listener.texts == ["1 tooMuch", "2", "3 tooMuch", "4"])
    #expect(names.listener.texts == ["1 tooMuch", "2", "3", "4"])
    #expect(bodies.listener.notices[1].changes?.records.map(\.text) == ["a –→1", "b –→2"])
    #expect(bodies.listener.notices[3].changes?.records.map(\.text) == ["b 3→4"])
    var heard: [CommitNotice] = []
    for await notice in stream { heard.append(notice) }
    #expect(heard.map(\.sequence) == [1, 2, 3, 4] && heard[0] == .missed(from: 1, to: 1))
    #expect(heard[2].saved.map(\.name) == ["large", "b"])
    withExtendedLifetime((bodies.watch, names.watch)) {}
  }

  @Test("commits that wait for their sync keep no more than a few of them may, and it comes free when they are told")
  func waitingBounds() throws {
    let database = try Database.scratch { $0.watchLimits.changeCount = 10 }
    let (listener, watch) = try watch(database, .names)
    func write(_ count: Int) throws -> WriteTicket {
      try database.perform(nil) { for number in 0..<count { try put($0, "r\(number)", number) } }.ticket
    }
    let tickets = try (0..<6).map { _ in try write(9) }
    #expect(listener.notices.isEmpty, "nothing is visible yet")
    for ticket in tickets { try database.wait(ticket) }
    #expect(listener.texts == ["1", "2", "3", "4", "5 tooMuch", "6 tooMuch"])
    try database.wait(write(9))
    #expect(listener.texts.last == "7")
    withExtendedLifetime(watch) {}
  }

  @Test("many threads commit, and each commit is told once and in order")
  func order() throws {
    let database = try Database.scratch()
    let (listener, watch) = try watch(database)
    let failures = Locked<[String]>([])
    let threads = (0..<4).compactMap { thread in
      BackgroundThread(name: "writer") {
        for number in 0..<50 {
          do { try database.write { try put($0, "r\(number)", thread) } } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [] && threads.count == 4)
    #expect(listener.notices.compactMap { $0.changes?.sequence } == Array(1...200))
    // What one commit leaves is what the next one finds.
    var last: [String: String] = [:]
    for change in listener.notices.flatMap({ $0.changes?.records ?? [] }) {
      let parts = change.text.dropFirst(change.id.name.count + 1).split(separator: "→").map(String.init)
      #expect(parts[0] == last[change.id.name] ?? "–")
      last[change.id.name] = parts[1]
    }
    withExtendedLifetime(watch) {}
  }

  @Test("nothing is kept where nobody watches, and who comes in the midst of a commit is told that it was missed")
  func nobody() throws {
    let database = try Database.scratch()
    #expect(database.hub.recorder() == nil)
    let early = try watch(database, .names)
    #expect(database.hub.recorder() != nil)
    let late = Locked<(listener: Listener, watch: CommitWatch)?>(nil)
    try database.write { transaction in
      try put(transaction, "a", 1)
      let listening = try watch(database)
      late.withLock { $0 = listening }
    }
    #expect(early.listener.texts == ["1"])
    #expect(late.withLock { $0?.listener.texts } == ["1 notWatched"])
    late.withLock { $0 = nil }
    try database.put("b")
    #expect(early.listener.texts == ["1", "2"])
    withExtendedLifetime(early.watch) {}
  }

  @Test("a watch that is let go of ends, and a closed database has none")
  func ending() throws {
    let database = try Database.scratch()
    let listener = Listener()
    do {
      let watch = try #require(database.hub.add(listener, .names))
      try database.put("a")
      withExtendedLifetime(watch) {}
    }
    try database.put("b")
    #expect(listener.texts == ["1"] && database.hub.recorder() == nil)
    try database.close()
    #expect(database.hub.add(listener, .names) == nil)
  }
}
