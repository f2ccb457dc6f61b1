import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// The asset folder of one database under the name of another's: a user who may rename in the directory above put it there.
@Suite("moved folders of assets")
struct MovedFolderTests {
  @Test("a collection empties no folder of another database that has the name of its own")
  func moved() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (a, b) = (try Database.withFiles(at: folder.file("a")), try Database.withFiles(at: folder.file("b")))
    try b.put("one", asset: Asset(data: AssetBench.content(1)))
    try a.put("plain")
    for hasOwn in [false, true] {
      if hasOwn {
        try a.put("own", asset: Asset(data: AssetBench.content(2)))
        try FileManager.default.moveItem(atPath: folder.file("a.assets"), toPath: folder.file("away"))
      }
      try FileManager.default.moveItem(atPath: folder.file("b.assets"), toPath: folder.file("a.assets"))
      let error = failure { try a.collectAssets(grace: .zero) }
      #expect(error?.code == .badDatabase && error?.facts.path == folder.file("a.assets"), "\(String(describing: error))")
      try FileManager.default.moveItem(atPath: folder.file("a.assets"), toPath: folder.file("b.assets"))
      if hasOwn { try FileManager.default.moveItem(atPath: folder.file("away"), toPath: folder.file("a.assets")) }
      try b.expectClean()
    }
    #expect(try a.collectAssets(grace: .zero).keptCount == 1)
    #expect(try b.collectAssets(grace: .zero).keptCount == 1)
    try a.close()
    try b.close()
  }

  @Test("copies collect in their own folders, and in those that they found when they have taken them over")
  func ownFolders() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    try database.backup(to: folder.file("copy"))
    try database.compact()
    #expect(try database.collectAssets(grace: .zero).keptCount == 1)
    try database.close()
    try Database.salvage(from: folder.file("a"), to: folder.file("saved"))
    // Over the folder of a database that is gone.
    try FileManager.default.removeItem(atPath: folder.file("saved"))
    try Database.salvage(from: folder.file("a"), to: folder.file("saved"))
    for name in ["copy", "saved"] {
      let copy = try Database.withFiles(at: folder.file(name))
      if name == "saved" {
        #expect(failure { try copy.collectAssets(grace: .zero) }?.code == .badDatabase)
        try copy.takeOverAssets()
      }
      #expect(try copy.collectAssets(grace: .zero).keptCount == 1)
      try copy.close()
    }
  }

  @Test("a database that was moved without its folder finds all contents in it, whatever the one that took its name has done")
  func movedWithoutFolder() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let old = try Database.withFiles(at: folder.file("a"))
    try old.put("one", asset: Asset(data: AssetBench.content(1)))
    try old.close()
    try FileManager.default.moveItem(atPath: folder.file("a"), toPath: folder.file("b"))
    // The application makes a new one, uses it, and opens it again.
    let new = try Database.withFiles(at: folder.file("a"))
    #expect(failure { try new.collectAssets(grace: .zero) }?.code == .badDatabase)
    try new.put("two", asset: Asset(data: AssetBench.content(2)))
    try new.put("three", asset: Asset(data: AssetBench.content(3)))
    #expect(failure { try new.collectAssets(grace: .zero) }?.code == .badDatabase)
    try new.close()
    let again = try Database.withFiles(at: folder.file("a"))
    #expect(failure { try again.collectAssets(grace: .zero) }?.code == .badDatabase)
    #expect(try again.files().count == 3)
    try again.expectClean()
    try again.close()
    // Somebody puts that right.
    try FileManager.default.copyItem(atPath: folder.file("a.assets"), toPath: folder.file("b.assets"))
    let found = try Database.withFiles(at: folder.file("b"))
    try found.expectClean()
    #expect(try found.collectAssets(grace: .zero).keptCount == 1)
    try found.expectClean()
    try found.close()
  }

  @Test("a new database beside a folder that a deleted one has left collects there once it has taken it over")
  func allOwn() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let old = try Database.withFiles(at: folder.file("a"))
    try old.put("one", asset: Asset(data: AssetBench.content(1)))
    try old.close()
    try FileManager.default.removeItem(atPath: folder.file("a"))
    let new = try Database.withFiles(at: folder.file("a"))
    try new.put("same", asset: Asset(data: AssetBench.content(1)))
    #expect(failure { try new.collectAssets(grace: .zero) }?.code == .badDatabase)
    try new.takeOverAssets()
    #expect(try new.collectAssets(grace: .zero).keptCount == 1)
    try new.write { transaction in _ = try transaction.delete(Record.ID("same")) }
    #expect(try new.collectAssets(grace: .zero).removedCount == 1)
    try new.close()
  }

  @Test("a private folder of ours under the name of the contents' keeps its rights and its owner, whatever is in it")
  func privateFolder() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a")
    try Database.withFiles(at: path).close()
    let isRoot = geteuid() == 0
    if isRoot { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
    func attributes(_ name: String) throws -> FileAttributes { try SystemDisk().attributes(of: path + name) }
    let digest = AssetDigest([UInt8](AssetBench.content(1)).withView { SHA256.digest(of: $0) })
    // As stores of other programs look, and older databases' folders: the outer mode is all that protects what is in them.
    let inner = ["aa", "3f", digest.folder]
    for name in [""] + inner.map({ "/" + $0 }) {
      try FileManager.default.createDirectory(
        atPath: path + ".assets" + name, withIntermediateDirectories: false,
        attributes: [.posixPermissions: name.isEmpty || name.hasSuffix(digest.folder) ? 0o700 : 0o755])
    }
    try Data([1]).write(to: URL(filePath: path + ".assets/aa/secret"))
    let database = try Database.withFiles(at: path)
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    try database.expectClean()
    try database.close()
    for name in [".assets", ".assets/" + digest.folder] {
      let found = try attributes(name)
      #expect(found.mode & 0o777 == 0o700 && found.owner == geteuid(), "\(name)")
    }
    // One that is made has all its rights as soon as it has its name.
    try FileManager.default.moveItem(atPath: path + ".assets", toPath: folder.file("away"))
    let again = try Database.withFiles(at: path)
    try again.put("two", asset: Asset(data: AssetBench.content(2)))
    let expected = try SystemDisk().attributes(of: path).ofDirectory
    #expect(try attributes(".assets").mode & 0o777 == expected.mode & 0o777)
    #expect(try attributes(".assets").owner == expected.owner)
    try again.close()
  }

  @Test("folders that a killed process was making are gone behind the next collection")
  func unfinishedFolders() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    let names = ["daybook-making-0123456789abcdef", "a.assets/daybook-making-fedcba9876543210"]
    let full = "daybook-making-00000000000000aa"
    for name in names + [full] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    try Data([1]).write(to: URL(filePath: folder.file(full + "/somebody's")))
    let report = try database.collectAssets(grace: .zero)
    #expect(report.keptCount == 1 && report.strangerCount == 0)
    for name in names { #expect(!FileManager.default.fileExists(atPath: folder.file(name)), "\(name)") }
    #expect(FileManager.default.fileExists(atPath: folder.file(full + "/somebody's")))
    try database.expectClean()
    try database.close()
  }
}
