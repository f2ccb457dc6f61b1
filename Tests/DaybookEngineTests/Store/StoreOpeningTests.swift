import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Who may open a file, what beside whom, and what closing leaves behind.

private let path = storePath

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

  @Test("who waited for the lock of a file that lost its name opens the file that has the name now")
  func movedName() throws {
    let disk = newDisk()
    for (name, value) in [(path, 1), ("/d/successor", 2)] as [(String, UInt8)] {
      let store = try KeyValueStore(name, disk: disk, options: .small(seed: UInt64(value)))
      try store.put("a", [value])
      try store.close()
    }
    let other = try disk.open(path, .readWrite)
    #expect(try other.tryLock(.writer, .exclusive))
    let thread = BackgroundThread(name: "other") {
      SystemClock.sleep(nanoseconds: 30_000_000)
      try? disk.rename("/d/successor", to: path)
      other.close()
    }
    var options = StoreOptions.small()
    options.lockTimeoutNanoseconds = 20_000_000_000
    let store = try KeyValueStore(path, disk: disk, options: options)
    thread?.join()
    #expect(try store.value("a") == [2])
    try store.close()
  }

  @Test("several who create the same database at once end with one, and lose no commit")
  func createRace() throws {
    for seed in 0..<20 as Range<UInt64> {
      let disk = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
      // What a creation leaves that was cut off while it wrote.
      disk.install(Array("Dayb".utf8), at: path + ".new")
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
      try file.write(view, at: Int(store.store.log.tail.offset))
    }
    #expect(try shown()["b"] == [2])
  }

  @Test("a commit that a checkpoint overtook is shown to readers once it is durable, not passed over")
  func overtakenCommit() throws {
    let disk = newDisk()
    let writer = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    for number in 0..<20 { try writer.put("key \(number)", filler(number, 100)) }
    // While the checkpoint syncs its pages, a commit is written that nobody has synced when its frame follows.
    let ticket = Locked<Store.Ticket?>(nil)
    disk.observe { [unowned disk] call throws(DiskFailure) in
      guard call.operation == .sync else { return }
      disk.observe(nil)
      ticket.withLock { ticket in
        guard let transaction = try? writer.store.beginTransaction() else { return }
        try? KeyValueTransaction(transaction).put("overtaken", [1])
        ticket = try? writer.store.commit(transaction)
      }
    }
    try writer.store.checkpoint()
    let written = try #require(ticket.withLock { $0 })
    let reader = try KeyValueStore(path, disk: disk, options: .small().readOnly)
    #expect(try reader.value("overtaken") == nil)
    try writer.store.wait(written)
    try writer.put("later", [2])
    try writer.put("last", [3])
    #expect(try reader.refresh())
    #expect(try reader.value("later") == [2])
    #expect(try reader.value("overtaken") == [1])
    try reader.checkThoroughly()
    try reader.close()
    try writer.close()
  }

  @Test("closing cuts off the zeros behind the log, but not under a reader, who has them mapped")
  func trimming() throws {
    let disk = newDisk()
    for hasReader in [true, false] {
      let writer = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
      try writer.put("a", [1])
      writer.store.prepareZeros()
      let before = disk.bytes(of: path)?.count ?? 0
      let reader = hasReader ? try KeyValueStore(path, disk: disk, options: .small().readOnly) : nil
      try writer.close()
      let bytes = try #require(disk.bytes(of: path))
      let end = try #require(try frames(of: bytes).last?.next)
      #expect(before > Int(end) && bytes.count == (hasReader ? before : Int(end)))
      try reader?.close()
    }
  }

  @Test("a reader that comes while a writer cuts off zeros waits for it, or is told that the file is locked")
  func openWhileTrimming() throws {
    let disk = newDisk()
    let writer = try KeyValueStore(path, disk: disk, options: .small())
    try writer.put("a", [1])
    try writer.close()
    let trimming = try disk.open(path, .readWrite)
    #expect(try trimming.tryLock(.readers, .exclusive))
    var options = StoreOptions.small().readOnly
    options.lockTimeoutNanoseconds = 20_000_000
    #expect(thrownCase { _ = try KeyValueStore(path, disk: disk, options: options) } == "locked")
    options.lockTimeoutNanoseconds = 20_000_000_000
    let thread = BackgroundThread(name: "trimming") {
      SystemClock.sleep(nanoseconds: 30_000_000)
      trimming.unlock(.readers)
    }
    let reader = try KeyValueStore(path, disk: disk, options: options)
    thread?.join()
    #expect(try !trimming.tryLock(.readers, .exclusive))
    #expect(try reader.value("a") == [1])
    // The same when it comes back from a pause.
    try reader.stores.suspend()
    #expect(try trimming.tryLock(.readers, .exclusive))
    options.lockTimeoutNanoseconds = 0
    let impatient = try? KeyValueStore(path, disk: disk, options: options)
    #expect(impatient == nil)
    trimming.unlock(.readers)
    try reader.stores.resume()
    #expect(try !trimming.tryLock(.readers, .exclusive))
    try reader.close()
    trimming.close()
  }

  @Test("a reader that is suspended reads on, and does not look at a log that others may cut off")
  func refreshWhileSuspended() throws {
    let disk = newDisk()
    let first = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try first.put("a", [1])
    first.store.prepareZeros()
    try first.store.writeNoteNow()
    let reader = try KeyValueStore(path, disk: disk, options: .small().readOnly)
    try reader.stores.suspend()
    try first.close()
    #expect(thrownCase { _ = try reader.stores.refresh() } == "suspended")
    #expect(try reader.value("a") == [1])
    let second = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try second.put("a", [2])
    try second.close()
    #expect(thrownCase { _ = try reader.stores.refresh() } == "suspended")
    #expect(try reader.value("a") == [1])
    try reader.stores.resume()
    // What others have committed meanwhile is there when it returns.
    #expect(try reader.value("a") == [2])
    try reader.checkThoroughly()
    try reader.close()
  }

  @Test("no writer waits for a reader that replays for long", arguments: [true, false])
  func writerBesideReplay(opens: Bool) throws {
    let disk = newDisk()
    var options = StoreOptions.withoutCheckpoints()
    options.closeCheckpointByteCount = .max
    let first = try KeyValueStore(path, disk: disk, options: options)
    for number in 0..<10 { try first.put("key \(number)", [UInt8(number)]) }
    try first.close()
    let outcomes = Locked<[String]>([])
    // While the reader replays, a writer comes, commits and goes.
    let applier = HookedApplier {
      guard outcomes.withLock({ $0.isEmpty }) else { return }
      outcomes.withLock { $0.append("begun") }
      var impatient = StoreOptions.small(seed: 9)
      impatient.lockTimeoutNanoseconds = 0
      let outcome = thrownCase {
        let writer = try KeyValueStore(path, disk: disk, options: impatient)
        try writer.put("later", [7])
        try writer.close()
      }
      outcomes.withLock { $0.append(outcome ?? "written") }
    }
    let reader: Store
    if opens {
      reader = try Store.open(path, disk: disk, options: .small().readOnly, applier: applier)
      #expect(reader.lastSequence == 10)
      #expect(try hasShown(reader))
    } else {
      outcomes.withLock { $0 = ["not yet"] }
      reader = try Store.open(path, disk: disk, options: .small().readOnly, applier: applier)
      let second = try KeyValueStore(path, disk: disk, options: options)
      try second.put("key 10", [10])
      try second.close()
      outcomes.withLock { $0 = [] }
      #expect(try hasShown(reader))
      #expect(reader.lastSequence == 11)
      #expect(try hasShown(reader))
    }
    #expect(outcomes.withLock { $0 } == ["begun", "written"])
    #expect(reader.lastSequence == (opens ? 11 : 12))
    try reader.close()
  }

  @Test("closing is allowed twice and from two threads; using it afterwards throws")
  func closed() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .small())
    try store.put("a", [1])
    let snapshot = try store.store.beginSnapshot()
    try onThreads(4) { _ in try store.close() }
    try store.close()
    #expect(thrownCase { _ = try store.value("a") } == "closed")
    #expect(thrownCase { try store.put("a", [2]) } == "closed")
    #expect(thrownCase { try store.store.sync() } == "closed")
    #expect(thrownCase { _ = try store.store.beginRead(via: snapshot) } == "closed")
    store.store.endSnapshot(snapshot)
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

  @Test("threads whose commits make checkpoints may come while the database gives its memory back")
  func closeBesideThreadsThatCheckpoint() throws {
    try withDirectory { directory in
      for round in 0..<40 {
        var options = StoreOptions.small()
        options.hasBackgroundThread = false
        let store = try KeyValueStore(directory + "/book \(round)", disk: SystemDisk(), options: options)
        try onThreads(4) { thread in
          for number in 0..<10_000 {
            do {
              if thread == 0 {
                SystemClock.sleep(nanoseconds: UInt64(round) * 50_000)
                return try store.close()
              }
              if thread == 1 {
                try store.store.checkpoint()
              } else {
                try store.put("key \(thread) \(number)", filler(number, 80))
              }
            } catch StoreError.closed { return }
          }
        }
        let reopened = try KeyValueStore(directory + "/book \(round)", disk: SystemDisk(), options: options)
        #expect(reopened.store.recovery.wasClosed)
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

/// Whether a refresh finds more, without opening the file again.
private func hasShown(_ store: Store) throws -> Bool {
  if case .published = try store.refresh() { return true }
  return false
}

/// Keys and values, with a look at the world before each operation that is replayed.
private final class HookedApplier: Applier {
  private let applier = KeyValueApplier()
  private let hook: @Sendable () -> Void

  init(_ hook: @escaping @Sendable () -> Void) { self.hook = hook }

  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    try applier.apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
  }
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    hook()
    try applier.replay(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
  }
  func flush(_ changes: StoreTransaction) throws(LogFault) { try applier.flush(changes) }
  func flushPart(_ changes: StoreTransaction) throws(LogFault) -> Bool { try applier.flushPart(changes) }
  func letGo(_ changes: StoreTransaction) throws(LogFault) { try applier.letGo(changes) }
  func reset() { applier.reset() }
}
