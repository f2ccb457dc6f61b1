import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// What a store promises while it is open: transactions whole or not at all, snapshots that stay as they were. What it finds
// after a crash is `RecoveryTests` and `CrashTests`.

private let path = storePath

@Suite("Store: transactions")
struct StoreTransactionTests {
  @Test("values survive closing and opening, empty and large ones too", arguments: [0, 1, 2])
  func roundTrip(kind: Int) throws {
    try withDirectory { directory in
      let disks: [any Disk] = [newDisk(), MemoryDisk(), SystemDisk()]
      let disk = disks[kind]
      let path = directory + "/book"
      var options = StoreOptions.small()
      options.hasBackgroundThread = kind != 0
      let large = filler(1, 300_000)
      var expected: Contents = ["": [1], "empty": [], "large": large]
      var store = try KeyValueStore(path, disk: disk, options: options)
      #expect(try store.contents() == [:] && store.store.recovery.wasClosed)
      try store.write { transaction in
        try transaction.put("", [1])
        try transaction.put("empty", [])
        try transaction.put("large", large)
      }
      for generation in 0..<5 {
        #expect(try store.contents() == expected)
        #expect(try store.value("large") == large && store.value("none") == nil)
        try store.checkThoroughly()
        try store.put("key \(generation)", filler(generation, 50))
        expected["key \(generation)"] = filler(generation, 50)
        try store.close()
        store = try KeyValueStore(path, disk: disk, options: options)
        #expect(store.store.recovery.wasClosed)
        #expect(try store.store.beginRead().sequence == UInt64(generation + 2))
      }
      try store.close()
    }
  }

  @Test("a transaction that throws leaves nothing, also after parts went out")
  func aborted() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .small())
    try store.put("a", [1])
    for byteCount in [10, 1000, 5000] {
      do {
        try store.write { transaction in
          try transaction.put("a", [2])
          try transaction.put("b", filler(1, byteCount))
          try transaction.put("c", filler(2, byteCount))
          #expect(try transaction.value("b") == filler(1, byteCount))
          throw ChangedMyMind()
        }
        Issue.record("the error is passed on")
      } catch is ChangedMyMind {}
      #expect(try store.contents() == ["a": [1]])
    }
    try store.put("d", [4])
    try store.checkThoroughly()
    #expect(try store.store.beginRead().sequence == 2)
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try reopened.contents() == ["a": [1], "d": [4]])
  }

  @Test("a transaction that changes nothing writes nothing")
  func empty() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .small())
    try store.put("a", [1])
    let calls = disk.callCount
    #expect(try store.write { _ in } == 1)
    #expect(
      try store.write { transaction in
        let savepoint = try transaction.transaction.savepoint()
        try transaction.put("b", [1])
        try transaction.transaction.rollBack(to: savepoint)
      } == 1)
    #expect(disk.callCount == calls)
  }

  @Test("savepoints nest, also where their operations went out in parts", arguments: [40, 400, 4000])
  func savepoints(byteCount: Int) throws {
    let disk = newDisk()
    var store = try KeyValueStore(path, disk: disk, options: .small())
    try store.put("old", [0])
    try store.write { transaction in
      try transaction.put("one", filler(1, byteCount))
      try? transaction.savepoint {
        try transaction.put("two", filler(2, byteCount))
        try transaction.delete("old")
        try? transaction.savepoint {
          try transaction.put("one", filler(3, byteCount))
          try transaction.put("three", filler(3, byteCount))
          throw ChangedMyMind()
        }
        #expect(try transaction.value("one") == filler(1, byteCount))
        #expect(try transaction.value("three") == nil && transaction.value("old") == nil)
        try transaction.savepoint {
          try transaction.put("four", filler(4, byteCount))
          try transaction.put("two", filler(5, byteCount))
        }
      }
      try? transaction.savepoint {
        try transaction.put("five", filler(5, byteCount))
        try transaction.savepoint { try transaction.delete("one") }
        throw ChangedMyMind()
      }
      try transaction.put("six", filler(6, byteCount))
    }
    let expected: Contents = [
      "one": filler(1, byteCount), "two": filler(5, byteCount), "four": filler(4, byteCount),
      "six": filler(6, byteCount),
    ]
    #expect(try store.contents() == expected)
    try store.checkThoroughly()
    let killed = try KeyValueStore(path, disk: disk.killed(), options: .small())
    #expect(try killed.contents() == expected)
    try store.close()
    store = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try store.contents() == expected)
  }

  @Test("an operation that is too long fails alone")
  func tooLong() throws {
    var options = StoreOptions.small()
    options.maximumOperationByteCount = 500
    let store = try KeyValueStore(path, disk: newDisk(), options: options)
    try store.write { transaction in
      try transaction.put("a", [1])
      #expect(thrownCase { try transaction.put("b", filler(1, 600)) } == "tooLarge")
      #expect(thrownCase { try transaction.put(String(repeating: "k", count: 5000), []) } == "tooLarge")
      try transaction.put("c", [3])
    }
    #expect(try store.contents() == ["a": [1], "c": [3]])
    try store.checkThoroughly()
  }

  @Test("values around 16 MB, where an operation's header becomes longer, are there after a replay and with a checkpoint")
  func longHeaders() throws {
    let disk = newDisk(128)
    var store = try KeyValueStore(path, disk: disk, options: .small())
    var expected: Contents = [:]
    for more in -1...1 {
      expected["key \(more)"] = filler(more, Operation.longPayloadByteCount + more - 2 - "key \(more)".utf8.count)
    }
    expected["short"] = [1]
    try store.write { transaction in for (key, value) in expected { try transaction.put(key, value) } }
    #expect(try store.contents() == expected)
    let killed = try KeyValueStore(path, disk: disk.killed(), options: .small())
    #expect(try killed.contents() == expected)
    try killed.checkThoroughly()
    try killed.close()
    try store.close()
    store = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try store.contents() == expected)
    try store.close()
  }

  @Test(
    "deletes that wait for their place in the order of keys: nobody notices, within the transaction or after it",
    arguments: testSeeds(1...6))
  func waitingDeletes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var options = StoreOptions.small()
    options.partByteCount = 2000
    let store = try KeyValueStore(path, disk: newDisk(16), options: options)
    var model: Contents = [:]
    for round in 0..<40 {
      let before = model
      let isGivenUp = round % 7 == 6
      let outcome = thrownCase {
        try store.write { transaction in
          for number in 0..<Int.random(in: 0..<300, using: &generator) {
            if Int.random(in: 0..<40, using: &generator) > 0 {
              try step(transaction, &model, &generator, isMostlyDeletes: round % 3 == 0)
              continue
            }
            let kept = model
            let savepoint = try transaction.transaction.savepoint()
            for _ in 0..<25 { try step(transaction, &model, &generator, isMostlyDeletes: true) }
            if number % 2 == 0 {
              try transaction.transaction.rollBack(to: savepoint)
              model = kept
            }
          }
          if isGivenUp { throw StoreError.closed }
        }
      }
      #expect(outcome == (isGivenUp ? "closed" : nil))
      if isGivenUp { model = before }
      #expect(try store.contents() == model)
    }
    // Rebuilds the tree, and counts what lives.
    try store.checkThoroughly()
    var counted = 0
    try store.scan { key, value in counted += Operation.headerByteCount + 2 + key.count + value.count }
    #expect(store.store.head.liveByteCount == counted)
    try store.close()
  }

  /// A put, a delete or a look, there and in the model.
  private func step(
    _ transaction: borrowing KeyValueTransaction, _ model: inout Contents, _ generator: inout SeededGenerator,
    isMostlyDeletes: Bool
  ) throws {
    let key = "key \(Int.random(in: 0..<400, using: &generator))"
    switch Int.random(in: 0..<20, using: &generator) {
    case 0: if try transaction.value(key) != model[key] { throw Deviation("\(key) reads differently") }
    case 1...(isMostlyDeletes ? 14 : 6):
      try transaction.delete(key)
      model[key] = nil
    default:
      let value = filler(Int.random(in: 0..<1000, using: &generator), Int.random(in: 0..<50, using: &generator))
      try transaction.put(key, value)
      model[key] = value
    }
  }

  @Test("deletes that need more memory than a transaction may fail alone, also when they wait until its end")
  func memoryLimitOfDeletes() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.partByteCount = 1 << 20
    let disk = newDisk(16)
    func key(_ number: Int) -> String { "\(number * 7919 % 100_000)" + String(repeating: "k", count: 200) }
    var store = try KeyValueStore(path, disk: disk, options: options)
    for part in 0..<4 {
      try store.write { transaction in
        for number in 0..<500 { try transaction.put(key(part * 500 + number), [1]) }
      }
    }
    try store.close()
    options.checkpointMemoryByteCount = 20 * 4160
    store = try KeyValueStore(path, disk: disk, options: options)
    #expect(
      thrownCase {
        try store.write { transaction in for number in 0..<700 { try transaction.delete(key(number * 2)) } }
      } == "tooLarge")
    #expect(try store.contents().count == 2000)
    try store.write { transaction in for number in 0..<20 { try transaction.delete(key(number)) } }
    #expect(try store.contents().count == 1980)
    try store.checkThoroughly()
    try store.close()
  }

  @Test("a transaction that needs more memory than it may fails alone, and memory stays bounded beside snapshots")
  func memoryLimit() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.partByteCount = 1 << 20
    options.checkpointMemoryByteCount = 40 * 4160
    let store = try KeyValueStore(path, disk: newDisk(16), options: options)
    func fill(_ count: Int) throws {
      try store.write { transaction in
        for number in 0..<count { try transaction.put("\(number * 7919 % 100_000) and a long key", [1]) }
      }
    }
    #expect(thrownCase { try fill(20_000) } == "tooLarge")
    #expect(try store.contents() == [:])
    // Snapshots hold back more than one transaction may use; a checkpoint frees the rest.
    var pins: [Store.Pin] = []
    for _ in 0..<20 {
      try fill(1000)
      pins.append(try store.store.beginRead())
    }
    #expect(store.store.editor.pages.usedPageCount < 80)
    for pin in pins {
      #expect(try store.contents(pin).count == 1000)
      store.store.endRead(pin)
    }
    try fill(1000)
    try store.store.checkpoint()
    #expect(store.store.editor.pages.usedPageCount == 0)
    #expect(try store.contents().count == 1000)
    try store.close()
  }

  @Test("a closed database has given its memory back, although somebody still holds the object")
  func memoryAfterClose() throws {
    let store = try KeyValueStore(path, disk: newDisk(17), options: .withoutCheckpoints())
    try store.write { transaction in
      for number in 0..<9000 { try transaction.put("\(number * 7919 % 100_000) and a longer key", [1]) }
    }
    let pages = store.store.editor.pages
    #expect(pages.reservedByteCount > 0)
    try store.close()
    #expect(pages.reservedByteCount == 0)
  }
}
