import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Writers, readers and the background thread of one store, all at once.

private let path = storePath

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
            transaction.transaction.withTurn { hold in store.store.versions.reclaim(hold) }
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
    #expect(store.store.log.tail.newestCheckpoint != 0)
    #expect(try store.contents(pin) == before)
    store.store.endRead(pin)
    try store.store.checkpoint()
    #expect(store.store.editor.pages.usedPageCount == 0)
    try store.checkThoroughly()
    try store.close()
  }

  @Test("many snapshots over the limit go in a round or two, not in one for each, and no more of them than it takes")
  func manyRevoked() throws {
    let count = 400
    var options = StoreOptions.withoutCheckpoints()
    options.durability = .relaxed
    options.snapshotMemoryByteCount = count * 4160 * 7 / 8
    let store = try KeyValueStore(path, disk: newDisk(33), options: options)
    var snapshots: [Store.SnapshotPin] = []
    var mostRounds = 0
    var heldByteCounts: [Int] = []
    var revokedCount = 0
    func countRevoked() -> Int {
      snapshots.count { snapshot in
        (try? store.store.beginRead(via: snapshot)).map { _ in store.store.endRead(via: snapshot) } == nil
      }
    }
    for number in 0..<count * 5 / 4 {
      let rounds = store.store.versions.reclaimRoundCount
      try store.put("k", filler(number, 90))
      mostRounds = max(mostRounds, store.store.versions.reclaimRoundCount - rounds)
      if store.store.versions.reclaimRoundCount > rounds {
        let now = countRevoked()
        if now > revokedCount { heldByteCounts.append(store.store.versions.waitingByteCount) }
        revokedCount = now
      }
      snapshots.append(try store.store.beginSnapshot())
    }
    #expect(revokedCount > count / 20 && mostRounds <= 2, "\(revokedCount) revoked, \(mostRounds) rounds")
    #expect(!heldByteCounts.isEmpty)
    #expect(heldByteCounts.allSatisfy { $0 > options.snapshotMemoryByteCount - 4 * 4160 }, "\(heldByteCounts)")
    for snapshot in snapshots { store.store.endSnapshot(snapshot) }
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
    var resting: [Store.SnapshotPin] = []
    for _ in 0..<8 {
      resting.append(try store.store.beginSnapshot())
      try churn()
      try churn()
    }
    for _ in 0..<30 { try churn() }
    let revoked = resting.map { pin in
      thrownCase {
        _ = try store.store.beginRead(via: pin)
        store.store.endRead(via: pin)
      }
    }
    #expect(revoked.first == "snapshotTooOld")
    #expect(Set(revoked).isSubset(of: ["snapshotTooOld", nil]))
    // None is spared while a younger one is revoked.
    #expect(revoked.drop { $0 != nil }.allSatisfy { $0 == nil })
    #expect(try store.contents(active) == before)
    for pin in resting { store.store.endSnapshot(pin) }
    store.store.endRead(active)
    let pin = try store.store.beginSnapshot()
    try store.put("one more", [1])
    #expect(try store.contents(store.store.beginRead(via: pin))["one more"] == nil)
    store.store.endRead(via: pin)
    store.store.endSnapshot(pin)
    try store.close()
  }

  @Test("a load goes on when changed pages fill the memory long before the log fills its budget", .timeLimit(.minutes(15)))
  func memoryFillsFirst() throws {
    var options = StoreOptions()
    options.checkpointMemoryByteCount = 1 << 20
    let disk = newDisk(256)
    let store = try KeyValueStore(path, disk: disk, options: options)
    var generator = SeededGenerator(seed: 5)
    // Three checkpoints of the background thread, which comes when it can.
    var checkpointCount = 0
    while checkpointCount < 3 {
      for _ in 0..<40 {
        try store.write { transaction in
          for _ in 0..<100 {
            let key = Array("key \(UInt64.random(in: 0..<1 << 40, using: &generator))".utf8)
            try key.withView { (key: ByteView) throws in try transaction.put(key, key) }
          }
        }
      }
      checkpointCount = try frames(of: disk.bytes(of: path) ?? []).count { $0.kind == .checkpoint }
    }
    try store.checkThoroughly()
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
