import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What a database does whose name leads to another file by now, or to none.

@Suite("names that were lost")
struct LostNameTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func move(_ source: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: folder.file(source), toPath: folder.file(target))
  }

  private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder.file(name)) }

  @Test(
    "a save of a database that had lost its name made the folder of assets of the one that has it, and marked it as its own",
    arguments: [true, false])
  func folderOfAnother(isOtherThere: Bool) throws {
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("a")
    try move("a", to: "moved")
    let other = isOtherThere ? try Database.withFiles(at: folder.file("a")) : nil
    let error = failure { try database.put("b", asset: Asset(data: AssetBench.content(1))) }
    #expect(error?.code == .badDatabase && error?.message.hasPrefix("Another file has the name") == true)
    #expect(error?.facts.found == (isOtherThere ? "another file" : "no file"))
    #expect(!isThere("a.assets"))
    // What needs no folder goes on.
    try database.put("c")
    if let other {
      try other.put("d", asset: Asset(data: AssetBench.content(2)))
      #expect(try other.collectAssets(grace: .zero).keptCount == 1)
      try other.expectClean()
      try other.close()
    }
    try database.close()
  }

  @Test("an empty folder of assets was marked by a database that had lost its name")
  func emptyFolder() throws {
    let database = try Database.withFiles(at: folder.file("a"))
    try FileManager.default.removeItem(atPath: folder.file("a"))
    let other = try Database.withFiles(at: folder.file("a"))
    try FileManager.default.createDirectory(atPath: folder.file("a.assets"), withIntermediateDirectories: false)
    #expect(failure { _ = try database.prepare(Asset(data: AssetBench.content(1))) }?.code == .badDatabase)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("a.assets")).isEmpty)
    try other.put("d", asset: Asset(data: AssetBench.content(2)))
    #expect(try other.collectAssets(grace: .zero).keptCount == 1)
    try database.close()
    try other.close()
  }

  @Test(
    "the folder that a process made for a copy in its file's place, before it had opened that, was marked for the lost file")
  func copyInPlace() throws {
    let database = try Database.withFiles(at: folder.file("a")) { $0.lock = .perTransaction }
    try database.put("a")
    try database.backup(to: folder.file("copy"))
    try SystemDisk().rename(folder.file("copy"), to: folder.file("a"))
    let asset = try database.prepare(Asset(data: AssetBench.content(1)))
    try database.put("b", asset: asset)
    #expect(try database.collectAssets(grace: .zero).keptCount == 1)
    try database.close()
  }

  @Test("a file of a small asset is handed out by a database that has lost its name")
  func handedOut() throws {
    let database = try Database.withFiles(at: folder.file("a")) { $0.inlineAssetByteCount = 1000 }
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try move("a", to: "moved")
    let url = try database.asset("file", of: Record.ID("a"))
    #expect(try Data(contentsOf: url) == AssetBench.content(1))
    #expect(!isThere("a.assets"))
    try database.close()
  }

  @Test("a compaction of a database that had lost its name said that the work was stopped", arguments: [true, false])
  func compaction(isOtherThere: Bool) throws {
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("a")
    #expect(try database.statistics().compactionObstacle == nil)
    try move("a", to: "moved")
    let other = isOtherThere ? try Database.withFiles(at: folder.file("a")) : nil
    let error = failure { try database.compact() }
    #expect(error?.code == .badDatabase && error?.facts.path == folder.file("a"))
    #expect(error?.message.hasPrefix("Another file has the name of this database by now, or none has.") == true)
    #expect(try database.statistics().compactionObstacle?.contains("has the name") == true)
    if let other {
      try other.compact()
      try other.close()
      try FileManager.default.removeItem(atPath: folder.file("a"))
    }
    try move("moved", to: "a")
    #expect(try database.statistics().compactionObstacle == nil)
    try database.compact()
    try database.expectClean()
    try database.close()
  }
}

@Suite("names that are too long")
struct LongNameTests {
  private func expectTooLong(_ error: DatabaseError?, _ byteCount: Int) {
    #expect(error?.code == .invalidArguments && error?.message.hasPrefix("A name is too long.") == true, "\(byteCount)")
  }

  @Test("a database was made under a name that left none for its compactions and copies", arguments: [238, 245, 251, 255, 256])
  func created(length: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file(String(repeating: "n", count: length))
    let error = failure { try Database.open(at: path).close() }
    expectTooLong(error, length)
    if length <= 255 { #expect(error?.facts.size == length && error?.facts.limit == 237 && error?.facts.path == path) }
    let database = try Database.withFiles(at: folder.file("a"))
    expectTooLong(failure { try database.backup(to: path) }, length)
    try database.close()
    expectTooLong(failure { try Database.salvage(from: folder.file("a"), to: path) }, length)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
  }

  @Test("a database of the longest name has assets, is compacted, copied and opened again")
  func longest() throws {
    let folder = try TemporaryFolder()
    func file(_ letter: String) -> String { folder.file(String(repeating: letter, count: 237)) }
    let database = try Database.withFiles(at: file("n"))
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try database.compact()
    try database.backup(to: file("c"))
    try database.close()
    try Database.salvage(from: file("n"), to: file("s"))
    for letter in ["n", "c", "s"] {
      let again = try Database.withFiles(at: file(letter))
      try again.expectClean()
      #expect(try again.collectAssets(grace: .zero).keptCount == 1)
      try again.close()
    }
  }

  @Test(
    "a file that has a longer name already is opened and written to, and what it cannot have says why",
    arguments: [241, 242, 251, 255])
  func existing(length: Int) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("a")
    try database.close()
    let path = folder.file(String(repeating: "l", count: length))
    try FileManager.default.moveItem(atPath: folder.file("a"), toPath: path)
    let long = try Database.withFiles(at: path)
    try long.put("b")
    if length > 241 {
      expectTooLong(failure { try long.compact() }, length)
      #expect(try long.statistics().compactionObstacle?.contains("A name is too long.") == true)
    } else {
      try long.compact()
    }
    let error = failure { try long.put("c", asset: Asset(data: AssetBench.content(1))) }
    if length > 248 { expectTooLong(error, length) } else { #expect(error == nil) }
    try long.expectClean()
    try long.close()
    let again = try Database.withFiles(at: path)
    #expect(try again.recordCount(in: .default) == (length > 248 ? 2 : 3))
    try again.close()
  }
}
