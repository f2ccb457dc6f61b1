import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Sizes that no limit allows are refused before anything of them is encoded, and pages of no size are refused everywhere.
@Suite("limits")
struct LimitTests {
  /// Zeros that the system makes when they are read: they are not.
  private static let huge = 2_200_000_000

  @Test("a value of more than two gigabytes is refused with its key, with and without limits, plain and encrypted")
  func hugeValue() throws {
    for limits in [Limits(), .unlimited] {
      let database = try Database.scratch { $0.limits = limits }
      let value = Record.Value.bytes(Data(count: Self.huge))
      let list = Record.Value.bytesList([Data(), Data(count: Self.huge)])
      for value in [value, list] {
        var record = try Record.fresh("a", ["long": value, "n": 1])
        let error = failure { try database.write { [record] in try $0.save(record) } }
        #expect(error?.code == .limitExceeded && error?.facts.key == "long" && error?.facts.name == "a")
        #expect(error?.facts.size ?? 0 > Self.huge && error?.facts.limit ?? 0 <= 1 << 30)
        let result = Result { try database.modify(saving: [record], atomically: false) }
        switch result {
        case .success(let result): #expect(result.errors[record.id]?.code == .limitExceeded)
        case .failure(let error): #expect((error as? DatabaseError)?.code == .limitExceeded)
        }
        record = try Record.fresh("a")
        try record.encryptedValues.set(value, forKey: "long")
        #expect(failure { try database.write { [record] in try $0.save(record) } }?.code == .limitExceeded)
      }
      #expect(try database.recordCount(in: .default) == 0 && database.schema().types.isEmpty)
      // The refused save leaves its transaction usable.
      try database.write { transaction in
        _ = failure { try transaction.save(.fresh("a", ["long": value])) }
        try transaction.save(.fresh("b"))
      }
      #expect(try database.recordCount(in: .default) == 1)
      try database.expectClean()
    }
  }

  @Test("many assets inside one record, and a change beside a long record, are added up before they are written")
  func sums() throws {
    let room = RecordBodyEncoder.Room(byteCount: 20 << 20)
    let content = Data(count: 1 << 20)
    var record = try Record.fresh("a")
    for number in 0..<30 {
      record["a\(number)"] = Asset(digest: [UInt8](repeating: 1, count: 32), byteCount: content.count, source: .memory(content))
    }
    let buffer = ByteBuffer(capacity: 4096)
    let stamp = RecordBodyEncoder.Stamp(tag: 1, date: 0)
    let error = failure { try RecordBodyEncoder.encode(record, stamp: stamp, room: room, into: buffer) }
    #expect(error?.code == .limitExceeded && error?.facts.size ?? 0 > 30 << 20 && error?.facts.limit == 20 << 20)
    #expect(buffer.count == 0 && buffer.capacity < 20 << 20)
    for number in 15..<30 { record["a\(number)"] = nil as Record.Value? }
    try RecordBodyEncoder.encode(record, stamp: stamp, room: room, into: buffer)
    let server = try RecordBody(encoded: buffer.view, services: nil)
    var longer = Record(body: server)
    longer["b"] = Data(count: 6 << 20)
    let written = buffer.count
    #expect(
      failure { try RecordBodyEncoder.encode(longer, onto: server, stamp: stamp, room: room, into: buffer) }?.code
        == .limitExceeded)
    #expect(buffer.count == written)
    longer["b"] = Data(count: 4 << 20)
    try RecordBodyEncoder.encode(longer, onto: server, stamp: stamp, room: room, into: buffer)
  }

  @Test("sizes beyond all numbers stay beyond all limits")
  func saturating() {
    #expect(Int.max.adding(1) == .max && 1.adding(.max) == .max && 2.adding(3) == 5)
  }

  @Test("metadata of more than two gigabytes are refused with their key, and what was there stays")
  func hugeMetadata() throws {
    let database = try Database.scratch()
    try database.write { try $0.setMetadata(Data([1]), forKey: "k") }
    let error = failure { try database.write { try $0.setMetadata(Data(count: Self.huge), forKey: "k") } }
    #expect(error?.code == .limitExceeded && error?.facts.key == "k" && error?.facts.size ?? 0 > Self.huge)
    #expect(try database.metadata(forKey: "k") == Data([1]))
    try database.expectClean()
  }

  @Test("a page of no or less than no results is refused wherever there are pages", arguments: [0, -1, Int.min])
  func noPage(_ limit: Int) throws {
    let database = try Database.scratch()
    try database.put("a")
    let id = try Record.ID("a")
    let snapshot = try database.snapshot()
    let codes = [
      failure { try database.records(in: .default, limit: limit) },
      failure { try snapshot.records(in: .default, limit: limit) },
      failure { try database.records(in: .default, ofType: "Note", limit: limit) },
      failure { try database.referencing(id, limit: limit) }, failure { try snapshot.referencing(id, limit: limit) },
      failure { try database.changes(in: .default, since: nil, limit: limit) },
      failure { try snapshot.changes(in: .default, since: nil, limit: limit) },
      failure { try database.databaseChanges(since: nil, limit: limit) },
      failure { try snapshot.databaseChanges(since: nil, limit: limit) },
      failure { try database.write { try $0.records(in: .default, limit: limit) } },
      failure { try database.write { try $0.referencing(id, limit: limit) } },
      failure { try database.write { try $0.changes(in: .default, since: nil, limit: limit) } },
    ].map { $0?.code }
    #expect(codes.allSatisfy { $0 == .invalidArguments }, "\(codes)")
  }

  @Test("a page of any size holds what is there")
  func endlessPage() throws {
    let database = try Database.scratch()
    let zone = try database.zone("Library")
    var child = try Record.fresh("child", in: zone)
    try database.put("a", in: zone)
    child.parent = .init(try Record.ID("a", in: zone))
    try database.write { [child] in try $0.save(child) }
    #expect(try database.records(in: zone, limit: .max).count == 2)
    #expect(try database.referencing(Record.ID("a", in: zone), limit: .max).count == 1)
    #expect(try database.changes(in: zone, since: nil, limit: .max).saved.count == 2)
    #expect(try database.databaseChanges(since: nil, limit: .max).changed == [zone])
  }
}
