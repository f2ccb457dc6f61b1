import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// An attacker who may write to a directory puts something else under a database's name, between two calls of an open.

@Suite("names of databases that are being opened")
struct NewDatabaseNameTests {
  private static var options: Database.Options {
    var options = Database.Options()
    options.hasBackgroundThread = false
    options.lockTimeout = .zero
    return options
  }

  /// Does something once, before the call that opens the database's folder or file by name, when the file is there.
  private func before(_ path: String, _ disk: HookedDisk, skipping count: Int = 0, _ body: @escaping @Sendable () -> Void) {
    let calls = Locked(0)
    disk.before { operation, found throws(DiskFailure) in
      guard operation == .open, found == path, FileManager.default.fileExists(atPath: path) else { return }
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      if number == count + 1 { body() }
    }
  }

  private func other(_ path: String) throws -> Data {
    let database = try Database.open(at: path, options: Self.options)
    try database.put("theirs")
    try database.close()
    return try Data(contentsOf: URL(filePath: path))
  }

  @Test(
    "a new database whose name leads to another file before it is opened is told, and the other stays as it is",
    arguments: [true, false])
  func swappedAfterCreation(isLink: Bool) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = (try SystemDisk().resolve(folder.file("a")), folder.file("stranger"))
    let content = try other(stranger)
    let disk = HookedDisk()
    before(path, disk) {
      try? FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
      if isLink {
        try? FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: stranger)
      } else {
        try? FileManager.default.copyItem(atPath: stranger, toPath: path)
      }
    }
    let error = failure { try Database.open(at: path, options: Self.options, disk: disk) }
    disk.before(nil)
    #expect(error?.code == .ioFailed && error?.facts.path == path, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: stranger)) == content)
    if !isLink { #expect(try Data(contentsOf: URL(filePath: path)) == content) }
  }

  @Test("a backup that is put over a database while it is opened is opened itself")
  func restoredWhileOpening() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = try SystemDisk().resolve(folder.file("a"))
    for count in 0..<4 {
      try? FileManager.default.removeItem(atPath: path)
      let database = try Database.open(at: path, options: Self.options)
      try database.put("first")
      try database.backup(to: path + "-copy")
      try database.put("second")
      try database.close()
      let disk = HookedDisk()
      before(path, disk, skipping: count) {
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.moveItem(atPath: path + "-copy", toPath: path)
      }
      let opened = try Database.open(at: path, options: Self.options, disk: disk)
      disk.before(nil)
      let isRestored = !FileManager.default.fileExists(atPath: path + "-copy")
      #expect(try opened.recordCount(in: .default) == (isRestored ? 1 : 2), "call \(count)")
      try opened.put("third")
      try opened.close()
      try? FileManager.default.removeItem(atPath: path + "-copy")
    }
  }

  @Test("a link that takes the name of a database while it is opened is not followed", arguments: [false, true])
  func swappedBeforeOpening(isReadOnly: Bool) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = (try SystemDisk().resolve(folder.file("a")), folder.file("stranger"))
    let content = try other(stranger)
    try Database.open(at: path, options: Self.options).close()
    let disk = HookedDisk()
    before(path, disk) {
      try? FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
      try? FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: stranger)
    }
    var options = Self.options
    options.isReadOnly = isReadOnly
    let error = failure { try Database.open(at: path, options: options, disk: disk) }
    disk.before(nil)
    #expect(error?.code == .ioFailed && error?.facts.path == path, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: stranger)) == content)
    // A link that was there before is followed.
    let database = try Database.open(at: path, options: options)
    #expect(try database.record(Record.ID("theirs")) != nil)
    try database.close()
  }

  @Test("a new database that another process has found and compacted meanwhile is opened")
  func compactedMeanwhile() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = try SystemDisk().resolve(folder.file("a"))
    let disk = HookedDisk()
    before(path, disk) {
      guard let other = try? Database.open(at: path, options: Self.options) else { return }
      _ = try? other.put("theirs")
      try? other.compact()
      try? other.close()
    }
    let database = try Database.open(at: path, options: Self.options, disk: disk)
    disk.before(nil)
    #expect(try database.record(Record.ID("theirs")) != nil)
    try database.close()
  }

  @Test("a writer that shares the file and a reader follow no link that takes the database's name, and change no other one")
  func swappedWhileOpen() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, backup, other) = (folder.file("a"), folder.file("backup"), folder.file("other"))
    var turns = Self.options
    turns.lock = .perTransaction
    let database = try Database.open(at: path, options: turns)
    try database.put("one")
    try database.backup(to: backup)
    var readOnly = Self.options
    readOnly.isReadOnly = true
    let reader = try Database.open(at: path, options: readOnly)
    // Another database, which an open for writing would repair.
    _ = try self.other(other)
    let handle = try #require(FileHandle(forWritingAtPath: other))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(repeating: 7, count: 100))
    try handle.close()
    try FileManager.default.moveItem(atPath: path, toPath: folder.file("moved"))
    for stranger in [backup, other] {
      for isLink in [true, false] where isLink || stranger == other {
        let content = try Data(contentsOf: URL(filePath: stranger))
        if isLink {
          try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: stranger)
        } else {
          try FileManager.default.linkItem(atPath: stranger, toPath: path)
        }
        let error = failure { try database.put("two") }
        #expect(error?.code == (isLink ? .ioFailed : .closed), "\(stranger) \(isLink) \(String(describing: error))")
        #expect(failure { _ = try reader.refresh() }?.code == (isLink ? .ioFailed : .closed))
        #expect(try Data(contentsOf: URL(filePath: stranger)) == content, "\(stranger) \(isLink)")
        try FileManager.default.removeItem(atPath: path)
      }
    }
    try FileManager.default.moveItem(atPath: folder.file("moved"), toPath: path)
    try database.put("three")
    try database.expectClean()
    try reader.close()
    try database.close()
  }

  @Test("the account of a container is read and written behind its link, with the rights of the file there")
  func account() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    func place(_ id: String) throws -> AccountFile {
      try AccountFile(of: id, in: ContainerFolder(folder.path, on: SystemDisk()))
    }
    let (real, link) = (folder.file("real.b.account.json"), folder.file("a.b.account.json"))
    var account = ContainerAccount(container: "a.b", userRecordName: "user-1", status: .available)
    try account.write(to: place("real.b"), replaces: false)
    #expect(unsafe chmod(real, 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real.b.account.json")
    let behind = try place("a.b")
    #expect(try ContainerAccount.read(behind) == account)
    account.status = .restricted
    try account.write(to: behind, replaces: true)
    #expect(try ContainerAccount.read(place("real.b")) == account)
    #expect(try SystemDisk().attributes(of: real).mode & 0o777 == 0o600)
    #expect(try FileManager.default.attributesOfItem(atPath: link)[.type] as? FileAttributeType == .typeSymbolicLink)
    // A pipe is no account, and no call waits for it.
    try #require(AssetBench.makePipe(folder.file("pipe.b.account.json")))
    let pipe = try place("pipe.b")
    #expect(failure { try ContainerAccount.read(pipe) }?.code == .ioFailed)
  }
}
