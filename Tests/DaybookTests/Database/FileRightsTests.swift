import DaybookEngine
import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// What is made of a database is readable only for those who may read the database.

@Suite("Rights of files")
struct FileRightsTests {
  private func withDirectory(_ body: (String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-rights-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(directory)
  }

  private func fill(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<10 {
        var record = try Record(type: "T", id: Record.ID("r\(number)"))
        record["text"] = String(repeating: "x", count: 500)
        record["file"] = Asset(data: Data(repeating: UInt8(number), count: 100_000))
        try transaction.save(record)
      }
    }
  }

  private func setMode(_ mode: UInt32, of path: String) throws {
    var attributes = try SystemDisk().attributes(of: path)
    attributes.mode = mode
    try SystemDisk().setAttributes(attributes, of: path)
  }

  private func mode(_ path: String) throws -> UInt32 { try SystemDisk().attributes(of: path).mode }

  @Test("a file keeps its rights, owner and attributes when it is compacted", arguments: [UInt32(0o600), 0o640, 0o666])
  func compaction(mode: UInt32) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let database = try Database.open(at: path)
      try fill(database)
      var attributes = try SystemDisk().attributes(of: path)
      attributes.mode = mode
      attributes.extended["user.color"] = Array("red".utf8)
      if geteuid() == 0 { (attributes.owner, attributes.group) = (4712, 4713) }
      try SystemDisk().setAttributes(attributes, of: path)
      let before = try SystemDisk().attributes(of: path)
      let identity = try SystemDisk().identity(of: path)
      try database.compact()
      #expect(try SystemDisk().identity(of: path) != identity)
      #expect(try SystemDisk().attributes(of: path) == before)
      #expect(before.mode == mode)
      try database.close()
    }
  }

  @Test(
    "what is made of a file has its rights, and not what lets programs run as its owner",
    arguments: [UInt32(0o4755), 0o6771, 0o1640])
  func specialBits(mode: UInt32) throws {
    try withDirectory { directory in
      let (path, wanted) = (directory + "/a.daybook", mode & 0o777)
      let database = try Database.open(at: path)
      try setMode(mode, of: path)
      try fill(database)
      #expect(try self.mode(path) == mode)
      try database.backup(to: directory + "/copy")
      try database.close()
      #expect(try Database.salvage(from: path, to: directory + "/salvaged").isComplete)
      for name in ["/copy", "/salvaged"] {
        #expect(try self.mode(directory + name) == wanted)
        #expect(try self.mode(directory + name + ".assets") & 0o7000 == 0)
      }
      #expect(try self.mode(path + ".assets") & 0o7000 == 0)
      let again = try Database.open(at: path)
      try again.compact()
      #expect(try self.mode(path) == wanted)
      // A folder's own bits stay: they were set for what is in it.
      let contents = path + ".assets"
      try setMode(0o2777, of: contents)
      try again.close()
      try Database.open(at: path).close()
      #expect(try self.mode(contents) & 0o7000 == 0o2000)
    }
  }

  @Test("rights that are taken away while a compaction is under way are those of the new file")
  func rightsDuringCompaction() throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let watched = WatchedDisk(SystemDisk())
      let database = try Database.open(at: path, options: .init(), disk: watched)
      try fill(database)
      try setMode(0o644, of: path)
      watched.watch.beforeWrite { file in
        guard file.path.hasSuffix(".compacted") else { return }
        watched.watch.beforeWrite(nil)
        try? setMode(0o600, of: path)
      }
      try database.compact()
      #expect(try mode(path) == 0o600)
      try database.close()
    }
  }

  @Test(
    "rights that are taken away just before a compacted file gets the name are those of the new file",
    arguments: [UInt32(0o600), 0o666])
  func rightsBeforeRename(changed: UInt32) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let disk = HookedDisk()
      let database = try Database.open(at: path, options: .init(), disk: disk)
      try fill(database)
      try setMode(0o644, of: path)
      disk.before { operation, name in
        if operation == .rename, name.hasSuffix(".compacted") { try? setMode(changed, of: path) }
      }
      try database.compact()
      disk.before(nil)
      #expect(try mode(path) == changed)
      try database.close()
    }
  }

  #if os(Linux)
    @Test("who may only write to a database does not take it away from its owner by compacting it")
    func compactionByAnother() async {
      await #expect(processExitsWith: .success) {
        if geteuid() != 0 { return }
        for folderMode in [0o777, 0o1777] as [mode_t] {
          let tests = FileRightsTests()
          try tests.withDirectory { try tests.compactAsAnother(in: $0, folderMode) }
        }
      }
    }

    private func compactAsAnother(in directory: String, _ folderMode: mode_t) throws {
      let path = directory + "/a.daybook"
      try Database.open(at: path).close()
      let isReady = unsafe chmod(directory, folderMode) == 0 && chown(path, 4711, 4713) == 0 && chmod(path, 0o660) == 0
      try #require(isReady)
      let status = inChild {
        guard setgid(4713) == 0, setuid(4712) == 0, let database = try? Database.open(at: path) else { return 1 }
        do {
          try database.compact()
          return 2
        } catch { if (error as? DatabaseError)?.code != .permissionFailure { return 3 } }
        // Nothing has ended.
        do {
          try database.save(Record(type: "T", id: Record.ID("late")))
          try database.close()
          return 0
        } catch { return 4 }
      }
      #expect(status == 0)
      let attributes = try SystemDisk().attributes(of: path)
      #expect(attributes.owner == 4711 && attributes.group == 4713 && attributes.mode == 0o660)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["a.daybook"])
      let database = try Database.open(at: path)
      #expect(try database.recordCount(in: .default) == 1)
      try database.compact()
      #expect(try SystemDisk().attributes(of: path).owner == 4711)
      try database.close()
    }
  #endif

  @Test("assets, backups and salvages of a private database are private", arguments: [UInt32(0o600), 0o640, 0o400])
  func copies(mode: UInt32) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      try Database.open(at: path).close()
      try setMode(mode | 0o200, of: path)
      let database = try Database.open(at: path)
      try setMode(mode, of: path)
      try fill(database)
      let directoryMode = mode | (mode & 0o444) >> 2 | 0o700
      #expect(try self.mode(path + ".assets") == directoryMode)
      for entry in try SystemDisk().entries(of: path + ".assets") where entry.isDirectory {
        #expect(try self.mode(path + ".assets/" + entry.name) == directoryMode)
      }
      try database.backup(to: directory + "/backup.daybook")
      try database.close()
      try Database.salvage(from: path, to: directory + "/salvage.daybook")
      for copy in ["/backup.daybook", "/salvage.daybook"] {
        #expect(try self.mode(directory + copy) == mode)
        #expect(try self.mode(directory + copy + ".assets") & 0o077 == directoryMode & 0o077)
        var options = Database.Options()
        options.isReadOnly = true
        let opened = try Database.open(at: directory + copy, options: options)
        #expect(try opened.recordCount(in: .default) == 10)
        #expect(try opened.check(.deep).isClean)
      }
    }
  }

  /// A list by which a folder lets one more user do everything with what will be made in it. Little-endian: version, then tag,
  /// rights and number of the owner, a user, the group, the most that those two may, and all others.
  private static let inheritedList: [UInt8] =
    [2, 0, 0, 0] + [1, 0, 7, 0, 255, 255, 255, 255] + [2, 0, 7, 0, 0x67, 0x12, 0, 0] + [4, 0, 5, 0, 255, 255, 255, 255]
    + [16, 0, 7, 0, 255, 255, 255, 255] + [32, 0, 5, 0, 255, 255, 255, 255]

  /// Where the file system has no lists, nothing is inherited, and the tests show only that all modes are right.
  private func giveList(to folder: String) throws {
    var attributes = try SystemDisk().attributes(of: folder)
    attributes.extended[AccessList.posixDefaultName] = Self.inheritedList
    try SystemDisk().setAttributes(attributes, of: folder)
  }

  private func lists(_ path: String) throws -> [String] {
    try SystemDisk().attributes(of: path).extended.keys.filter { AccessList.isName($0) }
  }

  @Test(
    "whom only the folder's list of rights names may not read what is made of a database",
    arguments: [UInt32(0o600), 0o640, 0o660])
  func inheritedList(mode: UInt32) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let database = try Database.open(at: path)
      try setMode(mode, of: path)
      try giveList(to: directory)
      try fill(database)
      try database.compact()
      try database.backup(to: directory + "/backup.daybook")
      try database.backup(to: directory + "/copied.daybook", linksAssets: false)
      try database.close()
      try Database.salvage(from: path, to: directory + "/salvage.daybook")
      let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
      #expect(names.count > 40)
      for name in names {
        let place = directory + "/" + name
        #expect(try lists(place) == [], "\(name)")
        let given = try self.mode(place)
        let isFolder = try FileManager.default.attributesOfItem(atPath: place)[.type] as? FileAttributeType == .typeDirectory
        // The mark of a folder is written by those who may write the database.
        let isContent = name.contains("/") && !name.hasSuffix("/owner")
        let wanted = isFolder ? mode | (mode & 0o444) >> 2 | 0o700 : isContent ? mode & 0o444 | 0o400 : mode
        #expect(given & 0o7777 == wanted, "\(name) has \(String(given, radix: 8))")
      }
    }
  }

  @Test(
    "whom only the folder's list of rights names may not read what is exported of a database",
    arguments: [UInt32(0o600), 0o640])
  func exportedList(mode: UInt32) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      let database = try Database.open(at: path)
      try setMode(mode, of: path)
      let rules = try database.outputRules()
      try giveList(to: directory)
      let hasLists = try !lists(directory).isEmpty
      let place = try OutputPlace(directory + "/out.csv", rules)
      try place.write(Array("secret".utf8))
      try place.finish()
      let inner = try OutputPlace("a", in: OutputFolder(directory + "/contents", rules), rules)
      try inner.finish()
      for name in ["/out.csv", "/contents", "/contents/a"] {
        let given = try self.mode(directory + name)
        // The group's part is the most that the list gives.
        #expect(try lists(directory + name).isEmpty || given & 0o077 == 0, "\(name) has \(String(given, radix: 8))")
        if hasLists { #expect(given & 0o077 == 0) }
        #expect(given & 0o600 == 0o600)
      }
      #expect(FileManager.default.contents(atPath: directory + "/out.csv") == Data("secret".utf8))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { !$0.hasPrefix(".daybook") })
    }
  }

  @Test(
    "whom a list shuts out of the database reads none of its assets, old ones either",
    arguments: ["open", "collect", "compact"])
  func listAfterwards(way: String) throws {
    try withDirectory { directory in
      let path = directory + "/a.daybook"
      var options = Database.Options()
      options.inlineAssetByteCount = 0
      let database = try Database.open(at: path, options: options)
      try setMode(0o644, of: path)
      try fill(database)
      // setfacl -m u:4711:--- FILE
      var attributes = try SystemDisk().attributes(of: path)
      attributes.extended[AccessList.posixName] =
        [2, 0, 0, 0] + [1, 0, 6, 0, 255, 255, 255, 255] + [2, 0, 0, 0, 0x67, 0x12, 0, 0] + [4, 0, 4, 0, 255, 255, 255, 255]
        + [16, 0, 4, 0, 255, 255, 255, 255] + [32, 0, 4, 0, 255, 255, 255, 255]
      try SystemDisk().setAttributes(attributes, of: path)
      let list = try SystemDisk().attributes(of: path).extended[AccessList.posixName]
      switch way {
      case "collect": try database.collectAssets()
      case "compact": try database.compact()
      default: break
      }
      try database.close()
      if way == "open" { try Database.open(at: path, options: options).close() }
      // Where the file system has no lists, its rights are what is left.
      let names = try FileManager.default.subpathsOfDirectory(atPath: path + ".assets").map { "/" + $0 }
      #expect(names.count > 10)
      for name in names + [""] where list != nil {
        let found = try #require(
          try SystemDisk().attributes(of: path + ".assets" + name).extended[AccessList.posixName], "\(name)")
        #expect(found[12] == 2 && found[14] == 0, "\(name)")
      }
    }
  }

  @Test("nobody else may open what a compaction or a backup is writing, at any of its steps")
  func whileCopying() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(at: "a.daybook", options: .simulated(seed: 1), disk: disk)
    try fill(database)
    try disk.setAttributes(FileAttributes(mode: 0o600), of: "a.daybook")
    let wide = Locked<[String]>([])
    disk.observe { (call) throws(DiskFailure) in
      guard call.operation == .write, let byteCount = call.byteCount, byteCount > 0 else { return }
      let path = call.path
      guard path.hasPrefix("a.daybook.compacted") || path.hasPrefix("copy"), !path.contains(".assets/") else { return }
      // A file that has got its last name by now has been looked at.
      guard let attributes = try? disk.attributes(of: path) else { return }
      if attributes.mode & 0o077 != 0 { wide.withLock { $0.append("\(call)") } }
    }
    try database.compact()
    try database.backup(to: "copy", disk: disk)
    #expect(wide.withLock { $0 } == [])
    #expect(try disk.attributes(of: "a.daybook").mode == 0o600 && disk.attributes(of: "copy").mode == 0o600)
    try database.close()
  }
}
