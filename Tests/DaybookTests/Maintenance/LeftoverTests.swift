import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Databases under names that a creation, a compaction and a copy give to what they have not finished.
@Suite("names of leftovers")
struct LeftoverTests {
  private static func make(_ path: String) throws {
    let database = try Database.withFiles(at: path)
    try database.put("precious", asset: Asset(data: AssetBench.content(7)))
    try database.close()
  }

  private static func expectWhole(_ path: String) throws {
    let database = try Database.open(at: path)
    #expect(try database.record(Record.ID("precious")) != nil)
    try database.expectClean()
    try database.close()
  }

  @Test("a whole database that is called NAME.new is not removed by the creation of NAME")
  func creation() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, other) = (folder.file("films"), folder.file("films.new"))
    try Self.make(other)
    let error = failure { _ = try Database.withFiles(at: path) }
    #expect(error?.code == .ioFailed && error?.facts.path == other, "\(String(describing: error))")
    try Self.expectWhole(other)
    #expect(!FileManager.default.fileExists(atPath: path))
    // What a creation leaves is removed as before.
    try FileManager.default.moveItem(atPath: other, toPath: folder.file("away"))
    let page = try #require(FileManager.default.contents(atPath: folder.file("away"))).prefix(4096)
    for leftover in [Data(), page.prefix(512), page] {
      try leftover.write(to: URL(filePath: other))
      let database = try Database.withFiles(at: path)
      try database.close()
      #expect(!FileManager.default.fileExists(atPath: other))
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("a whole database that is called NAME.compacted is removed by no open and no compaction of NAME, which says so")
  func compaction() throws {
    for ending in [".compacted", ".compacted.new"] {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      let (path, other) = (folder.file("films"), folder.file("films" + ending))
      try Self.make(path)
      try Self.make(other)
      let database = try Database.withFiles(at: path)
      let error = failure { try database.compact() }
      #expect(error?.code == .ioFailed && error?.facts.path == other, "\(String(describing: error))")
      #expect(try database.statistics().compactionObstacle?.contains(other) == true)
      try Self.expectWhole(other)
      try FileManager.default.moveItem(atPath: other, toPath: folder.file("away"))
      try database.compact()
      #expect(try database.statistics().compactionObstacle == nil)
      try database.close()
      try Self.expectWhole(path)
    }
  }

  @Test(
    "a whole database that is called NAME.unfinished, be it a backup itself, is removed by no backup and no salvage to NAME")
  func copies() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (source, target, other) = (folder.file("source"), folder.file("films"), folder.file("films.unfinished"))
    try Self.make(source)
    for isBackup in [false, true] {
      if isBackup {
        let database = try Database.withFiles(at: source)
        try database.backup(to: folder.file("backup"))
        try database.close()
        for ending in ["", ".assets"] {
          try FileManager.default.moveItem(atPath: folder.file("backup" + ending), toPath: other + ending)
        }
      } else {
        try Self.make(other)
      }
      let database = try Database.withFiles(at: source)
      let error = failure { try database.backup(to: target) }
      #expect(error?.code == .ioFailed && error?.facts.path == other, "\(String(describing: error))")
      try database.close()
      #expect(failure { try Database.salvage(from: source, to: target) }?.facts.path == other)
      try Self.expectWhole(other)
      #expect(!FileManager.default.fileExists(atPath: target))
      for ending in ["", ".assets"] { try FileManager.default.removeItem(atPath: other + ending) }
    }
    let database = try Database.withFiles(at: source)
    try database.backup(to: target)
    try database.close()
    try Self.expectWhole(target)
  }

  @Test("what a backup leaves that dies at any of its calls is removed by the next to the same name")
  func leftovers() throws {
    var isDone = false
    var call = 0
    while !isDone {
      let disk = SimulatedDisk(seed: 5)
      let database = try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
      try database.put("precious", ["picture": .asset(Asset(data: AssetBench.content(7)))])
      disk.stop(atCall: disk.callCount + call)
      isDone = (try? database.backup(to: "copy", disk: disk)) != nil
      for found in [disk.afterKill(), disk.afterPowerLoss(seed: UInt64(call))] {
        let again = try Database.open(on: found) { $0.inlineAssetByteCount = 0 }
        if try !found.exists("copy") {
          do { try again.backup(to: "copy", disk: found) } catch { Issue.record("call \(call): \(error)") }
        }
        #expect(try !found.exists("copy.unfinished") || found.exists("copy"))
        try again.close()
      }
      call += 1
    }
  }

  @Test("a salvage opens the file itself, not what a link leads to that has taken its name")
  func salvageLink() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try Self.make(folder.file("source"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "source")
    do throws(StoreError) {
      _ = try SalvageReader(folder.file("link"), disk: SystemDisk())
      Issue.record("a link is followed")
    } catch {
      guard case .disk(let failure) = error, failure.kind == .notRegular else {
        Issue.record("\(error)")
        return
      }
    }
    // By its path, through links, it is found as before.
    try Database.salvage(from: folder.file("link"), to: folder.file("saved"))
  }
}
