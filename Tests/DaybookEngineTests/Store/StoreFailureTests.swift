import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// An honest end when the disk fails: a failed sync is final, a full disk is not.

private let path = storePath

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

  @Test("a transaction in parts that found no room gives it back, and its numbers are not durable", arguments: [false, true])
  func partsGivenBack(isBuffered: Bool) throws {
    let disk = newDisk()
    var options = StoreOptions.withoutCheckpoints()
    options.access = isBuffered ? .buffered : .mapped
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("a", [1])
    for round in 0..<3 as Range<UInt8> {
      let before = disk.bytes(of: path)?.count ?? 0
      disk.limit(toByteCount: before + 30_000)
      let error = thrownCase {
        try store.write { transaction in
          for number in 0..<60 {
            try transaction.put("key \(number)", filler(number, 1000))
            // It reads what it wrote, and somebody else's sync covers some of its parts.
            #expect(try transaction.value("key \(number / 2)") == filler(number / 2, 1000))
            if number == 10 { try store.store.syncWritten() }
          }
        }
      }
      #expect(error == "disk")
      #expect((disk.bytes(of: path)?.count ?? 0) < before + 1000, "the room is free again")
      for image in [disk.killed(), disk.crashed(seed: 1), disk.crashed(seed: 2, policy: .all)] {
        image.limit(toByteCount: nil)
        let found = try KeyValueStore(path, disk: image, options: .small())
        #expect(try found.contents().count == 1 + Int(round))
      }
      // As many frames as it had parts: each is synced before it is acknowledged.
      try store.write { transaction in
        for number in 0..<6 { try transaction.put("round \(round)", filler(number, 1000)) }
      }
      #expect(try store.value("round \(round)") == filler(5, 1000))
      let image = disk.crashed(seed: 3, policy: .none)
      image.limit(toByteCount: nil)
      #expect(try KeyValueStore(path, disk: image, options: .small()).value("round \(round)") == filler(5, 1000))
      try store.write { transaction in try transaction.delete("round \(round)") }
      try store.put("round \(round)", [round])
    }
    disk.limit(toByteCount: nil)
    try store.checkThoroughly()
    try store.close()
    let again = try KeyValueStore(path, disk: disk, options: .small())
    #expect(try again.contents() == ["a": [1], "round 0": [0], "round 1": [1], "round 2": [2]])
  }

  @Test("parts that cannot be erased stay, and are nobody's", arguments: [1, 2, 3])
  func partsNotErased(call: Int) throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    try store.put("a", [1])
    disk.limit(toByteCount: (disk.bytes(of: path)?.count ?? 0) + 200_000)
    _ = thrownCase {
      try store.write { transaction in
        for number in 0..<300 {
          // All behind the last part that had room fail, or all but some.
          if (disk.bytes(of: path)?.count ?? 0) > 190_000 {
            disk.inject(SimulatedFault([.write], call: call + 1, code: ErrorNumber.noSpace, repeats: true))
          }
          try transaction.put("key \(number)", filler(number, 1000))
        }
      }
    }
    disk.removeFaults()
    disk.limit(toByteCount: nil)
    if (try? store.put("b", [2])) != nil {
      try store.checkThoroughly()
      let image = disk.crashed(seed: 3, policy: .none)
      #expect(try KeyValueStore(path, disk: image, options: .small()).contents() == ["a": [1], "b": [2]])
    } else {
      #expect(try KeyValueStore(path, disk: disk.killed(), options: .small()).contents() == ["a": [1]])
    }
  }

  /// A disk whose folders cannot be opened for a while.
  private final class ClosedFolderDisk: ForwardingDisk {
    let disk = newDisk()
    let isClosed = Locked(false)
    func syncDirectory(holding path: String) throws(DiskFailure) {
      if isClosed.withLock({ $0 }) { throw DiskFailure(.open, path: path, code: 24) }
      try disk.syncDirectory(holding: path)
    }
  }

  @Test("a directory that cannot be opened before the first commit fails that one, and no more", arguments: [false, true])
  func closedFolder(isRelaxed: Bool) throws {
    let disk = ClosedFolderDisk()
    try KeyValueStore(path, disk: disk, options: .withoutCheckpoints()).close()
    var options = StoreOptions.withoutCheckpoints()
    if isRelaxed { options.durability = .relaxed }
    let store = try KeyValueStore(path, disk: disk, options: options)
    disk.isClosed.withLock { $0 = true }
    for _ in 0..<3 { #expect(thrownCase { try store.put("a", [1]) } == "disk") }
    #expect(try store.contents().isEmpty)
    disk.isClosed.withLock { $0 = false }
    try store.put("b", [2])
    try store.close()
    #expect(try KeyValueStore(path, disk: disk, options: .withoutCheckpoints()).contents() == ["b": [2]])
  }

  @Test("a transaction whose frame was written but could not be mapped does not come back after a crash")
  func failedMapping() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .mapped())
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

  @Test("a commit that failed and could not be erased has an unknown outcome, because the next open may find it")
  func failedErasure() throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .mapped())
    try store.put("a", [1])
    // The frame is written, and then the device is gone.
    disk.inject(SimulatedFault([.map], call: 1))
    disk.inject(SimulatedFault([.write], call: 2, repeats: true, leavesPartOfWrite: false))
    #expect(thrownCase { try store.put("b", [2]) } == "outcomeUnknown")
    #expect(thrownCase { try store.put("c", [3]) } == "outcomeUnknown")
    #expect(try store.contents() == ["a": [1]])
    try store.close()
    #expect(try KeyValueStore(path, disk: disk.killed(), options: .small()).contents() == ["a": [1], "b": [2]])
    #expect(try KeyValueStore(path, disk: disk.crashed(seed: 1, policy: .none), options: .small()).contents() == ["a": [1]])
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
