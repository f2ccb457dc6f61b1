import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// What a store promises while it is open: transactions whole or not at all, snapshots that stay as they were, one writer,
// and an honest end when the disk fails. What it finds after a crash is `RecoveryTests` and `CrashTests`.

private let path = "/d/book"

private func newDisk(_ megabytes: Int = 4) -> SimulatedDisk {
  SimulatedDisk(seed: 5, maximumFileByteCount: megabytes << 20)
}

/// Runs a body on some threads at once; the first error that one of them throws.
private func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) throws -> Void) throws {
  let failure = Locked<(any Error)?>(nil)
  let threads = (0..<count).map { index in
    BackgroundThread(name: "test \(index)") {
      do { try body(index) } catch { failure.withLock { $0 = $0 ?? error } }
    }
  }
  for thread in threads { try #require(thread).join() }
  if let failure = failure.withLock({ $0 }) { throw failure }
}

private func withDirectory(_ body: (String) throws -> Void) throws {
  let directory = NSTemporaryDirectory() + "/daybook-store-" + UUID().uuidString
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  try body(directory)
}

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

  @Test("a transaction that needs more memory than it may fails alone, and memory stays bounded beside snapshots")
  func memoryLimit() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.partByteCount = 1 << 20
    options.checkpointMemoryByteCount = 2 * 40 * 4160
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
}

@Suite("Store: threads", .serialized)
struct StoreThreadTests {
  @Test("commits of eight threads share syncs, and every acknowledged key survives at any moment")
  func groupCommit() throws {
    let disk = newDisk(16)
    let syncCount = Locked(0)
    disk.observe { call throws(DiskFailure) in
      if call.operation == .sync {
        syncCount.withLock { $0 += 1 }
        SystemClock.sleep(nanoseconds: 500_000)
      }
    }
    var options = StoreOptions.small()
    options.hasBackgroundThread = true
    options.minimumLogBudgetByteCount = 64 << 10
    options.maximumLogBudgetByteCount = 64 << 10
    let store = try KeyValueStore(path, disk: disk, options: options)
    let acknowledged = Locked(Set<String>())
    let commitCount = 60
    try onThreads(9) { thread in
      if thread == 8 {
        for seed in 0..<12 as Range<UInt64> {
          let before = acknowledged.withLock { $0 }
          let image = disk.crashed(seed: seed, policy: seed % 2 == 0 ? .none : .random)
          let contents = try KeyValueStore(path, disk: image, options: .small()).contents()
          guard before.isSubset(of: contents.keys) else { throw Deviation("an acknowledged key is gone") }
          SystemClock.sleep(nanoseconds: 3_000_000)
        }
      } else {
        for number in 0..<commitCount {
          let key = "thread \(thread) key \(number)"
          try store.put(key, filler(number, 60))
          acknowledged.withLock { _ = $0.insert(key) }
          guard try store.value(key) == filler(number, 60) else { throw Deviation("a commit is not seen after it") }
        }
      }
    }
    #expect(try store.contents().count == 8 * commitCount)
    #expect(syncCount.withLock { $0 } < 8 * commitCount)
    try store.checkThoroughly()
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: options)
    #expect(try reopened.contents().count == 8 * commitCount)
    try reopened.close()
  }

  @Test("a commit is seen by its own thread as soon as it returns, whoever synced it")
  func seenAfterCommit() throws {
    let store = try KeyValueStore(path, disk: MemoryDisk(), options: .withoutCheckpoints())
    // A commit that replaces many pages takes a while between writing its frame and queueing what it shows; a sync of
    // another thread in that while covers the frame and shows nothing.
    let pageCount = 400
    @Sendable func key(_ number: Int) -> String { String(repeating: "k", count: 400) + "\(number + 100_000)" }
    try store.write { transaction in
      for number in 0..<pageCount * 9 { try transaction.put(key(number), []) }
    }
    let isDone = Locked(false)
    try onThreads(3) { thread in
      func commit(_ body: (borrowing KeyValueTransaction) throws -> Void) throws {
        let sequence = try store.write(body)
        let pin = try store.store.beginRead()
        defer { store.store.endRead(pin) }
        if pin.sequence < sequence { throw Deviation("commit \(sequence) has returned, readers see \(pin.sequence)") }
      }
      if thread == 0 {
        defer { isDone.withLock { $0 = true } }
        for round in 0..<40 {
          try commit { for page in 0..<pageCount { try $0.put(key(page * 9 + round % 9), [UInt8(round)]) } }
        }
      } else {
        while !isDone.withLock({ $0 }) { try commit { try $0.put("\(thread)", [1]) } }
      }
    }
    try store.close()
  }

  @Test(
    "readers beside writers and checkpoints see exactly what some commit left",
    arguments: [StoreOptions.Durability.full, .relaxed])
  func readersBesideWriters(durability: StoreOptions.Durability) throws {
    var options = StoreOptions.small()
    options.hasBackgroundThread = true
    options.durability = durability
    let store = try KeyValueStore(path, disk: newDisk(64), options: options)
    let models = Locked<[UInt64: Contents]>([0: [:]])
    let isDone = Locked(false)
    try onThreads(4) { thread in
      if thread == 0 {
        defer { isDone.withLock { $0 = true } }
        var model: Contents = [:]
        var generator = SeededGenerator(seed: 3)
        for number in 0..<700 {
          try store.write { transaction in
            for _ in 0..<3 {
              let key = "key \(Int.random(in: 0..<150, using: &generator))"
              let value = filler(number, 20)
              try transaction.put(key, value)
              model[key] = value
            }
            let copy = model
            models.withLock { $0[transaction.transaction.sequence] = copy }
          }
        }
      } else {
        var held: [Store.Pin] = []
        while !isDone.withLock({ $0 }) {
          let pin = try store.store.beginRead()
          guard try store.contents(pin) == models.withLock({ $0[pin.sequence] }) else {
            throw Deviation("a snapshot of commit \(pin.sequence) shows something else")
          }
          held.append(pin)
          if held.count > thread * 3 {
            let old = held.removeFirst()
            guard try store.contents(old) == models.withLock({ $0[old.sequence] }) else {
              throw Deviation("an old snapshot of commit \(old.sequence) has changed")
            }
            store.store.endRead(old)
          }
        }
        for pin in held { store.store.endRead(pin) }
      }
    }
    try store.checkThoroughly()
    try store.close()
  }

  @Test("snapshots that are taken while others are published and freed stay whole")
  func pinsBesidePublications() throws {
    let store = try KeyValueStore(path, disk: newDisk(64), options: .withoutCheckpoints())
    let runningWriters = Locked(2)
    try onThreads(4) { thread in
      if thread < 2 {
        defer { runningWriters.withLock { $0 -= 1 } }
        for _ in 0..<3000 {
          // One writer frees while the other's sync publishes.
          try store.write { transaction in
            try transaction.put("key \(transaction.transaction.sequence % 7)", [1])
            store.store.reclaim()
          }
        }
      } else {
        var last: UInt64 = 0
        while runningWriters.withLock({ $0 }) > 0 {
          let pin = try store.store.beginRead()
          let sequence = pin.sequence
          for _ in 0..<20 {
            guard pin.sequence == sequence, sequence >= last, sequence <= 6000, pin.root(0).count == min(sequence, 7) else {
              throw Deviation("commit \(pin.sequence), pinned as \(sequence), after \(last), \(pin.root(0).count) records")
            }
          }
          last = sequence
          store.store.endRead(pin)
        }
      }
    }
    try store.close()
  }

  @Test("a snapshot that stays open for 10,000 transactions and many checkpoints keeps memory bounded")
  func longSnapshot() throws {
    var options = StoreOptions.small()
    options.minimumLogBudgetByteCount = 128 << 10
    options.maximumLogBudgetByteCount = 128 << 10
    let store = try KeyValueStore(path, disk: newDisk(32), options: options)
    try store.write { transaction in
      for number in 0..<500 { try transaction.put("key \(number)", filler(number, 10)) }
    }
    let before = try store.contents()
    let pin = try store.store.beginRead()
    for number in 0..<10_000 { try store.put("key \(number * 31 % 500)", filler(number, 10)) }
    #expect(store.store.editor.pages.usedPageCount < 1500)
    #expect(store.store.tail.newestCheckpoint != 0)
    #expect(try store.contents(pin) == before)
    store.store.endRead(pin)
    try store.store.checkpoint()
    #expect(store.store.editor.pages.usedPageCount == 0)
    try store.checkThoroughly()
    try store.close()
  }

  @Test("resting snapshots that hold back more than they may are revoked, the oldest first, and no others")
  func revoked() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.snapshotMemoryByteCount = 40 * 4160
    let store = try KeyValueStore(path, disk: newDisk(32), options: options)
    func churn() throws {
      try store.write { transaction in
        for number in 0..<900 { try transaction.put("key \(number) and more of it", filler(number, 10)) }
      }
    }
    try churn()
    let active = try store.store.beginRead()
    let before = try store.contents(active)
    var resting: [Store.Pin] = []
    for _ in 0..<8 {
      let pin = try store.store.beginRead()
      store.store.rest(pin)
      resting.append(pin)
      try churn()
      try churn()
    }
    for _ in 0..<30 { try churn() }
    let revoked = resting.map { pin in thrownCase { try store.store.resume(pin) } }
    #expect(revoked.first == "snapshotTooOld")
    #expect(Set(revoked).isSubset(of: ["snapshotTooOld", nil]))
    // None is spared while a younger one is revoked.
    #expect(revoked.drop { $0 != nil }.allSatisfy { $0 == nil })
    #expect(try store.contents(active) == before)
    for pin in resting + [active] { store.store.endRead(pin) }
    let pin = try store.store.beginRead()
    store.store.rest(pin)
    try store.put("one more", [1])
    try store.store.resume(pin)
    #expect(try store.contents(pin)["one more"] == nil)
    store.store.endRead(pin)
    try store.close()
  }

  @Test("writers, readers and the background thread get along with the smallest budgets")
  func noDeadlock() throws {
    var options = StoreOptions.small()
    options.hasBackgroundThread = true
    options.minimumLogBudgetByteCount = 8 << 10
    options.maximumLogBudgetByteCount = 8 << 10
    options.checkpointMemoryByteCount = 1 << 20
    let disk = newDisk(64)
    let store = try KeyValueStore(path, disk: disk, options: options)
    try onThreads(5) { thread in
      for number in 0..<200 {
        switch thread {
        case 0..<3: try store.put("key \(thread) \(number % 40)", filler(number, number % 10 == 0 ? 3000 : 50))
        case 3: _ = try store.contents()
        default:
          _ = thrownCase {
            try store.write { transaction in
              try transaction.put("never", filler(number, 2000))
              throw ChangedMyMind()
            }
          }
        }
      }
    }
    #expect(try store.contents().count == 120)
    try store.checkThoroughly()
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: options)
    #expect(try reopened.contents().count == 120)
    try reopened.close()
  }

  @Test("an idle writer's note proves its last commit, and the file is trimmed when it closes")
  func noteAndZeros() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.hasBackgroundThread = true
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("a", [1])
    func last() throws -> FrameHeader? { try frames(of: disk.bytes(of: path) ?? []).last }
    for _ in 0..<400 {
      if try last()?.kind == .note, disk.bytes(of: path)?.count ?? 0 >= 128 << 10 { break }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    #expect(try last()?.kind == .note && last()?.durableThrough == 1)
    #expect(disk.bytes(of: path)?.count ?? 0 >= 128 << 10)
    let reader = try KeyValueStore(path, disk: disk, options: options.readOnly)
    #expect(reader.store.recovery.isBesideWriter)
    #expect(try reader.contents() == ["a": [1]])
    try reader.close()
    try store.close()
    #expect(try last()?.kind == .closed)
    #expect(try last()?.next == UInt64(disk.bytes(of: path)?.count ?? 0))
  }

  @Test("with padding no frame shares a sector of 4096 bytes with another, and recovery finds them all")
  func padding() throws {
    let disk = SimulatedDisk(seed: 3)
    var options = StoreOptions.withoutCheckpoints()
    options.startsBatchesOnFreshSector = true
    let store = try KeyValueStore(path, disk: disk, options: options)
    for number in 0..<12 { try store.write { try $0.put("key \(number)", [UInt8](repeating: 7, count: 100 * number)) } }
    let image = disk.killed()
    let reopened = try KeyValueStore(path, disk: image, options: .small())
    #expect(try reopened.contents().count == 12)
    let pin = try reopened.store.beginRead()
    defer { reopened.store.endRead(pin) }
    var offsets: [UInt64] = []
    try reopened.store.forEachFrame(pin) { header, _ in
      if header.kind == .commit { offsets.append(header.offset) }
      return true
    }
    #expect(offsets.count == 12)
    #expect(offsets.allSatisfy { $0 % 4096 == 0 })
  }

  @Test("at .relaxed a commit is seen at once, and synced soon in the background")
  func relaxed() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.hasBackgroundThread = true
    options.durability = .relaxed
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("a", [1])
    #expect(try store.value("a") == [1])
    var survives = false
    for _ in 0..<600 where !survives {
      SystemClock.sleep(nanoseconds: 5_000_000)
      survives = try KeyValueStore(path, disk: disk.crashed(seed: 1, policy: .none), options: .small()).value("a") == [1]
    }
    #expect(survives)
    try store.put("b", [2])
    try store.store.sync()
    #expect(try KeyValueStore(path, disk: disk.crashed(seed: 1, policy: .none), options: .small()).contents().count == 2)
    try store.close()
  }
}

@Suite("Store: opening and closing")
struct StoreOpeningTests {
  @Test("the same process cannot open a database twice for writing")
  func alreadyOpen() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .small())
    #expect(thrownCase { _ = try KeyValueStore(path, disk: disk, options: .small()) } == "alreadyOpen")
    try store.put("a", [1])
    try store.close()
    let second = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try second.value("a") == [1])
    try second.close()
  }

  @Test("another holder of the file lock is waited for, then .locked is thrown")
  func locked() throws {
    let disk = newDisk()
    try KeyValueStore(path, disk: disk, options: .small()).close()
    let other = try disk.open(path, .readWrite)
    #expect(try other.tryLock(.writer, .exclusive))
    var options = StoreOptions.small()
    options.lockTimeoutNanoseconds = 60_000_000
    let start = SystemClock.monotonicNanoseconds()
    #expect(thrownCase { _ = try KeyValueStore(path, disk: disk, options: options) } == "locked")
    #expect(SystemClock.monotonicNanoseconds() - start >= 60_000_000)
    options.lockTimeoutNanoseconds = 20_000_000_000
    let thread = BackgroundThread(name: "other") {
      SystemClock.sleep(nanoseconds: 30_000_000)
      other.close()
    }
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("a", [1])
    try store.close()
    thread?.join()
  }

  @Test("several who create the same database at once end with one, and lose no commit")
  func createRace() throws {
    for seed in 0..<20 as Range<UInt64> {
      let disk = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
      disk.install([9, 9], at: path + ".new")
      disk.observe { call throws(DiskFailure) in
        if call.operation != .sync { SystemClock.sleep(nanoseconds: UInt64(call.number) &* 7919 % 300_000) }
      }
      let acknowledged = Locked(Set<String>())
      try onThreads(4) { thread in
        var options = StoreOptions.small(seed: seed * 10 + UInt64(thread))
        options.lockTimeoutNanoseconds = 5_000_000_000
        for _ in 0..<2000 {
          do {
            let store = try KeyValueStore(path, disk: disk, options: options)
            try store.put("\(thread)", [1])
            acknowledged.withLock { _ = $0.insert("\(thread)") }
            return try store.close()
          } catch StoreError.alreadyOpen { SystemClock.sleep(nanoseconds: 200_000) }
        }
      }
      let store = try KeyValueStore(path, disk: disk, options: .small())
      #expect(try Set(store.contents().keys) == acknowledged.withLock { $0 })
      #expect(acknowledged.withLock { $0.count } == 4)
      #expect(disk.paths == [path])
      try store.close()
    }
  }

  @Test("reading only writes nothing, on a closed file and after a crash")
  func readOnly() throws {
    let disk = newDisk()
    #expect(thrownCase { _ = try KeyValueStore(path, disk: disk, options: .small().readOnly) } == "disk")
    #expect(disk.paths.isEmpty)
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    for number in 0..<20 { try store.put("key \(number)", filler(number, 100)) }
    let killed = disk.killed()
    try store.close()
    for image in [disk, killed, disk.crashed(seed: 1), killed.crashed(seed: 2)] {
      let bytes = image.bytes(of: path)
      let names = image.paths
      let reader = try KeyValueStore(path, disk: image, options: .small().readOnly)
      #expect(try reader.contents().count == 20)
      try reader.checkThoroughly()
      #expect(thrownCase { try reader.put("a", [1]) } == "readOnly")
      #expect(thrownCase { try reader.store.sync() } == "readOnly")
      // Readers do not keep each other or a writer away.
      let second = try KeyValueStore(path, disk: image, options: .small().readOnly)
      #expect(try second.contents().count == 20)
      try reader.close()
      try second.close()
      #expect(image.bytes(of: path) == bytes && image.paths == names)
    }
  }

  @Test("a reader of a killed writer's file shows only what survives power loss from then on")
  func readerAfterKill() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try store.put("a", [1])
    disk.inject(SimulatedFault([.sync], call: 1))
    let killed = Locked<SimulatedDisk?>(nil)
    disk.observe { [unowned disk] call throws(DiskFailure) in
      if call.operation == .sync { killed.withLock { $0 = disk.killed() } }
    }
    _ = thrownCase { try store.put("b", [2]) }
    let image = try #require(killed.withLock { $0 })
    let reader = try KeyValueStore(path, disk: image, options: .small().readOnly)
    let shown = try reader.contents()
    #expect(shown == ["a": [1], "b": [2]])
    let after = try KeyValueStore(path, disk: image.crashed(seed: 1, policy: .none), options: .small())
    #expect(try after.contents() == shown)
  }

  @Test("beside a live writer a reader sees what is proven durable, and no more")
  func besideWriter() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    func shown() throws -> Contents {
      let bytes = disk.bytes(of: path)
      let reader = try KeyValueStore(path, disk: disk, options: .small().readOnly)
      #expect(reader.store.recovery.isBesideWriter && reader.store.recovery.lostSequences == nil)
      #expect(reader.store.recovery.discardedByteCount == 0)
      let contents = try reader.contents()
      try reader.checkThoroughly()
      try reader.close()
      #expect(disk.bytes(of: path) == bytes)
      return contents
    }
    #expect(try shown() == [:])
    try store.put("a", [1])
    #expect(try shown() == [:])
    try store.put("b", [2])
    #expect(try shown() == ["a": [1]])
    store.store.appendNote()
    #expect(try shown() == ["a": [1], "b": [2]])
    try store.store.checkpoint()
    #expect(try shown() == ["a": [1], "b": [2]])
    try store.put("c", [3])
    try store.put("c", [4])
    #expect(try shown() == ["a": [1], "b": [2], "c": [3]])
    try store.store.checkpoint()
    #expect(try shown()["a"] == [1])
    // A frame that is being written.
    let file = try disk.open(path, .readWrite)
    try filler(1, 50).withView { (view: ByteView) throws(DiskFailure) in
      try file.write(view, at: Int(store.store.tail.offset))
    }
    #expect(try shown()["b"] == [2])
  }

  @Test("closing is allowed twice and from two threads; using it afterwards throws")
  func closed() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .small())
    try store.put("a", [1])
    let snapshot = try store.store.beginRead()
    store.store.rest(snapshot)
    try onThreads(4) { _ in try store.close() }
    try store.close()
    #expect(thrownCase { _ = try store.value("a") } == "closed")
    #expect(thrownCase { try store.put("a", [2]) } == "closed")
    #expect(thrownCase { try store.store.sync() } == "closed")
    #expect(thrownCase { try store.store.resume(snapshot) } == "closed")
    store.store.endRead(snapshot)
    let all = try frames(of: try #require(disk.bytes(of: path)))
    #expect(all.filter { $0.kind == .closed }.count == 1)
    #expect(all.last?.durableThrough == all.last.map { $0.number - 1 })
    #expect(all.last?.next == UInt64(disk.bytes(of: path)?.count ?? 0))
  }

  @Test("a read that goes on while the store closes keeps its memory")
  func closeBesideReader() throws {
    try withDirectory { directory in
      let store = try KeyValueStore(directory + "/book", disk: SystemDisk(), options: .small())
      for number in 0..<300 { try store.put("key \(number)", filler(number, 100)) }
      let pin = try store.store.beginRead()
      try store.close()
      #expect(try store.contents(pin).count == 300)
      store.store.endRead(pin)
      // The lock is given back all the same.
      let second = try KeyValueStore(directory + "/book", disk: SystemDisk(), options: .small())
      #expect(try second.contents().count == 300)
      try second.close()
    }
  }

  @Test("readers and writers on other threads either finish or are told that the store closed")
  func closeBesideThreads() throws {
    try withDirectory { directory in
      for round in 0..<8 {
        var options = StoreOptions.small()
        options.hasBackgroundThread = round % 2 == 0
        let book = directory + "/book \(round)"
        let store = try KeyValueStore(book, disk: SystemDisk(), options: options)
        let acknowledged = Locked<[String]>([])
        try onThreads(4) { thread in
          for number in 0..<10_000 {
            do {
              switch thread {
              case 0:
                SystemClock.sleep(nanoseconds: UInt64(round) * 2_000_000 + 1_000_000)
                return try store.close()
              case 1: _ = try store.contents()
              default:
                let key = "key \(thread) \(number)"
                try store.put(key, filler(number, 80))
                acknowledged.withLock { $0.append(key) }
              }
            } catch StoreError.closed { return }
          }
        }
        let reopened = try KeyValueStore(book, disk: SystemDisk(), options: options)
        #expect(reopened.store.recovery.wasClosed)
        #expect(try Set(reopened.contents().keys) == Set(acknowledged.withLock { $0 }))
        try reopened.checkThoroughly()
        try reopened.close()
      }
    }
  }

  @Test("open after close replays nothing when the tail was worth a checkpoint, and little when it was not")
  func replayAfterClose() throws {
    let disk = newDisk()
    var options = StoreOptions.withoutCheckpoints()
    options.closeCheckpointByteCount = 4 << 10
    var store = try KeyValueStore(path, disk: disk, options: options)
    for number in 0..<100 { try store.put("key \(number)", filler(number, 100)) }
    try store.close()
    store = try KeyValueStore(path, disk: disk, options: options)
    #expect(store.store.recovery.replayedCommitCount == 0)
    #expect(store.store.recovery.basis == .newestCheckpoint && store.store.recovery.wasClosed)
    try store.put("one", [1])
    let before = disk.bytes(of: path)?.count ?? 0
    try store.close()
    #expect((disk.bytes(of: path)?.count ?? 0) - before == 96)
    store = try KeyValueStore(path, disk: disk, options: options)
    #expect(store.store.recovery.replayedCommitCount == 1)
    let untouched = disk.bytes(of: path)
    try store.close()
    #expect(disk.bytes(of: path) == untouched)
  }

  @Test("what a crash would replay stays within the budget, with and without the background thread", arguments: [false, true])
  func replayIsBounded(hasThread: Bool) throws {
    var options = StoreOptions.small()
    options.hasBackgroundThread = hasThread
    options.minimumLogBudgetByteCount = 32 << 10
    options.maximumLogBudgetByteCount = 32 << 10
    let disk = newDisk(32)
    let store = try KeyValueStore(path, disk: disk, options: options)
    var largest: UInt64 = 0
    for number in 0..<1500 {
      try store.put("key \(number % 60)", filler(number, 100))
      if number % 100 == 0 {
        let image = try KeyValueStore(path, disk: disk.crashed(seed: 1, policy: .none), options: .small())
        largest = max(largest, image.store.recovery.replayedByteCount)
      }
    }
    // One budget, one transaction, and the pages of the checkpoint that was under way.
    #expect(largest < 32 << 10 + 24 << 10)
    #expect(try frames(of: disk.bytes(of: path) ?? []).filter { $0.kind == .checkpoint }.count > 4)
    try store.checkThoroughly()
    try store.close()
  }
}

@Suite("Store: a disk that fails")
struct StoreFailureTests {
  @Test(
    "a failed sync is final: the outcome is unknown until the file is opened again",
    arguments: [SimulatedFault.SyncLoss.keepsPages, .dropsPages])
  func failedSync(loss: SimulatedFault.SyncLoss) throws {
    for call in 1...3 {
      let disk = newDisk()
      let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
      try store.put("a", [1])
      disk.inject(SimulatedFault([.sync], call: call, syncLoss: loss))
      for number in 1..<call { try store.put("b \(number)", [2]) }
      let acknowledged = try store.contents()
      #expect(thrownCase { try store.put("c", [3]) } == "outcomeUnknown")
      #expect(try store.contents() == acknowledged)
      #expect(thrownCase { try store.put("d", [4]) } == "outcomeUnknown")
      #expect(thrownCase { try store.store.sync() } == "outcomeUnknown")
      try? store.close()
      for image in [disk.crashed(seed: 1, policy: .none), disk.crashed(seed: 2), disk.killed(), disk] {
        let reopened = try KeyValueStore(path, disk: image, options: .withoutCheckpoints())
        let shown = try reopened.contents()
        #expect(shown == acknowledged || shown == acknowledged.merging(["c": [3]]) { $1 })
        // What is shown now is on the disk, whatever the cache said.
        let again = try KeyValueStore(path, disk: image.crashed(seed: 3, policy: .none), options: .withoutCheckpoints())
        #expect(try again.contents() == shown)
        try reopened.put("e", [5])
        try reopened.checkThoroughly()
        try reopened.close()
      }
    }
  }

  @Test("a failed sync of the directory, of pages or of a checkpoint is final as well")
  func everyFailedSync() throws {
    var deathCount = 0
    for call in 1...12 {
      let disk = newDisk()
      var options = StoreOptions.small()
      options.minimumLogBudgetByteCount = 2 << 10
      options.maximumLogBudgetByteCount = 2 << 10
      try KeyValueStore(path, disk: disk, options: options).close()
      let store = try KeyValueStore(path, disk: disk, options: options)
      disk.inject(SimulatedFault([.sync, .syncDirectory], call: call))
      var acknowledged: Contents = [:]
      for number in 0..<30 {
        if thrownCase({ try store.put("key \(number)", filler(number, 200)) }) != nil { break }
        acknowledged["key \(number)"] = filler(number, 200)
      }
      #expect(acknowledged.count < 30)
      #expect(thrownCase { try store.put("more", [1]) } == "outcomeUnknown")
      deathCount += 1
      try? store.close()
      for image in [disk.crashed(seed: 1, policy: .none), disk.killed()] {
        let reopened = try KeyValueStore(path, disk: image, options: options)
        #expect(try reopened.contents().merging(acknowledged) { $1 } == reopened.contents())
        try reopened.checkThoroughly()
        try reopened.close()
      }
    }
    #expect(deathCount == 12)
  }

  @Test("threads that wait for a sync that fails are all told so")
  func failedSyncOfMany() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try store.put("a", [1])
    disk.observe { call throws(DiskFailure) in
      if call.operation == .sync { SystemClock.sleep(nanoseconds: 2_000_000) }
    }
    disk.inject(SimulatedFault([.sync], call: 5))
    let acknowledged = Locked<Set<String>>([])
    let deaths = Locked(0)
    try onThreads(6) { thread in
      for number in 0..<50 {
        let key = "key \(thread) \(number)"
        do {
          try store.put(key, [1])
          acknowledged.withLock { _ = $0.insert(key) }
        } catch StoreError.outcomeUnknown { return deaths.withLock { $0 += 1 } }
      }
    }
    #expect(deaths.withLock { $0 } == 6)
    let survivor = try KeyValueStore(path, disk: disk.crashed(seed: 1, policy: .none), options: .small())
    #expect(try acknowledged.withLock { $0 }.isSubset(of: survivor.contents().keys))
  }

  @Test("a full disk aborts only the transaction that needed room", arguments: [0, 40, 96, 500, 1500])
  func fullDisk(room: Int) throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try store.put("a", [1])
    for partially in [false, true] {
      disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + room)
      let error = thrownCase {
        try store.write { transaction in
          try transaction.put("b", filler(1, 1000))
          if partially { try transaction.put("c", filler(2, 1000)) }
          try transaction.put("d", filler(3, 900))
        }
      }
      #expect(error == "disk")
      #expect(try store.contents() == ["a": [1]])
      #expect(try store.write { _ in } == 1)
      for image in [disk.killed(), disk.crashed(seed: 1), disk.crashed(seed: 2, policy: .all)] {
        image.limit(toByteCount: nil)
        let found = try KeyValueStore(path, disk: image, options: .small())
        #expect(try found.contents() == ["a": [1]])
      }
      disk.limit(toByteCount: nil)
    }
    try store.put("e", [5])
    try store.checkThoroughly()
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try reopened.contents() == ["a": [1], "e": [5]])
  }

  @Test("a transaction whose frame was written but could not be mapped does not come back after a crash")
  func failedMapping() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try store.put("a", [1])
    disk.inject(SimulatedFault([.map], call: 1, code: 12))
    #expect(thrownCase { try store.put("b", [2]) } == "disk")
    for image in [disk.killed(), disk.crashed(seed: 1, policy: .none), disk.crashed(seed: 2, policy: .all)] {
      #expect(try KeyValueStore(path, disk: image, options: .small()).contents() == ["a": [1]])
    }
    #expect(!disk.hasPendingChanges)
    try store.put("c", [3])
    try store.checkThoroughly()
    try store.close()
  }

  @Test("a checkpoint that finds no room is made later, and no memory is lost on the way")
  func failedCheckpoint() throws {
    for room in [5000, 300 << 10] {
      let disk = newDisk(16)
      let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
      try store.write { transaction in
        for number in 0..<9000 { try transaction.put("\(number * 7919 % 100_000) and a longer key", [1]) }
      }
      let pageCount = store.store.editor.pages.usedPageCount
      #expect(pageCount > 64)
      disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + room)
      #expect(thrownCase { try store.store.checkpoint() } == "disk")
      disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + 2000)
      for number in 0..<40 {
        try? store.put("\(number * 613 % 100_000) and a longer key", [2])
        if number % 10 == 0 { try? store.store.checkpoint() }
      }
      disk.limit(toByteCount: nil)
      let contents = try store.contents()
      for number in 0..<40 { try store.put("\(number * 613 % 100_000) and a longer key", [3]) }
      try store.store.checkpoint()
      #expect(store.store.editor.pages.usedPageCount == 0)
      try store.checkThoroughly()
      #expect(try store.contents().count >= contents.count)
      for number in 0..<40 { try store.put("\(number * 613 % 100_000) and a longer key", [4]) }
      try store.store.checkpoint()
      #expect(store.store.editor.pages.usedPageCount == 0)
      let expected = try store.contents()
      for image in [disk.killed(), disk.crashed(seed: 1)] {
        let found = try KeyValueStore(path, disk: image, options: .small())
        #expect(try found.contents() == expected)
        try found.checkThoroughly()
      }
      try store.close()
    }
  }

  @Test("a full disk does not keep a store from closing cleanly")
  func closeOnFullDisk() throws {
    let disk = newDisk()
    var options = StoreOptions.withoutCheckpoints()
    options.closeCheckpointByteCount = 100
    let store = try KeyValueStore(path, disk: disk, options: options)
    for number in 0..<20 { try store.put("key \(number)", filler(number, 100)) }
    disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + 200)
    try store.close()
    disk.limit(toByteCount: nil)
    let reopened = try KeyValueStore(path, disk: disk, options: options)
    #expect(reopened.store.recovery.wasClosed && reopened.store.recovery.basis == .log)
    #expect(try reopened.contents().count == 20)
  }

  @Test("a checkpoint at .relaxed never gets ahead of the commits before it")
  func relaxedCheckpoint() throws {
    for seed in 0..<40 as Range<UInt64> {
      let disk = newDisk()
      var options = StoreOptions.withoutCheckpoints()
      options.durability = .relaxed
      let store = try KeyValueStore(path, disk: disk, options: options)
      let failure = Locked<String?>(nil)
      try store.put("a", filler(1, 600))
      try store.write { try $0.delete("a") }
      disk.observe { [unowned disk] call throws(DiskFailure) in
        do {
          let found = try KeyValueStore(path, disk: disk.crashed(seed: seed * 100 + UInt64(call.number)), options: .small())
          try found.checkThoroughly()
        } catch { failure.withLock { $0 = $0 ?? "before call \(call): \(error)" } }
      }
      try store.store.checkpoint()
      try store.close()
      #expect(failure.withLock { $0 } == nil)
    }
  }
}
