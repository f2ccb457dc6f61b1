import Daybook
import DaybookCoding
import Foundation
import Testing

// A value that is saved again as it is stored is no new version, and equal values are equal records.

@Suite("unchanged values")
struct UnchangedValueTests {
  private struct Keyed: RecordCodable, Equatable {
    struct Inner: Codable, Equatable { var counts: [UUID: Int] }
    var recordName = "k"
    var names: [UUID: String] = [:]
    var counts: [UUID: Int] = [:]
    var inner = Inner(counts: [:])
  }

  private func keyed(reversed: Bool) -> Keyed {
    var value = Keyed()
    if reversed {
      value.names.reserveCapacity(500)
      value.counts.reserveCapacity(500)
      value.inner.counts.reserveCapacity(500)
    }
    let numbers = (0..<40).map { $0 }
    for number in reversed ? numbers.reversed() : numbers {
      let id = UUID(uuidString: "00000000-0000-0000-0000-0000000000\(number + 10)")!
      value.names[id] = "\(number)"
      value.counts[id] = number
      value.inner.counts[id] = number
    }
    return value
  }

  @Test("an update that changed nothing wrote a dictionary whose keys are no texts once more")
  func dictionary() throws {
    let database = try Database.inMemory()
    try database.save(keyed(reversed: false))
    let before = try database.record(Record.ID("k"))?.changeTag
    #expect(try database.fetch(Keyed.self, "k") == keyed(reversed: true))
    try database.update(Keyed.self, "k") { $0 = keyed(reversed: true) }
    #expect(try database.record(Record.ID("k"))?.changeTag == before)
  }

  private struct Pair: RecordEncodable {
    var recordName: String { "p" }
    var first: Keyed
    var second: Keyed
  }

  @Test("equal values with a dictionary whose keys are no texts were two values of one name")
  func graph() throws {
    #expect(keyed(reversed: false) == keyed(reversed: true))
    let pair = Pair(first: keyed(reversed: false), second: keyed(reversed: true))
    #expect(try RecordEncoder().encodeGraph(pair).count == 2)
  }

  private struct Child: RecordCodable {
    static let fieldRules: [String: FieldRule] = ["owner": .parent]
    var recordName = "c"
    var owner: Record.ID?
  }

  @Test("an update that changed nothing wrote a record with a parent once more")
  func parent() throws {
    let database = try Database.inMemory()
    let zone = try Zone.ID("Z")
    let (owner, other, child) = (try Record.ID("o", in: zone), try Record.ID("p", in: zone), try Record.ID("c", in: zone))
    try database.write { transaction in
      try transaction.save(Zone(zone))
      try transaction.save(Record(type: "Owner", id: owner))
      try transaction.save(Record(type: "Owner", id: other))
    }
    try database.save(Child(owner: owner), in: zone)
    let before = try database.record(child)?.changeTag
    try database.update(Child.self, "c", in: zone) { _ in }
    #expect(try database.record(child)?.changeTag == before)
    for next in [other, nil, owner] {
      try database.update(Child.self, "c", in: zone) { $0.owner = next }
      #expect(try database.record(child)?.parent?.id == next)
    }
  }
}
