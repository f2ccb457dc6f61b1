import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Recovery keeps a copy of whole frames that it gives up. Whoever may write to the directory plays with the copy's names meanwhile.

@Suite("copies of discarded frames")
struct DiscardedCopyTests {
  /// Opens a database whose torn tail has whole frames. Returns whether the copy of them is there.
  private func recover(
    _ body: (_ path: String, _ disk: HookedDisk) throws -> Void
  ) throws -> (isThere: Bool, read: (String) -> [UInt8]?) {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    var bytes = try resealed(specimen.bytes, commits[2]) { $0.durableThrough = commits[0].number }
    bytes[Int(commits[1].offset) + 100] ^= 4
    let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/book"
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
    return (recovery.discardedCopyPath != nil, { [files] name in files[name] })
  }

  @Test("a leftover of the same name is removed, but not one of another user")
  func leftover() throws {
    let own = try recover { path, _ in try Data("leftover".utf8).write(to: URL(filePath: path + ".discarded-2.new")) }
    #expect(own.isThere && own.read("book.discarded-2") != nil && own.read("book.discarded-2.new") == nil)
    guard geteuid() == 0 else { return }
    let others = try recover { path, _ in
      try Data("precious".utf8).write(to: URL(filePath: path + ".discarded-2.new"))
      try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path + ".discarded-2.new")
    }
    #expect(!others.isThere && others.read("book.discarded-2.new") == Array("precious".utf8))
  }

  @Test("a file that takes the name of the copy while that is made is not replaced")
  func takenName() throws {
    let outcome = try recover { path, disk in
      disk.before { operation, found throws(DiskFailure) in
        guard operation == .rename, found.hasSuffix(".discarded-2.new") else { return }
        try? Data("precious".utf8).write(to: URL(filePath: path + ".discarded-2"))
      }
    }
    #expect(!outcome.isThere && outcome.read("book.discarded-2") == Array("precious".utf8))
    #expect(outcome.read("book.discarded-2.new") == nil)
  }

  @Test("a file that takes the place of the unfinished copy is neither taken for it nor removed")
  func takenPlace() throws {
    let outcome = try recover { path, disk in
      let temporary = path + ".discarded-2.new"
      disk.before { operation, found throws(DiskFailure) in
        guard operation == .status, found == temporary, FileManager.default.fileExists(atPath: temporary) else { return }
        try? FileManager.default.removeItem(atPath: temporary)
        try? Data("precious".utf8).write(to: URL(filePath: temporary))
      }
    }
    #expect(!outcome.isThere && outcome.read("book.discarded-2") == nil)
    #expect(outcome.read("book.discarded-2.new") == Array("precious".utf8))
  }
}
