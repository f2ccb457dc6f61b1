import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Folders, files and links of another user beside the database: nothing of it is put into them, and nothing of theirs goes.
// Only root gives files away: where the tests run as an ordinary user, they show what needs no other one.

@Suite("names of strangers")
struct StrangersNameTests {
  private static let stranger: UInt32 = 65_534

  private var isRoot: Bool { geteuid() == 0 }

  private func giveAway(_ path: String, mode: mode_t? = nil) throws {
    #expect(unsafe lchown(path, Self.stranger, Self.stranger) == 0)
    if let mode { #expect(unsafe chmod(path, mode) == 0) }
  }

  private func mode(_ path: String) throws -> UInt32 { try SystemDisk().attributes(of: path).mode & 0o777 }

  private func makePrivate(_ path: String) { #expect(unsafe chmod(path, 0o600) == 0) }

  // MARK: folders

  @Test("no content is saved into a folder of assets that another user has made before", arguments: ["folder", "inner"])
  func foreignFolder(kind: String) throws {
    guard isRoot else { return }
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let content = AssetBench.content(1)
    let place = path + ".assets" + (kind == "folder" ? "" : "/" + AssetBench.digest(content).folder)
    let database = try Database.withFiles(at: path)
    makePrivate(path)
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try giveAway(place, mode: 0o777)
    for _ in 0..<2 {
      let error = failure { try database.put("a", asset: Asset(data: content)) }
      #expect(error?.code == .ioFailed && error?.facts.path == place, "\(String(describing: error))")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [] && mode(place) == 0o777)
    #expect(try database.record(Record.ID("a")) == nil)
    // Contents that need no file are saved, and so is all else.
    try database.put("b")
    // The database's owner may keep its asset files; and users who may write to it, too.
    try giveAway(path)
    try database.put("c", asset: Asset(data: content))
    try database.close()
    let again = try Database.withFiles(at: path)
    #expect(unsafe chown(path, 0, 0) == 0 && chmod(path, 0o666) == 0)
    try again.put("d", asset: Asset(data: content))
    try again.expectClean()
  }

  @Test("a content that was prepared is not linked into another user's folder that has taken the place of ours")
  func swappedBeforeCommit() throws {
    guard isRoot else { return }
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    let asset = try database.prepare(Asset(data: AssetBench.content(1)))
    let digest = AssetBench.digest(AssetBench.content(1))
    for name in ["", "/" + digest.folder] {
      let place = path + ".assets" + name
      try FileManager.default.moveItem(atPath: place, toPath: folder.file("away"))
      let inner = place + (name.isEmpty ? "/" + digest.folder : "")
      try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
      try giveAway(place)
      let error = failure { try database.put("a", asset: asset) }
      #expect(error?.code == .ioFailed && error?.facts.path == place, "\(String(describing: error))")
      try FileManager.default.removeItem(atPath: place)
      try FileManager.default.moveItem(atPath: folder.file("away"), toPath: place)
    }
    try database.put("a", asset: asset)
    try database.expectClean()
  }

  @Test("copies are handed out of a folder of our own where another user has the one for copies")
  func foreignStaging() throws {
    guard isRoot else { return }
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let place = path + ".assets/staged"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try giveAway(place, mode: 0o777)
    let url = try database.asset("file", of: Record.ID("a"))
    #expect(!url.path.hasPrefix(path) && FileManager.default.contents(atPath: url.path) == AssetBench.content(1))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [])
  }

  @Test(
    "the contents of a backup or a salvage do not join those in another user's folder", arguments: [true, false],
    ["", "inner"])
  func foreignTarget(isBackup: Bool, inner: String) throws {
    guard isRoot else { return }
    let folder = try TemporaryFolder()
    let (path, target) = (folder.file("a.daybook"), folder.file("copy"))
    let database = try Database.withFiles(at: path)
    makePrivate(path)
    let content = AssetBench.content(1)
    try database.put("a", asset: Asset(data: content))
    if !isBackup { try database.close() }
    let inside = target + ".assets/" + AssetBench.digest(content).folder
    let place = inner.isEmpty ? target + ".assets" : inside
    func copy() throws {
      if isBackup { try database.backup(to: target) } else { try Database.salvage(from: path, to: target) }
    }
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try giveAway(place, mode: 0o777)
    let error = failure { try copy() }
    #expect(error?.code == .ioFailed && error?.facts.path == place, "\(String(describing: error))")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [] && mode(place) == 0o777)
    #expect(!FileManager.default.fileExists(atPath: target))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("unfinished") })
    // Folders of ours are joined, and are for no other user then.
    #expect(unsafe chown(place, 0, 0) == 0)
    try copy()
    #expect(try mode(target + ".assets") == 0o700 && mode(inside) == 0o700)
    try Database.withFiles(at: target).expectClean()
  }

  // MARK: links

  @Test(
    "another user's link that leads to nothing does not say where a database is made",
    arguments: ["open", "backup", "salvage"])
  func foreignLink(work: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    try Database.open(at: path).close()
    try FileManager.default.createDirectory(atPath: folder.file("private"), withIntermediateDirectories: false)
    let (link, second, end) = (folder.file("link"), folder.file("second"), folder.file("private/chosen"))
    func run() throws {
      switch work {
      case "open": try Database.open(at: link).close()
      case "backup": try Database.open(at: path).backup(to: link)
      default: try Database.salvage(from: path, to: link)
      }
    }
    if isRoot {
      for isSecond in [false, true] {
        // By way of one of ours, too.
        try FileManager.default.createSymbolicLink(atPath: isSecond ? second : link, withDestinationPath: end)
        try giveAway(isSecond ? second : link)
        if isSecond { try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "second") }
        let error = failure { try run() }
        #expect(error?.code == .ioFailed && error?.facts.path == link, "\(String(describing: error))")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("private")) == [])
        try FileManager.default.removeItem(atPath: link)
      }
    }
    // Ours is followed.
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: end)
    try run()
    #expect(FileManager.default.fileExists(atPath: end))
    // One that leads to a database is no question of who has made it.
    if isRoot, work == "open" {
      try giveAway(link)
      try run()
    }
  }

  // MARK: files

  @Test("a file of another user with the name under which a database is made is not deleted")
  func foreignNew() throws {
    guard isRoot else { return }
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    for text in ["precious", ""] {
      try Data(text.utf8).write(to: URL(filePath: path + ".new"))
      try giveAway(path + ".new")
      let error = failure { try Database.open(at: path) }
      #expect(error?.code == .ioFailed && error?.facts.path == path + ".new", "\(String(describing: error))")
      #expect(FileManager.default.contents(atPath: path + ".new") == Data(text.utf8))
    }
    // What is ours was left by a creation that died.
    #expect(unsafe chown(path + ".new", 0, 0) == 0)
    try Database.open(at: path).close()
    #expect(!FileManager.default.fileExists(atPath: path + ".new"))
  }

  /// Does something once, before a name is first opened that exists.
  private func once(_ suffix: String, _ disk: HookedDisk, _ body: @escaping @Sendable () throws -> Void) {
    let isDone = Locked(false)
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .open, path.hasSuffix(suffix), FileManager.default.fileExists(atPath: path) else { return }
      let wasDone = isDone.withLock { isDone in
        defer { isDone = true }
        return isDone
      }
      if !wasDone { #expect(throws: Never.self) { try body() } }
    }
  }

  private static var options: Database.Options {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    return options
  }

  enum Copying: CaseIterable { case compaction, backup, salvage }

  /// What a stranger puts where a copy has just been made: a link to another user's database, or a database that is his.
  enum Swap: CaseIterable { case linkToEmpty, linkToFull, linkToNothing, file }

  @Test(
    "a database that is put where a copy is being made gets nothing of ours, and loses nothing", arguments: Copying.allCases,
    Swap.allCases)
  func swappedCopy(work: Copying, swap: Swap) throws {
    let folder = try TemporaryFolder()
    let (path, other, target) = (folder.file("a.daybook"), folder.file("other"), folder.file("copy"))
    let planted = work == .compaction ? path + ".compacted" : target + ".unfinished"
    let disk = HookedDisk()
    let database = try Database.open(at: path, options: Self.options, disk: disk)
    makePrivate(path)
    for number in 0..<20 { try database.put("secret\(number)") }
    if work == .salvage { try database.close() }
    if swap != .linkToNothing {
      let others = try Database.withFiles(at: other)
      if swap == .linkToFull { try others.put("theirs") }
      try others.close()
    }
    let before = FileManager.default.contents(atPath: other)
    once("/" + (planted.split(separator: "/").last ?? ""), disk) {
      try FileManager.default.removeItem(atPath: planted)
      if swap == .file {
        try FileManager.default.linkItem(atPath: other, toPath: planted)
      } else {
        try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: other)
      }
    }
    let error = failure {
      switch work {
      case .compaction: try database.compact()
      case .backup: try database.backup(to: target, disk: disk)
      case .salvage: _ = try Database.salvage(from: path, to: target, options: Self.options, disk: disk)
      }
    }
    disk.before(nil)
    #expect(error?.code == .ioFailed && error?.facts.path == planted, "\(String(describing: error))")
    #expect(FileManager.default.contents(atPath: other) == before)
    #expect(try SystemDisk().identity(of: planted) == SystemDisk().identity(of: other), "what was planted is left alone")
    #expect(!FileManager.default.fileExists(atPath: target))
    if work == .salvage { return }
    try database.put("behind")
    try database.expectClean()
    try database.close()
    #expect(try Database.open(at: path).recordCount(in: .default) == 21)
  }

  @Test("contents have the rights of the file that is open, not those of one that takes its name")
  func rightsOfOpenFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.withFiles(at: path)
    makePrivate(path)
    // The folder is there: under a lost name none is made.
    try database.put("a", asset: Asset(data: AssetBench.content(3)))
    try FileManager.default.moveItem(atPath: path, toPath: folder.file("moved"))
    for isTaken in [false, true] {
      if isTaken {
        try Data("x".utf8).write(to: URL(filePath: path))
        #expect(unsafe chmod(path, 0o666) == 0)
        if isRoot { try giveAway(path) }
      }
      try database.put("b", asset: Asset(data: AssetBench.content(isTaken ? 2 : 1)))
      for name in try FileManager.default.subpathsOfDirectory(atPath: path + ".assets") + ["."] {
        let attributes = try SystemDisk().attributes(of: path + ".assets/" + name)
        #expect(attributes.mode & 0o077 == 0 && attributes.owner == geteuid(), "\(name)")
      }
    }
    try database.close()
  }

  @Test("a salvage has the rights of the file that it has read, not those of one that takes its name")
  func rightsOfSalvage() throws {
    let folder = try TemporaryFolder()
    let (path, target) = (folder.file("a.daybook"), folder.file("copy"))
    try Database.withFiles(at: path).close()
    makePrivate(path)
    let disk = HookedDisk()
    disk.before { operation, name throws(DiskFailure) in
      // The file is open when the first question about what it becomes is asked.
      guard operation != .open, !FileManager.default.fileExists(atPath: folder.file("away")) else { return }
      try? FileManager.default.moveItem(atPath: path, toPath: folder.file("away"))
      try? Data("x".utf8).write(to: URL(filePath: path))
      _ = unsafe chmod(path, 0o666)
    }
    _ = try Database.salvage(from: path, to: target, options: Self.options, disk: disk)
    disk.before(nil)
    #expect(FileManager.default.fileExists(atPath: folder.file("away")))
    #expect(try mode(target) == 0o600)
  }
}
