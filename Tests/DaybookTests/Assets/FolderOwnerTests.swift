import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Whose a folder of assets is: files and folders that were copied, moved, packed and put back.
@Suite("owners of folders of assets")
struct FolderOwnerTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func make(_ name: String, _ numbers: ClosedRange<Int>) throws {
    let database = try Database.withFiles(at: folder.file(name))
    for number in numbers { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    try database.close()
  }

  private func move(_ source: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: folder.file(source), toPath: folder.file(target))
  }

  private func run(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path)
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(arguments)")
  }

  /// Drops a record and collects.
  private func collect(_ name: String, dropping number: Int, takesOver: Bool = false) throws -> Database.AssetCollection {
    let database = try Database.withFiles(at: folder.file(name))
    defer { try? database.close() }
    if takesOver { try database.takeOverAssets() }
    try database.write { transaction in _ = try transaction.delete(Record.ID("r\(number)")) }
    return try database.collectAssets(grace: .zero)
  }

  private func expectRefused(_ name: String, dropping number: Int, _ hint: String) {
    let error = failure { _ = try collect(name, dropping: number) }
    #expect(error?.code == .badDatabase && error?.facts.path == folder.file(name + ".assets"), "\(String(describing: error))")
    #expect(error?.message.contains(hint) == true && error?.message.contains("take-over") == true)
  }

  private func expectWhole(_ name: String, _ count: Int) throws {
    let database = try Database.withFiles(at: folder.file(name))
    try database.expectClean()
    #expect(try database.recordCount(in: .default) == count)
    try database.close()
  }

  @Test("a collection beside the first asset does not take the folder for another's")
  func firstAssetBesideCollection() throws {
    let disk = HookedDisk()
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    let path = folder.file("a")
    try FileManager.default.createDirectory(atPath: path + ".assets", withIntermediateDirectories: true)
    let database = try Database.open(at: path, options: options, disk: disk)
    // Between the look for a mark and that for assets, each time that the folder is listed, until one has been made.
    let hasPrepared = Locked(false)
    disk.before { operation, name in
      guard operation == .list, name.hasSuffix(".assets"), !hasPrepared.withLock({ $0 }) else { return }
      hasPrepared.withLock { $0 = true }
      BackgroundThread(name: "prepare") { _ = try? database.prepare(Asset(data: AssetBench.content(1))) }?.join()
    }
    _ = try database.collectAssets(grace: .seconds(60))
    disk.before(nil)
    #expect(hasPrepared.withLock { $0 })
    try database.close()
  }

  @Test(
    "the first asset of a process that has not seen another's compaction marks the folder for the file of now",
    arguments: ["prepared", "suspended", "saved"])
  func compactedByAnother(way: String) throws {
    let first = try Database.withFiles(at: folder.file("a")) { $0.lock = .perTransaction }
    try first.save(.fresh("before"))
    if way == "suspended" { try first.suspend() }
    let second = try Database.withFiles(at: folder.file("a")) { $0.lock = .perTransaction }
    try second.compact()
    try second.close()
    var record = try Record.fresh("r1")
    record["file"] = Asset(data: AssetBench.content(1))
    if way != "saved" { record = try first.prepare(record) }
    if way == "suspended" { try first.resume() }
    try first.save(record)
    #expect(try first.collectAssets(grace: .zero).removedCount == 0)
    try first.close()
    #expect(try collect("a", dropping: 1).removedCount == 1)
    // A copy of the file is not the one that the folder was marked for.
    try make("b", 1...1)
    try run("cp", "b", "copy")
    try run("mv", "b", "moved")
    try run("mv", "copy", "b")
    expectRefused("b", dropping: 1, "copy")
  }

  @Test("a file without a number, of an early build, takes over no folder and says so; compacted, it does")
  func withoutNumber() throws {
    try make("a", 1...2)
    let place = URL(filePath: folder.file("a"))
    var bytes = try Data(contentsOf: place)
    var header = try Array(bytes.prefix(4096)).withView { try FileHeader($0) }
    header.folderNumber = 0
    let page = header.encoded()
    bytes.replaceSubrange(0..<4096, with: page.view.array)
    try bytes.write(to: place)
    let database = try Database.withFiles(at: folder.file("a"))
    let error = failure { try database.takeOverAssets() }
    #expect(error?.code == .badDatabase && error?.message.contains("compact") == true, "\(String(describing: error))")
    try database.compact()
    try database.close()
    #expect(try collect("a", dropping: 1, takesOver: true).removedCount == 1)
    try expectWhole("a", 1)
  }

  @Test(
    "a database whose file was removed or replaced while it was open takes no content of the next one of its name",
    arguments: ["removed", "restored"])
  func lostName(way: String) throws {
    let first = try Database.withFiles(at: folder.file("a"))
    try first.put("r1", asset: Asset(data: AssetBench.content(1)))
    try first.backup(to: folder.file("backup"))
    try run("rm", "-r", "backup.assets")
    if way == "removed" { try run("rm", "a") } else { try run("mv", "backup", "a") }
    let second = try Database.withFiles(at: folder.file("a"))
    try second.put("r2", asset: Asset(data: AssetBench.content(2)))
    try first.write { transaction in _ = try transaction.delete(Record.ID("r1")) }
    let refusals = [failure { _ = try first.collectAssets(grace: .zero) }, failure { try first.takeOverAssets() }]
    for error in refusals {
      #expect(error?.code == .badDatabase && error?.message.contains("has the name of this database by now") == true)
    }
    #expect(try first.statistics().collectionObstacle?.contains("has the name") == true)
    try first.close()
    try second.expectClean()
    try second.close()
  }

  @Test("a collection whose database loses its name meanwhile says so")
  func losesNameWithin() throws {
    let disk = HookedDisk()
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    let path = folder.file("a")
    let database = try Database.open(at: path, options: options, disk: disk)
    try database.put("r1", asset: Asset(data: AssetBench.content(1)))
    try database.write { _ = try $0.delete(Record.ID("r1")) }
    let folders = path + ".assets/"
    disk.before { operation, name in
      guard operation == .list, name.hasPrefix(folders) else { return }
      try? FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
    }
    #expect(failure { _ = try database.collectAssets(grace: .zero) }?.code == .badDatabase)
    disk.before(nil)
    #expect(FileManager.default.fileExists(atPath: path + "-moved"))
    try database.close()
  }

  @Test("a reader of a file that its writer has compacted is not told that another database has the name")
  func obstacleOfReader() throws {
    let writer = try Database.withFiles(at: folder.file("a"))
    try writer.put("r1", asset: Asset(data: AssetBench.content(1)))
    let reader = try Database.withFiles(at: folder.file("a")) { $0.isReadOnly = true }
    #expect(try reader.statistics().collectionObstacle == nil)
    try writer.compact()
    #expect(try reader.statistics().collectionObstacle == nil)
    try reader.close()
    try writer.close()
  }

  @Test("a database that has one content in common with another loses none when its folder gets the other's name")
  func contentInCommon() throws {
    try make("a", 3...3)
    try make("b", 3...5)
    try move("a.assets", to: "away")
    try move("b.assets", to: "a.assets")
    let a = try Database.withFiles(at: folder.file("a"))
    for _ in 0..<2 {
      #expect(failure { try a.collectAssets(grace: .zero) }?.code == .badDatabase)
      // Contents that it saves meanwhile say nothing about the others.
      try a.put("more", asset: Asset(data: AssetBench.content(9)))
    }
    try a.close()
    expectRefused("a", dropping: 3, "another database")
    try move("a.assets", to: "b.assets")
    try expectWhole("b", 3)
  }

  @Test("a copy of a file that gets the original's folder, or its name beside it, removes nothing that the original needs")
  func oneIdentity() throws {
    try make("a", 1...3)
    try run("cp", "a", "b")
    try move("a.assets", to: "b.assets")
    expectRefused("b", dropping: 1, "another file")
    try move("b.assets", to: "a.assets")
    try expectWhole("a", 3)
    // The copy takes the name.
    try move("a", to: "old")
    try move("b", to: "a")
    expectRefused("a", dropping: 2, "another file")
    try move("a", to: "b")
    try move("old", to: "a")
    try expectWhole("a", 3)
    #expect(try collect("a", dropping: 3).removedCount == 1)
  }

  @Test(
    "a file that is copied with its folder collects in the copy, and the original in its own",
    arguments: [["cp", "-r"], ["cp", "-a"], ["tar"]])
  func copied(tool: [String]) throws {
    try make("a", 1...3)
    try FileManager.default.createDirectory(atPath: folder.file("there"), withIntermediateDirectories: false)
    if tool == ["tar"] {
      try run("tar", "cf", "archive", "a", "a.assets")
      try run("tar", "xf", "archive", "-C", "there")
    } else {
      try run(tool[0], tool[1], "a", "a.assets", "there")
    }
    #expect(try collect("there/a", dropping: 1).removedCount == 1)
    try expectWhole("a", 3)
    #expect(try collect("a", dropping: 2).removedCount == 1)
    try expectWhole("there/a", 2)
    // From now on each folder has its file: exchanged, both refuse.
    try move("a.assets", to: "away")
    try move("there/a.assets", to: "a.assets")
    try move("away", to: "there/a.assets")
    expectRefused("a", dropping: 3, "another file")
    expectRefused("there/a", dropping: 3, "another file")
  }

  @Test("a file that is moved with its folder, compacted, closed and opened collects as before")
  func moved() throws {
    try make("a", 1...5)
    try move("a", to: "b")
    try move("a.assets", to: "b.assets")
    #expect(try collect("b", dropping: 1).removedCount == 1)
    let database = try Database.withFiles(at: folder.file("b"))
    for number in 2...3 {
      try database.compact()
      try database.write { transaction in _ = try transaction.delete(Record.ID("r\(number)")) }
      #expect(try database.collectAssets(grace: .zero).removedCount == 1)
    }
    try database.compact()
    try database.close()
    #expect(try collect("b", dropping: 4).removedCount == 1)
    try expectWhole("b", 1)
  }

  @Test("a compaction that ends at any of its calls leaves a folder that is the database's")
  func interruptedCompaction() throws {
    try make("a", 1...2)
    let isDone = Locked(false)
    var call = 0
    while !isDone.withLock({ $0 }) {
      for ending in ["", ".assets"] { try? FileManager.default.removeItem(atPath: folder.file("b" + ending)) }
      try run("cp", "-r", "a", "b")
      try run("cp", "-r", "a.assets", "b.assets")
      let disk = HookedDisk()
      var options = Database.Options()
      options.hasBackgroundThread = false
      let database = try Database.open(at: folder.file("b"), options: options, disk: disk)
      #expect(try database.collectAssets(grace: .zero).keptCount == 2)
      let (count, wanted) = (Locked(0), call)
      disk.before { operation, path throws(DiskFailure) in
        let number = count.withLock { count in
          count += 1
          return count
        }
        if number > wanted { throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput) }
      }
      if (try? database.compact()) != nil { isDone.withLock { $0 = true } }
      try? database.close()
      disk.before(nil)
      #expect(try collect("b", dropping: 1).removedCount == 1, "call \(call)")
      call += 1
    }
    #expect(call > 10)
  }

  @Test("a folder that has lost its mark is left alone until somebody takes it over")
  func lostMark() throws {
    try make("a", 1...3)
    try FileManager.default.removeItem(atPath: folder.file("a.assets/owner"))
    expectRefused("a", dropping: 1, "does not say whose it is")
    try Data("not a mark".utf8).write(to: URL(filePath: folder.file("a.assets/owner")))
    expectRefused("a", dropping: 1, "does not say whose it is")
    try expectWhole("a", 2)
    #expect(try collect("a", dropping: 2, takesOver: true).removedCount == 2)
    #expect(try collect("a", dropping: 3).removedCount == 1)
  }

  @Test("a backup that is put in the original's place finds its assets, and collects when it has taken the folder over")
  func restored() throws {
    try make("a", 1...3)
    let database = try Database.withFiles(at: folder.file("a"))
    try database.backup(to: folder.file("backup"))
    try database.close()
    #expect(try collect("backup", dropping: 1).removedCount == 1)
    try move("a", to: "old")
    try move("backup", to: "a")
    try expectWhole("a", 2)
    expectRefused("a", dropping: 2, "another database")
    #expect(try collect("a", dropping: 2, takesOver: true).removedCount == 2)
    // Now the old file is the one that has to ask.
    try move("a", to: "new")
    try move("old", to: "a")
    expectRefused("a", dropping: 3, "another database")
  }

  @Test("threads and processes that make a folder of assets at once mark it once, and none of their saves fails")
  func markedAtOnce() throws {
    for round in 0..<20 {
      let path = folder.file("d\(round)")
      let first = try Database.withFiles(at: path) { $0.lock = .perTransaction }
      let second = try Database.withFiles(at: path) { $0.lock = .perTransaction }
      let failures = Locked<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 8) { index in
        do {
          let database = index % 2 == 0 ? first : second
          _ = try database.prepare(Asset(data: AssetBench.content(index + 1)))
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try first.library.store.inventory().notOurs == nil)
      let names = try FileManager.default.contentsOfDirectory(atPath: path + ".assets")
      #expect(names.filter { $0.hasPrefix("owner") } == ["owner"])
      try second.close()
      try first.close()
    }
  }

  @Test("whatever a power loss leaves of the first assets, their folder is known for the database's")
  func markAndPowerLoss() throws {
    var isDone = false
    var call = 0
    while !isDone {
      let disk = SimulatedDisk(seed: 3)
      let database = try Database.open(on: disk) { $0.inlineAssetByteCount = 0 }
      disk.stop(atCall: disk.callCount + call)
      isDone = (try? database.put("one", ["picture": .asset(Asset(data: AssetBench.content(1)))])) != nil
      for seed in 0..<4 as Range<UInt64> {
        let again = try Database.open(on: disk.afterPowerLoss(seed: seed)) { $0.inlineAssetByteCount = 0 }
        do {
          try again.write { transaction in _ = try transaction.delete(Record.ID("one")) }
          _ = try again.collectAssets(grace: .zero)
        } catch { Issue.record("call \(call): \(error)") }
        #expect(try again.library.store.inventory().digests == [])
        try again.close()
      }
      call += 1
    }
    #expect(call > 10)
  }

  @Test("no collection waits for a pipe that has the name of the mark, or of the list of unreferenced contents")
  func pipes() throws {
    try make("a", 1...3)
    #expect(AssetBench.makePipe(folder.file("a.assets/unreferenced")))
    let database = try Database.withFiles(at: folder.file("a"))
    try database.write { transaction in _ = try transaction.delete(Record.ID("r1")) }
    // What it says does not count, and a grace time begins.
    #expect((try? database.collectAssets())?.removedCount ?? 0 == 0)
    try FileManager.default.removeItem(atPath: folder.file("a.assets/owner"))
    #expect(AssetBench.makePipe(folder.file("a.assets/owner")))
    #expect(failure { try database.collectAssets(grace: .zero) }?.code == .badDatabase)
    try database.put("r4", asset: Asset(data: AssetBench.content(4)))
    for name in ["owner", "unreferenced"] { try? FileManager.default.removeItem(atPath: folder.file("a.assets/" + name)) }
    try database.takeOverAssets()
    #expect(try database.collectAssets(grace: .zero).removedCount == 1)
    try database.close()
    try expectWhole("a", 3)
  }

  @Test("a collection that fails in the background is told by the statistics until one works")
  func failedInBackground() throws {
    let disk = HookedDisk()
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.assetGrace = .zero
    let database = try Database.open(at: folder.file("a"), options: options, disk: disk)
    // The folder is made and marked.
    try database.put("r", asset: Asset(data: AssetBench.content(99)))
    disk.before { operation, path throws(DiskFailure) in
      if operation == .list, path.contains(".assets") {
        throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput)
      }
    }
    func workUntil(_ isDone: (String?) -> Bool) throws -> String? {
      for number in 0..<20_000 {
        let obstacle = try database.statistics().collectionObstacle
        if isDone(obstacle) { return obstacle }
        // A commit after the one that has left something over starts the collection.
        try database.put("r", asset: Asset(data: AssetBench.content(number % 50 + 1)))
        SystemClock.sleep(nanoseconds: 1_000_000)
      }
      return "no collection came to an end"
    }
    #expect(try workUntil { $0 != nil }?.contains("a.assets") == true)
    disk.before(nil)
    #expect(try workUntil { $0 == nil } == nil)
    try database.close()
  }

  @Test("a mark reads as it was written, and anything else is none")
  func text() {
    for mark in [
      FolderMark(database: 1, folder: nil, files: []),
      FolderMark(database: .max, folder: 2, files: [3, 4], isUnfinished: true),
    ] {
      #expect(FolderMark(text: mark.text) == mark)
      for end in 0..<mark.text.utf8.count - 1 {
        let cut = FolderMark(text: String(mark.text.prefix(end)))
        #expect(cut != mark)
      }
    }
    for text in ["", "x", "database 1\n", "database 0000000000000001\nfile\n", "database 0000000000000001\nfile a\n"] {
      #expect(FolderMark(text: text) == nil)
    }
  }
}
