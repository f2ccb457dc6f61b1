import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// A body with every kind of field and every optional part.
private func richBody() throws -> RecordBody {
  let zone = try Zone.ID("مكتبة 👍", owner: "_owner")
  var record = try Record(type: "Movie", id: Record.ID("dune", in: zone))
  for (index, value) in sampleValues.enumerated() {
    if case .string(let text) = value, text.utf8.count > 100 { continue }
    record["k\(index)"] = value
  }
  record.encryptedValues["secret"] = "é"
  record.parent = Record.Reference(try Record.ID("parent", in: zone))
  let references = record.keys.filter { record[$0].map { (v: Record.Value) in v.kind.isReference } ?? false }
  let own = Record.Reference(try Record.ID("other", in: zone))
  for key in references { record[key] = [own, own] }
  let buffer = ByteBuffer()
  try RecordBodyEncoder.encode(
    record,
    stamp: .init(
      tag: .max, tagText: "foreign-TAG", date: 5, userID: Array("second".utf8), deviceID: Array("device".utf8),
      creation: (4, Array("first".utf8)), previousOffset: 77, previousByteCount: 8), into: buffer)
  return try RecordBody(copying: buffer.view)
}

/// Reads everything that a record offers.
private func readEverything(_ body: RecordBody) {
  let record = Record(body: body)
  _ = record.id
  _ = record.metadata
  _ = record.parent
  _ = record.encodedByteCount
  _ = record.allTokens()
  _ = record.hashValue
  for key in record.keys { _ = record[key] as Record.Value? }
  for key in record.encryptedValues.keys { _ = record.encryptedValues[key] as Record.Value? }
  _ = record == record
  _ = Record(body: body, desiredKeys: ["k1", "k2"]).keys
  var edited = record
  edited["k3"] = 1
  edited["k40"] = nil
  let buffer = ByteBuffer()
  _ = try? RecordBodyEncoder.encode(edited, onto: body, writing: .allKeys, stamp: .init(tag: 1, date: 1), into: buffer)
  _ = record.systemFields
}

@Suite("the bytes of a record")
struct RecordBodyTests {
  @Test("everything that was written is read")
  func roundTrip() throws {
    let body = try richBody()
    #expect(body.type == "Movie" && body.name == "dune" && body.parentName == "parent")
    #expect(body.zoneID == (try Zone.ID("مكتبة 👍", owner: "_owner")))
    #expect(body.previous?.offset == 77 && body.previous?.byteCount == 8)
    let metadata = try #require(body.metadata)
    #expect(metadata.changeTag == "foreign-TAG")
    #expect(metadata.creatorUserID == "first" && metadata.lastModifiedUserID == "second")
    #expect(metadata.modifiedByDevice == "device")
    #expect(metadata.creationDate == Date(timeIntervalSinceReferenceDate: 4))
    #expect(metadata.modificationDate == Date(timeIntervalSinceReferenceDate: 5))
    #expect(Record(body: body).encryptedValues["secret"] == "é")
    #expect(Record(body: body)["secret"] == nil)
    readEverything(body)
  }

  @Test("a body that was cut anywhere is refused")
  func truncation() throws {
    let bytes = try richBody().withBytes { $0.array }
    for count in 0..<bytes.count {
      let cut = Array(bytes.prefix(count))
      UTF8Order.withView(of: cut) { view in
        #expect(throws: BodyFault.self) { _ = try RecordBody(copying: view) }
        #expect(throws: BodyFault.self) { _ = try RecordBody(trusted: view) }
      }
    }
    _ = UTF8Order.withView(of: bytes + [0]) { view in
      #expect(throws: BodyFault.trailingBytes) { _ = try RecordBody(trusted: view) }
    }
  }

  @Test("a flipped byte never traps", arguments: [0x01, 0x80, 0xFF] as [UInt8])
  func flips(_ flip: UInt8) throws {
    let bytes = try richBody().withBytes { $0.array }
    for index in bytes.indices {
      var flipped = bytes
      flipped[index] ^= flip
      UTF8Order.withView(of: flipped) { view in
        if let body = try? RecordBody(trusted: view) { readEverything(body) }
        if let body = try? RecordBody(copying: view) { readEverything(body) }
      }
    }
  }

  @Test("random bytes never trap", arguments: [UInt64(1), 2, 3])
  func noise(_ seed: UInt64) throws {
    var random = seed
    let bytes = try richBody().withBytes { $0.array }
    for _ in 0..<3000 {
      var noisy = bytes
      for _ in 0..<4 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        noisy[Int(random >> 33) % noisy.count] = UInt8(truncatingIfNeeded: random >> 20)
      }
      UTF8Order.withView(of: noisy) { view in
        if let body = try? RecordBody(trusted: view) { readEverything(body) }
        if let body = try? RecordBody(copying: view) { readEverything(body) }
        _ = try? Tombstone(view)
      }
    }
  }

  @Test("the same fields have the same bytes in whatever order they were set")
  func canonical() throws {
    let id = try Record.ID("r")
    let keys = (0..<20).map { "k\($0)" }
    var bytes: Set<[UInt8]> = []
    for order in [keys, keys.reversed(), keys.sorted { $0.hashValue < $1.hashValue }] {
      var record = try Record(type: "T", id: id)
      for key in order { record[key] = key }
      record["gone"] = 1
      record["gone"] = nil
      bytes.insert(try record.stored().body.withBytes { $0.array })
      var again = try record.stored()
      for key in order.prefix(5) { again[key] = key }
      bytes.insert(try again.stored(onto: record.stored()).body.withBytes { $0.array })
    }
    #expect(bytes.count == 1)
  }

  @Test("sealed values need their cipher")
  func sealed() throws {
    struct Scrambler: FieldCipher {
      func seal(_ plaintext: Data, context: Data) -> Data { Data(plaintext.map { $0 ^ 0x5A }) }
      func open(_ sealed: Data, context: Data) -> Data { Data(sealed.map { $0 ^ 0x5A }) }
    }
    let services = RecordServices(cipher: Scrambler())
    var record = try Record(type: "T")
    record.encryptedValues["secret"] = "swordfish"
    let buffer = ByteBuffer()
    try RecordBodyEncoder.encode(record, stamp: .init(tag: 1, date: 1), services: services, into: buffer)
    let open = Record(body: try RecordBody(trusted: buffer.view, services: services))
    #expect(open.encryptedValues["secret"] == "swordfish")
    let closed = Record(body: try RecordBody(copying: buffer.view))
    #expect(closed.encryptedValues["secret"] == nil)
    let error = #expect(throws: DatabaseError.self) { try closed.encryptedValues.value(String.self, forKey: "secret") }
    #expect(error?.code == .permissionFailure)
    #expect(!String(decoding: buffer.view.array, as: UTF8.self).contains("swordfish"))
  }

  @Test("an asset that was not stored never reaches the disk")
  func unstoredAsset() throws {
    var record = try Record(type: "T")
    record["a"] = Asset(data: Data([1, 2]))
    let buffer = ByteBuffer()
    buffer.append(7)
    #expect(throws: DatabaseError.self) {
      try RecordBodyEncoder.encode(record, stamp: .init(tag: 1, date: 1), into: buffer)
    }
    #expect(buffer.count == 1)
    try record.replaceEditedAssets { (asset) throws(DatabaseError) in
      Asset(digest: [UInt8](repeating: 1, count: 32), byteCount: asset.byteCount)
    }
    try RecordBodyEncoder.encode(record, stamp: .init(tag: 1, date: 1), into: buffer)
  }

  @Test("a tombstone survives, and any cut of it is refused or sound")
  func tombstones() throws {
    for zone in [Zone.ID.default, try Zone.ID("z👍")] {
      let tombstone = Tombstone(
        id: try Record.ID("r", in: zone), type: "T", tag: 9, date: Date(timeIntervalSinceReferenceDate: 3),
        previousOffset: 5, previousByteCount: 6, userID: "é")
      let buffer = ByteBuffer()
      tombstone.append(to: buffer)
      #expect(try Tombstone(buffer.view) == tombstone)
      for count in 0..<buffer.count { _ = try? Tombstone(buffer.view.prefix(count)) }
      for index in 0..<buffer.count {
        var bytes = buffer.view.array
        bytes[index] ^= 0xFF
        UTF8Order.withView(of: bytes) { _ = try? Tombstone($0) }
      }
    }
  }
}
