import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Names that one opener keeps, and a collector in another: processes are told apart by open files, so two databases of one
// process, and of one simulated disk, count as two processes.

@Suite("assets that others hold")
struct AssetHolderTests {
  private func shared(at path: String, _ change: (inout Database.Options) -> Void = { _ in }) throws -> Database {
    try Database.withFiles(at: path) {
      $0.lock = .perTransaction
      change(&$0)
    }
  }

  private func simulated(_ disk: SimulatedDisk, seed: UInt64) throws -> Database {
    try Database.open(on: disk, seed: seed) {
      $0.inlineAssetByteCount = 0
      $0.lock = .perTransaction
    }
  }

  private func holders(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path + ".assets").filter { $0.hasPrefix("holder-") }
  }

  @Test("a collection of another opener leaves what was prepared and what was handed out")
  func otherCollector() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let (stored, fresh) = (AssetBench.content(1), AssetBench.content(2))
    let first = try shared(at: path)
    let saved = try first.put("stored", asset: Asset(data: stored))
    let url = try #require((saved["file"] as Asset?)?.fileURL)
    let prepared = try first.prepare(Asset(data: fresh))
    let other = try shared(at: path)
    let report = try other.collectAssets(grace: .zero)
    // No record refers to the prepared asset, so its name is removed; its bytes are held by another.
    #expect(report.removedLeftoverCount == 0 && report.removedCount == 1 && report.strangerCount == 0)
    #expect(try Data(contentsOf: url) == stored)
    #expect(try prepared.content() == fresh)
    try first.put("p", asset: prepared)
    #expect(try (first.record(Record.ID("p"))?["file"] as Asset?)?.content() == fresh)
    try first.close()
    try other.refresh()
    // Closing gives it up.
    #expect(try holders(path) == [])
    #expect(try other.collectAssets(grace: .zero).removedLeftoverCount >= 1)
    #expect(!FileManager.default.fileExists(atPath: url.path))
    try other.expectClean()
  }

  @Test("nothing is left of a holder when nothing is held any more")
  func lastName() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    do {
      let asset = try database.prepare(Asset(data: AssetBench.content(1)))
      #expect(try holders(path).count == 1)
      let second = try database.prepare(Asset(data: AssetBench.content(1)))
      #expect(try holders(path).count == 1 && asset == second)
    }
    #expect(try holders(path) == [])
    #expect(try database.assetLeftovers() == [])
  }

  @Test("what a killed process held goes, whether its holder is there or not")
  func killed() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try simulated(disk, seed: 1)
    try database.put("kept", asset: Asset(data: AssetBench.content(1)))
    let held = try database.prepare(Asset(data: AssetBench.content(2)))
    for removesHolder in [false, true] {
      let image = disk.killed()
      if removesHolder {
        for path in image.paths where path.contains("/holder-") { try image.remove(path) }
      }
      let after = try simulated(image, seed: 2)
      let report = try after.collectAssets(grace: .zero)
      #expect(report.removedLeftoverCount == 1 && report.removedCount == 1 && report.keptCount == 1)
      #expect(!image.paths.contains { $0.contains("/holder-") || $0.contains("/ingest-") })
      try after.expectClean()
    }
    #expect(try held.content() == AssetBench.content(2))
  }

  @Test("a suspended database keeps what it holds as long as its process lives")
  func suspended() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let first = try Database.withFiles(at: path)
    let saved = try first.put("stored", asset: Asset(data: AssetBench.content(1)))
    let url = try #require((saved["file"] as Asset?)?.fileURL)
    let prepared = try first.prepare(Asset(data: AssetBench.content(2)))
    try first.suspend()
    let file = "\(path).assets/\(try holders(path)[0])"
    let probe = try SystemDisk().open(file, .readWrite)
    #expect(try probe.tryLock(.writer, .exclusive) != SuspendedProcess.mayKeepLocks, "where locks end a process, none is held")
    #expect(try (probe.byteCount() == 0) == SuspendedProcess.mayKeepLocks)
    probe.close()
    do {
      let other = try Database.withFiles(at: path)
      #expect(try other.collectAssets(grace: .zero).removedLeftoverCount == 0)
      try other.close()
    }
    #expect(FileManager.default.fileExists(atPath: url.path))
    try first.resume()
    let again = try SystemDisk().open(file, .readWrite)
    #expect(try !again.tryLock(.writer, .exclusive) && again.byteCount() == 0, "locked once more")
    again.close()
    try first.put("p", asset: prepared)
    #expect(try (first.record(Record.ID("p"))?["file"] as Asset?)?.content() == AssetBench.content(2))
    // A process that died.
    try first.suspend()
    let name = "holder-00000000000000ff"
    try Data().write(to: URL(filePath: "\(path).assets/\(name)"))
    try Data("x".utf8).write(to: URL(filePath: "\(path).assets/ingest-00000000000000ff-0000000000000001"))
    let other = try Database.withFiles(at: path)
    #expect(try other.collectAssets(grace: .zero).removedLeftoverCount == 1)
    #expect(try !holders(path).contains(name))
  }

  @Test(
    "what a process keeps whose number means nothing here stays until the grace time is over", arguments: ["7\n", "7 system\n"])
  func otherContainer(note: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let seconds = Locked(1000.0)
    let database = try Database.withFiles(at: path) {
      $0.assetGrace = .seconds(100)
      $0.now = { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }
      $0.uptime = nil
    }
    try database.put("kept", asset: Asset(data: AssetBench.content(1)))
    let directory = path + ".assets/"
    // 7 may be a process here, or none: both say nothing of the container that wrote it.
    try Data(note.utf8).write(to: URL(filePath: directory + "holder-00000000000000ff"))
    let held = "ingest-00000000000000ff-0000000000000001"
    try Data("x".utf8).write(to: URL(filePath: directory + held))
    for passed in [0.0, 99] {
      seconds.withLock { $0 = 1000 + passed }
      #expect(try database.collectAssets(grace: .zero).removedLeftoverCount == 0)
      #expect(FileManager.default.fileExists(atPath: directory + held))
    }
    seconds.withLock { $0 = 1101 }
    #expect(try database.collectAssets(grace: .zero).removedLeftoverCount == 1)
    #expect(try holders(path) == [] && !FileManager.default.fileExists(atPath: directory + held))
  }

  @Test("a holder on a volume without locks lives until the grace time is over")
  func noLocks() throws {
    #expect(ErrorNumber.meansNoLocks(37) || ErrorNumber.meansNoLocks(77), "ENOLCK")
    #expect(!ErrorNumber.meansNoLocks(ErrorNumber.inputOutput))
  }

  @Test("a pipe, a link or a folder under the name of a holder, an ingest, a content or the note holds nobody up")
  func planted() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let directory = path + ".assets"
    let precious = folder.file("precious")
    try FileManager.default.createDirectory(atPath: precious, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(filePath: precious + "/" + AssetBench.digest(AssetBench.content(3)).name))
    for name in ["holder-00000000000000aa", "ingest-00000000000000aa-0000000000000001", "unreferenced"] {
      #expect(AssetBench.makePipe("\(directory)/\(name)"))
    }
    for name in ["holder-00000000000000ab", "ingest-00000000000000ab-0000000000000001", "staged"] {
      try FileManager.default.createSymbolicLink(atPath: "\(directory)/\(name)", withDestinationPath: precious)
    }
    // A whole folder of contents that leads elsewhere, and contents that are none.
    let digest = AssetBench.digest(AssetBench.content(3))
    try FileManager.default.createSymbolicLink(atPath: "\(directory)/\(digest.folder)", withDestinationPath: precious)
    let (pipe, link) = (AssetBench.digest(AssetBench.content(4)), AssetBench.digest(AssetBench.content(5)))
    for (name, isPipe) in [(pipe, true), (link, false)] {
      let path = database.library.store.path(of: name)
      try? FileManager.default.createDirectory(atPath: directory + "/" + name.folder, withIntermediateDirectories: true)
      if isPipe { #expect(AssetBench.makePipe(path)) }
      if !isPipe { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: precious + "/other") }
    }
    try AssetBench.content(5).write(to: URL(filePath: precious + "/other"))
    try database.put("pipe", asset: Asset(data: AssetBench.content(4)))
    try database.put("link", asset: Asset(data: AssetBench.content(5)))
    for (name, number) in [("pipe", 4), ("link", 5)] {
      #expect(try (database.record(Record.ID(name))?["file"] as Asset?)?.content() == AssetBench.content(number))
    }
    let type = try FileManager.default.attributesOfItem(atPath: database.library.store.path(of: link))[.type]
    #expect(type as? FileAttributeType == .typeRegular, "not what the link leads to, which may change")
    _ = try database.collectAssets(grace: .seconds(1000))
    _ = try database.collectAssets(grace: .zero)
    #expect(try FileManager.default.contentsOfDirectory(atPath: precious).count == 2)
    try database.expectClean()
  }

  // MARK: rights

  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test(
    "who may read the database may read its assets, and nobody else",
    arguments: [(0o600, 0o400, 0o700), (0o640, 0o440, 0o750), (0o660, 0o440, 0o770), (0o644, 0o444, 0o755)])
  func modes(database: Int, content: Int, directory: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let store = try Database.withFiles(at: path)
    try FileManager.default.setAttributes([.posixPermissions: database], ofItemAtPath: path)
    let source = try AssetBench.file(folder, "open.bin", AssetBench.content(2))
    let saved = try store.put("a", asset: Asset(data: AssetBench.content(1)))
    try store.put("b", asset: try Asset(fileURL: source))
    let url = try #require((saved["file"] as Asset?)?.fileURL)
    let held = try store.prepare(Asset(data: AssetBench.content(3)))
    try store.write { try $0.delete(saved.id) }
    try store.collectAssets(grace: .seconds(1000))
    #expect(try mode(url.path) == content)
    var count = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: path + ".assets") {
      let file = path + ".assets/" + name
      let isDirectory = try FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType == .typeDirectory
      let isNote = name == "unreferenced" || name == "owner" || name.hasPrefix("holder-")
      #expect(try mode(file) == (isDirectory ? directory : isNote ? database & 0o666 : content), "\(name)")
      count += 1
    }
    #expect(try mode(path + ".assets") == directory)
    #expect(count >= 8)
    #expect(try held.content() == AssetBench.content(3))
  }

  @Test("a content that is being written is nobody's but its writer's, and a folder that was open to all is closed")
  func unfinished() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    do {
      let database = try Database.withFiles(at: path)
      try database.put("a", asset: Asset(data: AssetBench.content(1)))
      try database.close()
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path + ".assets")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let database = try Database.withFiles(at: path)
    try database.put("b", asset: Asset(data: AssetBench.content(2)))
    #expect(try mode(path + ".assets") == 0o700)
    let source = try SystemDisk().open(path, .readOnly)
    let size = try source.byteCount()
    let copied = try AssetStore.copy(
      .file(source), byteCount: size, to: "new", in: SystemDisk().folder(at: folder.path))
    #expect(try mode(folder.file("new")) == 0o600)
    copied.file.close()
    // A folder that is closer than the database stays so.
    try database.close()
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let again = try Database.withFiles(at: path)
    try again.put("c", asset: Asset(data: AssetBench.content(3)))
    #expect(try mode(path + ".assets") == 0o700)
  }

  // MARK: corruption

  @Test(
    "a stored content that was corrupted is replaced when a good copy is saved, and every record reads it",
    arguments: [0, 5000, 99_999])
  func corrupted(offset: Int) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let content = AssetBench.content(1, byteCount: 100_000)
    try database.put("first", asset: Asset(data: content))
    let path = try database.storedAssets()[0].path
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    var damaged = content
    damaged[offset] ^= 0xFF
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    try handle.write(contentsOf: damaged)
    try handle.close()
    let old = try FileHandle(forReadingFrom: URL(filePath: path))
    try database.put("second", asset: Asset(data: content))
    for name in ["first", "second"] {
      #expect(try (database.record(Record.ID(name))?["file"] as Asset?)?.content() == content)
    }
    #expect(try old.readToEnd() == damaged, "whoever has it open goes on reading it")
    #expect(try mode(path) == 0o444)
    #expect(try database.assetLeftovers() == [] && database.storedAssets().count == 1)
    try database.expectClean()
  }

  @Test("a crash while a good copy replaces a corrupt one leaves either, and the acknowledged save reads the good one")
  func rottedCrash() throws {
    let content = AssetBench.content(1, byteCount: 1500)
    let disk = SimulatedDisk(seed: 5)
    do {
      let database = try simulated(disk, seed: 1)
      try database.put("first", asset: Asset(data: content))
      try database.close()
    }
    let path = AssetStore(path: "test.daybook", disk: disk, random: { 0 }).path(of: AssetBench.digest(content))
    try #require(disk.corrupt(path, at: 700))
    var replacedCount = 0
    for call in 1...200 {
      let image = disk.killed()
      let database = try simulated(image, seed: 2)
      let start = image.callCount
      image.stop(atCall: start + call)
      let isSaved = (try? database.put("second", asset: Asset(data: content))) != nil
      for policy in [CrashPolicy.none, .all, .random] {
        let after = try simulated(image.crashed(seed: UInt64(call), policy: policy), seed: 3)
        let second = try after.record(Record.ID("second"))
        #expect(second != nil || !isSaved)
        if let second {
          replacedCount += 1
          #expect(try (second["file"] as Asset?)?.content() == content, "call \(call)")
        }
        #expect(try after.files() == [AssetBench.digest(content)], "the name never goes")
        _ = try after.collectAssets(grace: .zero)
        #expect(try after.assetLeftovers() == [])
      }
      if isSaved { break }
      #expect(call < 200)
    }
    #expect(replacedCount > 2)
  }

  // MARK: whole folders

  private func filled(_ folder: TemporaryFolder) throws -> Database {
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    return database
  }

  /// A folder of another user, with an asset file's name in it.
  private func precious(_ folder: TemporaryFolder) throws -> String {
    let path = folder.file("precious")
    let digest = AssetBench.digest(AssetBench.content(7))
    try FileManager.default.createDirectory(atPath: "\(path)/\(digest.folder)", withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: URL(filePath: "\(path)/\(digest.folder)/\(digest.name)"))
    try Data("mine".utf8).write(to: URL(filePath: "\(path)/ingest-1"))
    return path
  }

  @Test("a backup removes nothing behind a link that has the name of its leftover, or of its folder", arguments: [false, true])
  func plantedLink(isTarget: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let precious = try precious(folder)
    let before = try FileManager.default.subpathsOfDirectory(atPath: precious).sorted()
    let link = folder.file(isTarget ? "copy.assets" : "copy.unfinished.assets")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: precious)
    let error = failure { try database.backup(to: folder.file("copy")) }
    #expect(error?.code == .ioFailed && error?.facts.path?.contains("copy") == true, "\(String(describing: error))")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: precious).sorted() == before)
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    let salvage = failure { try Database.salvage(from: folder.file("a.daybook"), to: folder.file("copy")) }
    #expect(salvage != nil)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: precious).sorted() == before)
    try FileManager.default.removeItem(atPath: link)
    try database.backup(to: folder.file("copy"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("unfinished") })
  }

  @Test("a link inside a leftover is not followed; it, and what else no database puts there, makes the backup refuse")
  func strangersInLeftover() throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let precious = try precious(folder)
    let before = try FileManager.default.subpathsOfDirectory(atPath: precious).sorted()
    let leftover = folder.file("copy.unfinished.assets")
    try FileManager.default.createDirectory(atPath: leftover + "/ab", withIntermediateDirectories: true)
    let mark = FolderMark(database: 1, folder: nil, files: [], isUnfinished: true)
    try mark.write(in: SystemDisk().folder(at: leftover), like: nil, number: 7)
    try FileManager.default.createSymbolicLink(atPath: leftover + "/ingest-2", withDestinationPath: precious)
    #expect(failure { try database.backup(to: folder.file("copy")) }?.facts.path == leftover + "/ingest-2")
    try FileManager.default.removeItem(atPath: leftover + "/ingest-2")
    for stranger in ["notes.txt", "ab/notes.txt"] {
      try Data("mine".utf8).write(to: URL(filePath: leftover + "/" + stranger))
      #expect(failure { try database.backup(to: folder.file("copy")) }?.facts.path == leftover + "/" + stranger)
      #expect(FileManager.default.fileExists(atPath: leftover + "/" + stranger))
      try FileManager.default.removeItem(atPath: leftover + "/" + stranger)
    }
    try database.backup(to: folder.file("copy"))
    #expect(try FileManager.default.subpathsOfDirectory(atPath: precious).sorted() == before)
    #expect(!FileManager.default.fileExists(atPath: leftover))
  }

  @Test("a backup to where a folder of assets is already: its own contents count, also beside damaged or linked ones")
  func folderIsThere() throws {
    let folder = try TemporaryFolder()
    let database = try filled(folder)
    let target = folder.file("copy")
    let digest = AssetBench.digest(AssetBench.content(1))
    for links in [true, false] {
      try database.backup(to: target, linksAssets: links)
      // The folder stays, and one content of it is corrupted.
      try FileManager.default.removeItem(atPath: target)
      if !links {
        let path = "\(target).assets/\(digest.folder)/\(digest.name)"
        try FileManager.default.removeItem(atPath: path)
        try Data(AssetBench.content(1).reversed()).write(to: URL(filePath: path))
      }
      try database.backup(to: target, linksAssets: links)
      let copy = try Database.withFiles(at: target)
      #expect(try (copy.record(Record.ID("a"))?["file"] as Asset?)?.content() == AssetBench.content(1))
      try copy.expectClean()
      try copy.close()
      try FileManager.default.removeItem(atPath: target)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("unfinished") })
  }
}
