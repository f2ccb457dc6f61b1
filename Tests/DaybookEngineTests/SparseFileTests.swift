import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import DaybookEngine

// Files that claim to be longer than what is in them: holes mean what zeros mean, and nobody reads them.

/// A disk that counts the bytes which are read, and may say where holes are.
private final class SparseDisk<Base: Disk>: ForwardingDisk {
  let disk: Base
  let readByteCount = Atomic(0)
  /// Blocks of 4096 bytes that no file has; nil where the files themselves tell.
  let holes: Set<Int>?

  init(_ disk: Base, holes: Set<Int>? = nil) {
    self.disk = disk
    self.holes = holes
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    SparseFile(try disk.open(path, mode), holes) { self.readByteCount.wrappingAdd($0, ordering: .relaxed) }
  }
}

private final class SparseFile: ForwardingFile {
  let file: any DiskFile
  let holes: Set<Int>?
  let onRead: @Sendable (Int) -> Void

  init(_ file: any DiskFile, _ holes: Set<Int>?, _ onRead: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.file = file
    self.holes = holes
    self.onRead = onRead
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    onRead(count)
    // Safe: the caller's word, handed on.
    return unsafe try file.read(into: target, count: count, at: offset)
  }

  func contentStart(from offset: Int) -> Int {
    guard let holes else { return file.contentStart(from: offset) }
    guard let byteCount = try? file.byteCount() else { return offset }
    var position = offset
    while position < byteCount, holes.contains(position / 4096) { position = (position / 4096 + 1) * 4096 }
    return position < byteCount ? position : .max
  }
}

/// The temporary folder's file system tells of holes.
private let hasHoles: Bool = {
  var result = false
  try? withDirectory { directory in
    let file = try SystemDisk().open(directory + "/probe", .createNew)
    defer { file.close() }
    try file.truncate(to: 1 << 40)
    result = file.contentStart(from: 0) == .max
  }
  return result
}()

@Suite("Files with holes")
struct SparseFileTests {
  // MARK: the same answers

  /// A log with stretches of zeros and strange things behind it and in it, and which of its blocks of zeros are holes.
  private func image(_ generator: inout SeededGenerator) throws -> (bytes: [UInt8], holes: Set<Int>) {
    let specimen = try Specimen.typical(.small(seed: UInt64.random(in: 1...99, using: &generator)))
    var bytes = specimen.bytes
    let frames = try specimen.frames
    bytes += [UInt8](repeating: 0, count: Int.random(in: 0...400_000, using: &generator))
    let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    for _ in 0..<Int.random(in: 0...4, using: &generator) {
      let start = Int.random(in: 4096..<bytes.count - 8200, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        for index in start..<start + Int.random(in: 1...5000, using: &generator) { bytes[index] = UInt8(index & 0xff) }
      case 1:
        for index in start..<start + Int.random(in: 1...8192, using: &generator) { bytes[index] = 0 }
      case 2:
        bytes[start] ^= 1
      default:
        // A frame that holds, far behind: of a commit that was lost, or of nobody.
        let offset = start & ~7
        let last = try #require(frames.randomElement(using: &generator))
        let buffer = ByteBuffer(capacity: 8192)
        buffer.append(zeros: FrameHeader.byteCount)
        buffer.append(zeros: Int.random(in: 0...1, using: &generator) * 4096)
        var header = FrameHeader(
          kind: [.commit, .part, .note, .pages][Int.random(in: 0..<4, using: &generator)], offset: UInt64(offset),
          number: last.number + UInt64.random(in: 0...3, using: &generator), sequence: max(1, last.sequence),
          previous: last.checksum, durableThrough: last.number - 1, newestCheckpoint: 0, olderCheckpoint: 0)
        header.seal(into: buffer, salt: salt)
        for index in 0..<buffer.count { bytes[offset + index] = buffer.view[index] }
      }
    }
    var holes: Set<Int> = []
    for block in 0..<bytes.count / 4096 where bytes[block * 4096..<(block + 1) * 4096].allSatisfy({ $0 == 0 }) {
      if Int.random(in: 0..<20, using: &generator) > 0 { holes.insert(block) }
    }
    return (bytes, holes)
  }

  private func expectSame(_ one: LogReader, _ other: LogReader, _ what: String) throws {
    #expect(one.lastHeader() == other.lastHeader(), "\(what)")
    var offset: UInt64 = 0
    while let header = one.nextHeader(from: offset) {
      #expect(header == other.nextHeader(from: offset), "\(what)")
      offset = header.offset + 8
    }
    #expect(other.nextHeader(from: offset) == nil, "\(what)")
    for start in [0, 4097, 9000, one.end / 2, one.end - 5000, one.end] as [UInt64] {
      #expect(one.contentEnd(from: start) == other.contentEnd(from: start), "\(what)")
      for end in [one.end, one.end - 4000, start + 1000, start] where end >= start && end <= one.end {
        #expect(one.hasContent(in: start..<end) == other.hasContent(in: start..<end), "\(what)")
      }
    }
    for (plan, same) in [
      (try one.plan(), try other.plan()), (try one.planFromStart(), try other.planFromStart()),
      (try one.plan(skipping: 1), try other.plan(skipping: 1)),
    ] {
      var (expected, found) = (plan, same)
      #expect(expected.skips == found.skips, "\(what)")
      // A dictionary is printed in any order.
      (expected.skips, found.skips) = ([:], [:])
      #expect("\(expected)" == "\(found)", "\(what)")
    }
  }

  @Test("every search says the same with the holes and without", arguments: testSeeds(1...20))
  func sameAnswers(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let (bytes, holes) = try image(&generator)
    let disk = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
    disk.install(bytes, at: storePath)
    let file = try disk.open(storePath, .readOnly)
    let sparse = SparseFile(file, holes)
    let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    let plain = LogReader(LogWindow(file, byteCount: bytes.count), salt: salt)
    for step in [4096, 16_384, 65_536] {
      let window = LogWindow(sparse, byteCount: bytes.count, holeStepByteCount: step)
      try expectSame(plain, LogReader(window, salt: salt), "seed \(seed), step \(step)")
      try bytes.withView { view in
        let mapped = LogReader(
          view, salt: salt, holes: LogHoles.ofLog(sparse, byteCount: bytes.count, stepByteCount: step))
        try expectSame(plain, mapped, "seed \(seed), step \(step), mapped")
      }
    }
  }

  /// What a salvage finds, as text.
  private func salvaged(_ disk: some Disk, holeStepByteCount: Int) throws -> String {
    let reader = try SalvageReader(storePath, disk: disk, holeStepByteCount: holeStepByteCount)
    var text = ""
    try reader.forEachCommit(progress: { _ in true }) { (commit) throws(StoreError) in
      text += "\(commit.sequence) \(commit.isWhole)"
      for index in 0..<commit.count { text += " \(commit.operation(index).map { "\($0.array)" } ?? "nil")" }
      text += "\n"
    }
    return text + "\(reader.losses)"
  }

  @Test("a salvage finds the same with the holes and without, with the first page and without", arguments: testSeeds(1...8))
  func sameSalvage(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var (bytes, holes) = try image(&generator)
    if seed % 2 == 0 { for index in 0..<4096 { bytes[index] = 0 } }
    let disk = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
    disk.install(bytes, at: storePath)
    let plain = Result { try salvaged(disk, holeStepByteCount: 1 << 30) }
    let sparse = Result { try salvaged(SparseDisk(disk, holes: holes), holeStepByteCount: 4096) }
    #expect("\(plain)" == "\(sparse)", "seed \(seed)")
  }

  // MARK: terabytes of nothing

  private static let claimedByteCount = 4 << 40

  private func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions.small()
    options.access = access
    return options
  }

  /// A store with three values, whose file then claims to be as long as many disks.
  private func makeBook(_ path: String, byteCount: Int = claimedByteCount) throws {
    let store = try KeyValueStore(path, disk: SystemDisk(), options: .small())
    for number in 1...3 { try store.put("key \(number)", filler(number, 300)) }
    try store.close()
    let file = try SystemDisk().open(path, .readWrite)
    defer { file.close() }
    try file.truncate(to: byteCount)
  }

  private func byteCounts(_ path: String) throws -> (claimed: Int, allocated: Int) {
    let file = try #require(try SystemDisk().open(path, .readOnly) as? SystemFile)
    defer { file.close() }
    let status = try file.status()
    return (status.byteCount, status.allocatedByteCount)
  }

  @Test(
    "a file that claims terabytes is opened, checked, salvaged, written and closed in some megabytes of reads",
    .enabled(if: hasHoles), arguments: [StoreOptions.Access.mapped, .buffered])
  func claimsTerabytes(access: StoreOptions.Access) throws {
    try withDirectory { directory in
      let path = directory + "/book"
      try makeBook(path)
      let disk = SparseDisk(SystemDisk())
      var salvagedCount = 0
      try SalvageReader(path, disk: disk).forEachCommit(progress: { _ in true }) { (commit) throws(StoreError) in
        salvagedCount += commit.count
      }
      #expect(salvagedCount == 3)
      let reader = try KeyValueStore(path, disk: disk, options: options(access).readOnly)
      #expect(try reader.value("key 2") == filler(2, 300))
      try reader.close()
      let store = try KeyValueStore(path, disk: disk, options: options(access))
      #expect(try store.value("key 3") == filler(3, 300))
      let (current, pin) = try store.stores.beginRead()
      #expect(try current.check(pin).isClean)
      current.endRead(pin)
      try store.put("key 4", [4])
      try store.close()
      // The end that nobody had written is gone.
      #expect(try byteCounts(path).claimed < 1 << 20)
      #expect(disk.readByteCount.load(ordering: .relaxed) < 400 << 20)
    }
  }

  @Test("a file of nothing but holes is refused at once", .enabled(if: hasHoles))
  func nothingButHoles() throws {
    try withDirectory { directory in
      let path = directory + "/book"
      let file = try SystemDisk().open(path, .createNew)
      try file.truncate(to: Self.claimedByteCount)
      file.close()
      let disk = SparseDisk(SystemDisk())
      #expect(throws: StoreError.self) { _ = try KeyValueStore(path, disk: disk, options: .small()) }
      #expect(throws: StoreError.self) { _ = try SalvageReader(path, disk: disk) }
      #expect(disk.readByteCount.load(ordering: .relaxed) < 100 << 20)
    }
  }

  @Test("what stands behind terabytes of holes is torn, and repaired without filling the disk", .enabled(if: hasHoles))
  func repairedInPlace() throws {
    try withDirectory { directory in
      let path = directory + "/book"
      try makeBook(path, byteCount: 1 << 40)
      // A commit that holds, two behind the last one, which nothing proves.
      let file = try SystemDisk().open(path, .readWrite)
      try file.map(upTo: 1 << 20)
      let log = try LogReader(
        unsafe ByteView(file.base, count: 1 << 20),
        salt: FileHeader(unsafe ByteView(file.base, count: 4096)).salt)
      let last = try #require(try log.planFromStart().last)
      // Not so far that a disk would be full, were all of it written.
      let place = 1 << 33
      let frame = ByteBuffer(capacity: 4096)
      frame.append(zeros: FrameHeader.byteCount)
      frame.append(filler(1, 500))
      var header = FrameHeader(
        kind: .commit, offset: UInt64(place), number: last.number + 2, sequence: last.sequence + 2, previous: 0,
        durableThrough: 0, newestCheckpoint: 0, olderCheckpoint: 0)
      header.seal(into: frame, salt: log.salt)
      try file.write(frame.view, at: place)
      file.close()
      let store = try KeyValueStore(path, disk: SystemDisk(), options: .small())
      #expect(try store.value("key 3") == filler(3, 300))
      #expect(store.store.recovery.discardedByteCount > 1 << 32)
      let copy = try #require(store.store.recovery.discardedCopyPath)
      // Both have the commit far behind, and no block for what lies before it.
      #expect(try byteCounts(copy).claimed > 1 << 32)
      #expect(try byteCounts(copy).allocated < 8 << 20)
      #expect(try byteCounts(path).allocated < 16 << 20)
      try store.close()
      let again = try KeyValueStore(path, disk: SystemDisk(), options: .small())
      #expect(again.store.recovery.wasClosed)
      try again.close()
    }
  }

  @Test("a frame that ends in zeros counts, also where they lie in a hole", .enabled(if: hasHoles))
  func zerosInAHole() throws {
    try withDirectory { directory in
      let (path, copy) = (directory + "/book", directory + "/copy")
      let value = filler(1, 5000) + [UInt8](repeating: 0, count: 40 << 20)
      let store = try KeyValueStore(path, disk: SystemDisk(), options: .small())
      try store.put("long", value)
      try store.put("short", [1])
      try store.close()
      // As a copy that leaves zeros out makes it.
      let (source, target) = (try SystemDisk().open(path, .readOnly), try SystemDisk().open(copy, .createNew))
      let byteCount = try source.byteCount()
      let block = ByteBuffer(capacity: 4096)
      for offset in stride(from: 0, to: byteCount, by: 4096) {
        block.count = unsafe try source.read(into: block.base, count: min(4096, byteCount - offset), at: offset)
        if block.view.array.contains(where: { $0 != 0 }) { try target.write(block.view, at: offset) }
      }
      try target.truncate(to: byteCount)
      source.close()
      target.close()
      #expect(try byteCounts(copy).allocated < 1 << 20)
      for access in [StoreOptions.Access.mapped, .buffered] {
        let store = try KeyValueStore(copy, disk: SystemDisk(), options: options(access))
        #expect(try store.value("long") == value)
        #expect(try store.value("short") == [1])
        try store.close()
      }
    }
  }

  @Test("a file of holes that has lost its name goes back to the disk in a few pieces", .enabled(if: hasHoles))
  func givesBackHoles() throws {
    try withDirectory { directory in
      let file = try SystemDisk().open(directory + "/book", .createNew)
      try file.truncate(to: 1 << 40)
      let bytes = ByteBuffer(capacity: 4096)
      bytes.append(filler(1, 4096))
      for index in 0..<8 { try file.write(bytes.view, at: index << 36) }
      try SystemDisk().remove(directory + "/book")
      var pieceCount = 0
      file.closeRemoved {
        pieceCount += 1
        return true
      }
      #expect(pieceCount < 100)
    }
  }

  @Test(
    "a header that claims more than any payload can hold is none",
    arguments: [FrameHeader.Kind.commit, .part, .pages, .note])
  func payloadLimit(kind: FrameHeader.Kind) {
    func header(_ byteCount: UInt64) -> FrameHeader? {
      let frame = ByteBuffer(capacity: 256)
      frame.append(zeros: FrameHeader.byteCount)
      var header = FrameHeader(
        kind: kind, offset: 4096, number: 1, sequence: 1, previous: 0, durableThrough: 0, newestCheckpoint: 0,
        olderCheckpoint: 0)
      header.seal(into: frame, salt: 7)
      frame.set(uint64: byteCount, at: 72)
      frame.set(uint64: XXH3.hash(frame.view.prefix(88), seed: 7), at: 88)
      return FrameHeader(frame.view, salt: 7, offset: 4096)
    }
    let limit: UInt64 = kind.carriesData ? 1 << 31 : 1 << 20
    #expect(header(limit - 1) != nil)
    #expect(header(limit) == nil)
  }
}
