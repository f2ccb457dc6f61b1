import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// When an asset file is removed: after the last reference, the last snapshot and the grace time; never while a transaction is
// about to name it.

@Suite("collecting assets")
struct AssetCollectorTests {
  private func opened(_ disk: SimulatedDisk, seed: UInt64 = 1, clock: TestClock = TestClock()) throws -> Database {
    var options = Database.Options.simulated(seed: seed, clock: clock)
    options.inlineAssetByteCount = 0
    return try Database.open(at: "test.daybook", options: options, disk: disk)
  }

  @Test("a content goes after the last name and the grace time, counted over several opens")
  func grace() throws {
    let disk = SimulatedDisk(seed: 1)
    let clock = TestClock()
    var database = try opened(disk, clock: clock)
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.put("b", asset: Asset(data: AssetBench.content(1)))
    try database.write { try $0.delete(Record.ID("a")) }
    #expect(try database.collectAssets(grace: .zero).keptCount == 1)
    try database.write { try $0.delete(Record.ID("b")) }
    #expect(try database.collectAssets(grace: .seconds(20)).waitingCount == 1)
    try database.close()
    database = try opened(disk, seed: 2, clock: clock)
    #expect(try database.files().count == 1)
    // The clock of these tests moves on by a second each time it is looked at.
    for _ in 0..<20 { _ = clock.next() }
    let report = try database.collectAssets(grace: .seconds(20))
    #expect(report.removedCount == 1 && report.removedByteCount == 300 && report.waitingCount == 0)
    #expect(try database.files().isEmpty)
    #expect(!disk.paths.contains("test.daybook.assets/unreferenced"))
    // One that is named again in time starts over.
    try database.put("c", asset: Asset(data: AssetBench.content(2)))
    try database.write { try $0.delete(Record.ID("c")) }
    try database.collectAssets(grace: .seconds(50))
    try database.put("d", asset: Asset(data: AssetBench.content(2)))
    try database.collectAssets(grace: .seconds(50))
    for _ in 0..<60 { _ = clock.next() }
    try database.write { try $0.delete(Record.ID("d")) }
    #expect(try database.collectAssets(grace: .seconds(50)).waitingCount == 1)
    #expect(try database.files().count == 1)
    try database.expectClean()
  }

  @Test("a content that was named again between two collections waits the whole grace time", arguments: [false, true])
  func namedAgain(_ isShared: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let clock = TestClock()
    func open(_ seed: UInt64) throws -> Database {
      var options = Database.Options.simulated(seed: seed, clock: clock)
      options.inlineAssetByteCount = 0
      options.lock = isShared ? .perTransaction : .whileOpen
      return try Database.open(at: "test.daybook", options: options, disk: disk)
    }
    let database = try open(1)
    for number in 1...2 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    for number in 1...2 { try database.write { try $0.delete(Record.ID("r\(number)")) } }
    #expect(try database.collectAssets(grace: .seconds(50)).waitingCount == 2)
    // Another process may be the one that names it.
    let other = isShared ? try open(2) : database
    try other.put("again", asset: Asset(data: AssetBench.content(1)))
    for _ in 0..<60 { _ = clock.next() }
    try other.write { try $0.delete(Record.ID("again")) }
    let report = try database.collectAssets(grace: .seconds(50))
    #expect(report.waitingCount == 1 && report.removedCount == 1)
    #expect(try database.files() == [AssetBench.digest(AssetBench.content(1))])
    for _ in 0..<60 { _ = clock.next() }
    #expect(try database.collectAssets(grace: .seconds(50)).removedCount == 1)
    #expect(!disk.paths.contains("test.daybook.assets/unreferenced"))
    if isShared { try other.close() }
    try database.close()
  }

  @Test("a content that is named again waits the whole grace time, also when the note could not be read the first time")
  func noteThatCouldNotBeRead() throws {
    let (disk, folder, clock) = (HookedDisk(), try TemporaryFolder(), TestClock())
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    options.now = { clock.next() }
    options.uptime = nil
    var database = try Database.open(at: folder.file("a"), options: options, disk: disk)
    try database.put("r1", asset: Asset(data: AssetBench.content(1)))
    try database.write { _ = try $0.delete(Record.ID("r1")) }
    #expect(try database.collectAssets(grace: .seconds(500)).waitingCount == 1)
    try database.close()
    database = try Database.open(at: folder.file("a"), options: options, disk: disk)
    // For a moment there are no descriptors.
    let failed = Locked(false)
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .open, path.hasSuffix("/unreferenced"), !failed.withLock({ $0 }) else { return }
      failed.withLock { $0 = true }
      throw DiskFailure(.open, path: path, kind: .other, code: 24)
    }
    try database.put("other", asset: Asset(data: AssetBench.content(2)))
    disk.before(nil)
    #expect(failed.withLock { $0 })
    try database.put("again", asset: Asset(data: AssetBench.content(1)))
    for _ in 0..<600 { _ = clock.next() }
    try database.write { _ = try $0.delete(Record.ID("again")) }
    let report = try database.collectAssets(grace: .seconds(500))
    #expect(report.waitingCount == 1 && report.removedCount == 0)
    try database.close()
  }

  @Test("a snapshot keeps what it sees, however old it is; the history of records does not")
  func snapshots() throws {
    let database = try opened(SimulatedDisk(seed: 2))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let id = try Record.ID("a")
    do {
      let old = try database.snapshot()
      try database.put("a", asset: Asset(data: AssetBench.content(2)))
      let newer = try database.snapshot()
      try database.write { try $0.delete(id) }
      for _ in 0..<5 { try database.put("other") }
      #expect(try database.collectAssets(grace: .zero).keptCount == 2)
      #expect(try (old.record(id)?["file"] as Asset?)?.content() == AssetBench.content(1))
      #expect(try (newer.record(id)?["file"] as Asset?)?.content() == AssetBench.content(2))
    }
    #expect(try database.collectAssets(grace: .zero).removedCount == 2)
    #expect(try database.history(of: id).count == 3)
    try database.expectClean()
  }

  /// The steps of a save of a prepared asset and of a collection, as they may follow each other. A collection that has begun
  /// is stopped between its list and its removal by taking its parts by hand.
  private final class Interleaving {
    let disk: SimulatedDisk
    let database: Database
    let content = AssetBench.content(1)
    var asset: Asset?
    var victims: [AssetDigest] = []
    var inventory: AssetStore.Inventory?
    var removed = false

    init(_ disk: SimulatedDisk, _ database: Database) {
      self.disk = disk
      self.database = database
    }

    func ingest() throws { asset = try database.prepare(Asset(data: content)) }

    func commit() throws {
      guard let asset else { return }
      try database.put("a", asset: asset)
      self.asset = nil
    }

    func begin() throws {
      let store = database.library.store
      #expect(try database.store.withTurn { () throws(DiskFailure) in store.beginCollection() })
      try database.sync()
    }

    func list() throws {
      let named = try database.reading { (view) throws(DatabaseError) in Set(try view.assets().keys) }
      inventory = try database.library.store.inventory()
      victims = inventory?.digests.filter { !named.contains($0) } ?? []
    }

    func remove() throws {
      for victim in victims {
        guard let inventory else { return }
        removed = try database.store.withTurn { () throws(DiskFailure) in
          try self.database.library.store.removeUnlessRescued(victim, of: inventory) == .removed
        }
      }
      database.library.store.endCollection()
    }
  }

  @Test("an ingest and a collector, in every order of their steps: what a commit names is there, after a crash too")
  func race() throws {
    // The order of the steps of each is fixed; which of the two goes next is a choice, five times.
    var orderCount = 0
    var removedCount = 0
    for isKnown in [false, true] {
      for choice in 0..<32 where choice.nonzeroBitCount == 2 {
        orderCount += 1
        let disk = SimulatedDisk(seed: UInt64(choice))
        let database = try opened(disk)
        if isKnown {
          // The asset file is there, and unreferenced: the collector is about to remove it.
          try database.put("x", asset: Asset(data: AssetBench.content(1)))
          try database.write { try $0.delete(Record.ID("x")) }
        }
        let run = Interleaving(disk, database)
        var writer: [() throws -> Void] = [run.ingest, run.commit]
        var collector: [() throws -> Void] = [run.begin, run.list, run.remove]
        for bit in 0..<5 {
          if choice >> bit & 1 == 1 { try writer.removeFirst()() } else { try collector.removeFirst()() }
        }
        if run.removed { removedCount += 1 }
        for policy in [CrashPolicy.none, .random, .all] {
          let image = disk.crashed(seed: UInt64(choice), policy: policy)
          let after = try opened(image, seed: 7)
          let record = try #require(try after.record(Record.ID("a")))
          #expect(try (record["file"] as Asset?)?.content() == run.content, "order \(choice), \(isKnown)")
          try after.expectClean()
          try after.collectAssets(grace: .zero)
          #expect(try after.files().count == 1)
        }
      }
    }
    #expect(orderCount == 20 && removedCount > 2, "in some orders the collector was faster")
  }

  @Test("a transaction that names a content while a collection runs saves it, also through a body that is copied")
  func rescue() throws {
    let database = try opened(SimulatedDisk(seed: 3))
    let saved = try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.write { try $0.delete(saved.id) }
    let store = database.library.store
    #expect(try database.store.withTurn { () throws(DiskFailure) in store.beginCollection() })
    #expect(failure { try database.collectAssets() }?.code == .operationCancelled)
    // The old version comes back: its asset was not edited, and is unreferenced.
    try database.write { try $0.save(saved, policy: .allKeys) }
    let digest = AssetBench.digest(AssetBench.content(1))
    let inventory = try store.inventory()
    let removal = try database.store.withTurn { () throws(DiskFailure) in
      try store.removeUnlessRescued(digest, of: inventory)
    }
    #expect(removal == .kept)
    store.endCollection()
    try database.expectClean()
    #expect(try (database.record(saved.id)?["file"] as Asset?)?.content() == AssetBench.content(1))
  }

  @Test("what a killed process left is removed: unfinished ingests, contents that were never named; strangers are left alone")
  func leftovers() throws {
    let disk = SimulatedDisk(seed: 4)
    var database = try opened(disk)
    try database.put("kept", asset: Asset(data: AssetBench.content(1)))
    let held = try database.prepare(Asset(data: AssetBench.content(2)))
    let image = disk.killed()
    _ = held
    image.install([1, 2, 3], at: "test.daybook.assets/notes.txt")
    image.install([1, 2, 3], at: "test.daybook.assets/ab/cdef")
    image.install([], at: "test.daybook.assets/ingest-00000000000000ee-0000000000000001")
    database = try opened(image, seed: 9)
    let waiting = try database.collectAssets(grace: .seconds(1000))
    #expect(waiting.removedCount == 0 && waiting.removedLeftoverCount == 0 && waiting.strangerCount == 2)
    let report = try database.collectAssets(grace: .zero)
    #expect(report.removedCount == 1 && report.removedLeftoverCount == 2 && report.keptCount == 1)
    #expect(image.bytes(of: "test.daybook.assets/notes.txt") == [1, 2, 3])
    #expect(try database.files() == [AssetBench.digest(AssetBench.content(1))])
    #expect(try database.library.store.inventory().leftovers.isEmpty)
    try database.expectClean()
  }

  /// A database with unreferenced asset files; at its third removal another thread suspends it, and the removal goes on when
  /// that has begun.
  private func suspendedWhileCollecting(
    _ change: (inout Database.Options) -> Void = { _ in }, _ body: (Database, RemovingDisk, Locked<Bool>) throws -> Void
  ) throws {
    let disk = RemovingDisk(SimulatedDisk(seed: 6))
    var options = Database.Options.simulated(seed: 1, clock: TestClock())
    options.inlineAssetByteCount = 0
    change(&options)
    let database = try Database.open(at: "test.daybook", options: options, disk: disk)
    for number in 0..<40 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    let isSuspended = Locked(false)
    let suspender = Locked<BackgroundThread?>(nil)
    disk.beforeRemove.withLock { hook in
      hook = { count in
        guard count == 3 else { return }
        let thread = BackgroundThread(name: "suspender", stackByteCount: 4 << 20) {
          try? database.suspend()
          isSuspended.withLock { $0 = true }
        }
        suspender.withLock { $0 = thread }
        while database.library.mayCollect { SystemClock.sleep(nanoseconds: 1_000_000) }
      }
    }
    try body(database, disk, isSuspended)
    suspender.withLock { $0 }?.join()
    try database.expectClean()
    try database.close()
  }

  @Test("a collection that a suspension meets gives up, and touches nothing until that is over")
  func suspended() throws {
    try suspendedWhileCollecting { database, disk, isSuspended in
      try database.write { transaction in for number in 0..<40 { try transaction.delete(Record.ID("r\(number)")) } }
      #expect(failure { try database.collectAssets(grace: .zero) }?.code == .operationCancelled)
      while !isSuspended.withLock({ $0 }) { SystemClock.sleep(nanoseconds: 1_000_000) }
      let count = disk.removedCount.withLock { $0 }
      #expect(count == 3)
      #expect(failure { try database.collectAssets(grace: .zero) }?.code == .locked)
      #expect(disk.removedCount.withLock { $0 } == count)
      try database.resume()
      #expect(try database.collectAssets(grace: .zero).removedCount == 37)
      #expect(try database.files().isEmpty)
    }
  }

  @Test("a collection in the background that a suspension has stopped begins again when that is over")
  func suspendedInBackground() throws {
    try suspendedWhileCollecting {
      $0.hasBackgroundThread = true
      $0.assetGrace = .zero
    } _: { database, disk, isSuspended in
      try database.write { transaction in for number in 0..<40 { try transaction.delete(Record.ID("r\(number)")) } }
      while !isSuspended.withLock({ $0 }) { SystemClock.sleep(nanoseconds: 1_000_000) }
      #expect(disk.removedCount.withLock { $0 } == 3)
      #expect(try database.files().count == 37)
      // No thread commits any more.
      try database.resume()
      for _ in 0..<5000 where try !database.files().isEmpty { SystemClock.sleep(nanoseconds: 2_000_000) }
      #expect(try database.files().isEmpty)
    }
  }

  @Test("a collection that had met a suspension waited for the next commit where the database was resumed by then")
  func resumedMeanwhile() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook")) {
      $0.hasBackgroundThread = true
      $0.assetGrace = .seconds(1_000_000)
    }
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.write { _ = try $0.delete(Record.ID("a")) }
    try database.suspend()
    let error = try #require(failure { _ = try database.collectAssets() })
    try database.resume()
    // The thread of the collection comes to this after the look of `resume`.
    database.collectionHasFailed(error)
    let note = folder.file("a.daybook.assets/unreferenced")
    for _ in 0..<5000 where !FileManager.default.fileExists(atPath: note) { SystemClock.sleep(nanoseconds: 2_000_000) }
    #expect(FileManager.default.fileExists(atPath: note))
    #expect(try database.statistics().collectionObstacle == nil)
    try database.close()
  }

  @Test("a database that is being written to collects by itself when the grace time is over")
  func automatic() async throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook")) {
      $0.hasBackgroundThread = true
      $0.assetGrace = .zero
    }
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try await database.write { try $0.delete(Record.ID("a")) }
    for number in 0..<20_000 where try !database.files().isEmpty {
      try database.put("other", ["n": .int(Int64(number))])
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(try database.files().isEmpty)
    // A database that never had an asset is never asked.
    let plain = try Database.withFiles(at: folder.file("b.daybook")) { $0.hasBackgroundThread = true }
    try plain.put("a")
    #expect(!plain.library.mayBeDue)
  }
}

extension Database {
  @discardableResult
  fileprivate func put(_ name: String, _ values: [String: Record.Value] = [:]) throws -> Record {
    try put(name, in: .default, type: "Note", values)
  }
}

/// A disk that counts the asset files that are removed, and lets something happen before each.
private final class RemovingDisk: ForwardingDisk, @unchecked Sendable {
  let disk: SimulatedDisk
  let beforeRemove = Locked<(@Sendable (Int) -> Void)?>(nil)
  let removedCount = Locked(0)

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func remove(_ path: String) throws(DiskFailure) {
    if AssetDigest(name: String(path.split(separator: "/").last ?? "")) != nil {
      let count = removedCount.withLock { count in
        count += 1
        return count
      }
      beforeRemove.withLock { $0 }?(count)
    }
    try disk.remove(path)
  }
}
