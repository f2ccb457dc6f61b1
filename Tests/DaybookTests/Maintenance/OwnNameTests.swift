import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// A copy under a name that belongs to the database would be taken for a leftover by the next open.
@Suite("own names as targets")
struct OwnNameTests {
  private static let endings = [
    "", ".compacted", ".compacted.new", ".new", ".unfinished", ".unfinished.new", ".discarded-3", ".assets", ".assets/copy",
    ".assets/3a/copy",
  ]

  @Test("a backup and a salvage take no name that belongs to the database, by whatever path", arguments: endings)
  func refused(ending: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    try database.close()
    try FileManager.default.createDirectory(atPath: path + ".assets/3a", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder.file("same"), withDestinationPath: ".")
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.file(".")).sorted()
    for target in [path + ending, folder.file("same/a" + ending)] {
      let reader = try Database.open(at: path)
      let error = failure { try reader.backup(to: target) }
      // The database itself exists already, which is told as before.
      #expect(error?.code == .invalidArguments, "\(target): \(String(describing: error))")
      try reader.close()
      #expect(failure { _ = try Database.salvage(from: path, to: target) }?.code == .invalidArguments)
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.file(".")).sorted() == before)
  }

  private static let similar = [
    "A.compacted", "a.Compacted", "a.UNFINISHED", "a.new.", "a.new ", "A.unfinished.NEW", "a.Discarded-3", "a.ass\u{200B}ets",
    "a.unfini\u{17F}hed",
  ]

  @Test("a name that some volume takes for one of the database's is not taken by a copy or an output", arguments: similar)
  func similarNames(name: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("one")
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(failure { try database.backup(to: folder.file(name)) }?.code == .invalidArguments)
    #expect(throws: OutputFault.self) { _ = try OutputPlace(folder.file(name), database.outputRules()) }
    try database.close()
    #expect(failure { _ = try Database.salvage(from: folder.file("a"), to: folder.file(name)) }?.code == .invalidArguments)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test("a letter that is composed in another way is the same letter in a name of the database's")
  func composedNames() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("caf\u{E9}"))
    try database.put("one")
    #expect(failure { try database.backup(to: folder.file("cafe\u{301}.new")) }?.code == .invalidArguments)
    try database.close()
  }

  @Test("a file with a name of the database's is not replaced by an output to another name of it")
  func otherNameOfOwnFile() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("a"))
    try Data("x".utf8).write(to: URL(filePath: folder.file("a.discarded-2")))
    // As a volume has them that gives each file a short name.
    try FileManager.default.linkItem(atPath: folder.file("a.discarded-2"), toPath: folder.file("A~1.DIS"))
    #expect(throws: OutputFault.self) { _ = try OutputPlace(folder.file("A~1.DIS"), database.outputRules()) }
    try database.close()
  }

  @Test(
    "names that only look like the database's are taken",
    arguments: ["ab", "A", "a.backup", "b.compacted", "sub/a.compacted"])
  func taken(name: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: true)
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("one")
    try database.backup(to: folder.file(name))
    try database.close()
    let copy = try Database.open(at: folder.file(name))
    #expect(try copy.record(Record.ID("one")) != nil)
    try copy.close()
  }

  @Test(
    "a database with a name that a copy would clear away is not lost by a copy to the name before it",
    arguments: [".unfinished", ".unfinished.new", ".unfinished.compacted", ".new", ".compacted", ".discarded-1"])
  func sourceOfUnfinishedName(ending: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("b" + ending)
    let database = try Database.withFiles(at: path)
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    try database.close()
    let reader = try Database.open(at: path)
    #expect(failure { try reader.backup(to: folder.file("b")) }?.code == .invalidArguments)
    try reader.close()
    #expect(failure { _ = try Database.salvage(from: path, to: folder.file("b")) }?.code == .invalidArguments)
    let again = try Database.open(at: path)
    #expect(try again.record(Record.ID("one")) != nil)
    #expect(try again.check(.deep).isClean)
    try again.close()
  }

  @Test("a database that a salvage saved, and that has its old name again, collects assets once it has taken over their folder")
  func salvagedCollects() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.file("a")
    let database = try Database.withFiles(at: path)
    try database.put("kept", asset: Asset(data: AssetBench.content(1)))
    try database.put("dropped", asset: Asset(data: AssetBench.content(2)))
    try database.close()
    try Database.salvage(from: path, to: folder.file("new"))
    try FileManager.default.moveItem(atPath: path, toPath: folder.file("damaged"))
    try FileManager.default.moveItem(atPath: folder.file("new"), toPath: path)
    let saved = try Database.withFiles(at: path)
    try saved.write { transaction in _ = try transaction.delete(Record.ID("dropped")) }
    #expect(failure { try saved.collectAssets(grace: .zero) }?.code == .badDatabase)
    #expect(try saved.statistics().collectionObstacle?.contains("take-over") == true)
    try saved.takeOverAssets()
    #expect(try saved.statistics().collectionObstacle == nil)
    let collected = try saved.collectAssets(grace: .zero)
    #expect(collected.removedCount == 1)
    #expect(try saved.check(.deep).isClean)
    try saved.close()
  }
}
