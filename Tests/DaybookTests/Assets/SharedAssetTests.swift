import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Contents in a database that several users write to, and many of them at once: what belongs to another user may be read, but
// not linked everywhere, and what another user makes beside the asset files may be closed to us.

@Suite("assets of several users, and many at once")
struct SharedAssetTests {
  private func opened(_ folder: TemporaryFolder, _ disk: HookedDisk) throws -> Database {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.durability = .relaxed
    options.hasBackgroundThread = false
    return try Database.open(at: folder.file("a.daybook"), options: options, disk: disk)
  }

  private func content(_ database: Database, _ name: String) throws -> Data? {
    try (database.record(Record.ID(name))?["file"] as Asset?)?.content()
  }

  private func mode(_ path: String) throws -> UInt32 { try SystemDisk().attributes(of: path).mode & 0o777 }

  @Test("hundreds of prepared assets, and a transaction with hundreds of new ones, keep one folder open and no more")
  func descriptors() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try opened(folder, disk)
    let before = disk.openFolderCount
    var held: [Asset] = []
    for number in 0..<200 { held.append(try database.prepare(Asset(data: AssetBench.content(number)))) }
    #expect(disk.openFolderCount <= before + 1)
    // Another folder has the name by now; what lies in the first one is held there.
    let (place, moved) = (folder.file("a.daybook.assets"), folder.file("moved"))
    try FileManager.default.moveItem(atPath: place, toPath: moved)
    for number in 0..<20 { held.append(try database.prepare(Asset(data: AssetBench.content(number)))) }
    #expect(disk.openFolderCount <= before + 2)
    for number in [0, 199, 200, 219] { #expect(try held[number].content() == AssetBench.content(number % 200)) }
    held = []
    #expect(disk.openFolderCount == before)
    for path in [place, moved] {
      let left = try FileManager.default.contentsOfDirectory(atPath: path)
      #expect(left.allSatisfy { $0.utf8.count == 2 || $0 == "owner" }, "nothing is held: \(left)")
    }
    var inside = Int.max
    try database.write { transaction in
      for number in 0..<200 {
        var record = try Record.fresh("r\(number)")
        record["file"] = Asset(data: AssetBench.content(number + 1000))
        try transaction.save(record)
      }
      inside = disk.openFolderCount
    }
    #expect(inside <= before + 1 && disk.openFolderCount == before)
    try database.expectClean()
    try database.close()
  }

  @Test("what another user has saved can be saved again, and copied, where the system refuses a link to it")
  func refusedLink() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try opened(folder, disk)
    let bytes = AssetBench.content(1)
    let path = database.library.store.path(of: AssetBench.digest(bytes))
    try database.put("a", asset: Asset(data: bytes))
    let rights = try mode(path)
    // As if every content were another user's, with `fs.protected_hardlinks`. Our own names may be linked.
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .link, !path.contains("/ingest-") else { return }
      throw DiskFailure(.link, path: path, code: ErrorNumber.notPermitted)
    }
    try database.put("b", asset: Asset(data: bytes))
    let known = try database.record(Record.ID("a"))
    try database.put("c", asset: try #require(known?["file"] as Asset?))
    for name in ["b", "c"] { #expect(try content(database, name) == bytes) }
    #expect(try database.assetLeftovers() == [])
    // The held copy becomes the content where a collection has taken the other user's.
    let held = try database.prepare(Asset(data: bytes))
    try database.write { transaction in
      for name in ["a", "b", "c"] { try transaction.delete(Record.ID(name)) }
    }
    #expect(try database.collectAssets(grace: .zero).removedCount == 1)
    #expect(!FileManager.default.fileExists(atPath: path))
    try database.put("d", asset: held)
    #expect(try content(database, "d") == bytes && mode(path) == rights)
    // A copy of what is corrupt is no hold: saved again it is good, copied it is refused.
    let saved = try database.record(Record.ID("d"))
    try FileManager.default.removeItem(atPath: path)
    try Data(bytes.reversed()).write(to: URL(filePath: path))
    #expect(failure { try database.put("e", asset: try #require(saved?["file"] as Asset?)) }?.code == .assetNotAvailable)
    try database.put("e", asset: Asset(data: bytes))
    for name in ["d", "e"] { #expect(try content(database, name) == bytes) }
    try database.backup(to: folder.file("copy"), disk: disk)
    disk.before(nil)
    #expect(try database.collectAssets(grace: .zero).strangerCount == 0)
    try database.expectClean()
    try database.close()
    let copy = try Database.withFiles(at: folder.file("copy"))
    #expect(try content(copy, "d") == bytes)
    try copy.expectClean()
  }

  @Test("a folder that somebody has made and closed is a stranger to collections and lists; a closed one of ours is an error")
  func closedFolder() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try opened(folder, disk)
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.put("b", asset: Asset(data: AssetBench.content(2)))
    try database.write { try $0.delete(Record.ID("b")) }
    let place = folder.file("a.daybook.assets/zz")
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let closed = Locked(place)
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .open, path == closed.withLock({ $0 }) else { return }
      throw DiskFailure(.open, path: path, code: ErrorNumber.permission)
    }
    #expect(try database.storedAssets().map(\.state).sorted { $0.rawValue < $1.rawValue } == [.stored, .unreferenced])
    #expect(try database.assetLeftovers() == ["zz"])
    let report = try database.collectAssets(grace: .zero)
    #expect(report.removedCount == 1 && report.keptCount == 1 && report.strangerCount == 1)
    #expect(FileManager.default.fileExists(atPath: place))
    closed.withLock { $0 = folder.file("a.daybook.assets/" + AssetBench.digest(AssetBench.content(1)).folder) }
    for error in [failure { try database.collectAssets(grace: .zero) }, failure { try database.storedAssets() }] {
      #expect(error?.code == .ioFailed && error?.facts.path == closed.withLock { $0 })
    }
    disk.before(nil)
    try database.close()
  }

  /// How a backup ends before its time.
  enum Ending: CaseIterable { case stopped, unnamed, killed }

  @Test("a backup that ends early leaves nothing of contents of another user that it has linked", arguments: Ending.allCases)
  func linkedForeign(_ ending: Ending) throws {
    // Only root gives files away, and may link them everywhere.
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try opened(folder, disk)
    for number in 0..<2 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    let digests = (0..<2).map { AssetBench.digest(AssetBench.content($0)) }
    let paths = digests.map { database.library.store.path(of: $0) }
    for path in paths { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
    switch ending {
    case .stopped:
      let linkCount = Locked(0)
      disk.before { operation, _ in if operation == .link { linkCount.withLock { $0 += 1 } } }
      let error = failure {
        try database.backup(to: folder.file("copy"), disk: disk) { _, _ in linkCount.withLock { $0 } == 0 }
      }
      // It was linked for a look at whose it is, and then copied.
      #expect(error?.code == .operationCancelled && linkCount.withLock { $0 } >= 1)
    case .unnamed:
      disk.before { operation, path throws(DiskFailure) in
        guard operation == .rename, path.hasSuffix("/copy.unfinished") else { return }
        throw DiskFailure(.rename, path: path, code: ErrorNumber.inputOutput)
      }
      #expect(failure { try database.backup(to: folder.file("copy"), disk: disk) }?.code == .ioFailed)
    case .killed:
      let leftover = folder.file("copy.unfinished.assets")
      try FileManager.default.createDirectory(atPath: leftover, withIntermediateDirectories: false)
      let mark = FolderMark(database: 1, folder: nil, files: [], isUnfinished: true)
      try mark.write(in: SystemDisk().folder(at: leftover), like: nil, number: 7)
      for digest in digests {
        let place = folder.file("copy.unfinished.assets/\(digest.folder)")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try SystemDisk().link(database.library.store.path(of: digest), to: place + "/" + digest.name)
      }
    }
    disk.before(nil)
    if ending != .killed {
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.hasPrefix("copy") })
    }
    try database.backup(to: folder.file("copy"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.unfinished.assets")))
    try database.expectClean()
    try database.close()
    let copy = try Database.withFiles(at: folder.file("copy"))
    for number in 0..<2 { #expect(try content(copy, "r\(number)") == AssetBench.content(number)) }
    try copy.expectClean()
  }
}
