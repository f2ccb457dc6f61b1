import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// An attacker who may write to the directory beside a database swaps an asset folder for a link, at any moment of a backup, a
// salvage, a collection or a save. The link leads to a folder of another user that has files of the same names. Nothing
// there is removed, changed, or added to.

@Suite("folders swapped for links")
struct SwappedFolderTests {
  /// What is done to the database beside which a folder is swapped.
  enum Work: CaseIterable {
    case backup, copyingBackup, salvage, collection, save

    func run(_ path: String, target: String, _ disk: HookedDisk) throws {
      if self == .salvage {
        _ = try Database.salvage(from: path, to: target, options: SwappedFolderTests.options, disk: disk)
        return
      }
      let database = try Database.open(at: path, options: SwappedFolderTests.options, disk: disk)
      switch self {
      case .backup: try database.backup(to: target, disk: disk, linksAssets: true)
      case .copyingBackup: try database.backup(to: target, disk: disk, linksAssets: false)
      case .collection: _ = try database.collectAssets(grace: .zero)
      case .save:
        try database.put("a", asset: Asset(data: AssetBench.content(0, byteCount: 900)))
        try database.put("b", asset: Asset(data: AssetBench.content(9, byteCount: 900)))
      case .salvage: break
      }
      try database.close()
    }
  }

  fileprivate static var options: Database.Options {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.durability = .relaxed
    options.hasBackgroundThread = false
    return options
  }

  /// Two asset files that a record refers to and an unreferenced one, a leftover of a backup with the same, and a stranger's
  /// folder with the same once more.
  private func makeTemplate(in folder: String) throws {
    let path = folder + "/a.daybook"
    let database = try Database.open(at: path, options: Self.options)
    for number in 0..<3 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number, byteCount: 900))) }
    try database.write { try $0.delete(Record.ID("r2")) }
    try database.close()
    try Data("x".utf8).write(to: URL(filePath: path + ".assets/ingest-00000000000000aa-0000000000000001"))
    for name in ["copy.unfinished.assets", "precious"] {
      try FileManager.default.copyItem(atPath: path + ".assets", toPath: folder + "/" + name)
    }
    try Self.markUnfinished(folder + "/copy.unfinished.assets")
  }

  /// As the folder of a copy that died.
  private static func markUnfinished(_ path: String) throws {
    let folder = try SystemDisk().folder(at: path)
    guard case .mark(var mark) = try FolderMark.read(in: folder) else { throw CocoaError(.fileReadCorruptFile) }
    mark.isUnfinished = true
    try mark.write(in: folder, like: nil, number: 7)
  }

  /// Everything that a user could miss in a folder.
  private func state(of folder: String) throws -> [String: String] {
    var state: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) + ["."] {
      let path = folder + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      let isFile = attributes[.type] as? FileAttributeType == .typeRegular
      let bytes = isFile ? FileManager.default.contents(atPath: path).map { "\($0.hashValue)" } ?? "unreadable" : ""
      let facts = [FileAttributeKey.posixPermissions, .systemFileNumber, .referenceCount, .ownerAccountID]
        .filter { isFile || $0 != .referenceCount }
      state[name] = facts.map { "\(attributes[$0] ?? "")" }.joined(separator: " ") + " " + bytes
    }
    return state
  }

  @Test("at whatever call a folder is swapped for a link, nothing behind the link is touched", arguments: Work.allCases)
  func everyCall(_ work: Work) throws {
    let template = try TemporaryFolder()
    try makeTemplate(in: template.path)
    let folders = try FileManager.default.contentsOfDirectory(atPath: template.file("a.daybook.assets"))
      .filter { $0.count == 2 }.sorted()
    let names =
      ["a.daybook.assets", "copy.unfinished.assets", "copy.assets"]
      + folders.prefix(2).map { "a.daybook.assets/" + $0 } + folders.prefix(1).map { "copy.unfinished.assets/" + $0 }
    var callCount = 1
    var number = 0
    var swapCount = 0
    while number < callCount {
      // Two of the names at each call, in turn.
      for name in [names[number % names.count], names[(number / names.count + number + 3) % names.count]] {
        let folder = try TemporaryFolder()
        for entry in try FileManager.default.contentsOfDirectory(atPath: template.path) {
          try FileManager.default.copyItem(atPath: template.file(entry), toPath: folder.file(entry))
        }
        let before = try state(of: folder.file("precious"))
        let disk = HookedDisk()
        let (count, hasSwapped) = (Locked(0), Locked(false))
        let (place, wanted) = (folder.file(name), number)
        let inner = name.split(separator: "/").dropFirst().joined()
        disk.before { _, _ throws(DiskFailure) in
          let call = count.withLock { count in
            count += 1
            return count
          }
          guard call == wanted + 1 else { return }
          hasSwapped.withLock { $0 = true }
          try? FileManager.default.moveItem(atPath: place, toPath: place + ".moved")
          let target = folder.file("precious") + (inner.isEmpty ? "" : "/" + inner)
          try? FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: target)
        }
        // It works, or fails: what it is about is what it leaves alone.
        do { try work.run(folder.file("a.daybook"), target: folder.file("copy"), disk) } catch {
          #expect(error is DatabaseError, "\(error)")
        }
        disk.before(nil)
        #expect(try state(of: folder.file("precious")) == before, "\(name) swapped before call \(number + 1)")
        if hasSwapped.withLock({ $0 }) { swapCount += 1 }
        callCount = max(callCount, count.withLock { $0 })
      }
      number += 1
    }
    #expect(swapCount > 20, "the folder was swapped beside work")
  }

  @Test("a folder of assets that is a link to another database's: nothing is collected there, read, or saved")
  func linkedFolder() throws {
    let folder = try TemporaryFolder()
    let other = try Database.withFiles(at: folder.file("other.daybook"))
    try other.put("a", asset: Asset(data: AssetBench.content(1)))
    let database = try Database.withFiles(at: folder.file("new.daybook"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("new.daybook.assets"), withDestinationPath: folder.file("other.daybook.assets"))
    let before = try state(of: folder.file("other.daybook.assets"))
    let error = failure { try database.collectAssets(grace: .zero) }
    #expect(error?.code == .ioFailed && error?.facts.path == folder.file("new.daybook.assets"))
    #expect(failure { try database.storedAssets() }?.code == .ioFailed)
    let saved = failure { try database.put("b", asset: Asset(data: AssetBench.content(2))) }
    #expect(saved?.code == .ioFailed && saved?.facts.path == folder.file("new.daybook.assets"))
    try database.close()
    #expect(try state(of: folder.file("other.daybook.assets")) == before)
    try other.expectClean()
  }

  @Test("a content of a backup that is a link to a file elsewhere is not verified, nor one whose folder is")
  func linkedContent() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.backup(to: folder.file("copy"), linksAssets: false)
    let digest = AssetBench.digest(AssetBench.content(1))
    for name in ["\(digest.folder)/\(digest.name)", digest.folder, ""] {
      let (place, moved) = (folder.file("copy.assets/" + name), folder.file("elsewhere"))
      let path = place.hasSuffix("/") ? String(place.dropLast()) : place
      try FileManager.default.moveItem(atPath: path, toPath: moved)
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: moved)
      let copy = try Database.withFiles(at: folder.file("copy"))
      #expect(try !copy.check(.deep).isClean && !copy.check(.structure).isClean, "\(name)")
      #expect(failure { try (copy.record(Record.ID("a"))?["file"] as Asset?)?.content() } != nil)
      try copy.close()
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.moveItem(atPath: moved, toPath: path)
    }
    try Database.withFiles(at: folder.file("copy")).expectClean()
  }

  @Test("a backup takes no wrong file of the right size for a content that has its name already", arguments: [true, false])
  func wrongFile(links: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let digest = AssetBench.digest(AssetBench.content(1))
    let size = AssetBench.content(1).count
    let target = AssetStore(path: folder.file("b.daybook"), disk: SystemDisk(), random: { .random(in: 1 ... .max) })
    let place = target.path(of: digest)
    try FileManager.default.createDirectory(atPath: directory(holding: place), withIntermediateDirectories: true)
    try Data(AssetBench.content(1).reversed()).write(to: URL(filePath: place))
    try target.take(digest, byteCount: size, from: database.library.store, links: links)
    try target.verify(digest, byteCount: size)
    #expect(try Data(contentsOf: URL(filePath: place)) == AssetBench.content(1))
    #expect(try target.inventory().leftovers == [])
  }

  @Test("a backup that fails behind another one leaves that one's folder of assets alone")
  func failingBackup() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try Database.open(at: folder.file("a.daybook"), options: Self.options, disk: disk)
    try database.put("a", asset: Asset(data: AssetBench.content(1, byteCount: 900)))
    try FileManager.default.copyItem(atPath: folder.file("a.daybook.assets"), toPath: folder.file("others"))
    let before = try state(of: folder.file("others"))
    disk.before { operation, path throws(DiskFailure) in
      // The folder of assets has its name. Before the file gets its own, another process has both, and this one fails.
      guard operation == .rename, path.hasSuffix("/copy.unfinished") else { return }
      try? FileManager.default.moveItem(atPath: folder.file("copy.assets"), toPath: folder.file("away"))
      try? FileManager.default.moveItem(atPath: folder.file("others"), toPath: folder.file("copy.assets"))
      throw DiskFailure(.rename, path: path, code: ErrorNumber.inputOutput)
    }
    #expect(failure { try database.backup(to: folder.file("copy"), disk: disk) }?.code == .ioFailed)
    disk.before(nil)
    #expect(try state(of: folder.file("copy.assets")) == before)
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.unfinished")))
    // Its own goes.
    try FileManager.default.removeItem(atPath: folder.file("copy.assets"))
    disk.before { operation, path throws(DiskFailure) in
      if operation == .rename, path.hasSuffix("/copy.unfinished") {
        throw DiskFailure(.rename, path: path, code: ErrorNumber.inputOutput)
      }
    }
    #expect(failure { try database.backup(to: folder.file("copy"), disk: disk) }?.code == .ioFailed)
    disk.before(nil)
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.assets")))
    try database.close()
  }

  @Test("a compaction that finds no descriptor left behind its rename ends no writer")
  func noDescriptor() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try Database.open(at: folder.file("a.daybook"), options: Self.options, disk: disk)
    for number in 0..<20 { try database.put("r\(number)") }
    let isOut = Locked(false)
    disk.before { operation, path throws(DiskFailure) in
      if operation == .rename, path.hasSuffix(".compacted") { isOut.withLock { $0 = true } }
      if operation == .syncDirectory { isOut.withLock { $0 = false } }
      if operation == .open, isOut.withLock({ $0 }) { throw DiskFailure(.open, path: path, kind: .other, code: EMFILE) }
    }
    try database.compact()
    disk.before(nil)
    #expect(!isOut.withLock { $0 })
    try database.put("behind")
    try database.close()
    #expect(try Database.open(at: folder.file("a.daybook")).recordCount(in: .default) == 21)
  }

  @Test(
    "what belongs to another user under a name of a leftover is left alone, and named", arguments: ["file", "folder", "all"])
  func othersLeftover(kind: String) throws {
    // Only root gives files away; an ordinary user's case is in `FolderTests`.
    guard geteuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let leftover = folder.file("copy.unfinished.assets")
    let digest = AssetBench.digest(AssetBench.content(1))
    try FileManager.default.copyItem(atPath: folder.file("a.daybook.assets"), toPath: leftover)
    try Self.markUnfinished(leftover)
    let place =
      switch kind {
      case "file": "\(leftover)/\(digest.folder)/\(digest.name)"
      case "folder": "\(leftover)/\(digest.folder)"
      default: leftover
      }
    #expect(unsafe chown(place, 65_534, 65_534) == 0)
    let before = try state(of: leftover)
    let error = failure { try database.backup(to: folder.file("copy")) }
    #expect(error?.code == .ioFailed && error?.facts.path == place, "\(String(describing: error))")
    #expect(try state(of: leftover) == before)
    // A collection leaves a stranger's file under a content's name, and says so.
    try database.write { try $0.delete(Record.ID("a")) }
    #expect(unsafe chown(database.library.store.path(of: digest), 65_534, 65_534) == 0)
    let report = try database.collectAssets(grace: .zero)
    #expect(report.removedCount == 0 && report.strangerCount == 1)
    #expect(FileManager.default.fileExists(atPath: database.library.store.path(of: digest)))
  }

  @Test("nothing that a backup or a salvage of a private database makes is ever open to others")
  func neverWider() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try Database.open(at: folder.file("a.daybook"), options: Self.options, disk: disk)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("a.daybook"))
    try database.put("a", asset: Asset(data: AssetBench.content(1, byteCount: 900)))
    let wide = Locked<Set<String>>([])
    disk.before { _, _ throws(DiskFailure) in
      for name in (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? [] {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.file(name))
        guard let mode = attributes?[.posixPermissions] as? Int, mode & 0o077 != 0 else { continue }
        wide.withLock { _ = $0.insert(name) }
      }
    }
    for links in [true, false] { try database.backup(to: folder.file("copy\(links)"), disk: disk, linksAssets: links) }
    try database.compact()
    try database.collectAssets(grace: .zero)
    try database.close()
    _ = try Database.salvage(from: folder.file("a.daybook"), to: folder.file("saved"), options: Self.options, disk: disk)
    disk.before(nil)
    #expect(wide.withLock { $0 } == [])
  }
}
