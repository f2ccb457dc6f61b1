import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A user takes rights from the database's file, and the library is not told.

@Suite("rights that are taken away later")
struct AssetRightsTests {
  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  private func close(_ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  /// Everything beside a database that others may still use, but for the files of holders.
  private func open(_ path: String) throws -> [String] {
    let directory = path + ".assets"
    return try (FileManager.default.subpathsOfDirectory(atPath: directory).map { directory + "/" + $0 } + [directory, path])
      .filter { try mode($0) & 0o077 != 0 }
  }

  private func database(_ folder: TemporaryFolder) throws -> Database {
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    for number in 1...3 { try database.put("n\(number)", asset: Asset(data: AssetBench.content(number))) }
    return database
  }

  @Test(
    "after chmod 600 of the database no other user can read its assets any more",
    arguments: ["open", "collect", "compact", "hand out", "save"])
  func taken(way: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try database(folder)
    let record = try #require(try database.record(Record.ID("n1")))
    if way != "open" { _ = (record["file"] as Asset?)?.fileURL }
    #expect(try open(path).count >= 8)
    try close(path)
    switch way {
    case "open":
      try database.close()
      try Database.withFiles(at: path).close()
    case "collect": try database.collectAssets()
    case "compact": try database.compact()
    case "hand out": #expect((record["file"] as Asset?)?.fileURL != nil)
    default:
      try database.close()
      try Database.withFiles(at: path).put("n4", asset: Asset(data: AssetBench.content(4)))
    }
    #expect(try open(path) == [])
    if way != "open", way != "save" {
      #expect(try (database.record(Record.ID("n2"))?["file"] as Asset?)?.content() == AssetBench.content(2))
      try database.expectClean()
    }
  }

  @Test("another file that was given a name among the assets, too, keeps its rights", arguments: ["open", "collect"])
  func secondNames(way: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try database(folder)
    let report = folder.file("report")
    try Data("for all".utf8).write(to: URL(filePath: report))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: report)
    let number = "0123456789abcdef"
    let planted = [
      "3a/" + String(repeating: "3a", count: 32), "holder-" + number, "owner.new-" + number, "ingest-\(number)-\(number)",
    ].map { path + ".assets/" + $0 }
    try FileManager.default.createDirectory(atPath: path + ".assets/3a", withIntermediateDirectories: true)
    for name in planted { try FileManager.default.linkItem(atPath: report, toPath: name) }
    try close(path)
    if way == "collect" {
      try database.collectAssets()
      try database.close()
    } else {
      try database.close()
      try Database.withFiles(at: path).close()
    }
    #expect(try mode(report) == 0o644)
    #expect(try Set(open(path)).isSubset(of: planted))
  }

  @Test("a folder of assets that is as open as its database is not looked through at each open")
  func cost() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let disk = HookedDisk()
    let store = AssetStore(path: database.path, disk: disk, random: { .random(in: 0 ... .max) })
    let count = Locked(0)
    disk.before { operation, _ throws(DiskFailure) in if operation == .list || operation == .open { count.withLock { $0 += 1 } }
    }
    store.narrowRights()
    #expect(count.withLock { $0 } == 1)
    try close(database.path)
    store.narrowRights()
    #expect(count.withLock { $0 } > 8)
    count.withLock { $0 = 0 }
    store.narrowRights()
    #expect(count.withLock { $0 } == 1)
  }

  @Test("a backup loses the rights that were taken from the database while it was made", arguments: [true, false])
  func backup(links: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let copy = folder.file("copy")
    var lastCount = 0
    try database.backup(to: copy, linksAssets: links) { done, total in
      // The third asset: the folder of the copy has two already.
      if done == total { lastCount += 1 }
      if lastCount == 3 { try? close(database.path) }
      return true
    }
    #expect(lastCount == 3)
    #expect(try open(copy) == [])
    try Database.withFiles(at: copy).expectClean()
  }

  @Test("a salvage loses the rights that were taken from the damaged file while it was made")
  func salvage() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    try database.close()
    let copy = folder.file("copy")
    try Database.salvage(from: database.path, to: copy) { _, _ in
      try? close(database.path)
      return true
    }
    #expect(try open(copy) == [])
    try Database.withFiles(at: copy).expectClean()
  }
}
