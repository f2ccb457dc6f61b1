import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

/// Bytes of an array as the view that the seam takes.
private func write(_ bytes: [UInt8], to file: any DiskFile, at offset: Int) throws {
  let buffer = ByteBuffer(capacity: max(16, bytes.count))
  buffer.append(bytes)
  try file.write(buffer.view, at: offset)
}

private func read(_ file: any DiskFile, count: Int, at offset: Int) throws -> [UInt8] {
  var bytes = [UInt8](repeating: 0xee, count: count)
  // Safe: the array owns `count` bytes.
  let received = try unsafe bytes.withUnsafeMutableBytes { buffer in
    guard let base = buffer.baseAddress else { return 0 }
    return try unsafe file.read(into: base, count: count, at: offset)
  }
  return Array(bytes.prefix(received))
}

private func mapped(_ file: any DiskFile, _ range: Range<Int>) -> [UInt8] {
  // Safe: the caller mapped the range.
  unsafe [UInt8](UnsafeRawBufferPointer(start: file.base + range.lowerBound, count: range.count))
}

/// The promises of the seam that all three disks keep.
@Suite("Disks", .serialized)
struct DiskTests {
  @Test(
    "directories are made, listed, renamed with all they hold, and removed when they hold nothing", arguments: DiskKind.allCases
  )
  func directories(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let (outer, inner) = (directory + "/outer", directory + "/outer/inner")
      func code(_ body: () throws -> Void) -> DiskFailure.Kind? {
        do { try body() } catch { return (error as? DiskFailure)?.kind }
        return nil
      }
      #expect(code { _ = try disk.entries(of: outer) } == .notFound)
      #expect(try !disk.exists(outer))
      try disk.makeDirectory(outer)
      try disk.makeDirectory(inner)
      #expect(try disk.exists(outer))
      #expect(code { try disk.makeDirectory(outer) } == .exists)
      #expect(code { _ = try disk.open(outer, .createNew) } == .exists)
      try write([1], to: try disk.create(inner + "/a", byteCount: 1), at: 0)
      try write([2], to: try disk.create(outer + "/b", byteCount: 1), at: 0)
      #expect(code { _ = try disk.create(outer + "/b", byteCount: 1) } == .exists)
      #expect(try disk.entries(of: outer) == [.init(name: "b", isDirectory: false), .init(name: "inner", isDirectory: true)])
      #expect(try disk.entries(of: inner) == [.init(name: "a", isDirectory: false)])
      #expect(code { try disk.removeDirectory(inner) } != nil)
      try disk.rename(outer, to: directory + "/moved")
      #expect(code { _ = try disk.entries(of: outer) } == .notFound)
      #expect(try read(disk.open(directory + "/moved/inner/a", .readOnly), count: 9, at: 0) == [1])
      try disk.remove(directory + "/moved/inner/a")
      try disk.removeDirectory(directory + "/moved/inner")
      #expect(try disk.entries(of: directory + "/moved").map(\.name) == ["b"])
      #expect(code { try disk.removeDirectory(inner) } == .notFound)
    }
  }

  @Test("a link is a second name of the same bytes, and takes no name that is there", arguments: DiskKind.allCases)
  func links(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let (first, second) = (directory + "/a", directory + "/b")
      let file = try disk.open(first, .createNew)
      try write([1, 2], to: file, at: 0)
      try disk.link(first, to: second)
      #expect(try disk.identity(of: first) == disk.identity(of: second))
      #expect(throws: DiskFailure.self) { try disk.link(first, to: second) }
      #expect(throws: DiskFailure.self) { try disk.link(directory + "/none", to: directory + "/c") }
      try disk.remove(first)
      try write([3], to: file, at: 2)
      try file.makeReadOnly()
      #expect(try read(disk.open(second, .readOnly), count: 9, at: 0) == [1, 2, 3])
    }
  }

  @Test("a range is copied inside the system, or not at all", arguments: DiskKind.allCases)
  func copiedRange(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 * 3) }
      let source = try disk.open(directory + "/a", .createNew)
      try write(bytes, to: source, at: 0)
      let target = try disk.create(directory + "/b", byteCount: bytes.count)
      var offset = 0
      while let count = try target.copyRange(of: source, at: offset, count: 4096), count > 0 { offset += count }
      #expect(kind == .system ? offset == bytes.count || offset == 0 : offset == 0)
      #expect(try read(target, count: 20_000, at: 0) == Array(bytes.prefix(offset)))
      // Another disk's file is none of the system's business.
      let other = try MemoryDisk().open("/x", .createNew)
      #expect(try target.copyRange(of: other, at: 0, count: 1) == nil)
    }
  }

  @Test("bytes come back, and reads stop at the end of the file", arguments: DiskKind.allCases)
  func roundTrip(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let file = try disk.open(directory + "/a", .createNew)
      #expect(try file.byteCount() == 0)
      try write([1, 2, 3, 4], to: file, at: 6)
      #expect(try file.byteCount() == 10)
      #expect(try read(file, count: 100, at: 4) == [0, 0, 1, 2, 3, 4])
      #expect(try read(file, count: 5, at: 10) == [])
      #expect(try read(file, count: 5, at: 1000) == [])
      try file.sync(.full)
      try file.sync(.barrier)
      try disk.syncDirectory(holding: directory + "/a")
    }
  }

  @Test("a file cut and grown again has zeros where it was cut", arguments: DiskKind.allCases)
  func truncate(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let file = try disk.open(directory + "/a", .createNew)
      try write([UInt8](repeating: 7, count: 20_000), to: file, at: 0)
      try file.truncate(to: 100)
      #expect(try file.byteCount() == 100)
      try file.truncate(to: 20_000)
      let expected = [UInt8](repeating: 7, count: 100) + [UInt8](repeating: 0, count: 19_900)
      #expect(try read(file, count: 20_000, at: 0) == expected)
    }
  }

  @Test("a mapping follows later writes, and its base never moves", arguments: DiskKind.allCases)
  func mapping(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let writer = try disk.open(directory + "/a", .createNew)
      try write([1, 2, 3], to: writer, at: 0)
      let reader = try disk.open(directory + "/a", .readOnly)
      try reader.map(upTo: 3)
      let base = unsafe UInt(bitPattern: reader.base)
      #expect(mapped(reader, 0..<3) == [1, 2, 3])
      try write([9, 8, 7], to: writer, at: 2)
      try reader.map(upTo: 5)
      #expect(mapped(reader, 0..<5) == [1, 2, 9, 8, 7])
      // Into the third piece of 64 MB; the file is sparse.
      let far = 130 << 20
      try write([5, 6], to: writer, at: far)
      try reader.map(upTo: far + 2)
      #expect(mapped(reader, far..<far + 2) == [5, 6])
      #expect(mapped(reader, 0..<5) == [1, 2, 9, 8, 7])
      #expect(unsafe UInt(bitPattern: reader.base) == base)
    }
  }

  @Test("many threads may map at once", arguments: DiskKind.allCases)
  func mappingByManyThreads(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let file = try disk.open(directory + "/a", .createNew)
      try write([42], to: file, at: (300 << 20) - 1)
      let failures = Locked(0)
      DispatchQueue.concurrentPerform(iterations: 8) { index in
        for step in 1...30 {
          do {
            try file.map(upTo: step * 10 << 20)
            if step == 30 && mapped(file, (300 << 20) - 1..<300 << 20) != [42] { failures.withLock { $0 += 1 } }
          } catch { failures.withLock { $0 += 1 } }
        }
      }
      #expect(failures.withLock { $0 } == 0)
    }
  }

  @Test(
    "a file in memory that grows in pieces holds what was written, and zeros elsewhere",
    arguments: 1...20 as ClosedRange<UInt64>)
  func pieces(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let page = SystemCall.memoryPageByteCount
    let file = try MemoryDisk(inPlaceByteCount: 2 * page, pieceByteCount: page).open("/a", .createNew)
    var model: [UInt8] = []
    for step in 0..<200 {
      let offset = Int.random(in: 0...8 * page, using: &generator)
      switch Int.random(in: 0..<8, using: &generator) {
      case 0:
        try file.truncate(to: offset)
        model = Array(model.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - model.count))
      case 1..<5:
        let bytes = [UInt8](repeating: UInt8(step & 255), count: Int.random(in: 0...2 * page, using: &generator))
        try write(bytes, to: file, at: offset)
        if bytes.isEmpty { break }
        if model.count < offset + bytes.count { model += [UInt8](repeating: 0, count: offset + bytes.count - model.count) }
        model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      default:
        let count = Int.random(in: 0...3 * page, using: &generator)
        #expect(try read(file, count: count, at: offset) == Array(model.dropFirst(offset).prefix(count)))
      }
    }
    #expect(try read(file, count: model.count + 1, at: 0) == model)
    #expect(mapped(file, 0..<min(2 * page, model.count)) == Array(model.prefix(2 * page)))
    try file.map(upTo: min(2 * page, model.count))
    #expect(throws: DiskFailure.self) { try file.map(upTo: 2 * page + 1) }
    #expect(throws: DiskFailure.self) { try file.truncate(to: .max) }
    file.close()
  }

  @Test("a file that claims to be as long as a number can be is refused, and ends no process")
  func longestFile() throws {
    for byteCount in [Int.max, .max - 1, .max - 4095, .max >> 1, (.max >> 1) + 1] {
      #expect(SystemFile.wholePieces(byteCount) > Int.max >> 2)
      #expect(AddressSpace.reservation(forFileOf: byteCount) > 0)
    }
    #expect(SystemFile.wholePieces(1) == SystemFile.wholePieces(64 << 20))
    #expect(SystemFile.wholePieces((64 << 20) + 1) == 128 << 20)
    // Where the file system lets a file have such a length.
    try DiskKind.system.use { disk, directory in
      let file = try disk.open(directory + "/long", .createNew)
      defer { file.close() }
      guard (try? file.truncate(to: .max)) != nil else { return }
      #expect(throws: DiskFailure.self) { try file.map(upTo: .max) }
    }
  }

  @Test("an exclusive lock shuts out other descriptions, a shared one only exclusive ones", arguments: DiskKind.allCases)
  func locks(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let first = try disk.open(directory + "/a", .createNew)
      let second = try disk.open(directory + "/a", .readWrite)
      let reader = try disk.open(directory + "/a", .readOnly)
      #expect(try first.tryLock(.writer, .exclusive))
      #expect(try first.tryLock(.writer, .exclusive), "its own lock is in nobody's way")
      #expect(try !second.tryLock(.writer, .exclusive))
      #expect(try !second.tryLock(.writer, .shared))
      #expect(try second.tryLock(.readers, .shared), "the two bytes are independent")
      #expect(try reader.tryLock(.readers, .shared))
      #expect(try !first.tryLock(.readers, .exclusive))
      second.unlock(.readers)
      #expect(try !first.tryLock(.readers, .exclusive))
      reader.close()
      #expect(try first.tryLock(.readers, .exclusive), "closing gives locks back")
      // POSIX record locks would go with the first close of any description; these must not.
      second.close()
      let third = try disk.open(directory + "/a", .readWrite)
      #expect(try !third.tryLock(.writer, .exclusive))
      first.unlock(.writer)
      #expect(try third.tryLock(.writer, .exclusive))
    }
  }

  @Test("a rename replaces its target, and open descriptions keep what they have", arguments: DiskKind.allCases)
  func rename(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let old = try disk.open(directory + "/a", .createNew)
      try write([1], to: old, at: 0)
      let new = try disk.open(directory + "/b", .createNew)
      try write([2], to: new, at: 0)
      #expect(old.identity != new.identity)
      try disk.rename(directory + "/b", to: directory + "/a")
      #expect(try disk.identity(of: directory + "/a") == new.identity)
      #expect(try disk.identity(of: directory + "/b") == nil)
      #expect(try !disk.exists(directory + "/b"))
      #expect(try read(old, count: 1, at: 0) == [1])
      try disk.remove(directory + "/a")
      #expect(try read(new, count: 1, at: 0) == [2])
      #expect(try !disk.exists(directory + "/a"))
    }
  }

  @Test("a rename without replacing takes a free name, and refuses a taken one", arguments: DiskKind.allCases)
  func renameWithoutReplacing(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let old = try disk.open(directory + "/a", .createNew)
      let new = try disk.open(directory + "/b", .createNew)
      expect(.rename, .exists) { try disk.renameWithoutReplacing(directory + "/b", to: directory + "/a") }
      #expect(try disk.identity(of: directory + "/a") == old.identity)
      #expect(try disk.identity(of: directory + "/b") == new.identity)
      expect(.rename, .exists) { try disk.renameWithoutReplacing(directory + "/b", to: directory + "/b") }
      try disk.renameWithoutReplacing(directory + "/b", to: directory + "/c")
      #expect(try disk.identity(of: directory + "/c") == new.identity)
      #expect(try !disk.exists(directory + "/b"))
      expect(.rename, .notFound) { try disk.renameWithoutReplacing(directory + "/b", to: directory + "/d") }
      #expect(try !disk.exists(directory + "/d"))
    }
  }

  @Test("a name is taken without replacing in each of the ways that volumes know", arguments: SystemCall.RenameWay.allCases)
  func waysToRename(way: SystemCall.RenameWay) throws {
    try DiskKind.system.use { disk, directory in
      for name in ["/a", "/b"] { try write(Array(name.utf8), to: disk.open(directory + name, .createNew), at: 0) }
      func rename(_ source: String, _ target: String) throws -> Bool {
        try SystemCall.renameWithoutReplacing(directory + source, to: directory + target, way)
      }
      // What this volume does not know is tried in the next way.
      guard try rename("/a", "/c") else { return #expect(way == .atOnce) }
      #expect(try disk.entries(of: directory).map(\.name) == ["b", "c"])
      #expect(try read(disk.open(directory + "/c", .readOnly), count: 9, at: 0) == Array("/a".utf8))
      #expect(throws: SystemError.self) { try rename("/b", "/c") }
      #expect(throws: SystemError.self) { try rename("/none", "/d") }
      #expect(try disk.entries(of: directory).map(\.name) == ["b", "c"])
      #expect(try read(disk.open(directory + "/c", .readOnly), count: 9, at: 0) == Array("/a".utf8))
      let successes = Locked(0)
      for number in 0..<8 { try write([UInt8(number)], to: disk.open(directory + "/n\(number)", .createNew), at: 0) }
      try onThreads(8) { number in
        let source = directory + "/n\(number)"
        if (try? SystemCall.renameWithoutReplacing(source, to: directory + "/one", way)) == true {
          successes.withLock { $0 += 1 }
        }
      }
      #expect(successes.withLock { $0 } == 1)
      #expect(try disk.open(directory + "/one", .readOnly).byteCount() == 1)
      #expect(try disk.entries(of: directory).count == 10)
    }
  }

  @Test("a path leads to a file through links, also to one that is not there yet, and not in circles")
  func resolvedPaths() throws {
    try DiskKind.system.use { disk, directory in
      let base = try disk.resolve(directory)
      try disk.makeDirectory(base + "/real")
      func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: base + name, withDestinationPath: target)
      }
      try link("/folder", to: "real")
      try link("/file", to: base + "/folder/a")
      try link("/chain", to: "./file")
      try link("/circle", to: "circle")
      for isThere in [false, true] {
        if isThere { _ = try disk.open(base + "/real/a", .createNew) }
        for name in ["/real/a", "/folder/a", "/file", "/chain", "/real/../folder//a"] {
          #expect(try disk.resolve(base + name) == base + "/real/a")
        }
      }
      #expect(throws: DiskFailure.self) { try disk.resolve(base + "/circle") }
      #expect(throws: DiskFailure.self) { try disk.resolve(base + "/none/a") }
      #expect(throws: DiskFailure.self) { try disk.resolve("") }
      let working = FileManager.default.currentDirectoryPath
      let up = String(repeating: "../", count: working.split(separator: "/").count)
      #expect(try disk.resolve(up + base.dropFirst() + "/real/b") == base + "/real/b")
    }
  }

  #if !os(iOS)
    @Test("no file gets the number of standard input, output or error, where those are closed")
    func standardDescriptors() async {
      await #expect(processExitsWith: .success) {
        try DiskKind.system.use { disk, directory in
          let status = inChild {
            for number in Int32(0)...2 { close(number) }
            guard let file = try? disk.open(directory + "/a", .createNew), (try? file.byteCount()) == 0 else { return 1 }
            for number in Int32(0)...2 where fcntl(number, F_GETFD) != -1 { return 2 }
            return (try? disk.open(directory + "/a", .readWrite)) == nil ? 3 : 0
          }
          #expect(status == 0)
        }
      }
    }
  #endif

  #if !os(iOS)
    @Test("a child process gives back no lock of its parent's", arguments: [LockByte.writer, .readers])
    func locksAfterFork(byte: LockByte) async {
      await #expect(processExitsWith: .success) { [lock = byte.rawValue as Int] in
        let byte = try #require(LockByte(rawValue: lock))
        try DiskKind.system.use { disk, directory in
          let file = try disk.open(directory + "/a", .createNew)
          #expect(try file.tryLock(byte, .exclusive))
          let status = inChild {
            file.unlock(byte)
            file.close()
            return 0
          }
          #expect(status == 0)
          #expect(try !disk.open(directory + "/a", .readWrite).tryLock(byte, .shared))
          // Nor does one that lives on keep a lock that its parent gives back by closing.
          let child = forkProcess()
          if child == 0 {
            limitChild(seconds: 30)
            while true { SystemClock.sleep(nanoseconds: 1_000_000_000) }
          }
          file.close()
          #expect(try disk.open(directory + "/a", .readWrite).tryLock(byte, .exclusive))
          kill(child, SIGKILL)
          #expect(waitForChild(child) != 0)
        }
      }
    }
  #endif

  @Test("of many threads that rename to one name without replacing, one succeeds", arguments: DiskKind.allCases)
  func renameWithoutReplacingByManyThreads(kind: DiskKind) throws {
    try kind.use { disk, directory in
      for round in 0..<20 {
        for index in 0..<4 { _ = try disk.open(directory + "/\(round)-\(index)", .createNew) }
        let winners = Locked<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { index in
          do {
            try disk.renameWithoutReplacing(directory + "/\(round)-\(index)", to: directory + "/\(round)")
            winners.withLock { $0.append(index) }
          } catch {
            if (error as? DiskFailure)?.kind != .exists { winners.withLock { $0.append(-1) } }
          }
        }
        let winner = winners.withLock { $0 }
        #expect(winner.count == 1)
        for index in 0..<4 { #expect(try disk.exists(directory + "/\(round)-\(index)") == !winner.contains(index)) }
      }
    }
  }

  @Test("failures are typed and carry what was tried", arguments: DiskKind.allCases)
  func failures(kind: DiskKind) throws {
    try kind.use { disk, directory in
      let missing = directory + "/missing"
      expect(.open, .notFound) { _ = try disk.open(missing, .readWrite) }
      expect(.open, .notFound) { _ = try disk.open(missing, .readOnly) }
      expect(.remove, .notFound) { try disk.remove(missing) }
      expect(.rename, .notFound) { try disk.rename(missing, to: directory + "/x") }
      let file = try disk.open(directory + "/a", .createNew)
      expect(.create, .exists) { _ = try disk.open(directory + "/a", .createNew) }
      let reader = try disk.open(directory + "/a", .readOnly)
      expect(.write, .other, offset: 5, byteCount: 2) { try write([1, 2], to: reader, at: 5) }
      file.close()
      file.close()
      file.unlock(.writer)
      expect(.sync, .closed) { try file.sync(.full) }
      expect(.write, .closed) { try write([1], to: file, at: 0) }
      expect(.status, .closed) { _ = try file.byteCount() }
      expect(.map, .closed) { try file.map(upTo: 1) }
      expect(.lock, .closed) { _ = try file.tryLock(.writer, .shared) }
    }
  }

  @Test("a file without a name is given back piece by piece, but never under somebody who still has it open")
  func closingRemovedFiles() throws {
    try DiskKind.system.use { disk, directory in
      let path = directory + "/a"
      let bytes = [UInt8](repeating: 7, count: 2 << 20)
      /// How many pieces were given back.
      func close(_ file: any DiskFile, atMost limit: Int = .max) -> Int {
        var count = 0
        file.closeRemoved {
          if count == limit { return false }
          count += 1
          return true
        }
        expect(.status, .closed) { _ = try file.byteCount() }
        return count
      }
      func makeFile() throws -> any DiskFile {
        let file = try disk.open(path, .createNew)
        try write(bytes, to: file, at: 0)
        try file.map(upTo: bytes.count)
        return file
      }
      // It has its name.
      #expect(close(try makeFile()) == 0)
      #expect(try disk.open(path, .readOnly).byteCount() == bytes.count)

      // Somebody reads it.
      let read = try disk.open(path, .readWrite)
      let reader = try disk.open(path, .readOnly)
      try reader.map(upTo: bytes.count)
      try disk.remove(path)
      #expect(close(read) == 0)
      #expect(mapped(reader, 0..<bytes.count) == bytes)
      reader.close()

      // It has another name.
      let linked = try makeFile()
      try disk.link(path, to: directory + "/b")
      try disk.remove(path)
      #expect(close(linked) == 0)
      #expect(try disk.open(directory + "/b", .readOnly).byteCount() == bytes.count)

      for limit in [.max, 1] {
        let alone = try makeFile()
        try disk.remove(path)
        let count = close(alone, atMost: limit)
        #if os(Linux)
          #expect(count == min(limit, 4))
        #else
          #expect(count == 0)
        #endif
      }
    }
  }

  private func expect(
    _ operation: DiskFailure.Operation, _ kind: DiskFailure.Kind, offset: Int? = nil, byteCount: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    do {
      try body()
      Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
      let failure = error as? DiskFailure
      #expect(failure?.operation == operation, sourceLocation: sourceLocation)
      #expect(failure?.kind == kind, sourceLocation: sourceLocation)
      #expect(failure?.offset == offset, sourceLocation: sourceLocation)
      #expect(failure?.byteCount == byteCount, sourceLocation: sourceLocation)
    }
  }

  @Test("a path with a zero byte names no file")
  func zeroByteInPath() throws {
    try DiskKind.system.use { disk, directory in
      _ = try disk.open(directory + "/a", .createNew)
      expect(.open, .other) { _ = try disk.open(directory + "/a\0b", .readWrite) }
    }
  }

  @Test("closing beside writes is safe: each write arrives or says that the file is closed")
  func closeBesideWrites() throws {
    try DiskKind.system.use { disk, directory in
      for round in 0..<50 {
        let file = try disk.open(directory + "/\(round)", .createNew)
        let odd = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 4) { index in
          if index == 3 { return file.close() }
          for step in 0..<20 {
            do { try write([1], to: file, at: step) } catch {
              if (error as? DiskFailure)?.kind != .closed { odd.withLock { $0 += 1 } }
            }
          }
        }
        #expect(odd.withLock { $0 } == 0)
      }
    }
  }

  @Test("the directory of a path")
  func directories() {
    #expect(directory(holding: "a") == ".")
    #expect(directory(holding: "/a") == "/")
    #expect(directory(holding: "x/y/a") == "x/y")
    #expect(directory(holding: "x/\u{301}a") == "x", "a mark that joins the slash to one character")
  }
}
