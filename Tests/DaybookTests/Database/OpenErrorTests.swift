import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What is said, at once, where no database can be opened, and what an error shows of itself.

@Suite("errors of opening")
struct OpenErrorTests {
  @Test("a missing directory is told as missing, at once, and an option makes it", .timeLimit(.minutes(15)))
  func missingDirectory() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("not/there/a.daybook")
    let error = failure { try Database.open(at: path) }
    #expect(error?.code == .ioFailed && error?.message == "The directory of the file does not exist.")
    #expect(error?.facts.path == folder.file("not/there"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("not")))
    var options = Database.Options()
    options.isReadOnly = true
    options.createsDirectory = true
    #expect(failure { try Database.open(at: path, options: options) }?.code == .ioFailed)
    #expect(!FileManager.default.fileExists(atPath: folder.file("not")), "a reader makes nothing")
    options.isReadOnly = false
    try Database.open(at: path, options: options).save(.fresh("a"))
    #expect(try Database.open(at: path).record(Record.ID("a")) != nil)
    let source = try Database.open(at: folder.file("b.daybook"), options: options)
    let backup = failure { try source.backup(to: folder.file("no/where.daybook")) }
    #expect(backup?.facts.path == folder.file("no") && backup?.message == "The directory of the file does not exist.")
  }

  @Test("the missing directory of a container is told as missing, and an option makes it")
  func missingDirectoryOfContainer() throws {
    let folder = try TemporaryFolder()
    let directory = folder.file("not/there")
    let error = failure { try Container.open("com.example.Notes", in: directory) }
    #expect(error?.code == .ioFailed && error?.message == "The directory of the container does not exist.")
    #expect(error?.facts.path == directory)
    var options = Database.Options()
    options.createsDirectory = true
    options.isReadOnly = true
    #expect(failure { try Container.open("com.example.Notes", in: directory, options: options) } != nil)
    #expect(!FileManager.default.fileExists(atPath: folder.file("not")), "a reader makes nothing")
    options.isReadOnly = false
    try Container.open("com.example.Notes", in: directory, options: options).close()
    try Container.open("com.example.Notes", in: directory).close()
  }

  @Test("a directory is told as one: opening, reading, salvaging")
  func directory() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("folder")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var options = Database.Options()
    let calls: [(Bool) throws -> Void] = [
      { isReadOnly in
        options.isReadOnly = isReadOnly
        _ = try Database.open(at: path, options: options)
      }, { _ in try Database.salvage(from: path, to: folder.file("out")) },
    ]
    for call in calls {
      for isReadOnly in [false, true] {
        let error = failure { try call(isReadOnly) }
        #expect(error?.message == "The path is a directory; a database is a file.", "\(String(describing: error))")
        #expect(error?.facts.path == path)
      }
    }
  }

  @Test("the name of a database in memory is no path, and the error says what makes one")
  func memoryName() {
    let error = failure { try Database.open(at: ":memory:") }
    #expect(error?.code == .invalidArguments && error?.message.contains("inMemory()") == true)
    #expect(!FileManager.default.fileExists(atPath: ":memory:"))
    #expect(throws: Never.self) { try Database.inMemory() }
  }

  @Test("an empty file is a new database with the rights that it had; a reader says what it is")
  func emptyFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
    var options = Database.Options()
    options.isReadOnly = true
    let error = failure { try Database.open(at: path, options: options) }
    #expect(error?.code == .notADatabase && error?.message.hasPrefix("The file is empty") == true)
    let database = try Database.open(at: path)
    try database.save(.fresh("a"))
    try database.expectClean()
    try database.close()
    #expect(try Database.open(at: path).record(Record.ID("a")) != nil)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("")).filter { $0.hasSuffix(".new") } == [])
    let short = folder.file("short.daybook")
    try Data([1]).write(to: URL(fileURLWithPath: short))
    #expect(failure { try Database.open(at: short) }?.code == .notADatabase)
    #expect(try Data(contentsOf: URL(fileURLWithPath: short)) == Data([1]), "a byte is somebody's")
  }

  @Test("an open of an empty file that fails at any call leaves its name, its rights and no bytes, or a database")
  func emptyFileFails() throws {
    var opened = 0
    for call in 1...60 {
      let disk = SimulatedDisk(seed: 1)
      let made = try disk.open("a.daybook", .createNew)
      try made.setAttributes(FileAttributes(mode: 0o600))
      try made.sync(.full)
      try disk.syncDirectory(holding: "a.daybook")
      disk.inject(SimulatedFault(call: call, code: ErrorNumber.noSpace))
      do {
        try Database.open(at: "a.daybook", options: .simulated(seed: 1), disk: disk).close()
        opened += 1
      } catch {}
      disk.removeFaults()
      for image in [disk.killed(), disk.crashed(seed: UInt64(call), policy: .random)] {
        #expect(try image.exists("a.daybook"), "call \(call)")
        #expect(try image.attributes(of: "a.daybook").mode == 0o600, "call \(call)")
        try Database.open(at: "a.daybook", options: .simulated(seed: 2), disk: image).close()
      }
    }
    #expect(opened > 0 && opened < 60)
  }

  @Test("what another program writes into an empty file while a database is made for its name stays")
  func emptyFileFilled() throws {
    let disk = WatchedDisk(SimulatedDisk(seed: 1))
    let made = try disk.open("a.daybook", .createNew)
    let isWritten = Locked(false)
    disk.watch.beforeSync { file in
      guard file.path.hasSuffix(".new") else { return }
      isWritten.withLock { $0 = true }
      try? [7].withView { try made.write($0, at: 0) }
    }
    let error = failure { try Database.open(at: "a.daybook", options: .simulated(seed: 1), disk: disk) }
    #expect(isWritten.withLock { $0 })
    #expect(error?.code == .notADatabase, "\(String(describing: error))")
    #expect(try made.byteCount() == 1 && disk.exists("a.daybook"))
    #expect(try disk.identity(of: "a.daybook") == made.identity)
  }

  @Test("many processes' worth of openers of one empty file find one database")
  func emptyFileRace() throws {
    let folder = try TemporaryFolder()
    for round in 0..<20 {
      let path = folder.file("\(round).daybook")
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
      let ids = Locked<[UUID]>([])
      var options = Database.Options()
      options.lock = .perTransaction
      options.hasBackgroundThread = false
      let given = options
      let threads = (0..<4).map { number in
        BackgroundThread(name: "opener") {
          guard let database = try? Database.open(at: path, options: given) else { return }
          _ = try? database.save(.fresh("r\(number)"))
          ids.withLock { $0.append(database.id) }
        }
      }
      for thread in threads { thread?.join() }
      let found = ids.withLock { $0 }
      #expect(Set(found).count == 1, "\(found)")
      #expect(try Database.open(at: path).recordCount(in: .default) == found.count)
    }
  }

  @Test("an error shows no type of the engine")
  func noLeak() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let database = try Database.open(at: path)
    try database.save(.fresh("a"))
    try database.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[40] ^= 0xFF
    try bytes.write(to: URL(fileURLWithPath: path))
    let errors = [
      failure { try Database.open(at: path) }, failure { try Database.open(at: folder.file("no/a")) },
      failure { try database.save(.fresh("b")) },
    ]
    for error in errors {
      let error = try #require(error)
      for text in ["\(error)", String(reflecting: error), error.localizedDescription] {
        #expect(!text.contains("Daybook.") && !text.contains("DaybookEngine") && !text.contains("Fault"), "\(text)")
      }
    }
    let partial = DatabaseError(.partialFailure, partialErrors: [try Record.ID("a"): DatabaseError(.unknownItem)])
    #expect(String(reflecting: partial).contains("_defaultZone/a: unknownItem"), "\(String(reflecting: partial))")
  }

  @Test("a new database has no more live bytes than bytes")
  func liveBytes() throws {
    let database = try Database.scratch()
    try database.save(.fresh("a", ["x": 1]))
    let statistics = try database.statistics()
    #expect(statistics.liveByteCount <= statistics.fileByteCount)
  }
}
