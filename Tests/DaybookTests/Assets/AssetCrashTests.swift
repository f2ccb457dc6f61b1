import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Power fails at every call of the disk while records with assets are saved, replaced, deleted and collected: no record
// ever names a content that is not there, and what is left over goes with the next collection.

@Suite("assets through crashes")
struct AssetCrashTests {
  private static func options(
    seed: UInt64, _ durability: Database.Options.Durability
  ) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.durability = durability
    options.inlineAssetByteCount = 0
    options.closeCheckpointByteCount = 1 << 10
    return options
  }

  /// Saves, shares, replaces and deletes assets that are larger than a sector, with collections in between.
  private static func work(on disk: SimulatedDisk, _ durability: Database.Options.Durability) throws {
    for round in 1...2 as ClosedRange<UInt64> {
      let database = try Database.open(at: "a.daybook", options: options(seed: round, durability), disk: disk)
      let zone = try database.zone("Z")
      for step in 0..<6 {
        try database.put("r\(step % 3)", asset: Asset(data: AssetBench.content(step, byteCount: 900)))
        try database.put("s\(step % 2)", in: zone, asset: Asset(data: AssetBench.content(step % 4, byteCount: 900)))
        if step % 2 == 1 { try database.write { try $0.delete(Record.ID("r\(step % 3)")) } }
        if step == 2 { try database.store.checkpoint() }
        if step % 3 == 2 { try database.collectAssets(grace: .zero) }
        if step == 4 {
          try? database.write { transaction in
            var record = try Record.fresh("never")
            record["file"] = Asset(data: AssetBench.content(90, byteCount: 900))
            try transaction.save(record)
            throw Intended()
          }
        }
      }
      let prepared = try database.prepare(Asset(data: AssetBench.content(50, byteCount: 900)))
      try database.write { try $0.deleteZone(zone) }
      try database.collectAssets(grace: .zero)
      try database.put("prepared", asset: prepared)
      try database.close()
    }
  }

  /// Every asset that a record names reads back whole.
  private static func expectWhole(_ database: Database) throws {
    for zone in try database.zones() {
      for record in try database.records(in: zone.id) {
        if let asset = record["file"] as Asset? { _ = try asset.content() }
      }
    }
  }

  @Test(
    "after a crash at any call every asset that a record names is there, and a collection leaves exactly those",
    arguments: [Database.Options.Durability.full, .relaxed], [UInt64(1), 2])
  func everyCall(_ durability: Database.Options.Durability, _ seed: UInt64) throws {
    let disk = SimulatedDisk(seed: seed)
    let counts = Locked((crashes: 0, orphans: 0))
    disk.observe { call in
      // One image a call: all three of each call would be a third of the time of all tests.
      let policies: [CrashPolicy] = seed == 1 ? [.none, .all, .random] : [.random, .random, .random]
      let index = call.number % policies.count
      let policy = policies[index]
      let image = disk.crashed(seed: seed &* 1000 &+ UInt64(call.number) &* 7 &+ UInt64(index), policy: policy)
      guard (try? image.exists("a.daybook")) == true else { return }
      do {
        let database = try Database.open(at: "a.daybook", options: Self.options(seed: 9, durability), disk: image)
        try Self.expectWhole(database)
        let isClean = try database.check(.deep).isClean
        let report = try database.collectAssets(grace: .zero)
        let named = try database.reading { (view) throws(DatabaseError) in Set(try view.assets().keys) }
        guard isClean, try database.files() == named, try database.assetLeftovers().isEmpty else {
          Issue.record("crash before \(call), policy \(index), seed \(seed): not what records name")
          return
        }
        counts.withLock { counts in
          counts.crashes += 1
          counts.orphans += report.removedCount + report.removedLeftoverCount
        }
        // What was there stays, also when the power fails again.
        let again = image.crashed(seed: 1, policy: .none)
        try Self.expectWhole(try Database.open(at: "a.daybook", options: Self.options(seed: 10, durability), disk: again))
      } catch {
        Issue.record("crash before \(call), policy \(index), seed \(seed): \(error)")
      }
    }
    try Self.work(on: disk, durability)
    let (crashes, orphans) = counts.withLock { $0 }
    #expect(crashes > 180 && orphans > 20, "crashes leave something to collect")
  }

  /// Gives each directory of assets the number of the one that was removed before.
  private final class ReusedNumbers: ForwardingDisk {
    let disk: SimulatedDisk
    init(_ disk: SimulatedDisk) { self.disk = disk }

    func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
      let identity = try disk.identity(of: path)
      let name = path.split(separator: "/").last ?? ""
      guard name.count == 2 || name.hasSuffix(".assets") else { return identity }
      return identity.map { FileIdentity(device: $0.device, inode: 1) }
    }
  }

  @Test(
    "what is saved behind a folder of assets that was removed and made again survives power loss", arguments: [false, true])
  func folderMadeAgain(byAnother: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let content = AssetBench.content(1, byteCount: 900)
    let options = Self.options(seed: 1, .full)
    let database =
      byAnother
      ? try Database.open(at: "a.daybook", options: options, disk: disk)
      : try Database.open(at: "a.daybook", options: options, disk: ReusedNumbers(disk))
    try database.put("before", asset: Asset(data: content))
    let folders = try disk.entries(of: "a.daybook.assets").filter(\.isDirectory)
    try AssetStore.removeAll("a.daybook.assets", on: disk)
    if byAnother {
      // By a process that is killed before it syncs them.
      try disk.makeDirectory("a.daybook.assets")
      for folder in folders { try disk.makeDirectory("a.daybook.assets/\(folder.name)") }
    }
    try database.put("behind", asset: Asset(data: content))
    for seed in 1...40 as ClosedRange<UInt64> {
      let image = disk.crashed(seed: seed)
      try Self.expectWhole(Database.open(at: "a.daybook", options: Self.options(seed: 9, .full), disk: image))
    }
  }

  @Test("a backup that is cut off anywhere leaves no database without its assets, and can be made again")
  func backupCutOff() throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try Database.open(at: "a.daybook", options: Self.options(seed: 3, .full), disk: disk)
    for number in 0..<3 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number, byteCount: 900))) }
    try database.write { try $0.delete(Record.ID("r0")) }
    for linksAssets in [false, true] {
      let trial = disk.killed()
      let source = try Database.open(at: "a.daybook", options: Self.options(seed: 4, .full), disk: trial)
      let start = trial.callCount
      try source.backup(to: "copy", disk: trial, linksAssets: linksAssets)
      let calls = trial.callCount - start
      #expect(calls > 20)
      for call in 1...calls {
        let image = disk.killed()
        let source = try Database.open(at: "a.daybook", options: Self.options(seed: 4, .full), disk: image)
        image.stop(atCall: image.callCount + call)
        _ = try? source.backup(to: "copy", disk: image, linksAssets: linksAssets)
        for found in [image.killed(), image.crashed(seed: UInt64(call)), image.crashed(seed: 1, policy: .none)] {
          if try !found.exists("copy") {
            let again = try Database.open(at: "a.daybook", options: Self.options(seed: 5, .full), disk: found)
            try again.backup(to: "copy", disk: found, linksAssets: linksAssets)
            #expect(!found.paths.contains { $0.hasPrefix("copy.unfinished") })
          }
          let copy = try Database.open(at: "copy", options: Self.options(seed: 6, .full), disk: found)
          try Self.expectWhole(copy)
          #expect(try copy.storedAssets().filter { $0.state == .stored }.count == 2, "call \(call)")
          try copy.expectClean()
        }
      }
    }
  }

  @Test("a backup whose last calls fail takes its name back before its assets, whenever the process dies")
  func backupFails() throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try Database.open(at: "a.daybook", options: Self.options(seed: 3, .full), disk: disk)
    try database.put("r", asset: Asset(data: AssetBench.content(1, byteCount: 900)))
    try database.close()
    var failureCount = 0
    for call in 1...60 {
      let image = disk.killed()
      let source = try Database.open(at: "a.daybook", options: Self.options(seed: 4, .full), disk: image)
      image.inject(SimulatedFault(call: call))
      let images = Locked<[SimulatedDisk]>([])
      image.observe { [unowned image] _ throws(DiskFailure) in
        images.withLock { $0 += [image.killed(), image.crashed(seed: UInt64(call))] }
      }
      var hasFailed = false
      do { try source.backup(to: "copy", disk: image) } catch { hasFailed = true }
      image.observe(nil)
      // Some failures are got over, and after the last call none strikes.
      if !hasFailed { continue }
      failureCount += 1
      for found in images.withLock({ $0 }) + [image.killed(), image.crashed(seed: 1, policy: .none)]
      where try found.exists("copy") {
        try Self.expectWhole(Database.open(at: "copy", options: Self.options(seed: 6, .full), disk: found))
      }
      image.removeFaults()
      if try !image.exists("copy") { try source.backup(to: "copy", disk: image) }
      try Self.expectWhole(Database.open(at: "copy", options: Self.options(seed: 7, .full), disk: image))
    }
    #expect(failureCount > 15)
  }

  /// One step of work each, so that one may fail and the next go on.
  private static let steps: [@Sendable (Database) throws -> Void] = [
    { try $0.put("a", asset: Asset(data: AssetBench.content(1, byteCount: 900))) },
    { try $0.put("b", asset: Asset(data: AssetBench.content(1, byteCount: 900))) },
    { database in
      let asset = try database.prepare(Asset(data: AssetBench.content(2, byteCount: 900)))
      try database.collectAssets(grace: .zero)
      try database.put("c", asset: asset)
    },
    { try $0.put("a", asset: Asset(data: AssetBench.content(3, byteCount: 900))) },
    { try $0.write { try $0.delete(Record.ID("b")) } },
    { try $0.collectAssets(grace: .zero) },
    { try $0.put("d", asset: Asset(data: AssetBench.content(1, byteCount: 900))) },
    { try $0.put("plain", in: .default, type: "Note", ["n": 1]) },
  ]

  @Test(
    "a call that fails, once or for ever, leaves no record without its content, now and after a crash",
    arguments: [ErrorNumber.inputOutput, ErrorNumber.noSpace], [false, true])
  func failingCalls(code: Int32, forEver: Bool) throws {
    let operations: [Set<DiskFailure.Operation>] = [
      [.create], [.write], [.sync], [.syncDirectory], [.link], [.makeDirectory], [.remove], [.rename], [.open], [.status],
      [.list],
    ]
    var struckCount = 0
    var errorCount = 0
    for operation in operations {
      for call in 1...200 {
        let disk = SimulatedDisk(seed: UInt64(call))
        let database = try Database.open(at: "a.daybook", options: Self.options(seed: 1, .full), disk: disk)
        try database.put("first", asset: Asset(data: AssetBench.content(0, byteCount: 900)))
        disk.startTrace()
        disk.inject(SimulatedFault(operation, call: call, code: code, repeats: forEver))
        for step in Self.steps {
          do { try step(database) } catch let error as DatabaseError {
            errorCount += 1
            let expected: [DatabaseError.Code] = [
              .ioFailed, .diskFull, .outcomeUnknown, .assetFileNotFound, .assetNotAvailable, .unknownItem,
            ]
            #expect(expected.contains(error.code), "\(operation) \(call): \(error)")
          }
        }
        let hasStruck = disk.trace.count { operation.contains($0.operation) } >= call
        disk.removeFaults()
        try Self.expectWhole(database)
        for policy in [CrashPolicy.none, .random] {
          let image = disk.crashed(seed: UInt64(call), policy: policy)
          let after = try Database.open(at: "a.daybook", options: Self.options(seed: 9, .full), disk: image)
          try Self.expectWhole(after)
          let report = try after.check(.deep)
          #expect(report.isClean, "\(operation) \(call): \(report.findings)")
          try after.collectAssets(grace: .zero)
          let named = try after.reading { (view) throws(DatabaseError) in Set(try view.assets().keys) }
          #expect(try after.files() == named && after.assetLeftovers().isEmpty, "\(operation) \(call)")
        }
        if !hasStruck { break }
        struckCount += 1
      }
    }
    #expect(struckCount > 60 && errorCount > 60)
  }

  /// What a commit counts on, at the moment when another ingest of the same content syncs the folder.
  private func expectDurable(sharesFile: Bool, _ prepare: (AssetStore, AssetHold) throws -> Void) throws {
    let disk = SimulatedDisk(seed: 5, maximumFileByteCount: 16 << 20)
    let store = AssetStore(path: "/a.daybook", disk: disk, sharesFile: sharesFile, random: { UInt64.random(in: 1 ... .max) })
    disk.install([1, 2, 3], at: "/a.daybook")
    let content = [UInt8](AssetBench.content(9, byteCount: 1000))
    func ingest() throws -> AssetHold { try content.withView { try store.ingest(.bytes($0), byteCount: 1000) } }
    let first = try ingest()
    let path = store.path(of: first.digest)
    // Nothing refers to it, and its grace time is over.
    try #require(store.beginCollection())
    #expect(try store.removeUnlessRescued(first.digest, of: store.inventory()) == .removed)
    store.endCollection()
    try prepare(store, first)
    let lostCount = Locked<Int?>(nil)
    disk.observe { call throws(DiskFailure) in
      guard call.operation == .syncDirectory, lostCount.withLock({ $0 }) == nil else { return }
      lostCount.withLock { $0 = 0 }
      // The other has given its file the name, and is about to make that durable. Meanwhile a commit names the content.
      try store.secure(first)
      for seed in 1...20 as ClosedRange<UInt64> {
        let names = CrashPolicy(sectors: .none, sizes: .none, names: .random, unwritten: .zeros)
        if try !disk.crashed(seed: seed, policy: names).exists(path) { lostCount.withLock { $0! += 1 } }
      }
    }
    let second = try ingest()
    disk.observe(nil)
    #expect(lostCount.withLock { $0 } == 0)
    withExtendedLifetime((first, second)) {}
  }

  @Test("a name that another ingest has just made is durable before a commit counts on it")
  func nameOfAnotherIngest() throws { try expectDurable(sharesFile: false) { _, _ in } }

  @Test("a name that a process put back and died before its sync is durable before a commit of another counts on it")
  func nameOfAnotherProcess() throws {
    for suspends in [false, true] {
      try expectDurable(sharesFile: !suspends) { store, hold in
        if suspends {
          store.suspend()
          store.resume()
        }
        // What the other had as its own second name was the same file.
        try store.disk.link(hold.temporary.path, to: store.path(of: hold.digest))
      }
    }
  }
}
