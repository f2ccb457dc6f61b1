import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// The mark in a folder of assets: it is durable before it is relied on, and names beside it that are not exactly ours stay.
@Suite("marks of folders")
struct FolderMarkTests {
  private static func open(_ disk: SimulatedDisk) throws -> Database {
    try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
  }

  private static func put(_ name: String, _ database: Database) throws {
    try database.put(name, ["picture": .asset(Asset(data: AssetBench.content(name.utf8.count)))])
  }

  private static func expectCollects(_ disk: SimulatedDisk, _ what: String) throws {
    let database = try open(disk)
    do { _ = try database.collectAssets(grace: .zero) } catch { Issue.record("\(what): \(error)") }
    try database.expectClean()
    try database.close()
  }

  @Test(
    "a folder whose mark could not be synced is not left with contents and no mark by a power loss after the next save",
    arguments: [false, true])
  func failedSync(repeats: Bool) throws {
    for call in 1...12 {
      let disk = SimulatedDisk(seed: UInt64(call))
      let database = try Self.open(disk)
      disk.inject(SimulatedFault([.sync, .syncDirectory], call: call, code: ErrorNumber.noSpace, syncLoss: .dropsPages))
      if repeats {
        // Then nothing of it can be taken away again, either.
        disk.inject(SimulatedFault([.rename, .remove], call: 2, code: ErrorNumber.noSpace, repeats: true))
      }
      for name in ["a", "aa", "aaa"] { try? Self.put(name, database) }
      disk.removeFaults()
      for name in ["aaaa", "aaaaa"] { try? Self.put(name, database) }
      for found in [disk.afterPowerLoss(keeping: .nothing), disk.afterPowerLoss(seed: 1), disk.afterPowerLoss(seed: 2)] {
        try Self.expectCollects(found, "call \(call)")
      }
    }
  }

  @Test("a mark that a killed process has not synced is durable before the contents of the next one are")
  func killedBeforeSync() throws {
    var isDone = false
    var call = 0
    while !isDone {
      let disk = SimulatedDisk(seed: 3)
      let database = try Self.open(disk)
      try database.put("first")
      disk.stop(atCall: disk.callCount + call)
      isDone = (try? Self.put("a", database)) != nil
      let killed = disk.afterKill()
      let next = try Self.open(killed)
      try Self.put("aa", next)
      for found in [killed.afterPowerLoss(keeping: .nothing), killed.afterPowerLoss(seed: 1), killed.afterPowerLoss(seed: 2)] {
        try Self.expectCollects(found, "call \(call)")
      }
      call += 1
    }
    #expect(call > 10)
  }

  // MARK: names beside it

  private func entries(_ folder: String) throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: folder))
  }

  private static let number = "0123456789abcdef"

  @Test("files whose names only look like ours stay in a folder of assets, and are counted; exactly ours go")
  func similarNames() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    try database.put("r", asset: Asset(data: AssetBench.content(1)))
    let assets = path + ".assets/"
    let digest = AssetBench.digest(AssetBench.content(1)).name
    try FileManager.default.createDirectory(atPath: assets + "staged", withIntermediateDirectories: true)
    let strangers = [
      "ingest-plans.txt", "ingest-\(Self.number)", "ingest-\(Self.number)-1", "ingest-\(Self.number)-\(Self.number)-x",
      "owner.new", "owner.new-", "owner.new-mine", "unreferenced.new", "unreferenced.new-mine", "holder-mine",
      "staged/notes.txt", "staged/\(digest)-mine", "staged/\(digest)",
    ]
    let ours = [
      "ingest-\(Self.number)-\(Self.number)", "owner.new-\(Self.number)", "unreferenced.new-\(Self.number)",
      "staged/\(digest)-\(Self.number)-\(Self.number)",
    ]
    for name in strangers + ours { try Data("x".utf8).write(to: URL(filePath: assets + name)) }
    let report = try database.collectAssets(grace: .zero)
    #expect(report.removedLeftoverCount == ours.count && report.strangerCount == strangers.count, "\(report)")
    let left = try entries(assets)
    #expect(left.isSuperset(of: strangers) && left.isDisjoint(with: ours))
    // No folder of a copy is cleared that has one of them.
    for name in strangers {
      let other = folder.file("other")
      try FileManager.default.createDirectory(atPath: other + "/staged", withIntermediateDirectories: true)
      try Data("x".utf8).write(to: URL(filePath: other + "/" + name))
      #expect(throws: DiskFailure.self, "\(name)") { try AssetStore.removeAll(other, on: SystemDisk()) }
      #expect(FileManager.default.fileExists(atPath: other + "/" + name), "\(name)")
      try FileManager.default.removeItem(atPath: other)
    }
    try database.close()
  }

  @Test("what has the name of a mark that is being made blocks no mark and is not followed, written to or removed")
  func plantedName() throws {
    for kind in ["folder", "link", "file"] {
      let folder = try TemporaryFolder()
      let path = folder.file("a")
      let database = try Database.withFiles(at: path)
      try database.put("r", asset: Asset(data: AssetBench.content(1)))
      let planted = path + ".assets/owner.new"
      let victim = folder.file("victim")
      try Data("precious".utf8).write(to: URL(filePath: victim))
      switch kind {
      case "folder": try FileManager.default.createDirectory(atPath: planted + "/in", withIntermediateDirectories: true)
      case "link": try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: victim)
      default: try Data("mine".utf8).write(to: URL(filePath: planted))
      }
      // The mark follows the file.
      try database.compact()
      try database.write { try $0.delete(Record.ID("r")) }
      #expect(try database.collectAssets(grace: .zero).removedCount == 1, "\(kind)")
      try database.takeOverAssets()
      try database.close()
      #expect(try SystemDisk().folder(at: path + ".assets").identity(of: "owner.new") != nil, "\(kind)")
      #expect(FileManager.default.contents(atPath: victim) == Data("precious".utf8), "\(kind)")
    }
  }

  @Test("of another user nothing that has one of our names goes, and what it says about times counts for nothing")
  func strangersNames() throws {
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    try database.put("r", asset: Asset(data: AssetBench.content(1)))
    try database.write { try $0.delete(Record.ID("r")) }
    let assets = path + ".assets/"
    let digest = AssetBench.digest(AssetBench.content(1))
    try FileManager.default.createDirectory(atPath: assets + "staged", withIntermediateDirectories: true)
    let names = [
      "ingest-\(Self.number)-\(Self.number)", "owner.new-\(Self.number)", "unreferenced.new-\(Self.number)",
      "staged/\(digest.name)-\(Self.number)-\(Self.number)", "unreferenced",
    ]
    for name in names {
      // The note claims that the content has waited for years.
      try Data("\(digest.name) 1\n".utf8).write(to: URL(filePath: assets + name))
      #expect(unsafe lchown(assets + name, 65_534, 65_534) == 0)
    }
    for _ in 0..<2 {
      let report = try database.collectAssets(grace: .seconds(3600))
      #expect(report.removedCount == 0 && report.waitingCount == 1 && report.strangerCount == 1, "\(report)")
    }
    #expect(try entries(assets).isSuperset(of: names))
    #expect(FileManager.default.fileExists(atPath: database.library.store.path(of: digest)))
    try FileManager.default.removeItem(atPath: assets + "unreferenced")
    let report = try database.collectAssets(grace: .zero)
    #expect(report.removedCount == 1 && report.removedLeftoverCount == 0 && report.strangerCount == 4, "\(report)")
    #expect(try entries(assets).isSuperset(of: names.dropLast()))
    try database.close()
  }

  @Test("a forged list of unreferenced contents is not read beyond what the folder can need, and is believed of nothing else")
  func forgedNote() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    try database.put("r", asset: Asset(data: AssetBench.content(1)))
    try database.write { try $0.delete(Record.ID("r")) }
    let digest = AssetBench.digest(AssetBench.content(1))
    let note = path + ".assets/unreferenced"
    let store = database.library.store
    // Each claims that the content has waited for years; the first has millions of other lines.
    let honest = "\(digest.name) 1.5\n"
    try Data((honest + String(repeating: "a 1\n", count: 100_000)).utf8).write(to: URL(filePath: note))
    var found = try store.readFirstSeen(of: store.inventory())
    #expect(found.seconds.isEmpty && found.hasOtherLines)
    #expect(try database.collectAssets(grace: .seconds(3600)).waitingCount == 1)
    // It is our own again.
    #expect(try #require(FileManager.default.contents(atPath: note)).count < 200)
    found = try store.readFirstSeen(of: store.inventory())
    #expect(found.seconds.count == 1 && !found.hasOtherLines)
    let lines = [
      "a 1", "", " ", "clocks 3 4", "\(digest.name) 1 2", "\(digest.name) inf", String(repeating: "b", count: 300), "\u{1}",
    ]
    try Data((lines.joined(separator: "\n") + "\n" + honest).utf8).write(to: URL(filePath: note))
    found = try store.readFirstSeen(of: store.inventory())
    #expect(found.seconds == [digest.name: 1.5] && found.hasOtherLines)
    #expect(found.clocks?.date == 3 && found.clocks?.uptime == 4)
    try database.close()
  }

  // MARK: clocks

  @Test("a clock that was set back, or was ahead when a content was first seen, removes nothing and lets it wait from now on")
  func clockSetBack() throws {
    let disk = SimulatedDisk(seed: 3)
    let seconds = Locked(1_000_000.0)
    var options = Database.Options()
    options.now = { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }
    options.inlineAssetByteCount = 0
    let database = try Database.open(at: "a", on: disk, options: options)
    try Self.put("a", database)
    try database.write { try $0.delete(Record.ID("a")) }
    func collect(at time: Double) throws -> Int {
      seconds.withLock { $0 = time }
      return try database.collectAssets(grace: .seconds(100)).removedCount
    }
    #expect(try collect(at: 1_000_000) == 0)
    #expect(try collect(at: 500_000) == 0)
    #expect(try collect(at: 500_099) == 0)
    #expect(try collect(at: 500_101) == 1)
    try database.close()
  }

  @Test("a date that is set forward by years ends no grace time, before and after a restart of the system")
  func clockSetForward() throws {
    let disk = SimulatedDisk(seed: 3)
    let clocks = Locked((date: 1_000_000.0, uptime: 500.0))
    var options = Database.Options()
    options.now = { Date(timeIntervalSinceReferenceDate: clocks.withLock { $0.date }) }
    options.uptime = { clocks.withLock { $0.uptime } }
    options.inlineAssetByteCount = 0
    let database = try Database.open(at: "a", on: disk, options: options)
    func drop(_ name: String) throws {
      try Self.put(name, database)
      try database.write { try $0.delete(Record.ID(name)) }
    }
    func collect(_ date: Double, up uptime: Double) throws -> Int {
      clocks.withLock { $0 = (date, uptime) }
      return try database.collectAssets(grace: .seconds(100)).removedCount
    }
    try drop("a")
    #expect(try collect(1_000_000, up: 500) == 0)
    #expect(try collect(900_000_000, up: 501) == 0)
    #expect(try collect(900_000_050, up: 551) == 0)
    #expect(try collect(900_000_100, up: 601) == 1)
    try drop("aa")
    #expect(try collect(900_000_100, up: 601) == 0)
    // A restart, at which the date is wrong.
    #expect(try collect(990_000_000, up: 60) == 0)
    #expect(try collect(990_000_039, up: 99) == 0)
    #expect(try collect(990_000_041, up: 101) == 1)
    try database.close()
  }

  @Test("a folder that is made after another file has taken the name is marked as that one's, and collected")
  func afterRestore() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    var options = Database.Options()
    options.lock = .perTransaction
    options.assetGrace = .zero
    let database = try Database.open(at: path, options: options)
    func put(_ name: String, _ seed: UInt8) throws {
      var record = try Record.fresh(name)
      record["a"] = Asset(data: Data(repeating: seed, count: 100_000))
      try database.save(record)
    }
    try database.put("r")
    try database.backup(to: folder.file("b.daybook"))
    try put("first", 1)
    for ending in ["", ".assets"] {
      try FileManager.default.moveItem(atPath: path + ending, toPath: folder.file("old.daybook" + ending))
    }
    try FileManager.default.moveItem(atPath: folder.file("b.daybook"), toPath: path)
    // A collection in the background may have seen the other file before.
    try database.refresh()
    #expect(try database.record(Record.fresh("first").id) == nil)
    try put("second", 2)
    try database.close()
    let again = try Database.open(at: path, options: options)
    try again.delete(Record.fresh("second").id)
    // It throws where the folder is another file's. The background may have been faster.
    try again.collectAssets(grace: .zero)
    #expect(try again.files().isEmpty)
    try again.close()
  }
}
