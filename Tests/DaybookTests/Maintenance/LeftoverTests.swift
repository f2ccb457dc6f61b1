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
    for text in ["notes"] + [510, 512, 700, 1024, 4096].map({ String(repeating: "n", count: $0 - 2) + "\t\n" }) {
      try Data(text.utf8).write(to: URL(filePath: other))
      #expect(failure { _ = try Database.withFiles(at: path) }?.facts.path == other)
      #expect(FileManager.default.contents(atPath: other) == Data(text.utf8))
    }
    let garbage = Data((0..<512).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 1) })
    for leftover in [Data(), page.prefix(5), page.prefix(512), page.prefix(700), page, Data(count: 1024), garbage] {
      try leftover.write(to: URL(filePath: other))
      let database = try Database.withFiles(at: path)
      try database.close()
      #expect(!FileManager.default.fileExists(atPath: other))
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("a database or a text called NAME.new keeps that name when a snapshot by links knows it, too")
  func linkedNames() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, other) = (folder.file("films"), folder.file("films.new"))
    try Self.make(other)
    try FileManager.default.linkItem(atPath: other, toPath: folder.file("snapshot"))
    #expect(failure { _ = try Database.withFiles(at: path) }?.facts.path == other)
    try Self.expectWhole(other)
    try FileManager.default.removeItem(atPath: other)
    try Self.make(path)
    let text = folder.file("films.compacted.new")
    try Data("notes of mine".utf8).write(to: URL(filePath: text))
    try FileManager.default.linkItem(atPath: text, toPath: folder.file("notes"))
    let database = try Database.withFiles(at: path)
    try database.put("more", asset: Asset(data: AssetBench.content(8)))
    #expect(failure { try database.compact() }?.facts.path == text)
    try database.close()
    #expect(FileManager.default.contents(atPath: text) == Data("notes of mine".utf8))
    // What a creation that died between its two names leaves is no other file.
    try FileManager.default.removeItem(atPath: text)
    try FileManager.default.linkItem(atPath: path, toPath: other)
    try Self.expectWhole(path)
    try FileManager.default.moveItem(atPath: path, toPath: folder.file("films.compacted"))
    try FileManager.default.linkItem(atPath: folder.file("films.compacted"), toPath: text)
    try Store.removeUnlocked(text, .firstPage, disk: SystemDisk()) { .ofUser(andOf: nil) }
    #expect(!FileManager.default.fileExists(atPath: text))
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

  /// A database under another's name, as a power cut or a copy of a file in use leaves it: sound, and never closed.
  private static func makeUnclosed(_ path: String, in folder: TemporaryFolder) throws {
    let database = try Database.withFiles(at: folder.file("living"))
    try database.put("precious", asset: Asset(data: AssetBench.content(7)))
    for ending in ["", ".assets"] {
      try FileManager.default.copyItem(atPath: folder.file("living" + ending), toPath: path + ending)
    }
    try database.close()
    for ending in ["", ".assets"] { try FileManager.default.removeItem(atPath: folder.file("living" + ending)) }
  }

  @Test(
    "a database that was never closed and is called NAME.compacted is removed by no open, compaction, backup or salvage",
    arguments: [".compacted", ".unfinished"], [false, true])
  func unclosed(ending: String, padding: Bool) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (source, path, other) = (folder.file("source"), folder.file("films"), folder.file("films" + ending))
    try Self.make(source)
    try Self.makeUnclosed(other, in: folder)
    if ending == ".compacted" {
      try Self.make(path)
      let database = try Database.withFiles(at: path) { $0.padding = padding }
      let error = failure { try database.compact() }
      #expect(error?.code == .ioFailed && error?.facts.path == other, "\(String(describing: error))")
      #expect(try database.statistics().compactionObstacle?.contains(other) == true)
      try database.close()
    } else {
      let database = try Database.withFiles(at: source)
      #expect(failure { try database.backup(to: path) }?.facts.path == other)
      try database.close()
      #expect(failure { try Database.salvage(from: source, to: path) }?.facts.path == other)
    }
    try Self.expectWhole(other)
  }

  @Test("what a compaction has left and somebody has opened as a database is no leftover any more")
  func openedLeftover() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, other) = (folder.file("films"), folder.file("films.compacted"))
    try Self.make(path)
    let disk = HookedDisk()
    let database = try Database.open(at: path, options: .init(), disk: disk)
    disk.before { operation, path throws(DiskFailure) in
      // As if the process had died there: nothing is cleared away.
      if operation == .rename && !path.hasSuffix(".new") || operation == .remove {
        throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput)
      }
    }
    #expect(failure { try database.compact() } != nil)
    disk.before(nil)
    try? database.close()
    #expect(FileManager.default.fileExists(atPath: other))
    try FileManager.default.copyItem(atPath: other, toPath: folder.file("again"))
    let found = try Database.open(at: other)
    try found.put("mine")
    try found.close()
    try Self.expectWhole(path)
    #expect(FileManager.default.fileExists(atPath: other))
    try FileManager.default.removeItem(atPath: other)
    // As it was left, it goes with the next open; under another name it is nobody's leftover.
    try FileManager.default.copyItem(atPath: folder.file("again"), toPath: other)
    try FileManager.default.moveItem(atPath: folder.file("again"), toPath: folder.file("again.compacted"))
    try Self.expectWhole(path)
    #expect(!FileManager.default.fileExists(atPath: other))
    try Self.make(folder.file("again"))
    try Self.expectWhole(folder.file("again"))
    #expect(FileManager.default.fileExists(atPath: folder.file("again.compacted")))
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

  @Test(
    "a backup that dies at any of its calls, also between the names of its folder and its file, leaves the next one a folder to collect in"
  )
  func leftoversOfBothNames() throws {
    func expectOwn(_ disk: SimulatedDisk, _ what: String) throws {
      let copy = try Database.open(at: "copy", on: disk)
      try copy.write { try $0.delete(Record.ID("precious")) }
      do {
        #expect(try copy.collectAssets(grace: .zero).removedCount == 1, "\(what)")
      } catch { Issue.record("\(what): \(error)") }
      try copy.expectClean()
      try copy.close()
    }
    var isDone = false
    var call = 0
    var betweenCount = 0
    while !isDone {
      for failsOnly in [false, true] {
        let disk = SimulatedDisk(seed: 5)
        let database = try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
        try database.put("precious", ["picture": .asset(Asset(data: AssetBench.content(7)))])
        if failsOnly {
          disk.inject(SimulatedFault(call: call + 1))
        } else {
          disk.stop(atCall: disk.callCount + call + 1)
        }
        let hasReturned = (try? database.backup(to: "copy", disk: disk)) != nil
        let what = "call \(call), \(failsOnly ? "which fails" : "and then killed")"
        if !failsOnly { isDone = hasReturned }
        disk.removeFaults()
        for found in [disk.afterKill()] + (0..<3).map({ disk.afterPowerLoss(seed: UInt64(call) &* 3 &+ $0) }) {
          if try found.exists("copy") { continue }
          if found.paths.contains(where: { $0.hasPrefix("copy.assets/") }) { betweenCount += 1 }
          let again = try Database.open(on: found) { $0.inlineAssetByteCount = 0 }
          do { try again.backup(to: "copy", disk: found) } catch { Issue.record("\(what): \(error)") }
          try again.close()
          try expectOwn(found, what)
        }
      }
      call += 1
    }
    #expect(betweenCount > 0)
  }

  @Test("what is left when the removal of a leftover dies, too, is removed by the next backup to the same name")
  func leftoversOfRemoval() throws {
    // A backup dies with all contents copied, and before it has its name.
    let disk = SimulatedDisk(seed: 6)
    let database = try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
    for number in 0..<3 {
      try database.put("precious\(number)", ["picture": .asset(Asset(data: AssetBench.content(number)))])
    }
    var call = 0
    var left = disk.afterKill()
    while true {
      let trial = disk.afterKill()
      let opened = try Database.open(on: trial) { $0.inlineAssetByteCount = 0 }
      trial.stop(atCall: trial.callCount + call)
      if (try? opened.backup(to: "copy", disk: trial)) != nil { break }
      let found = trial.afterKill()
      if try found.exists("copy") { break }
      if try found.exists("copy.unfinished.assets") { left = found }
      call += 1
    }
    #expect(try left.exists("copy.unfinished.assets"))
    for stop in 0..<60 {
      for seed in 0..<6 as Range<UInt64> {
        let trial = left.afterKill()
        let opened = try Database.open(on: trial) { $0.inlineAssetByteCount = 0 }
        trial.stop(atCall: trial.callCount + stop)
        if (try? opened.backup(to: "copy", disk: trial)) != nil { continue }
        let found = trial.afterPowerLoss(seed: seed)
        if try found.exists("copy") { continue }
        let again = try Database.open(on: found) { $0.inlineAssetByteCount = 0 }
        do { try again.backup(to: "copy", disk: found) } catch { Issue.record("stop \(stop), seed \(seed): \(error)") }
        try again.close()
      }
    }
  }

  @Test(
    "what a creation leaves of its first page on a full disk, when it is killed and then the power fails, is removed by the next"
  )
  func creationOnFullDisk() throws {
    var metCount = 0
    for room in stride(from: 100, to: 4096, by: 333) {
      for call in 1...5 {
        let disk = SimulatedDisk(seed: UInt64(room))
        disk.limit(toByteCount: room)
        disk.stop(atCall: call)
        #expect(throws: DatabaseError.self) { try Database.open(on: disk) }
        for seed in 0..<8 as Range<UInt64> {
          let found = disk.afterPowerLoss(seed: seed)
          if try found.exists("test.daybook.new") { metCount += 1 }
          do {
            let database = try Database.open(on: found)
            try database.put("precious")
            try database.close()
          } catch { Issue.record("\(room) bytes, call \(call), seed \(seed): \(error)") }
          #expect(try !found.exists("test.daybook.new"))
        }
      }
    }
    #expect(metCount > 0)
  }

  @Test("a damaged name under which a file was made is told, and costs nothing")
  func damagedMark() throws {
    for place in [2560, 2600, 3064, 3071] {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      let path = folder.file("films")
      try Self.make(path)
      var bytes = try #require(FileManager.default.contents(atPath: path))
      bytes[place] ^= 0x40
      try bytes.write(to: URL(filePath: path))
      let database = try Database.withFiles(at: path)
      let pin = try database.store.beginRead()
      #expect(try database.store.check(pin).remarks.contains { $0.message.contains("under which the file was made") })
      database.store.endRead(pin)
      try database.put("more")
      try database.close()
      try Self.expectWhole(path)
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
