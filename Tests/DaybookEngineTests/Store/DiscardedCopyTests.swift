import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Recovery keeps a copy of whole frames that it gives up. Whoever may write to the directory plays with the copy's names meanwhile.

@Suite("copies of discarded frames")
struct DiscardedCopyTests {
  /// Opens a database whose torn tail has whole frames. Returns whether the copy of them is there.
  private func recover(
    name: String = "book", _ body: (_ path: String, _ disk: HookedDisk) throws -> Void
  ) throws -> Outcome {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    var bytes = try resealed(specimen.bytes, commits[2]) { $0.durableThrough = commits[0].number }
    bytes[Int(commits[1].offset) + 100] ^= 4
    let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/" + name
    try Data(bytes).write(to: URL(filePath: path))
    let disk = HookedDisk()
    try body(path, disk)
    let store = try KeyValueStore(path, disk: disk, options: specimen.options)
    disk.before(nil)
    #expect(try store.contents() == specimen.history[1])
    let recovery = store.store.recovery
    #expect(recovery.isDiscardedCopyMissing == (recovery.discardedCopyPath == nil))
    try store.close()
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      files[name] = FileManager.default.contents(atPath: directory + "/" + name).map { Array($0) }
    }
    return Outcome(isThere: recovery.discardedCopyPath != nil, files: files)
  }

  private struct Outcome {
    let isThere: Bool
    let files: [String: [UInt8]]
    var count: Int { files.count }
    func read(_ name: String) -> [UInt8]? { files[name] }
    func first(_ part: String) -> [UInt8]? { files.first { $0.key.contains(part) }?.value }
  }

  private static let leftoverName = ".discarded-2.new-0123456789abcdef"

  @Test("a leftover of a recovery that died is removed, but not one of another user")
  func leftover() throws {
    let own = try recover { path, _ in try Data("leftover".utf8).write(to: URL(filePath: path + Self.leftoverName)) }
    #expect(own.isThere && own.read("book.discarded-2") != nil && own.read("book" + Self.leftoverName) == nil)
    guard geteuid() == 0 else { return }
    let others = try recover { path, _ in
      try Data("precious".utf8).write(to: URL(filePath: path + Self.leftoverName))
      try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path + Self.leftoverName)
    }
    #expect(others.isThere && others.read("book" + Self.leftoverName) == Array("precious".utf8))
  }

  @Test("a recovery removed a copy that one of a database whose name is composed in another way was making")
  func otherComposition() throws {
    let name = "cafe\u{301}" + Self.leftoverName
    let outcome = try recover(name: "caf\u{E9}") { path, _ in
      let other = directory(holding: path) + "/" + name
      try Data("being made".utf8).write(to: URL(filePath: other))
    }
    #expect(outcome.isThere && outcome.first(Self.leftoverName) == Array("being made".utf8))
  }

  @Test(
    "a user's own file with a name beside a copy's survives a recovery",
    arguments: [".discarded-2.new", ".discarded-2.new-mine", ".discarded-2.new-0123456789ABCDEF", ".discarded-2.txt"])
  func usersOwn(name: String) throws {
    let outcome = try recover { path, _ in try Data("precious".utf8).write(to: URL(filePath: path + name)) }
    #expect(outcome.isThere && outcome.read("book.discarded-2") != nil)
    #expect(outcome.read("book" + name) == Array("precious".utf8))
  }

  @Test("a file that takes the name of the copy while that is made is not replaced")
  func takenName() throws {
    let outcome = try recover { path, disk in
      disk.before { operation, found throws(DiskFailure) in
        guard operation == .rename, found.contains(".discarded-2.new-") else { return }
        try? Data("precious".utf8).write(to: URL(filePath: path + ".discarded-2"))
      }
    }
    #expect(!outcome.isThere && outcome.read("book.discarded-2") == Array("precious".utf8))
    #expect(outcome.count == 2)
  }

  @Test("a file that takes the place of the unfinished copy is neither taken for it nor removed")
  func takenPlace() throws {
    let outcome = try recover { path, disk in
      disk.before { operation, found throws(DiskFailure) in
        guard operation == .status, found.hasPrefix(path + ".discarded-2.new-"), FileManager.default.fileExists(atPath: found)
        else { return }
        try? FileManager.default.removeItem(atPath: found)
        try? Data("precious".utf8).write(to: URL(filePath: found))
      }
    }
    #expect(!outcome.isThere && outcome.read("book.discarded-2") == nil)
    #expect(outcome.first(".discarded-2.new-") == Array("precious".utf8))
  }
}
