import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Backup and salvage copy asset files, verified, and say what is missing.

@Suite("copies of assets")
struct AssetCopyTests {
  private func filled(_ folder: TemporaryFolder) throws -> Database {
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let zone = try database.zone("Z")
    for number in 0..<5 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    try database.put("z", in: zone, asset: Asset(data: AssetBench.content(1)))
    // Only an old version names the first.
    try database.put("r0", asset: Asset(data: AssetBench.content(7)))
    return database
  }

  private func identity(_ path: String) throws -> FileIdentity? { try SystemDisk().identity(of: path) }

  @Test("a backup has every content that records name, by a second name or as a copy", arguments: [true, false])
  func backup(links: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let target = folder.file("copy.daybook")
    try database.backup(to: target, linksAssets: links)
    let copy = try Database.withFiles(at: target)
    let stored = try copy.storedAssets()
    #expect(stored.count == 5 && stored.allSatisfy { $0.state == .stored && $0.path.hasPrefix(target) })
    for asset in stored {
      let original = asset.path.replacing("copy.daybook", with: "a.daybook")
      #expect(try (identity(original) == identity(asset.path)) == links)
    }
    try copy.expectClean()
    #expect(try (copy.record(Record.ID("r0"))?["file"] as Asset?)?.content() == AssetBench.content(7))
    // Each has a history of its own from here on.
    try database.write { transaction in for number in 0..<5 { try transaction.delete(Record.ID("r\(number)")) } }
    try database.collectAssets(grace: .zero)
    try copy.expectClean()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("unfinished") })
  }

  @Test("a backup has copies of what another user could change, not the files themselves")
  func othersContents() throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    func path(_ number: Int) -> String { database.library.store.path(of: AssetBench.digest(AssetBench.content(number))) }
    // As a writer of the group saves them, or puts them there.
    #expect(unsafe chmod(path(2), 0o464) == 0)
    if geteuid() == 0 { #expect(unsafe chown(path(3), 65_533, 65_533) == 0) }
    let target = folder.file("copy.daybook")
    try database.backup(to: target)
    for (number, isShared) in [(1, true), (2, false), (3, geteuid() != 0), (4, true)] {
      let copied = path(number).replacing("a.daybook", with: "copy.daybook")
      #expect(try (identity(path(number)) == identity(copied)) == isShared, "\(number)")
      #expect(try SystemDisk().attributes(of: copied).mode & 0o222 == 0)
    }
    let copy = try Database.withFiles(at: target)
    try copy.expectClean()
    try copy.close()
    try database.close()
  }

  @Test("a backup of a database whose asset is damaged or gone is refused, and leaves nothing", arguments: [true, false])
  func damagedBackup(links: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let path = database.library.store.path(of: AssetBench.digest(AssetBench.content(2)))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    try FileManager.default.removeItem(atPath: path)
    try Data(AssetBench.content(2).reversed()).write(to: URL(filePath: path))
    #expect(failure { try database.backup(to: folder.file("copy"), linksAssets: links) }?.code == .assetFileModified)
    try FileManager.default.removeItem(atPath: path)
    #expect(failure { try database.backup(to: folder.file("copy"), linksAssets: links) }?.code == .assetFileNotFound)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == names)
  }

  @Test("a salvage copies the contents that are there and names those that are not")
  func salvage() throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let store = database.library.store
    let gone = AssetBench.digest(AssetBench.content(2))
    let changed = AssetBench.digest(AssetBench.content(3))
    try database.close()
    try FileManager.default.removeItem(atPath: store.path(of: gone))
    try FileManager.default.removeItem(atPath: store.path(of: changed))
    try Data(AssetBench.content(3).reversed()).write(to: URL(filePath: store.path(of: changed)))
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    let target = folder.file("b.daybook")
    let report = try Database.salvage(from: folder.file("a.daybook"), to: target, options: options, disk: SystemDisk())
    #expect(report.assetCount == 3 && !report.isComplete)
    #expect(report.missingAssets == [gone, changed].sorted().map(\.name))
    let copy = try Database.withFiles(at: target)
    #expect(try copy.files().count == 3)
    let record = try #require(try copy.record(Record.ID("r2")))
    #expect(failure { try (record["file"] as Asset?)?.content() }?.code == .assetFileNotFound)
    #expect(try (copy.record(Record.ID("r4"))?["file"] as Asset?)?.content() == AssetBench.content(4))
  }

  @Test("a content stays in a salvaged copy when the file of another content holds its bytes", arguments: [true, false])
  func bytesUnderAnotherName(isFirst: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let store = database.library.store
    let digests = [1, 2, 3, 4, 7].map { AssetBench.digest(AssetBench.content($0)) }.sorted()
    // Copies are made in the order of the digests, so the wrong one comes after the good one or before it.
    let (good, wrong) = isFirst ? (digests[0], digests[2]) : (digests[2], digests[0])
    try FileManager.default.removeItem(atPath: store.path(of: wrong))
    try FileManager.default.copyItem(atPath: store.path(of: good), toPath: store.path(of: wrong))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    for links in [true, false] {
      #expect(failure { try database.backup(to: folder.file("copy"), linksAssets: links) }?.code == .assetFileModified)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == names)
    try database.close()
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    let target = folder.file("b.daybook")
    let report = try Database.salvage(from: folder.file("a.daybook"), to: target, options: options, disk: SystemDisk())
    #expect(report.missingAssets == [wrong.name])
    let copy = try Database.withFiles(at: target)
    #expect(try copy.files().count == report.assetCount)
    #expect(try copy.storedAssets().filter { $0.state == .stored }.count == report.assetCount)
    try copy.library.store.verify(good, byteCount: AssetBench.content(1).count)
    #expect(try copy.library.store.inventory().leftovers == [])
  }

  @Test("an asset whose stored file holds another content's bytes is not saved elsewhere, and takes nothing away there")
  func savedElsewhere() throws {
    let folder = try TemporaryFolder()
    let source = try filled(folder)
    let (good, wrong) = (AssetBench.digest(AssetBench.content(1)), AssetBench.digest(AssetBench.content(2)))
    let record = try #require(try source.record(Record.ID("r2")))
    let place = source.library.store.path(of: wrong)
    try FileManager.default.removeItem(atPath: place)
    try FileManager.default.copyItem(atPath: source.library.store.path(of: good), toPath: place)
    let target = try Database.withFiles(at: folder.file("b.daybook"))
    try target.put("x", asset: Asset(data: AssetBench.content(1)))
    let error = failure { try target.put("y", asset: try #require(record["file"] as Asset?)) }
    #expect(error?.code == .assetFileModified && error?.facts.path == place, "\(String(describing: error))")
    #expect(try target.files() == [good])
    try target.expectClean()
  }
}
