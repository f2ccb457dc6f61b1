import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// What a container keeps beside its databases, and how it survives crashes and damage. What it may do is in the rows A1 to
/// A18 of the capabilities.
@Suite("containers")
struct ContainerTests {
  private static let id = "com.example.Notes"

  private func options(seed: UInt64 = 1) -> Database.Options { .simulated(seed: seed) }

  @Test("after a crash at any call the container opens with one user, who is the same as before if anything was written")
  func crashes() throws {
    let disk = SimulatedDisk(seed: 1)
    let committed = Locked<String?>(nil)
    let count = Locked(0)
    disk.observe { call in
      for (index, policy) in [CrashPolicy.random, .none, .all].enumerated() {
        let image = disk.crashed(seed: UInt64(call.number * 10 + index), policy: policy)
        count.withLock { $0 += 1 }
        do {
          let container = try Container.open(Self.id, in: "/notes", options: options(seed: 9), disk: image)
          if let name = committed.withLock({ $0 }) {
            #expect(container.userRecordName == name, "crash before \(call)")
            #expect(try container.privateDatabase.record(Record.ID("a")) != nil)
          }
          #expect([.available, .noAccount].contains(container.accountStatus()))
          try container.privateDatabase.expectClean()
          try container.close()
        } catch { Issue.record("crash before \(call): \(error)") }
      }
    }
    let container = try Container.open(Self.id, in: "/notes", options: options(), disk: disk)
    try container.privateDatabase.put("a")
    committed.withLock { $0 = container.userRecordName }
    try container.setAccountStatus(.noAccount)
    try container.setAccountStatus(.available)
    disk.observe(nil)
    try container.close()
    #expect(count.withLock { $0 } > 20)
  }

  @Test("what a killed writer of the account has left beside it is removed by the next open, and nothing else")
  func accountLeftovers() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try Container.open(Self.id, in: folder.path).close()
    let files = FileManager.default
    let account = "\(Self.id).account.json"
    let leftover = "\(account).\(UUID().uuidString).new"
    let live = "\(account).\(UUID().uuidString).new"
    let link = "\(account).\(UUID().uuidString).new"
    let directory = "\(account).\(UUID().uuidString).new"
    let strangers = ["\(account).notes.new", "\(account).\(UUID().uuidString)", "other\(account).\(UUID().uuidString).new"]
    for name in [leftover, live, "target"] + strangers { try Data([1]).write(to: URL(filePath: folder.file(name))) }
    try files.createSymbolicLink(atPath: folder.file(link), withDestinationPath: folder.file("target"))
    try files.createDirectory(atPath: folder.file(directory), withIntermediateDirectories: false)
    // Another process is just writing this one.
    let writer = try SystemDisk().open(folder.file(live), .readWrite)
    #expect(try writer.tryLock(.writer, .exclusive))
    var readOnly = Database.Options()
    readOnly.isReadOnly = true
    try Container.open(Self.id, in: folder.path, options: readOnly).close()
    #expect(files.fileExists(atPath: folder.file(leftover)), "who only reads removes nothing")
    let container = try Container.open(Self.id, in: folder.path)
    #expect(!files.fileExists(atPath: folder.file(leftover)))
    for name in [live, link, directory, "target"] + strangers {
      #expect(files.fileExists(atPath: folder.file(name)), "\(name)")
    }
    // It died meanwhile.
    writer.close()
    try container.setAccountStatus(.noAccount)
    try container.close()
    let again = try Container.open(Self.id, in: folder.path)
    #expect(!files.fileExists(atPath: folder.file(live)))
    #expect(again.accountStatus() == .noAccount)
    try again.close()
  }

  @Test("a change of the account's status lets nobody read the account who might not before")
  func accountRights() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let container = try Container.open(Self.id, in: folder.path)
    let account = folder.file("\(Self.id).account.json")
    #expect(unsafe chmod(account, 0o600) == 0)
    try container.setAccountStatus(.noAccount)
    try container.close()
    #expect(try FileManager.default.attributesOfItem(atPath: account)[.posixPermissions] as? Int == 0o600)
    #expect(try Container.open(Self.id, in: folder.path).accountStatus() == .noAccount)
  }

  @Test("a damaged account file is told, and nobody becomes somebody else")
  func damage() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let container = try Container.open(Self.id, in: URL(filePath: folder.path))
    try container.close()
    let path = folder.file("\(Self.id).account.json")
    let sound = try Data(contentsOf: URL(filePath: path))
    for bad in [Data(), Data("{".utf8), Data("[]".utf8), Data(count: 1 << 17)] {
      try bad.write(to: URL(filePath: path))
      let error = failure { try Container.open(Self.id, in: folder.path) }
      #expect(error?.code == .corrupted || error?.code == .ioFailed, "\(String(describing: error))")
      #expect(error?.facts.path == path)
    }
    let text = String(decoding: sound, as: UTF8.self)
    try Data(text.replacing(#""version":1"#, with: #""version":2"#).utf8).write(to: URL(filePath: path))
    #expect(failure { try Container.open(Self.id, in: folder.path) }?.code == .formatTooNew)
    // The name of the user's record goes into records: what no record can be called trapped there.
    let name = container.userRecordName
    for bad in ["", "Ren\u{E9}e", "a\tb", String(repeating: "u", count: 256)] {
      let account = try JSONSerialization.data(withJSONObject: [
        "container": Self.id, "status": "available", "userRecordName": bad, "version": 1,
      ])
      try account.write(to: URL(filePath: path))
      for isReadOnly in [false, true] {
        var options = Database.Options()
        options.isReadOnly = isReadOnly
        let error = failure { try Container.open(Self.id, in: folder.path, options: options) }
        #expect(error?.code == .corrupted && error?.facts.path == path, "\(bad): \(String(describing: error))")
      }
    }
    #expect(text.contains(name))
    // A disk that takes upper and lower case for the same.
    try Data(text.replacing("Notes", with: "notes").utf8).write(to: URL(filePath: path))
    #expect(failure { try Container.open(Self.id, in: folder.path) }?.code == .badContainer)
    try sound.write(to: URL(filePath: path))
    try Container.open(Self.id, in: folder.path).close()
  }

  @Test("a directory that is missing, a container that is missing for a reader, and a URL that is none")
  func missing() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    #expect(failure { try Container.open(Self.id, in: folder.file("nowhere")) }?.code == .ioFailed)
    var reading = Database.Options()
    reading.isReadOnly = true
    #expect(failure { try Container.open(Self.id, in: folder.path, options: reading) }?.code == .badContainer)
    let remote = try #require(URL(string: "https://example.com/notes"))
    #expect(failure { try Container.open(Self.id, in: remote) }?.code == .invalidArguments)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("one who stays writes, whoever opens the files by themselves is told that they are locked")
  func locked() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let container = try Container.open(Self.id, in: folder.path)
    var options = Database.Options()
    options.lockTimeout = .milliseconds(10)
    let error = failure { try Database.open(at: container.privateDatabase.path, options: options) }
    #expect(error?.code == .locked)
    // The directory written in another way finds the same container.
    let same = try Container.open(Self.id, in: folder.path + "/./", options: options)
    #expect(same.privateDatabase === container.privateDatabase)
    try same.close()
    try container.privateDatabase.put("a")
    try container.close()
    #expect(failure { try container.close() } == nil, "closing again is allowed")
  }

  @Test("encrypted values are for the private and the shared database")
  func encryptedValues() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let container = try Container.open(Self.id, in: folder.path)
    var record = try Record.fresh("a")
    record.encryptedValues["pin"] = "1234"
    try container.privateDatabase.write { [record] in try $0.save(record) }
    let error = failure { try container.publicDatabase.write { [record] in try $0.save(record) } }
    #expect(error?.code == .invalidArguments && error?.facts.key == "pin")
    #expect(try container.publicDatabase.schema() == Schema())
    try container.publicDatabase.expectClean()
    try container.close()
  }

  @Test("threads that open and close one container at will always find it whole, and never locked")
  func threads() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.path
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          for round in 0..<10 {
            let container = try Container.open(Self.id, in: path)
            _ = try await container.publicDatabase.modify(
              saving: [.fresh("r\(number)-\(round)")], deleting: [], policy: .changedKeys, atomically: false)
            try container.close()
          }
        }
      }
      try await group.waitForAll()
    }
    let container = try Container.open(Self.id, in: path)
    let count = try await container.publicDatabase.recordCount(in: .default)
    #expect(count == 40)
    try container.publicDatabase.expectClean()
    try container.close()
  }
}
