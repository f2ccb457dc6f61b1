import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// What was done to one key of a new record, as a dictionary says it.
private struct PlainEdit {
  var value: Record.Value?
  var isEncrypted: Bool
  var isOfBoth = false
}

/// A new record as a dictionary: what a draft must agree with, whatever order its keys came in.
private struct PlainDraft {
  var edits: [String: PlainEdit] = [:]
  var refused: Set<String> = []
  var parent: String?

  mutating func set(_ value: Record.Value?, _ key: String, isEncrypted: Bool, isSound: Bool = true) {
    let mark = (isEncrypted ? "encrypted " : "plain ") + key
    let old = edits[key]
    let isTaken = old.map { $0.value != nil && $0.isEncrypted != isEncrypted } ?? false
    if value != nil, isTaken || !isSound {
      refused.insert(mark)
      return
    }
    refused.remove(mark)
    if isTaken { return }
    let isOfBoth = old.map { $0.isOfBoth || $0.isEncrypted != isEncrypted } ?? false
    edits[key] = PlainEdit(value: value.flatMap { try? $0.storable() }, isEncrypted: isEncrypted, isOfBoth: isOfBoth)
  }

  var sorted: [FieldEdit] {
    edits.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { key, edit in
      FieldEdit(
        key: key, head: UTF8Order.withView(of: key) { UTF8Order.head(of: $0) }, isEncrypted: edit.isEncrypted,
        isOfBoth: edit.isOfBoth, kind: edit.value?.kind, value: edit.value)
    }
  }

  func keys(isEncrypted: Bool, _ isIncluded: (PlainEdit) -> Bool) -> Set<String> {
    Set(edits.filter { isIncluded($0.value) }.keys)
  }

  /// The record that has these edits from the start.
  func record(_ type: String, _ id: Record.ID) throws -> Record {
    var record = try Record(type: type, id: id)
    record.edits = sorted
    if let parent { record.parent = Record.Reference(try Record.ID(parent)) }
    return record
  }
}

private func encoded(
  _ record: Record, onto server: RecordBody? = nil, _ extent: RecordBodyEncoder.Extent = .changedKeys
) throws -> [UInt8] {
  let buffer = ByteBuffer()
  try RecordBodyEncoder.encode(record, onto: server, writing: extent, stamp: .init(tag: 5, date: 6), into: buffer)
  return buffer.view.array
}

private func body(_ bytes: [UInt8]) throws -> RecordBody {
  let buffer = ByteBuffer(capacity: bytes.count)
  defer { withExtendedLifetime(buffer) {} }
  buffer.append(bytes)
  return try RecordBody(copying: buffer.view)
}

@Suite("keys that come in the order of the record before")
struct KeyOrderTests {
  /// Short keys and long ones; the order of their settings is not that of their bytes.
  private static func keys(_ count: Int) -> [String] {
    (0..<count).map { $0 % 3 == 2 ? "aLongNameWithManyLetters\($0)" : "f\($0)" }
  }

  private static func record(_ type: String, _ keys: [String], _ name: String = "a") throws -> Record {
    var record = try Record(type: type, id: Record.ID(name))
    for (number, key) in keys.enumerated() { record[key] = number }
    return record
  }

  /// Shows an order so often that it is known: twice, or more where other tests show theirs meanwhile.
  private static func show(_ type: String, _ keys: [String]) throws {
    for _ in 0..<20 {
      let record = try record(type, keys)
      if record.draft?.expected?.count == keys.count { return }
      record.noteOrder()
    }
  }

  @Test("an order is known when it was saved twice, and not before")
  func known() throws {
    let keys = Self.keys(20)
    for number in 0..<2 {
      let record = try Self.record("OrderKnown", keys)
      #expect(record.draft?.expected == nil, "\(number)")
      record.noteOrder()
    }
    try Self.show("OrderKnown", keys)
    let record = try Self.record("OrderKnown", keys)
    #expect(record.draft?.expected != nil)
    #expect(record.draft?.valueCount == 20)
    #expect(try Self.record("OrderOther", keys).draft?.expected == nil)
    #expect(record.keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    for (number, key) in keys.enumerated() { #expect(record[key] as Int? == number) }
    #expect(record["f"] as Record.Value? == nil)
  }

  @Test("keys that are left out stay within the order; one that was passed over, or set again, leaves it")
  func leftOut() throws {
    let keys = Self.keys(20)
    try Self.show("OrderLeftOut", keys)
    let some = keys.enumerated().filter { $0.offset % 4 != 1 }.map(\.element)
    var record = try Self.record("OrderLeftOut", some)
    #expect(record.draft?.expected != nil)
    #expect(record.changedKeys == Set(some))
    let copy = record
    record[keys[1]] = "late"
    #expect(record.draft?.expected == nil)
    #expect(copy.draft?.expected != nil)
    #expect(copy[keys[1]] as Record.Value? == nil)
    #expect(record.changedKeys == Set(some + [keys[1]]))
    var again = copy
    again[some[3]] = 100
    #expect(again[some[3]] as Int? == 100)
    #expect(copy[some[3]] as Int? == 3)
    #expect(again.draft?.expected == nil)
  }

  @Test("two kinds of records of a type that begin with the same keys are both known, whichever came first")
  func twoKinds() throws {
    let keys = Self.keys(60)
    let few = [keys[0], keys[1], keys[50]]
    for (type, first, second) in [("OrderTwoA", keys, few), ("OrderTwoB", few, keys)] {
      try Self.show(type, first)
      try Self.show(type, second)
      for _ in 0..<3 {
        for own in [first, second] {
          let record = try Self.record(type, own)
          #expect(record.draft?.expected?.count == own.count)
          #expect(record.changedKeys == Set(own))
          for (number, key) in own.enumerated() { #expect(record[key] as Int? == number) }
          record.noteOrder()
        }
      }
    }
  }

  @Test("few of many keys in a row become an order of their own")
  func few() throws {
    let keys = Self.keys(60)
    try Self.show("OrderFew", keys)
    let few = Array(keys.prefix(5))
    try Self.show("OrderFew", few)
    #expect(try Self.record("OrderFew", few).draft?.expected?.count == 5)
    #expect(try Self.record("OrderFew", keys).draft?.expected?.count == 60)
  }

  @Test(
    "removals, parents, texts and references are as in any other order; NaN, bad keys and encrypted values are refused as ever")
  func special() throws {
    let keys = Self.keys(10)
    try Self.show("OrderSpecial", keys)
    var record = try Record(type: "OrderSpecial", id: Record.ID("a"))
    record.parent = Record.Reference(try Record.ID("p"))
    record[keys[0]] = "text"
    #expect(record.draft?.expected != nil)
    record[keys[1]] = nil as Record.Value?
    record[keys[2]] = -0.0
    #expect(record.removedKeys == [keys[1]])
    #expect(record.changedKeys == Set(keys.prefix(3)))
    #expect((record[keys[2]] as Double?)?.sign == .plus)
    record[keys[3]] = Record.Reference(try Record.ID("elsewhere", in: Zone.ID("Z")))
    #expect(record.draft?.expected != nil)
    #expect(throws: DatabaseError.self) { try encoded(record) }
    #expect(record.parent?.id.name == "p")
    var copy = record
    copy.parent = nil
    #expect(record.parent?.id.name == "p")
    #expect(throws: DatabaseError.self) { try copy.set(.double(.nan), forKey: keys[4]) }
    #expect(copy[keys[4]] as Record.Value? == nil)
    copy[keys[4]] = Double.nan
    #expect(!copy.refusals.isEmpty)
    copy[keys[4]] = 1.5
    #expect(copy.refusals.isEmpty)
    record.encryptedValues[keys[0]] = 1
    #expect(record.refusals.count == 1)
    #expect(record[keys[0]] as String? == "text")
  }

  @Test("what is rebased onto a stored record looks at the stored fields again")
  func rebased() throws {
    let keys = Self.keys(10)
    try Self.show("OrderRebased", keys)
    var stored = try Record(type: "OrderRebased", id: Record.ID("a"))
    stored.encryptedValues[keys[1]] = 1
    let current = Record(body: try body(try encoded(stored)))
    var record = try Record(type: "OrderRebased", id: Record.ID("a"))
    record[keys[0]] = 7
    #expect(record.draft?.expected != nil)
    record.rebase(onto: current)
    record[keys[1]] = 8
    #expect(record.refusals.count == 1)
    #expect(record[keys[0]] as Int? == 7)
    #expect(record.encryptedValues[keys[1]] as Int? == 1)
  }

  private static let values: [Record.Value] = [
    .int(0), .int(-1), .int(.max), .double(-0.0), .double(1.5), .string(""), .string(String(repeating: "text ", count: 50)),
    .bytes(Data([1, 2, 3])), .date(Date(timeIntervalSinceReferenceDate: 3)), .strings(["a", "b"]), .ints([]), .doubles([-0.0]),
    .location(Location(latitude: 1, longitude: 2)), .double(.nan),
  ]

  /// Thousands of random edits, most of them in an order that is known: the draft is what a dictionary says, and its body is that of
  /// a record with the same edits.
  @Test("any sequence of edits makes the same record as a dictionary of them", arguments: 0..<40)
  func anySequence(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 1)
    let orders = (0..<3).map { number in
      (type: "OrderAny\(number)", keys: Array(Self.keys(4 + 9 * number).shuffled(using: &random)))
    }
    for order in orders { try Self.show(order.type, order.keys) }
    let reference = Record.Value.reference(Record.Reference(try Record.ID("other")))
    for round in 0..<50 {
      let order = try #require(orders.randomElement(using: &random))
      let id = try Record.ID("r\(round)")
      var record = try Record(type: order.type, id: id)
      var plain = PlainDraft()
      var kept: [(Record, PlainDraft)] = []
      var next = 0
      for _ in 0..<Int.random(in: 0...60, using: &random) {
        var value: Record.Value? = Self.values.randomElement(using: &random)
        var isEncrypted = false
        let key: String
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<84:
          key = order.keys[next % order.keys.count]
          next += 1
          if Int.random(in: 0..<10, using: &random) == 0 { value = nil }
          if Int.random(in: 0..<20, using: &random) == 0 { value = reference }
        case 84..<88:
          next += Int.random(in: 0..<12, using: &random)
          continue
        case 88..<92: key = order.keys.randomElement(using: &random) ?? ""
        case 92..<94:
          key = orders[0].keys.randomElement(using: &random) ?? ""
          isEncrypted = true
          value = value.map { $0.kind.isReference ? .int(1) : $0 }
        case 94:
          let name = "p\(round)"
          record.parent = Record.Reference(try Record.ID(name))
          plain.parent = name
          continue
        case 95:
          // Either goes on, the other stays.
          if Bool.random(using: &random), let (other, itsPlain) = kept.popLast() {
            kept.append((record, plain))
            (record, plain) = (other, itsPlain)
          } else {
            kept.append((record, plain))
          }
          continue
        case 96:
          record["no key"] = 1
          plain.set(.int(1), "no key", isEncrypted: false, isSound: false)
          if Bool.random(using: &random) {
            record["no key"] = nil as Record.Value?
            plain.refused = plain.refused.filter { $0 != "plain no key" }
          }
          continue
        case 97:
          key = order.keys.randomElement(using: &random) ?? ""
          value = nil
        case 98:
          record.encryptedValues = record.encryptedValues
          continue
        default:
          key = order.keys[min(next, order.keys.count - 1)]
          #expect(record[key] as Record.Value? == plain.edits[key].flatMap { $0.isEncrypted ? nil : $0.value })
          continue
        }
        let isSound = (value.map { (try? $0.storable()) != nil }) ?? true
        let isThrowing = Bool.random(using: &random)
        if isEncrypted {
          record.encryptedValues[key] = value
          plain.set(value, key, isEncrypted: true, isSound: isSound)
        } else if isThrowing {
          do {
            try record.set(value, forKey: key)
            plain.set(value, key, isEncrypted: false)
          } catch {
            let isTaken = plain.edits[key].map { $0.isEncrypted && $0.value != nil } ?? false
            #expect(!isSound || isTaken, "\(error)")
          }
        } else {
          record[key] = value
          plain.set(value, key, isEncrypted: false, isSound: isSound)
        }
      }
      kept.append((record, plain))
      for (record, plain) in kept {
        try Self.compare(record, plain, order.type, id, orders[2].keys)
      }
    }
  }

  private static func compare(
    _ record: Record, _ plain: PlainDraft, _ type: String, _ id: Record.ID, _ keys: [String]
  ) throws {
    for isEncrypted in [false, true] {
      let changed = plain.keys(isEncrypted: isEncrypted) { $0.isEncrypted == isEncrypted || $0.isOfBoth && $0.value == nil }
      let removed = plain.keys(isEncrypted: isEncrypted) { ($0.isEncrypted == isEncrypted || $0.isOfBoth) && $0.value == nil }
      #expect(record.changedKeys(isEncrypted: isEncrypted) == changed)
      #expect(record.removedKeys(isEncrypted: isEncrypted) == removed)
      for key in keys + plain.edits.keys {
        let edit = plain.edits[key]
        #expect(record.value(forKey: key, isEncrypted: isEncrypted) == (edit?.isEncrypted == isEncrypted ? edit?.value : nil))
      }
    }
    #expect(record.parent?.id.name == plain.parent)
    #expect(record.hasChanges == (!plain.edits.isEmpty || plain.parent != nil))
    #expect(record.refusals.isEmpty == plain.refused.isEmpty)
    guard plain.refused.isEmpty else {
      #expect(throws: DatabaseError.self) { try encoded(record) }
      return
    }
    let same = try plain.record(type, id)
    record.noteOrder()
    #expect(record == same)
    #expect(record.encodedByteCount == same.encodedByteCount)
    #expect(try encoded(record) == encoded(same))
    var server = try Record(type: type, id: id)
    for key in keys.prefix(12) { server[key] = "stored" }
    let stored = try body(try encoded(server))
    for extent in [RecordBodyEncoder.Extent.changedKeys, .allKeys] {
      #expect(try encoded(record, onto: stored, extent) == encoded(same, onto: stored, extent))
    }
  }

  @Test("saved and read again, a record has what was set, whatever came before it")
  func saved() throws {
    let database = try Database.open(on: SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20))
    var random = SeededGenerator(seed: 9)
    let keys = Self.keys(40)
    var all: [String: [String: Int]] = [:]
    for transaction in 0..<30 {
      try database.write { write in
        for number in 0..<10 {
          let name = "r\(transaction)-\(number)"
          var record = try Record(type: number % 4 == 3 ? "OrderB" : "OrderA", id: Record.ID(name))
          var fields: [String: Int] = [:]
          let own = number % 3 == 0 ? keys.filter { _ in Bool.random(using: &random) } : keys
          for (index, key) in (number == 7 ? own.reversed() : own).enumerated() {
            record[key] = index * number - 50
            fields[key] = index * number - 50
          }
          let isKept = number != 5
          do {
            try write.savepoint {
              try write.save(record)
              if !isKept { throw CancellationError() }
            }
          } catch is CancellationError {}
          if isKept { all[name] = fields }
        }
      }
    }
    for (name, fields) in all {
      let record = try #require(try database.record(Record.ID(name)))
      #expect(record.keys.count == fields.count)
      for (key, value) in fields { #expect(record[key] as Int? == value) }
    }
    #expect(try database.record(Record.ID("r1-5")) == nil)
    try database.close()
  }

  @Test("many threads learn and follow orders at once")
  func threads() {
    let keys = Self.keys(12)
    let failures = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var random = SeededGenerator(seed: UInt64(thread) + 50)
      for round in 0..<300 {
        let own = round % 7 == 0 ? keys.shuffled(using: &random) : keys
        let type = "OrderThread\(round % 3)"
        let record = try? Self.record(type, own)
        record?.noteOrder()
        guard let bytes = try? record.map({ try encoded($0) }),
          let stored = try? body(bytes)
        else {
          failures.withLock { $0 += 1 }
          continue
        }
        let read = Record(body: stored)
        for (number, key) in own.enumerated() where read[key] as Int? != number { failures.withLock { $0 += 1 } }
      }
    }
    #expect(failures.withLock { $0 } == 0)
  }
}
