import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// The asset folder of one database under a name that belongs to a copy of another: a user who may rename beside them put it
/// there, before the copy or during it.
@Suite("moved folders under the names of copies")
struct CopiedFolderTests {
  private let folder: TemporaryFolder
  private let a: Database
  private let b: Database

  init() throws {
    folder = try TemporaryFolder()
    a = try Database.withFiles(at: folder.file("a"))
    b = try Database.withFiles(at: folder.file("b"))
    for number in 1...3 { try a.put("a\(number)", asset: Asset(data: AssetBench.content(number))) }
    for number in 3...5 { try b.put("b\(number)", asset: Asset(data: AssetBench.content(number))) }
  }

  private func move(_ source: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: folder.file(source), toPath: folder.file(target))
  }

  @Test(
    "a backup or a salvage empties no folder of a database that has the name of an unfinished copy's, not even its source's",
    arguments: [true, false], ["a", "b"])
  func leftover(isBackup: Bool, whose: String) throws {
    if !isBackup { try a.close() }
    try move(whose + ".assets", to: "copy.unfinished.assets")
    let error = failure {
      if isBackup {
        try a.backup(to: folder.file("copy"))
      } else {
        try Database.salvage(from: folder.file("a"), to: folder.file("copy"))
      }
    }
    #expect(
      error?.code == .ioFailed && error?.facts.path == folder.file("copy.unfinished.assets"), "\(String(describing: error))")
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.unfinished")))
    try move("copy.unfinished.assets", to: whose + ".assets")
    try b.expectClean()
    if isBackup {
      try a.expectClean()
    } else {
      try Database.withFiles(at: folder.file("a")).expectClean()
    }
  }

  @Test("what a copy that died has left is removed by the next one to its name, and its contents are no hindrance")
  func realLeftover() throws {
    let disk = HookedDisk()
    // The folder has a file, and then the process ends.
    let isDead = Locked(false)
    let (folder, count) = (folder, Locked(0))
    disk.before { operation, path throws(DiskFailure) in
      if operation == .link, path.contains("copy.unfinished.assets") { count.withLock { $0 += 1 } }
      if count.withLock({ $0 }) == 2 { isDead.withLock { $0 = true } }
      if isDead.withLock({ $0 }) { throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput) }
    }
    #expect(failure { try a.backup(to: folder.file("copy"), disk: disk, linksAssets: false) } != nil)
    disk.before(nil)
    #expect(FileManager.default.fileExists(atPath: folder.file("copy.unfinished.assets")))
    try a.backup(to: folder.file("copy"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.unfinished.assets")))
    // A finished one is no leftover any more.
    try move("copy.assets", to: "other.unfinished.assets")
    #expect(failure { try a.backup(to: folder.file("other")) }?.code == .ioFailed)
    try move("other.unfinished.assets", to: "copy.assets")
    try Database.withFiles(at: folder.file("copy")).expectClean()
  }

  @Test("an empty folder that another user puts under the name of a copy's assets at the last moment is not replaced")
  func plantedEmpty() throws {
    let (disk, planted) = (HookedDisk(), folder.file("copy.assets"))
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .rename, path.hasSuffix("copy.unfinished.assets") else { return }
      try? FileManager.default.createDirectory(
        atPath: planted, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path).count
    let error = failure { try a.backup(to: folder.file("copy"), disk: disk) }
    disk.before(nil)
    #expect(error?.code == .ioFailed && (error?.cause as? DiskFailure)?.kind == .exists, "\(String(describing: error))")
    #expect(try FileManager.default.contentsOfDirectory(atPath: planted) == [])
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).count == before + 1)
    try a.expectClean()
  }

  @Test("a folder that takes the place of an unfinished copy's while it is made gets nothing, and loses nothing")
  func swappedWhileCopying() throws {
    for isCancelled in [true, false] {
      var isSwapped = false
      let error = failure {
        try a.backup(to: folder.file("copy"), linksAssets: false) { _, _ in
          if isSwapped || !FileManager.default.fileExists(atPath: folder.file("copy.unfinished.assets")) { return true }
          isSwapped = true
          #expect(throws: Never.self) {
            try move("copy.unfinished.assets", to: "away")
            try move("b.assets", to: "copy.unfinished.assets")
          }
          return !isCancelled
        }
      }
      #expect(isSwapped && error?.code == (isCancelled ? .operationCancelled : .ioFailed), "\(String(describing: error))")
      try move("copy.unfinished.assets", to: "b.assets")
      try b.expectClean()
      #expect(try b.collectAssets(grace: .zero).keptCount == 3)
      #expect(try b.files().count == 3)
      try FileManager.default.removeItem(atPath: folder.file("away"))
    }
  }

  @Test("a folder that takes the place of a finished copy's is not given its name")
  func swappedWhenDone() throws {
    let disk = HookedDisk()
    let (isSwapped, folder) = (Locked(false), folder)
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .status, path.hasSuffix("/copy"), !isSwapped.withLock({ $0 }),
        FileManager.default.fileExists(atPath: folder.file("copy.unfinished.assets"))
      else { return }
      isSwapped.withLock { $0 = true }
      try? FileManager.default.moveItem(atPath: folder.file("copy.unfinished.assets"), toPath: folder.file("away"))
      try? FileManager.default.moveItem(atPath: folder.file("b.assets"), toPath: folder.file("copy.unfinished.assets"))
    }
    #expect(failure { try a.backup(to: folder.file("copy"), disk: disk) }?.code == .ioFailed)
    disk.before(nil)
    #expect(isSwapped.withLock { $0 })
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy.assets")))
    try move("copy.unfinished.assets", to: "b.assets")
    try b.expectClean()
    #expect(try b.files().count == 3)
  }

  @Test("a copy whose contents joined those of another database collects nothing of them")
  func joined() throws {
    try move("b.assets", to: "copy.assets")
    try a.backup(to: folder.file("copy"))
    let copy = try Database.withFiles(at: folder.file("copy"))
    #expect(failure { try copy.collectAssets(grace: .zero) }?.code == .badDatabase)
    try copy.expectClean()
    try copy.close()
    try move("copy.assets", to: "b.assets")
    try b.expectClean()
    #expect(try b.collectAssets(grace: .zero).keptCount == 3)
  }
}
