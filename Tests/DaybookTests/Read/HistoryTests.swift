import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// The versions of a record that the file still links, newest first; deletions are versions too.

@Suite("history")
struct HistoryTests {
  @Test("every save and every deletion is a version, newest first, across reopening")
  func versions() throws {
    let disk = SimulatedDisk(seed: 1)
    let clock = TestClock()
    var options = Database.Options.simulated(seed: 1, clock: clock)
    var database = try Database.open(at: "a.daybook", options: options, disk: disk)
    let id = try Record.ID("a")
    var expected: [(tag: String?, date: Date, value: Record.Value?)] = []
    for number in 0..<30 as Range<Int64> {
      if number % 7 == 6 {
        try database.write { try $0.delete(id) }
        expected.append((nil, clock.date, nil))
      } else {
        let saved = try database.put("a", ["n": .int(number)])
        expected.append((saved.metadata?.changeTag, clock.date, .int(number)))
      }
      if number % 10 == 9 {
        try database.close()
        options = .simulated(seed: UInt64(number), clock: clock)
        database = try .open(at: "a.daybook", options: options, disk: disk)
      }
      let history = try database.history(of: id)
      #expect(history.count == expected.count)
      #expect(Set(history.map(\.id)).count == history.count)
      for (version, wanted) in zip(history, expected.reversed()) {
        #expect(version.date == wanted.date && version.record?["n"] as Record.Value? == wanted.value)
        if let tag = wanted.tag { #expect(version.changeTag == tag) }
        if case .deleted(let gone) = version.content { #expect(gone.id == id && gone.type == "Note") }
      }
      #expect(try history.first?.sequence == database.snapshot().sequence)
    }
    try database.expectClean()
  }

  @Test("a long history comes in pages, each from the tag of the one before, deletions and later lives among them")
  func pages() throws {
    let database = try Database.scratch()
    let id = try Record.ID("a")
    for number in 0..<250 as Range<Int64> {
      if number % 50 == 49 { try database.write { try $0.delete(id) } } else { try database.put("a", ["n": .int(number)]) }
    }
    let all = try database.history(of: id)
    #expect(all.count == 250)
    for limit in [1, 7, 49, 250, 1_000] {
      var paged: [RecordHistoryVersion] = []
      while true {
        let page = try database.history(of: id, before: paged.last?.changeTag, limit: limit)
        #expect(page.count <= limit)
        if page.isEmpty { break }
        paged += page
      }
      #expect(paged.map(\.changeTag) == all.map(\.changeTag), "pages of \(limit)")
      #expect(paged.map { $0.record?["n"] as Record.Value? } == all.map { $0.record?["n"] as Record.Value? })
    }
    let snapshot = try database.snapshot()
    try database.put("a", ["n": 999])
    #expect(try snapshot.history(of: id, limit: 1).first?.changeTag == all[0].changeTag)
    #expect(
      try database.write { try $0.history(of: id, before: all[0].changeTag, limit: 2) }.map(\.changeTag)
        == all[1...2].map(\.changeTag))
    #expect(failure { try database.history(of: id, limit: 0) }?.code == .invalidArguments)
    #expect(failure { try database.history(of: id, limit: -1) }?.code == .invalidArguments)
    try database.compact()
    #expect(try database.history(of: id, before: all[7].changeTag, limit: 5).isEmpty, "what a page began after is gone")
    #expect(try database.history(of: id).count == 1)
  }

  @Test("a damaged older version is no obstacle to the newer ones")
  func damagedOlderVersion() throws {
    let disk = SimulatedDisk(seed: 1)
    var options = Database.Options.simulated(seed: 1)
    options.closeCheckpointByteCount = 0
    let database = try Database.open(at: "a", options: options, disk: disk)
    let id = try Record.ID("a")
    var tags: [String] = []
    var places: [Place] = []
    for number in 0..<10 as Range<Int64> {
      tags.append(try #require(try database.put("a", ["n": .int(number)]).metadata?.changeTag))
      places.append(
        try database.reading { (view) throws(DatabaseError) in
          try view.entry("a", in: try view.existingZone(.default))?.place ?? .none
        })
    }
    try database.close()
    #expect(disk.corrupt("a", at: Int(places[4].offset) + Int(places[4].byteCount) - 1))
    let again = try Database.open(at: "a", options: options, disk: disk)
    #expect(try again.history(of: id, limit: 5).map(\.changeTag) == tags[5...].reversed())
    #expect(try again.record(id, withChangeTag: tags[7])?["n"] == 7)
    #expect(failure { try again.history(of: id) }?.code == .corrupted)
    #expect(failure { try again.record(id, withChangeTag: tags[2]) }?.code == .corrupted)
  }

  @Test("a deep check follows the links to older versions, and finds one that leads to another record")
  func brokenLink() throws {
    let disk = SimulatedDisk(seed: 1)
    let options = Database.Options.simulated(seed: 1)
    let database = try Database.open(at: "a", options: options, disk: disk)
    for number in 0..<3 as Range<Int64> {
      try database.put("mine", ["n": .int(number)])
      try database.put("yours", ["n": .int(number)])
    }
    try database.write { try $0.delete(Record.ID("gone")) }
    try database.expectClean()
    func place(_ name: String) throws -> Place {
      try database.reading { (view) throws(DatabaseError) in
        try view.entry(name, in: try view.existingZone(.default))?.place ?? .none
      }
    }
    let (mine, yours) = (try place("mine"), try place("yours"))
    try database.close()
    var bytes = try #require(disk.bytes(of: "a"))
    // In a packed body the link is after the date of creation.
    func link(_ place: Place) throws -> Range<Int> {
      let start = Int(place.offset) + Operation.headerByteCount
      #expect(bytes[start + 2] & 15 == PackedBody.Form.creation | PackedBody.Form.link)
      let link = start + PackedBody.fixedByteCount + 8
      let packed = try #require(Array(bytes[link...].prefix(16)).withView { PackedPlace($0) })
      return link..<link + packed.byteCount
    }
    bytes.replaceSubrange(try link(mine), with: Array(bytes[try link(yours)]))
    let forged = SimulatedDisk(seed: 2)
    forged.install(Forgery.sealed(bytes), at: "a")
    let again = try Database.open(at: "a", options: options, disk: forged)
    #expect(try again.check(.structure).isClean)
    let report = try again.check(.deep)
    #expect(report.findings.count == 1 && report.findings[0].message.contains("link"), "\(report.findings)")
    try again.close()
  }

  @Test("a record that was never there has no history")
  func never() throws {
    let database = try Database.scratch()
    #expect(try database.history(of: Record.ID("never")).isEmpty)
  }

  @Test("a forgotten deletion takes its history along")
  func horizon() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    try database.write { try $0.delete(Record.ID("a")) }
    let sequence = try database.snapshot().sequence
    try database.put("b")
    try database.write { try $0.forgetDeletions(through: sequence) }
    #expect(try database.history(of: Record.ID("a")).isEmpty)
    try database.put("a", ["n": 2])
    #expect(try database.history(of: Record.ID("a")).map { $0.record?["n"] as Int? } == [2])
    try database.expectClean()
  }

  @Test("a snapshot's history ends where the snapshot does")
  func snapshot() throws {
    let database = try Database.scratch()
    try database.put("a", ["n": 1])
    let snapshot = try database.snapshot()
    try database.put("a", ["n": 2])
    #expect(try snapshot.history(of: Record.ID("a")).count == 1)
    #expect(try database.history(of: Record.ID("a")).count == 2)
  }

  @Test("in a forged file versions that overlap are damage, so that a history is never longer than its file")
  func overlappingVersions() throws {
    let database = try Database.scratch()
    let record = try database.put("a", ["n": 1])
    var bytes = record.body.withBytes { $0.array }
    let transaction = try database.store.beginTransaction()
    func write(_ kind: UInt8, _ payload: [UInt8]) throws {
      let operation = transaction.beginOperation()
      transaction.payload.append(payload)
      try transaction.endOperation(operation, kind: kind)
    }
    try write(OperationKind.commitInfo.rawValue, [UInt8](repeating: 0, count: 8))
    // The link leads to bytes that begin before this operation and end inside it.
    let link = ByteBuffer(capacity: 16)
    link.append(uint64: transaction.logEnd - 8)
    link.append(uint32: 100)
    bytes.replaceSubrange(RecordBody.previousOffset..<RecordBody.previousOffset + 12, with: link.view.array)
    try write(OperationKind.saveRecord.rawValue, bytes)
    try database.store.wait(database.store.commit(transaction))
    #expect(try database.record(record.id) != nil)
    #expect(failure { try database.history(of: record.id) }?.code == .corrupted)
  }
}
