import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A page of changes reads its records in batches that share memory: each must be what a read by name gives, wherever a
// batch begins and ends, and a damaged one must not come at all.

@Suite("batches of a page of changes")
struct ChangePageTests {
  /// Records from a few bytes to several batches long, with deletions among them.
  private func fill(_ database: Database, _ zone: Zone.ID) throws {
    let sizes = [0, 1, 7, 8, 9, 40, 250, 1000, 3000, 8100, 8192, 8193, 20_000]
    for round in 0..<3 {
      try database.write { transaction in
        for (index, size) in sizes.enumerated() {
          let name = "record-\(round)-\(index)"
          let bytes = Data(repeating: UInt8(index + 1), count: size + round)
          try transaction.save(.fresh(name, in: zone, ["bytes": .bytes(bytes), "n": 1]))
          if index % 5 == 3 { try transaction.delete(Record.ID(name, in: zone)) }
        }
        for number in 0..<70 { try transaction.save(.fresh("small-\(round)-\(number)", in: zone, ["n": 2])) }
      }
    }
  }

  @Test("records of a page are what a read by name gives, for pages of every size", arguments: [1, 7, 63, 64, 65, 5000])
  func equalToSingleReads(_ limit: Int) throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    try fill(database, zone)
    var token: ChangeToken?
    var names: Set<String> = []
    var deletedCount = 0
    while true {
      let page = try database.changes(in: zone, since: token, limit: limit)
      for record in page.saved {
        let single = try #require(try database.record(record.id))
        #expect(record == single && record.metadata == single.metadata && !record.hasChanges)
        #expect(record["bytes"] as Data? == single["bytes"] && record["n"] as Int? == single["n"])
        #expect(names.insert(record.id.name).inserted)
      }
      deletedCount += page.deleted.count
      #expect(page.saved.count + page.deleted.count == limit || !page.moreComing)
      token = page.token
      if !page.moreComing { break }
    }
    #expect(names.count == 3 * 81 && deletedCount == 3 * 2)
    let inTransaction = try database.write { try $0.changes(in: zone, since: nil).saved }
    #expect(try inTransaction == database.changes(in: zone, since: nil).saved)
  }

  @Test("a record outlives its page, the other records of its batch and the database")
  func outlives() throws {
    let kept = try { () throws -> Record in
      let database = try Database.scratch()
      for number in 0..<200 { try database.put("r\(number)", ["n": .int(Int64(number)), "text": "as long as it takes"]) }
      let record = try database.changes(in: .default, since: nil).saved[123]
      try database.close()
      return record
    }()
    var copy = kept
    copy["n"] = 1
    #expect(kept.id.name == "r123" && kept["n"] == 123 && kept["text"] == "as long as it takes")
    #expect(copy["n"] == 1 && copy != kept && kept.changedKeys.isEmpty)
  }

  @Test("one flipped byte of any record of a page: the page throws, and nothing of it is returned")
  func flips() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk)
    for number in 0..<40 { try database.put("r\(number)", ["text": "The Chronicle of Harbour"]) }
    try database.close()
    let sound = try #require(disk.bytes(of: "test.daybook"))
    var thrownCount = 0
    // Texts lie in bodies only, so each of them is a byte of a record that the page reads.
    let text = Array("Chronicle".utf8)
    for offset in 0..<sound.count - text.count where sound[offset] == text[0] {
      guard sound[offset..<offset + text.count].elementsEqual(text) else { continue }
      let image = SimulatedDisk(seed: 1)
      image.install(sound, at: "test.daybook")
      // Mapped: what is in a cache was read before it was corrupted.
      let reopened = try Database.open(on: image) { $0.access = .mapped }
      #expect(try reopened.changes(in: .default, since: nil).saved.count == 40)
      #expect(image.corrupt("test.daybook", at: offset))
      let error = #expect(throws: DatabaseError.self) { _ = try reopened.changes(in: .default, since: nil) }
      #expect(error?.code == .corrupted)
      thrownCount += 1
    }
    #expect(thrownCount == 40)
  }

  @Test("copies of a changed record change apart")
  func draftsAreValues() throws {
    var first = try Record.fresh("a", ["x": 1])
    var second = first
    second["x"] = 2
    second["y"] = 3
    first["z"] = 4
    second.parent = Record.Reference(try Record.ID("p"))
    let third = second
    second["x"] = nil
    #expect(first["x"] == 1 && first["y"] as Int? == nil && first["z"] == 4 && first.parent == nil)
    #expect(third["x"] == 2 && third["y"] == 3 && third["z"] as Int? == nil && third.parent?.id.name == "p")
    #expect(second["x"] as Int? == nil && second.removedKeys == ["x"] && second["y"] == 3)
  }
}

@Suite("bytes looked at in words")
struct WordTests {
  @Test("identifiers and printable text are what a look at each byte says, for every byte at every place")
  func names() throws {
    for count in 1...20 {
      for place in 0..<count {
        for byte in UInt8(0)...127 {
          var bytes = Array(repeating: UInt8(ascii: "k"), count: count)
          bytes[place] = byte
          let text = String(decoding: bytes, as: UTF8.self)
          let isLetter = byte >= 65 && byte <= 90 || byte >= 97 && byte <= 122
          let isInner = isLetter || byte >= 48 && byte <= 57 || byte == 95
          let isKey = place == 0 ? isLetter : isInner
          if (NameRules.faultOfKey(text) == nil) != isKey { Issue.record("key of \(count) with byte \(byte) at \(place)") }
          let isPrintable = byte >= 0x20 && byte < 0x7F
          if NameRules.isPrintableASCII(text) != isPrintable { Issue.record("text of \(count), byte \(byte) at \(place)") }
        }
      }
    }
  }

  @Test("equality, ASCII and heads are what a look at each byte says")
  func views() {
    for count in 0...40 {
      let bytes = (0..<count).map { UInt8(1 + $0 * 3 % 120) }
      let same = bytes
      UTF8Order.withView(of: bytes) { view in
        #expect(UTF8Order.withView(of: same) { UTF8Order.equal(view, $0) } && UTF8Order.isASCII(view))
        let head = bytes.prefix(8).enumerated().reduce(UInt64(0)) { $0 | UInt64($1.element) << UInt64(56 - 8 * $1.offset) }
        #expect(UTF8Order.head(of: view) == head)
      }
      for place in 0..<count {
        var other = bytes
        other[place] ^= 0x80
        UTF8Order.withView(of: bytes) { view in
          UTF8Order.withView(of: other) { changed in
            if UTF8Order.equal(view, changed) || UTF8Order.isASCII(changed) { Issue.record("\(count) bytes, at \(place)") }
          }
        }
      }
    }
  }
}
