import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A disk that fails to read one asset file, or one folder of them (EIO).

@Suite("asset files that the disk fails to read")
struct UnreadableAssetTests {
  private let disk = HookedDisk()
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open() throws -> Database {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    return try Database.open(at: folder.file("a"), options: options, disk: disk)
  }

  /// A database of three assets; the disk fails to open what has the first one's place.
  private func make(failsInFolder: Bool) throws -> (Database, [Database.StoredAsset]) {
    let database = try open()
    for number in 1...3 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    let assets = try database.storedAssets()
    let lost = assets[0].path
    disk.before { operation, path throws(DiskFailure) in
      if operation == .open, path == (failsInFolder ? String(lost.dropLast(65)) : lost) {
        throw DiskFailure(.open, path: path, code: ErrorNumber.inputOutput)
      }
    }
    return (database, assets)
  }

  @Test("a check, and a list of assets, ended at the first that the disk failed to read", arguments: [false, true])
  func others(failsInFolder: Bool) throws {
    let (database, assets) = try make(failsInFolder: failsInFolder)
    #expect(try database.storedAssets().map(\.state) == [.unreadable, .stored, .stored])
    try FileManager.default.removeItem(atPath: assets[2].path)
    #expect(try database.storedAssets().map(\.state) == [.unreadable, .stored, .missing])
    for depth in [Database.CheckDepth.structure, .deep] {
      let findings = try database.check(depth).findings.map(\.message)
      try #require(findings.count == 2)
      #expect(findings[0].hasPrefix("the disk fails to read") && findings[0].contains(assets[0].path.dropLast(65)))
      #expect(findings[1].hasPrefix("the file of an asset is missing") && findings[1].contains(assets[2].path))
    }
    // What a folder has in it is not known then, and a collection says so.
    try database.write { transaction in for number in 1...3 { try transaction.delete(Record.ID("r\(number)")) } }
    let error = failure { _ = try database.collectAssets(grace: .zero) }
    #expect(failsInFolder ? error?.code == .ioFailed : error == nil)
    disk.before(nil)
    #expect(try database.collectAssets(grace: .zero).removedCount == (failsInFolder ? 2 : 0))
    #expect(try database.files().isEmpty)
    try database.close()
  }

  @Test("a salvage ended at the first asset whose file the disk failed to open", arguments: [false, true])
  func salvage(failsInFolder: Bool) throws {
    let (database, assets) = try make(failsInFolder: failsInFolder)
    try database.close()
    let report = try Database.salvage(from: folder.file("a"), to: folder.file("b"), options: Database.Options(), disk: disk)
    #expect(report.assetCount == 2 && report.missingAssets == [assets[0].sha256] && !report.isComplete)
    let copy = try Database.withFiles(at: folder.file("b"))
    #expect(try copy.recordCount(in: .default) == 3)
    #expect(try copy.storedAssets().map(\.state) == [.missing, .stored, .stored])
    try copy.close()
  }

  @Test("a salvage that the disk fails to write ends, and says so")
  func unwritable() throws {
    let (database, _) = try make(failsInFolder: false)
    try database.close()
    let copies = folder.file("b.unfinished.assets/")
    disk.before { operation, path throws(DiskFailure) in
      if operation == .create, path.hasPrefix(copies) {
        throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput)
      }
    }
    let error = failure {
      _ = try Database.salvage(from: folder.file("a"), to: folder.file("b"), options: Database.Options(), disk: disk)
    }
    #expect(error?.code == .ioFailed)
    disk.before(nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a", "a.assets"])
  }
}
