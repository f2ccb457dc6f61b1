import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Deleting records: what is left of one (a tombstone in the feed, a version in the history), and what a new life of it
// has from the old one.

@Suite("deleting")
struct DeleteTests {
  @Test("a deleted record is gone from reads, pages and counts, and in the feed with its type")
  func gone() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try database.put("a", in: zone, type: "Movie")
    try database.put("b", in: zone, type: "Book")
    try database.write { try $0.delete(Record.ID("a", in: zone)) }
    #expect(try database.record(Record.ID("a", in: zone)) == nil)
    #expect(try database.records(in: zone).map(\.id.name) == ["b"])
    #expect(try database.records(in: zone, ofType: "Movie").isEmpty)
    #expect(try database.recordCount(in: zone) == 1 && database.recordCount(in: zone, ofType: "Movie") == 0)
    #expect(try database.recordTypes(in: zone).map(\.type) == ["Book"])
    let changes = try database.changes(in: zone, since: nil)
    #expect(changes.savedNames == ["b"])
    #expect(changes.deleted == [.init(id: try Record.ID("a", in: zone), type: "Movie")])
    try database.expectClean()
  }

  @Test("records are deleted together, in a transaction too, and one that is not there is no error")
  func several() throws {
    let database = try Database.scratch()
    for name in ["a", "b", "c", "d"] { try database.put(name) }
    let ids = try ["a", "never", "b"].map { try Record.ID($0) }
    try database.write { transaction in
      try transaction.delete(ids)
      #expect(try transaction.recordCount(in: .default) == 2)
      try? transaction.savepoint {
        try transaction.delete([Record.ID("c")])
        throw CancellationError()
      }
    }
    #expect(try database.records(in: .default).map(\.id.name) == ["c", "d"])
    try database.delete([Record.ID("c"), Record.ID("d")])
    #expect(try database.recordCount(in: .default) == 0)
    try database.expectClean()
  }

  @Test("deleting what is not there is no error and no commit")
  func unknown() throws {
    let database = try Database.scratch()
    try database.put("a")
    let sequence = try database.snapshot().sequence
    try database.write { transaction in
      try transaction.delete(Record.ID("never"))
      try transaction.delete(Record.ID("never"))
    }
    #expect(try database.snapshot().sequence == sequence)
    try database.write { try $0.delete(Record.ID("a")) }
    try database.write { try $0.delete(Record.ID("a")) }
    #expect(try database.snapshot().sequence == sequence + 1)
    #expect(try database.changes(in: .default, since: nil).deletedNames == ["a"])
    try database.expectClean()
  }

  @Test("a record that comes back is a new one: another tag, another creation date, no tombstone")
  func rebirth() throws {
    let database = try Database.scratch()
    let first = try database.put("a", ["old": 1, "both": 1])
    let token = try database.changes(in: .default, since: nil).token
    try database.write { try $0.delete(first.id) }
    let second = try database.put("a", ["both": 2])
    #expect(second.values == ["both": 2])
    #expect(second.metadata?.creationDate != first.metadata?.creationDate)
    #expect(second.metadata?.changeTag != first.metadata?.changeTag)
    let changes = try database.changes(in: .default, since: token)
    #expect(changes.savedNames == ["a"] && changes.deleted.isEmpty)
    try database.expectClean()
  }

  @Test("saved and deleted in one transaction leaves a tombstone; deleted and saved leaves the record")
  func atOnce() throws {
    let database = try Database.scratch()
    try database.put("b", ["n": 1])
    let token = try database.changes(in: .default, since: nil).token
    try database.write { transaction in
      try transaction.save(.fresh("a"))
      try transaction.delete(Record.ID("a"))
      try transaction.delete(Record.ID("b"))
      try transaction.save(.fresh("b", ["n": 2]))
      #expect(try transaction.record(Record.ID("a")) == nil)
      #expect(try transaction.record(Record.ID("b"))?["n"] == 2)
    }
    let changes = try database.changes(in: .default, since: token)
    #expect(changes.savedNames == ["b"] && changes.deletedNames == ["a"])
    #expect(try database.recordCount(in: .default) == 1)
    try database.expectClean()
  }

  @Test("names that begin alike are told apart")
  func prefixes() throws {
    let database = try Database.scratch()
    let names = ["a", "aa", "aaa", "a!", "a~", "A", "b"]
    try database.write { transaction in
      for name in names { try transaction.save(.fresh(name, type: "A")) }
      for name in names { try transaction.save(.fresh("x" + name, type: "AA")) }
    }
    try database.write { try $0.delete(Record.ID("aa")) }
    #expect(try database.records(in: .default, ofType: "A").map(\.id.name) == ["a", "aaa", "a!", "a~", "A", "b"])
    #expect(try database.records(in: .default, limit: 6).map(\.id.name) == ["A", "a", "a!", "aaa", "a~", "b"])
    #expect(try database.recordTypes(in: .default).map(\.count) == [6, 7])
    try database.expectClean()
  }

  @Test("a thousand records deleted in random order leave a thousand tombstones in that order")
  func many() throws {
    let database = try Database.scratch()
    let names = (0..<1000).map { "r\($0)" }
    try database.write { transaction in for name in names { try transaction.save(.fresh(name)) } }
    let order = names.sorted { $0.hash2 < $1.hash2 }
    for chunk in stride(from: 0, to: 1000, by: 50) {
      try database.write { transaction in
        for name in order[chunk..<chunk + 50] { try transaction.delete(Record.ID(name)) }
      }
    }
    #expect(try database.recordCount(in: .default) == 0)
    #expect(try database.changes(in: .default, since: nil, limit: 5000).deletedNames == order)
    #expect(try database.changeCount(in: .default, since: nil) == 1000)
    try database.expectClean()
  }
}

extension String {
  /// A shuffle that is the same everywhere.
  fileprivate var hash2: Int { utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 997 } &* 1009 &+ utf8.count }
}
