import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// One file, whatever names lead to it: links, second names, names that change while it is open.

@Suite("Paths and names")
struct FilePathTests {
  private func withDirectory(_ body: (String) throws -> Void) throws {
    let made = FileManager.default.temporaryDirectory.appending(path: "daybook-paths-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: made + "/real", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: made) }
    try body(SystemDisk().resolve(made))
  }

  private func link(_ path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  private func isLink(_ path: String) throws -> Bool {
    try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeSymbolicLink
  }

  private static let counter = try! Record.ID("counter")

  private func increment(_ database: Database) throws {
    try database.write { transaction in
      var record = try transaction.record(Self.counter) ?? Record(type: "Counter", id: Self.counter)
      record["n"] = (record["n"] ?? 0) + 1
      record["file"] = Asset(data: Data(repeating: 7, count: 100_000))
      try transaction.save(record)
    }
  }

  private func n(_ database: Database) throws -> Int? { try database.record(Self.counter)?["n"] }

  @Test("a pipe under the name of a database is refused at once, also behind a link", .timeLimit(.minutes(15)))
  func pipe() throws {
    try withDirectory { directory in
      #expect(AssetBench.makePipe(directory + "/pipe"))
      try link(directory + "/link", to: directory + "/pipe")
      for path in [directory + "/pipe", directory + "/link"] {
        for isReadOnly in [false, true] {
          var options = Database.Options()
          options.isReadOnly = isReadOnly
          #expect(failure { _ = try Database.open(at: path, options: options) }?.code == .ioFailed)
        }
        #expect(throws: DatabaseError.self) { try Database.salvage(from: path, to: directory + "/salvaged") }
      }
    }
  }

  @Test("a link to a path whose first name begins with a combining mark was taken for one beside it")
  func combiningMark() throws {
    try withDirectory { directory in
      let name = "\u{301}daybook-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: directory + "/" + name, withIntermediateDirectories: false)
      try link(directory + "/link.daybook", to: "/" + name + "/a.daybook")
      #expect(failure { _ = try Database.open(at: directory + "/link.daybook") }?.code == .ioFailed)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/" + name).isEmpty)
      // A relative one leads there.
      try link(directory + "/near.daybook", to: name + "/a.daybook")
      let database = try Database.open(at: directory + "/near.daybook")
      try increment(database)
      #expect(database.path.utf8.elementsEqual((directory + "/" + name + "/a.daybook").utf8))
      try database.close()
    }
  }

  @Test("a database opened through a link is compacted where it lies, and the link stays one")
  func symbolicLink() throws {
    try withDirectory { directory in
      let (real, path) = (directory + "/real/a.daybook", directory + "/link.daybook")
      let first = try Database.open(at: real)
      try increment(first)
      try first.close()
      try link(path, to: "real/a.daybook")
      let database = try Database.open(at: path)
      #expect(database.path == real)
      try database.compact()
      try increment(database)
      #expect(try isLink(path))
      var options = Database.Options()
      options.lockTimeout = .zero
      #expect(#expect(throws: DatabaseError.self) { try Database.open(at: real, options: options) }?.code == .locked)
      try database.backup(to: directory + "/copy.daybook")
      try database.close()
      for name in [real, path] {
        let found = try Database.open(at: name)
        #expect(try n(found) == 2)
        #expect(try found.check(.deep).isClean)
        try found.close()
      }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory + "/real").sorted() == [
          "a.daybook", "a.daybook.assets",
        ])
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == [
          "copy.daybook", "copy.daybook.assets", "link.daybook", "real",
        ])
      // A salvage finds the assets beside what the link leads to.
      let report = try Database.salvage(from: path, to: directory + "/salvage.daybook")
      #expect(report.isComplete && report.assetCount == 1)
    }
  }

  @Test("a database is made where a link leads, also when nothing is there yet")
  func linkToNothing() throws {
    try withDirectory { directory in
      let path = directory + "/link.daybook"
      try link(path, to: "real/new.daybook")
      let database = try Database.open(at: path)
      try increment(database)
      #expect(database.path == directory + "/real/new.daybook")
      let copy = directory + "/copylink.daybook"
      try link(copy, to: "real/copy.daybook")
      try database.backup(to: copy)
      #expect(throws: DatabaseError.self) { try database.backup(to: copy) }
      try database.close()
      #expect(try isLink(path) && isLink(copy))
      #expect(try n(Database.open(at: directory + "/real/copy.daybook")) == 1)
      try link(directory + "/circle", to: "circle")
      #expect(throws: DatabaseError.self) { try Database.open(at: directory + "/circle") }
      try link(directory + "/nowhere", to: "none/a.daybook")
      #expect(throws: DatabaseError.self) { try Database.open(at: directory + "/nowhere") }
    }
  }

  @Test("a relative path means the same file for as long as the database is open")
  func relativePath() throws {
    try withDirectory { directory in
      let working = FileManager.default.currentDirectoryPath
      let up = String(repeating: "../", count: working.split(separator: "/").count)
      let database = try Database.open(at: up + directory.dropFirst() + "/real/../a.daybook")
      #expect(database.path == directory + "/a.daybook" && database.store.path == database.path)
      #expect(database.library.store.directory == directory + "/a.daybook.assets")
      try database.close()
    }
  }

  @Test("a file with several names is not compacted, and says so")
  func hardLinks() throws {
    try withDirectory { directory in
      let (path, other) = (directory + "/a.daybook", directory + "/b.daybook")
      let database = try Database.open(at: path)
      try increment(database)
      #expect(try database.statistics().nameCount == 1)
      #expect(database.store.hasOnlyName)
      try SystemDisk().link(path, to: other)
      let error = #expect(throws: DatabaseError.self) { try database.compact() }
      #expect(error?.code == .badDatabase && error?.facts.found == "2 names")
      #expect(try database.statistics().nameCount == 2)
      #expect(!database.store.hasOnlyName && !database.store.isCompactionDue)
      try increment(database)
      #expect(try SystemDisk().identity(of: path) == SystemDisk().identity(of: other))
      #expect(!FileManager.default.fileExists(atPath: path + ".compacted"))
      try SystemDisk().remove(other)
      try database.compact()
      #expect(try n(database) == 2)
      try database.close()
    }
  }

  @Test(
    "a second name that a creation or a backup has left when it died goes with the next open",
    arguments: [".new", ".unfinished"])
  func leftNames(suffix: String) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      try Database.open(at: path).close()
      try SystemDisk().link(path, to: path + suffix)
      let database = try Database.open(at: path)
      #expect(try database.statistics().nameCount == 1)
      try database.compact()
      try database.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["a.daybook", "real"])
    }
  }

  @Test("of a file that is renamed or unlinked while it is open nothing is lost that has a name; who shares the file is told")
  func renamedWhileOpen() throws {
    try withDirectory { directory in
      let (path, moved) = (directory + "/a.daybook", directory + "/moved.daybook")
      let database = try Database.open(at: path)
      try increment(database)
      try SystemDisk().rename(path, to: moved)
      // Commits go on in the file, under whatever name it has; a compaction would give it the old one.
      try database.write { try $0.setMetadata(Data([1]), forKey: "after") }
      #expect(#expect(throws: DatabaseError.self) { try database.compact() }?.code == .badDatabase)
      try database.close()
      var options = Database.Options()
      options.lock = .perTransaction
      let turns = try Database.open(at: moved, options: options)
      #expect(try turns.metadata(forKey: "after") == Data([1]))
      try SystemDisk().remove(moved)
      let error = #expect(throws: DatabaseError.self) { try turns.write { try $0.setMetadata(Data([2]), forKey: "lost") } }
      #expect(error?.code == .ioFailed)
      #expect(try turns.metadata(forKey: "after") == Data([1]))
      #expect(throws: DatabaseError.self) { try turns.write { try $0.setMetadata(Data([2]), forKey: "lost") } }
      try turns.close()
    }
  }

  @Test("a folder that is renamed or removed while a database in it is open keeps nobody from committing")
  func folderRenamedWhileOpen() throws {
    try withDirectory { directory in
      let (folder, moved) = (directory + "/real", directory + "/moved")
      let first = try Database.open(at: folder + "/a.daybook")
      try first.write { try $0.setMetadata(Data([1]), forKey: "before") }
      try first.close()
      // Before the first commit of this open, which makes the file's name durable.
      let database = try Database.open(at: folder + "/a.daybook")
      try FileManager.default.moveItem(atPath: folder, toPath: moved)
      for key in ["first", "second"] { try database.write { try $0.setMetadata(Data([2]), forKey: key) } }
      try database.close()
      let found = try Database.open(at: moved + "/a.daybook")
      for key in ["before", "first", "second"] { #expect(try found.metadata(forKey: key) != nil) }
      try FileManager.default.removeItem(atPath: moved)
      try found.write { try $0.setMetadata(Data([3]), forKey: "third") }
      #expect(try found.metadata(forKey: "third") == Data([3]))
      try found.close()
      #expect(!FileManager.default.fileExists(atPath: moved))
    }
  }

  @Test("work on an open database stays in its folder when that is renamed and another takes its name")
  func folderExchangedWhileOpen() throws {
    try withDirectory { directory in
      let (folder, moved) = (directory + "/real", directory + "/moved")
      var options = Database.Options()
      options.inlineAssetByteCount = 0
      let database = try Database.open(at: folder + "/a.daybook", options: options)
      func save(_ name: String, _ byte: UInt8) throws {
        var record = try Record(type: "Note", id: Record.ID(name))
        record["file"] = Asset(data: Data([byte]))
        try database.write { [record] in try $0.save(record) }
      }
      try save("one", 1)
      try FileManager.default.copyItem(atPath: folder, toPath: directory + "/other")
      try FileManager.default.moveItem(atPath: folder, toPath: moved)
      try FileManager.default.moveItem(atPath: directory + "/other", toPath: folder)
      func others() throws -> [String: Data] {
        var result: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
          result[name] = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
        }
        return result
      }
      let before = try others()
      try save("two", 2)
      try database.write { _ = try $0.delete(Record.ID("one")) }
      #expect(try database.collectAssets(grace: .zero).removedCount == 1)
      try database.compact()
      try save("three", 3)
      #expect(try database.record(Record.ID("two"))?.value(Asset.self, forKey: "file").content() == Data([2]))
      #expect(try database.check(.deep).isClean)
      try database.close()
      #expect(try others() == before)
      let found = try Database.open(at: moved + "/a.daybook", options: options)
      #expect(try found.recordCount(in: .default) == 2 && found.check(.deep).isClean)
      #expect(try found.collectAssets(grace: .zero).keptCount == 2)
      try found.close()
    }
  }

  @Test("copies and outputs into a database's folder are refused by its open folder, whatever that is called by now")
  func ownNamesInRenamedFolder() throws {
    try withDirectory { directory in
      let (folder, moved) = (directory + "/real", directory + "/moved")
      let database = try Database.open(at: folder + "/a")
      try increment(database)
      try FileManager.default.moveItem(atPath: folder, toPath: moved)
      // As another user might put there, who wants a backup among the asset files, or refused.
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try link(folder + "/a.assets", to: directory)
      let content = try #require(
        try FileManager.default.subpathsOfDirectory(atPath: moved + "/a.assets").first { $0.utf8.count > 60 })
      try FileManager.default.linkItem(atPath: moved + "/a.assets/" + content, toPath: directory + "/second")
      for name in ["/a.assets/copy", "/a.compacted", "/a.unfinished", "/a"] {
        let error = failure { try database.backup(to: moved + name) }
        #expect(error?.code == .invalidArguments, "\(name): \(String(describing: error))")
        #expect(throws: OutputFault.self) { _ = try OutputPlace(moved + name, database.outputRules()) }
      }
      #expect(throws: OutputFault.self) { _ = try OutputPlace(directory + "/second", database.outputRules()) }
      for name in [directory + "/copy", folder + "/a.compacted"] { try database.backup(to: name) }
      #expect(try database.check(.deep).isClean)
      try database.close()
    }
  }

  #if os(Linux)
    @Test("a path of an open file or folder leads to that, and to nothing that is called what it was called")
    func pathsOfDescriptors() throws {
      try withDirectory { directory in
        let (path, folder) = (directory + "/a", directory + "/real")
        for name in [path, folder + "/b"] { try Database.open(at: name).close() }
        let file = try #require(FileHandle(forReadingAtPath: path))
        let descriptor = try SystemCall.openDirectory(folder, followsLink: false)
        defer { SystemCall.close(descriptor) }
        let (ofFile, ofFolder) = ("/dev/fd/\(file.fileDescriptor)", "/proc/self/fd/\(descriptor)/b")
        for (given, wanted) in [(ofFile, path), (ofFolder, folder + "/b")] {
          let found = try Database.open(at: given)
          #expect(found.path == wanted)
          try found.close()
        }
        try link(directory + "/link", to: ofFile)
        #expect(try SystemDisk().resolve(directory + "/link") == path)
        // Now nothing has their names, and then others have what the system says of them.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.removeItem(atPath: folder)
        for isPlanted in [false, true] {
          if isPlanted {
            try FileManager.default.createDirectory(atPath: folder + " (deleted)", withIntermediateDirectories: false)
            for name in [path + " (deleted)", folder + " (deleted)/b"] { try Database.open(at: name).close() }
          }
          let before = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
          for given in [ofFile, ofFolder, directory + "/link"] {
            let error = failure { _ = try Database.open(at: given) }
            #expect(error?.code == .ioFailed, "\(given): \(String(describing: error))")
            #expect(throws: DatabaseError.self) { try Database.salvage(from: given, to: directory + "/salvaged") }
          }
          #expect(try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() == before)
        }
        // A pipe has no name at all.
        let pipe = Pipe()
        let error = failure { _ = try Database.open(at: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") }
        #expect(error?.code == .ioFailed)
      }
    }
  #endif

  @Test("a file that is copied while it is written opens to one of its commits, or says that it is damaged")
  func copiedWhileOpen() throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let database = try Database.open(at: path)
      let isDone = Locked(false)
      let thread = BackgroundThread(name: "writer") {
        while !isDone.withLock({ $0 }) { try? increment(database) }
      }
      var opened = 0
      for round in 0..<8 {
        let copy = directory + "/copy\(round).daybook"
        let before = try n(database) ?? 0
        try Data(contentsOf: URL(filePath: path)).write(to: URL(filePath: copy))
        let after = (try n(database) ?? 0) + 1
        do {
          let found = try Database.open(at: copy)
          #expect(try (before...after).contains(n(found) ?? 0))
          try found.close()
          opened += 1
        } catch { #expect((error as? DatabaseError)?.code == .corrupted) }
      }
      isDone.withLock { $0 = true }
      thread?.join()
      // The safe way, at the same time.
      try database.backup(to: directory + "/backup.daybook")
      #expect(try n(Database.open(at: directory + "/backup.daybook")) == n(database))
      #expect(opened >= 0)
      try database.close()
    }
  }
}
