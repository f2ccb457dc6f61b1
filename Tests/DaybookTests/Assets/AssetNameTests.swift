import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

/// A record that survives a power loss has its assets, whatever a collection, a failed call or another thread did before.
@Suite("Names of contents")
struct AssetNameTests {
  private static let id = try! Record.ID("r")
  private static let content = Data((0..<900).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private static func options(_ seed: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.inlineAssetByteCount = 0
    return options
  }

  private static func save(_ asset: Asset, _ database: Database) throws {
    try database.write { transaction in
      var record = try Record(type: "T", id: id)
      record["file"] = asset
      try transaction.save(record)
    }
  }

  private static func expectContent(on disk: SimulatedDisk) throws {
    for seed in 0..<100 as Range<UInt64> {
      let crashed = disk.crashed(seed: seed, policy: .random)
      let database = try Database.open(at: "a.daybook", options: options(9), disk: crashed)
      guard let asset = try database.record(id)?["file"] as Asset? else { continue }
      #expect(throws: Never.self, "power loss \(seed)") { _ = try asset.content() }
    }
  }

  @Test("a wrong file of the right size under a content's name is not taken for it: whoever saves the content has it")
  func wrongFile() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("first", asset: Asset(data: AssetBench.content(2)))
    let content = AssetBench.content(1)
    let place = database.library.store.path(of: AssetBench.digest(content))
    try FileManager.default.createDirectory(
      atPath: (place as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(content.reversed()).write(to: URL(filePath: place))
    try database.put("second", asset: Asset(data: content))
    #expect(try (database.record(Record.ID("second"))?["file"] as Asset?)?.content() == content)
    try database.expectClean()
    try database.close()
  }

  @Test("an asset is saved at the second try, after its folder could not be opened at the first")
  func secondTry() throws {
    let simulated = SimulatedDisk(seed: 3)
    let disk = HookDisk(simulated)
    let database = try Database.open(at: "a.daybook", options: Self.options(1), disk: disk)
    try database.write { transaction in try transaction.setMetadata(Data([1]), forKey: "k") }
    let prepared = try database.prepare(Asset(data: Self.content))
    #expect(try database.collectAssets(grace: .zero).removedCount == 1)
    disk.closesFolders.withLock { $0 = true }
    #expect(throws: DatabaseError.self) { try Self.save(prepared, database) }
    disk.closesFolders.withLock { $0 = false }
    try Self.save(prepared, database)
    try Self.expectContent(on: simulated)
    #expect(try simulated.crashed(seed: 1, policy: .none).entries(of: "a.daybook.assets").count > 0)
  }

  @Test("an asset that was prepared while suspended is made durable again beside another process that linked it")
  func preparedWhileSuspended() throws {
    let simulated = SimulatedDisk(seed: 3)
    let database = try Database.open(at: "a.daybook", options: Self.options(1), disk: simulated)
    try database.write { transaction in try transaction.setMetadata(Data([1]), forKey: "k") }
    try database.suspend()
    let prepared = try database.prepare(Asset(data: Self.content))
    do {
      let disk = HookDisk(simulated)
      let other = try Database.open(at: "a.daybook", options: Self.options(2), disk: disk)
      let own = try other.prepare(Asset(data: Self.content))
      _ = try other.collectAssets(grace: .zero)
      disk.closesFolders.withLock { $0 = true }
      // Links the name again, and cannot sync it.
      #expect(throws: DatabaseError.self) { try Self.save(own, other) }
      try other.close()
    }
    try database.resume()
    try Self.save(prepared, database)
    try Self.expectContent(on: simulated)
  }

  @Test("a record whose deletion is not durable keeps its asset beside a collection")
  func relaxedDeletion() throws {
    let simulated = SimulatedDisk(seed: 3)
    let disk = HookDisk(simulated)
    var options = Self.options(1)
    options.durability = .relaxed
    let database = try Database.open(at: "a.daybook", options: options, disk: disk)
    try Self.save(Asset(data: Self.content), database)
    try database.sync()
    try database.write { transaction in try transaction.setMetadata(Data([1]), forKey: "k") }
    disk.afterSync.withLock { hook in
      hook = {
        let thread = BackgroundThread(name: "deletes") {
          try? database.write { transaction in try transaction.delete(Self.id) }
        }
        thread?.join()
      }
    }
    _ = try database.collectAssets(grace: .zero)
    try Self.expectContent(on: simulated)
  }
}

/// A disk whose asset folders cannot always be opened, and that lets something happen after a sync of the log.
private final class HookDisk: ForwardingDisk, @unchecked Sendable {
  let disk: SimulatedDisk
  let closesFolders = Locked(false)
  let afterSync = Locked<(@Sendable () -> Void)?>(nil)

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    HookFile(try disk.open(path, mode), self)
  }

  func syncDirectory(holding path: String) throws(DiskFailure) {
    if path.contains(".assets/"), closesFolders.withLock({ $0 }) {
      throw DiskFailure(.open, path: path, code: ErrorNumber.permission)
    }
    try disk.syncDirectory(holding: path)
  }
}

private final class HookFile: ForwardingFile {
  let file: any DiskFile
  private let disk: HookDisk

  init(_ file: any DiskFile, _ disk: HookDisk) {
    self.file = file
    self.disk = disk
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    try file.sync(level)
    guard path == "a.daybook" else { return }
    let hook = disk.afterSync.withLock { hook in
      defer { hook = nil }
      return hook
    }
    hook?()
  }
}
