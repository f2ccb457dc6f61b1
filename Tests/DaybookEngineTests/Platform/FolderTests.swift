import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

// Names below a directory that is open: what has a name is what was asked for, or it is left alone.

@Suite("Folders")
struct FolderTests {
  enum Kind: CaseIterable { case system, memory, simulated }

  private func withFolder(_ kind: Kind, _ body: (any Disk, any DiskFolder) throws -> Void) throws {
    let disk: any Disk
    var path = "/somewhere"
    switch kind {
    case .memory: disk = MemoryDisk()
    case .simulated: disk = SimulatedDisk(seed: 1)
    case .system:
      disk = SystemDisk()
      path = try disk.resolve(NSTemporaryDirectory() + "/daybook-folder-" + UUID().uuidString)
    }
    try disk.makeDirectory(path)
    defer { if kind == .system { try? FileManager.default.removeItem(atPath: path) } }
    try body(disk, disk.folder(at: path))
  }

  private func write(_ text: String, to file: any DiskFile) throws {
    let buffer = ByteBuffer(capacity: 64)
    buffer.append(utf8: text)
    try file.write(buffer.view, at: 0)
  }

  private func text(_ file: any DiskFile) throws -> String {
    let buffer = ByteBuffer(capacity: 64)
    // Safe: the buffer was made for this many bytes.
    buffer.count = try unsafe file.read(into: buffer.base, count: 64, at: 0)
    return String(decoding: buffer.view.array, as: UTF8.self)
  }

  /// Attributes of this user's, of which the system refuses nothing.
  private func own(_ mode: UInt32) -> FileAttributes { FileAttributes(mode: mode, owner: geteuid(), group: getegid()) }

  private func failure(_ body: () throws -> Void) -> DiskFailure? {
    do { try body() } catch { return error as? DiskFailure }
    return nil
  }

  private func expect(
    _ kind: DiskFailure.Kind, _ path: String, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let found = failure(body)
    #expect(found?.kind == kind && found?.path == path, "\(String(describing: found))", sourceLocation: location)
  }

  @Test("files and folders are made, opened, listed, renamed, linked and removed by name", arguments: Kind.allCases)
  func names(kind: Kind) throws {
    try withFolder(kind) { disk, folder in
      expect(.notFound, folder.place("a")) { _ = try folder.open("a", .readContent) }
      expect(.notFound, folder.place("sub")) { _ = try folder.folder("sub") }
      #expect(try folder.identity(of: "a") == nil)
      let file = try folder.create("a", byteCount: nil, like: own(0o640))
      #expect(try file.attributes().mode == 0o640)
      try write("one", to: file)
      expect(.exists, folder.place("a")) { _ = try folder.create("a", byteCount: 3, like: nil) }
      #expect(try folder.identity(of: "a") == file.identity)
      let sub = try folder.makeFolder("sub", like: own(0o750))
      #expect(try sub.attributes().mode == 0o750 && disk.attributes(of: sub.path).mode == 0o750)
      expect(.exists, folder.place("sub")) { _ = try folder.makeFolder("sub", like: nil) }
      #expect(try folder.entries() == [.init(name: "a", isDirectory: false), .init(name: "sub", isDirectory: true)])
      try folder.link("a", to: sub, "b")
      expect(.exists, folder.place("a")) { try folder.link("a", to: sub, "b") }
      try folder.renameWithoutReplacing("a", to: sub, "c")
      expect(.exists, sub.place("c")) { try sub.renameWithoutReplacing("c", to: sub, "b") }
      try write("two", to: folder.create("d", byteCount: 3, like: nil))
      #expect(try folder.open("d", .readOnly).attributes().mode == 0o600)
      try folder.rename("d", to: sub, "c")
      #expect(try text(sub.open("c", .readContent)) == "two" && text(sub.open("b", .readWrite)) == "one")
      try folder.sync(holding: "sub")
      let again = try disk.folder(holding: sub.path).folder("sub")
      #expect(again.identity == sub.identity && again.path == sub.path)
      #expect(failure { try folder.removeFolder("sub") } != nil)
      try sub.remove("b")
      try sub.checkRemovable("c", ownedBy: .ofUser(andOf: nil))
      try sub.remove("c", ownedBy: .ofUser(andOf: nil))
      try folder.removeFolder("sub")
      #expect(try folder.entries() == [] && folder.folderIfAny("sub") == nil)
    }
  }

  @Test("a name that leads out of its folder is none", arguments: ["", ".", "..", "a/b", "/etc", "a\0b"])
  func names(that name: String) throws {
    try withFolder(.system) { disk, folder in
      for call: () throws -> Void in [
        { _ = try folder.open(name, .readContent) }, { _ = try folder.create(name, byteCount: nil, like: nil) },
        { _ = try folder.folder(name) }, { _ = try folder.makeFolder(name, like: nil) }, { try folder.remove(name) },
        { try folder.removeFolder(name) }, { try folder.rename(name, to: folder, "x") },
        { try folder.link(name, to: folder, "x") }, { _ = try folder.identity(of: name) },
      ] { #expect(failure(call)?.code == ErrorNumber.invalid) }
      _ = try folder.create("y", byteCount: nil, like: nil)
      #expect(failure { try folder.rename("y", to: folder, name) }?.code == ErrorNumber.invalid)
      #expect(failure { try folder.renameWithoutReplacing("y", to: folder, name) }?.code == ErrorNumber.invalid)
      #expect(failure { try folder.link("y", to: folder, name) }?.code == ErrorNumber.invalid)
    }
  }

  /// What may have a name that is none of ours, each planted under its own name.
  private func plant(in path: String, _ body: (_ name: String) throws -> Void) throws {
    let outside = path + ".outside"
    try FileManager.default.createDirectory(atPath: outside + "/folder", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: outside) }
    try Data("mine".utf8).write(to: URL(filePath: outside + "/file"))
    let links = [
      ("link", outside + "/file"), ("folderlink", outside + "/folder"), ("dangling", outside + "/none"),
      ("device", "/dev/null"),
    ]
    for (name, target) in links {
      try FileManager.default.createSymbolicLink(atPath: path + "/" + name, withDestinationPath: target)
    }
    #expect(unsafe mkfifo(path + "/pipe", 0o666) == 0)
    let socket = try makeSocket(path + "/socket")
    defer { close(socket) }
    var names = links.map(\.0) + ["pipe", "socket"]
    #if !canImport(Darwin)
      // Only root makes devices, and not everywhere: null, which is 1:3.
      if unsafe mknod(path + "/null", S_IFCHR | 0o666, 1 << 8 | 3) == 0 { names.append("null") }
    #endif
    for name in names { try body(name) }
    #expect(try String(contentsOfFile: outside + "/file", encoding: .utf8) == "mine")
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside).sorted() == ["file", "folder"])
  }

  private func makeSocket(_ path: String) throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // Safe: the name fits, zero at its end included, and the structures outlive the call.
    let bound = unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      guard bytes.count < buffer.count else { return false }
      unsafe buffer.copyBytes(from: bytes)
      return true
    }
    try #require(bound, "the path of a socket is short")
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, size) }
    }
    try #require(result == 0)
    return descriptor
  }

  @Test("a link, a pipe, a socket or a device under a name is neither opened, nor entered, nor removed")
  func planted() throws {
    try withFolder(.system) { disk, folder in
      try plant(in: folder.path) { name in
        let place = folder.place(name)
        for mode in [OpenMode.readContent, .readOnly, .readWrite] {
          expect(.notRegular, place) { _ = try folder.open(name, mode) }
        }
        expect(.notRegular, place) { _ = try folder.folder(name) }
        expect(.notRegular, place) { _ = try disk.folder(at: place) }
        expect(.notRegular, place) { try folder.remove(name, ownedBy: .anybody) }
        expect(.notRegular, place) { try folder.checkRemovable(name, ownedBy: .anybody) }
        expect(.exists, place) { _ = try folder.create(name, byteCount: nil, like: nil) }
        expect(.exists, place) { _ = try folder.makeFolder(name, like: nil) }
        #expect(try folder.entries().contains(.init(name: name, isDirectory: false)))
        // It gets a second name itself, and goes itself.
        try folder.link(name, to: folder, "second")
        expect(.notRegular, folder.place("second")) { _ = try folder.open("second", .readContent) }
        #expect(try folder.identity(of: "second") == folder.identity(of: name))
        try folder.remove("second")
        try folder.remove(name)
        #expect(try folder.identity(of: name) == nil)
      }
      _ = try folder.makeFolder("sub", like: nil)
      expect(.notRegular, folder.place("sub")) { _ = try folder.open("sub", .readContent) }
      expect(.notRegular, folder.place("sub")) { try folder.remove("sub", ownedBy: .anybody) }
    }
  }

  @Test("a folder that is open stays the one that it is when a link or another folder takes its name")
  func swapped() throws {
    try withFolder(.system) { disk, folder in
      let outside = try folder.makeFolder("outside", like: nil)
      try write("mine", to: outside.create("a", byteCount: nil, like: nil))
      let sub = try folder.makeFolder("sub", like: nil)
      try write("ours", to: sub.create("a", byteCount: nil, like: nil))
      for isLink in [true, false] {
        try folder.rename("sub", to: folder, "moved")
        if isLink {
          try FileManager.default.createSymbolicLink(atPath: sub.path, withDestinationPath: outside.path)
        } else {
          try folder.rename("outside", to: folder, "sub")
        }
        #expect(try text(sub.open("a", .readContent)) == "ours")
        #expect(try folder.identity(of: "sub") != sub.identity && folder.identity(of: "moved") == sub.identity)
        _ = try sub.create("b", byteCount: nil, like: nil)
        try sub.remove("b")
        try sub.setAttributes(FileAttributes(mode: 0o700))
        #expect(try sub.entries().map(\.name) == ["a"])
        if isLink { try folder.remove("sub") } else { try folder.rename("sub", to: folder, "outside") }
        try folder.rename("moved", to: folder, "sub")
        #expect(try text(outside.open("a", .readContent)) == "mine" && outside.entries().count == 1)
      }
    }
  }

  @Test("what belongs to another user is left alone, by root too")
  func foreign() throws {
    try withFolder(.system) { disk, folder in
      let own = try folder.create("own", byteCount: nil, like: nil).attributes()
      try folder.checkRemovable("own", ownedBy: .ofUser(andOf: nil))
      let stranger: UInt32 = 65_534
      if geteuid() == 0 {
        _ = try folder.create("theirs", byteCount: nil, like: nil)
        let sub = try folder.makeFolder("sub", like: nil)
        for name in ["theirs", "sub"] { #expect(unsafe chown(folder.place(name), stranger, stranger) == 0) }
        expect(.foreign, folder.place("theirs")) { try folder.remove("theirs", ownedBy: .ofUser(andOf: own)) }
        #expect(try folder.identity(of: "theirs") != nil)
        try sub.requireOwner(among: .ofUser(andOf: own))
        expect(.foreign, sub.path) { try folder.folder("sub").requireOwner(among: .ofUser(andOf: own)) }
        // The database's owner is one who may have made it.
        let theirs = FileAttributes(mode: 0o600, owner: stranger)
        try folder.folder("sub").requireOwner(among: .ofUser(andOf: theirs))
        try folder.remove("theirs", ownedBy: .ofUser(andOf: theirs))
      } else {
        let etc = try disk.folder(at: "/etc")
        expect(.foreign, "/etc/passwd") { try etc.checkRemovable("passwd", ownedBy: .ofUser(andOf: own)) }
        expect(.foreign, "/etc/passwd") { try etc.remove("passwd", ownedBy: .ofUser(andOf: own)) }
        expect(.foreign, "/etc") { try etc.requireOwner(among: .ofUser(andOf: own)) }
      }
    }
    let others = FileAttributes(mode: 0o644, owner: 4711)
    func contains(_ owners: FileOwners, _ owner: UInt32, group: UInt32 = 9) -> Bool { owners.contains(owner, group: group) }
    #expect(contains(.ofUser(andOf: others), 4711) && !contains(.ofUser(andOf: others), 4712))
    #expect(!contains(.ofWriters(of: others), 4712) && contains(.anybody, 4712))
    #expect(contains(.ofWriters(of: FileAttributes(mode: 0o666, owner: 1)), 4712))
  }

  @Test("a file that is made for an owner is his from the moment on that its name is there")
  func ownedBeforeNamed() throws {
    try withFolder(.system) { disk, folder in
      let user: UInt32 = geteuid() == 0 ? 65_534 : geteuid()
      let attributes = FileAttributes(mode: 0o640, owner: user, group: geteuid() == 0 ? user : getegid())
      let (path, isOver, seen) = (folder.place("a"), Locked(false), Locked((count: 0, wrong: 0)))
      let watcher = Thread {
        while !isOver.withLock({ $0 }) {
          var status = stat()
          guard unsafe lstat(path, &status) == 0 else { continue }
          let isRight = status.st_uid == user && status.st_mode & 0o777 == 0o640
          seen.withLock { $0 = ($0.count + 1, $0.wrong + (isRight ? 0 : 1)) }
        }
        isOver.withLock { $0 = false }
      }
      watcher.start()
      var round = 0
      while round < 300 || seen.withLock({ $0.count < 50 }) {
        round += 1
        try folder.create("a", byteCount: nil, like: attributes).close()
        #expect(failure { try folder.create("a", byteCount: nil, like: attributes).close() }?.kind == .exists)
        try folder.remove("a")
      }
      isOver.withLock { $0 = true }
      while isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
      #expect(seen.withLock { $0.wrong } == 0)
      #expect(try folder.entries().isEmpty)
    }
  }

  #if !os(iOS)
    @Test("what is made was never wider than it is meant to be, whatever the mask")
    func modes() async {
      await #expect(processExitsWith: .success) {
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let status = inChild {
            umask(0)
            guard let file = try? folder.create("a", byteCount: nil, like: nil), (try? file.attributes().mode) == 0o600,
              let wide = try? folder.create("b", byteCount: nil, like: tests.own(0o666)),
              (try? wide.attributes().mode) == 0o666,
              let sub = try? folder.makeFolder("c", like: nil), (try? sub.attributes().mode) == 0o700,
              let open = try? folder.open("d", .createNew), (try? open.attributes().mode) == 0o644
            else { return 1 }
            return 0
          }
          #expect(status == 0)
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("in a folder that may be entered, not listed, names are made, renamed and made durable")
    func enteredOnly() async {
      await #expect(processExitsWith: .success) {
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let sub = try folder.makeFolder("sub", like: nil)
          try tests.write("one", to: sub.create("a", byteCount: nil, like: nil))
          if geteuid() == 0 {
            for path in [folder.path, sub.path, sub.place("a")] { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
          }
          try #require(unsafe chmod(sub.path, 0o300) == 0)
          let status = inChild {
            // Root may list everything.
            if geteuid() == 0, setgid(65_534) != 0 || setuid(65_534) != 0 { return 1 }
            guard let entered = try? disk.folder(holding: sub.place("a")) else { return 2 }
            if (try? entered.entries()) != nil { return 3 }
            guard (try? entered.open("a", .readContent)) != nil, (try? entered.rename("a", to: entered, "b")) != nil else {
              return 4
            }
            guard (try? entered.sync(holding: "b")) != nil, (try? disk.syncDirectory(holding: sub.place("b"))) != nil else {
              return 5
            }
            guard let inner = try? entered.makeFolder("c", like: nil), (try? inner.sync(holding: "x")) != nil else { return 6 }
            // Nothing has the name: nothing was synced, and nothing says otherwise.
            do throws(DiskFailure) { try entered.sync(holding: "a") } catch { return error.operation == .open ? 0 : 7 }
            return 8
          }
          #expect(status == 0)
          try #require(unsafe chmod(sub.path, 0o700) == 0)
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("an unfinished folder or file that another writer has left goes, also when only he may look into it")
    func unfinishedOfAnother() async {
      await #expect(processExitsWith: .success) {
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let own = "daybook-making-0123456789abcdef"
          let full = "daybook-making-1123456789abcdef"
          let foreign = "daybook-making-2123456789abcdef"
          for name in [own, full, foreign] { _ = try folder.makeFolder(name, like: nil) }
          let (file, content) = ("daybook-making-3123456789abcdef", "daybook-making-4123456789abcdef")
          for name in [file, content] { try folder.create(name, byteCount: nil, like: nil).close() }
          try tests.write("text", to: folder.open(content, .readWrite))
          _ = try folder.folder(full).create("a", byteCount: nil, like: nil)
          let (writer, stranger): (UInt32, UInt32) = geteuid() == 0 ? (65_532, 65_533) : (geteuid(), geteuid())
          if geteuid() == 0 {
            for (name, user) in [(own, writer), (full, writer), (foreign, stranger), (file, writer), (content, writer)] {
              #expect(unsafe chown(folder.place(name), user, user) == 0)
            }
            #expect(unsafe chmod(folder.path, 0o777) == 0)
          }
          let status = inChild {
            if geteuid() == 0, setgid(65_534) != 0 || setuid(65_534) != 0 { return 1 }
            folder.removeUnfinishedNames(ownedBy: .ofUser(andOf: FileAttributes(mode: 0o660, owner: writer)))
            return 0
          }
          #expect(status == 0)
          #expect(try folder.entries().map(\.name) == (geteuid() == 0 ? [full, foreign, content] : [full, content]))
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("what root was making for a user when it died does not keep that user from a copy; what others have there does")
    func leftByRoot() async {
      await #expect(processExitsWith: .success) {
        if geteuid() != 0 { return }
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let (user, stranger): (UInt32, UInt32) = (65_534, 65_533)
          let number = "0123456789abcdef"
          #expect(unsafe chown(folder.path, user, user) == 0)
          _ = try folder.makeFolder("daybook-making-" + number, like: nil)
          for (name, owner) in [("copy", 0), ("other", stranger)] {
            let assets = try folder.makeFolder(name, like: FileAttributes(mode: 0o700, owner: user, group: user))
            let inner = try assets.makeFolder("3a", like: FileAttributes(mode: 0o700, owner: user, group: user))
            _ = try assets.makeFolder("daybook-making-" + number, like: nil)
            let made = ["owner.new-" + number, "ingest-\(number)-\(number)", "holder-" + number].map { (assets, $0) }
            for (place, name) in made + [(inner, String(repeating: "3a", count: 32))] {
              _ = try place.create(name, byteCount: nil, like: FileAttributes(mode: 0o600, owner: owner, group: owner))
            }
            let mark = FolderMark(database: 1, folder: assets.identity?.inode, files: [], isUnfinished: true)
            try mark.write(in: assets, like: FileAttributes(mode: 0o600, owner: user, group: user), number: 7)
          }
          func left(by name: String) -> Int32 {
            inChild {
              if setgid(user) != 0 || setuid(user) != 0 { return 1 }
              let owners = FileOwners.ofUser(andOf: FileAttributes(mode: 0o600, owner: user))
              do throws(DiskFailure) { try AssetStore.removeUnfinished(name, in: folder, ownedBy: owners) } catch {
                return error.kind == .foreign ? 2 : 3
              }
              return 0
            }
          }
          #expect(left(by: "copy") == 0)
          #expect(try folder.entries().map(\.name) == ["other"])
          #expect(left(by: "other") >> 8 == 2)
          #expect(try folder.folder("other").entries().count == 5)
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("an empty file that root was making when it died keeps nobody from compacting; one with bytes, or elsewhere, stays")
    func emptyOfRoot() async {
      await #expect(processExitsWith: .success) {
        if geteuid() != 0 { return }
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let user: UInt32 = 65_534
          let (own, foreign) = (try folder.makeFolder("own", like: nil), try folder.makeFolder("foreign", like: nil))
          #expect(unsafe chown(own.path, user, user) == 0 && chmod(foreign.path, 0o777) == 0 && chmod(folder.path, 0o755) == 0)
          let id = "0123456789abcdef"
          for place in [own, foreign] {
            for name in ["a.compacted.new", "a.compacted", "a.unfinished", "holder-" + id] {
              try place.create(name, byteCount: nil, like: nil).close()
            }
          }
          try tests.write("text", to: own.open("a.unfinished", .readWrite))
          func remove(_ name: String, in place: any DiskFolder) -> Int32 {
            inChild {
              if setgid(user) != 0 || setuid(user) != 0 { return 1 }
              // The child's own view of the folder.
              guard let place = try? disk.folder(at: place.path) else { return 2 }
              if name.hasPrefix("holder-") {
                guard AssetHolder.life(of: id, in: place) == .dead else { return 3 }
                return (try? AssetHolder.removeDead(id, in: place, ownedBy: .ofUser(andOf: nil), isOverdue: false)) == nil
                  ? 4 : 0
              }
              let content: Store.LeftoverContent = name.hasSuffix(".new") ? .firstPage : .unfinishedDatabase
              do throws(DiskFailure) {
                try Store.removeUnlocked(place.place(name), content, disk: disk) { .ofUser(andOf: nil) }
              } catch { return 5 }
              return 0
            }
          }
          for name in ["a.compacted.new", "a.compacted", "holder-" + id] {
            #expect(remove(name, in: own) == 0, "\(name)")
            #expect(remove(name, in: foreign) != 0, "\(name)")
          }
          #expect(remove("a.unfinished", in: own) >> 8 == 5)
          #expect(try own.entries().map(\.name) == ["a.unfinished"])
          #expect(try foreign.entries().count == 4)
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("a database in a folder that its user may enter, not list, takes commits, also with a new name")
    func databaseInEnteredFolder() async {
      await #expect(processExitsWith: .success) {
        let tests = FolderTests()
        try tests.withFolder(.system) { disk, folder in
          let sub = try folder.makeFolder("sub", like: nil)
          let path = sub.place("a")
          try KeyValueStore(path, disk: disk, options: .small()).close()
          if geteuid() == 0 {
            for path in [folder.path, sub.path, path] { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
          }
          try #require(unsafe chmod(sub.path, 0o300) == 0)
          let status = inChild {
            if geteuid() == 0, setgid(65_534) != 0 || setuid(65_534) != 0 { return 1 }
            for name in ["a", "b"] {
              guard let store = try? KeyValueStore(sub.place(name), disk: disk, options: .small()) else { return 2 }
              guard (try? store.write { try $0.put("key", [1]) }) != nil, (try? store.close()) != nil else { return 3 }
            }
            return 0
          }
          #expect(status == 0)
          try #require(unsafe chmod(sub.path, 0o700) == 0)
        }
      }
    }
  #endif

  @Test("folders of two disks have no names in common")
  func twoDisks() throws {
    try withFolder(.simulated) { _, folder in
      try withFolder(.memory) { _, other in
        _ = try folder.create("a", byteCount: nil, like: nil)
        #expect(failure { try folder.link("a", to: other, "a") }?.code == ErrorNumber.otherVolume)
        #expect(failure { try folder.rename("a", to: other, "a") }?.code == ErrorNumber.otherVolume)
        try withFolder(.system) { _, system in
          #expect(failure { try folder.link("a", to: system, "a") }?.code == ErrorNumber.otherVolume)
          #expect(failure { try system.link("a", to: folder, "a") }?.code == ErrorNumber.otherVolume)
        }
      }
    }
  }

  @Test("a name is taken without replacing in each of the ways that volumes know", arguments: SystemCall.RenameWay.allCases)
  func waysToRename(way: SystemCall.RenameWay) throws {
    try withFolder(.system) { disk, folder in
      let descriptor = try SystemCall.openDirectory(folder.path, followsLink: false)
      defer { SystemCall.close(descriptor) }
      for name in ["a", "b"] { _ = try folder.create(name, byteCount: nil, like: nil) }
      func rename(_ source: String, _ target: String) throws -> Bool {
        try SystemCall.renameWithoutReplacing(in: descriptor, source, to: descriptor, target, way)
      }
      // What this volume does not know is tried in the next way.
      guard try rename("a", "c") else { return #expect(way == .atOnce) }
      #expect(try folder.entries().map(\.name) == ["b", "c"])
      #expect(throws: SystemError.self) { try rename("b", "c") }
      #expect(throws: SystemError.self) { try rename("none", "d") }
      #expect(try folder.entries().map(\.name) == ["b", "c"])
    }
  }
}
