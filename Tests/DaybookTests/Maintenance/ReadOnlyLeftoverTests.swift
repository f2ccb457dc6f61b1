import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import DaybookEngine
@_spi(Daybook) @testable import Daybook

@Suite("leftovers of read-only databases")
struct ReadOnlyLeftoverTests {
  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test("a backup of a database that no one may write to, killed before it had its name, is removed by the next to that name")
  func killedBackup() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (source, target) = (folder.file("source"), folder.file("films"))
    do {
      let database = try Database.withFiles(at: source)
      try database.put("precious", asset: Asset(data: AssetBench.content(7)))
      try database.close()
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: source)
    let disk = HookedDisk()
    var options = Database.Options()
    options.isReadOnly = true
    let database = try Database.open(at: source, options: options, disk: disk)
    disk.before { operation, path throws(DiskFailure) in
      // As if the process had died there: nothing is cleared away.
      let isName = operation == .rename && path.hasSuffix(".unfinished")
      if isName || operation == .remove { throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput) }
    }
    #expect(throws: DatabaseError.self) { try database.backup(to: target, disk: disk) }
    let left = target + ".unfinished"
    #expect(try mode(left) == 0o444)
    // What the system says to its owner, who is not root.
    let isRefused = Mutex(false)
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .open, path == left else { return }
      let isFirst = isRefused.withLock { refused in
        defer { refused = true }
        return !refused
      }
      if !isFirst { return }
      throw DiskFailure(.open, path: path, kind: .permission, code: 13)
    }
    try database.backup(to: target, disk: disk)
    #expect(isRefused.withLock { $0 })
    disk.before(nil)
    try database.close()
    #expect(try mode(target) == 0o444)
    #expect(!FileManager.default.fileExists(atPath: left))
    let copy = try Database.open(at: target, options: options)
    #expect(try copy.record(Record.ID("precious")) != nil)
    try copy.expectClean()
    try copy.close()
  }
}
