import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

// A backup copies the frames of a sound log to the same places, and commit by commit what cannot be copied so. What the copy
// shows does not tell which.

@Suite("Backup, frame by frame")
struct FrameBackupTests {
  private static let shelf = try! Zone.ID("Shelf")
  private static let path = "test.daybook"

  private static func options(_ seed: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.partByteCount = 1500
    options.reserveByteCount = 0
    return options
  }

  private static func open(_ disk: SimulatedDisk, _ name: String = path, seed: UInt64 = 1) throws -> Database {
    try Database.open(at: name, options: options(seed), disk: disk)
  }

  /// What a user finds in a database.
  private struct Content: Equatable {
    var records: [Record]
    var metadata: [String]
    var histories: [[UInt64?]]
    var tags: [Data]
    var counts: [Int]
    var note: Data?

    init(_ database: Database) throws {
      (records, metadata, histories, tags, counts) = ([], [], [], [], [])
      for zone in try database.zones().map(\.id) {
        let found = try database.records(in: zone)
        records += found
        metadata += found.map { String(describing: $0.metadata) }
        histories += try found.map { try database.history(of: $0.id).map(\.sequence) }
        let changes = try database.changes(in: zone, since: nil, limit: 10_000)
        tags.append(changes.token.data)
        counts += [changes.saved.count, changes.deleted.count, try database.recordCount(in: zone)]
      }
      for number in 0..<5 {
        counts.append(try database.count(Query("Note", where: Query.Field("n") == number, in: .default)))
      }
      tags.append(try database.databaseChanges(since: nil).token.data)
      note = try database.metadata(forKey: "note")
    }
  }

  /// A file with frames of all kinds, and changes that are only in memory.
  private static func filled(_ disk: SimulatedDisk, seed: UInt64 = 1, isCompacted: Bool = false) throws -> Database {
    var database = try open(disk, seed: seed)
    try database.zone("Shelf")
    try database.put("first", in: shelf, ["n": 1])
    try database.setIndex(.queryable, on: "n", ofType: "Note")
    if isCompacted { try database.compact() }
    var generator = SeededGenerator(seed: seed)
    for round in 0..<90 {
      let name = "r\(Int.random(in: 0..<40, using: &generator))"
      let zone = round % 3 == 0 ? shelf : .default
      switch Int.random(in: 0..<20, using: &generator) {
      case 0: try database.store.checkpoint()
      case 1:
        try database.close()
        database = try open(disk, seed: seed + UInt64(round))
      case 2: try database.write { try $0.setMetadata(Data([UInt8(round)]), forKey: "note") }
      case 3: _ = try? database.write { try $0.delete(Record.ID(name, in: zone)) }
      case 4:
        try database.write { transaction in
          for number in 0..<60 {
            try transaction.save(
              .fresh("big\(number)", ["text": .string("\(round) of \(number)")]), policy: .changedKeys)
          }
          try? transaction.savepoint {
            for number in 0..<40 { try transaction.save(.fresh("not\(number)")) }
            throw CancellationError()
          }
        }
      case 5: try database.sync()
      default: try database.put(name, in: zone, ["n": .int(Int64(round % 5)), "text": .string("\(round)")])
      }
    }
    try database.put("last", in: shelf, ["n": 2])
    return database
  }

  /// Where frames begin, and of which kinds.
  private static func frames(_ bytes: [UInt8]) -> [(offset: Int, kind: UInt8)] {
    Forgery.frameOffsets(of: bytes).map { ($0, bytes[$0 + 4]) }
  }

  @Test("a backup has the records, history, tokens and indexes of its source, and goes on", arguments: 0..<12 as Range<UInt64>)
  func equal(seed: UInt64) throws {
    let disk = SimulatedDisk(seed: seed)
    let database = try Self.filled(disk, seed: seed, isCompacted: seed % 3 == 0)
    let expected = try Content(database)
    for copiesFrames in [true, false] {
      let name = "copy\(copiesFrames)"
      try database.backup(to: name, disk: disk, copiesFrames: copiesFrames)
      for round in 0..<2 {
        let copy = try Self.open(disk, name, seed: seed + 100)
        #expect(copy.lastRecovery.wasClosed)
        if round == 0 { #expect(try Content(copy) == expected, "frames: \(copiesFrames)") }
        try copy.expectClean()
        try copy.put("more\(round)", in: Self.shelf, ["n": 3])
        try copy.store.checkpoint()
        try copy.close()
      }
    }
    #expect(try Content(database) == expected)
    try database.expectClean()
  }

  @Test("a backup lets the disk begin with what is copied, and all of it is synced before it has its name")
  func writeBack() throws {
    let disk = WatchedDisk()
    let database = try Database.open(at: Self.path, options: .simulated(seed: 1), disk: disk)
    for number in 0..<12 { try database.put("r\(number)", ["text": .bytes(Data(repeating: 7, count: 600_000))]) }
    disk.events.withLock { $0 = [] }
    try database.backup(to: "copy", disk: disk)
    let events = disk.events.withLock { $0 }
    var (written, begun, unsyncedCount) = (0, 0, 0)
    for event in events {
      switch event {
      case .written(let range):
        written = max(written, range.upperBound)
        unsyncedCount += 1
      case .begun(let range):
        #expect(range.upperBound <= written, "what is not written yet")
        #expect(range.lowerBound == begun, "each byte once")
        begun = range.upperBound
      case .synced: unsyncedCount = 0
      case .named(let name): if name == "copy" { #expect(unsyncedCount == 0, "a name before the bytes are durable") }
      }
    }
    #expect(events.contains(.named("copy")))
    #expect(written > 7_000_000 && begun > 5_000_000, "\(written) bytes, \(begun) of them begun")
    let copy = try Database.open(at: "copy", options: .simulated(seed: 2), disk: disk)
    #expect(try copy.recordCount(in: .default) == 12)
    try copy.expectClean()
  }

  @Test("each frame keeps its place, a closed one becomes a note, and all have another salt")
  func places() throws {
    let disk = SimulatedDisk(seed: 3)
    let database = try Self.filled(disk, seed: 3)
    try database.backup(to: "copy", disk: disk)
    let source = try #require(disk.bytes(of: Self.path)), copy = try #require(disk.bytes(of: "copy"))
    let (before, after) = (Self.frames(source), Self.frames(copy))
    #expect(Set(before.map(\.kind)).isSuperset(of: [1, 2, 3, 4, 5, 8]))
    #expect(after.count > before.count && after.last?.kind == 5)
    for (old, new) in zip(before, after) {
      #expect(old.offset == new.offset && new.kind == (old.kind == 5 ? 6 : old.kind))
    }
    #expect(try Self.open(disk, "copy", seed: 4).lastRecovery.replayedCommitCount == 0)
    #expect(source[40..<48] != copy[40..<48] && source[16..<32] == copy[16..<32] && source[56..<64] != copy[56..<64])
  }

  @Test("a backup of a database with a damaged frame is refused where that has data, and else whole")
  func damaged() throws {
    let disk = SimulatedDisk(seed: 5)
    let database = try Self.filled(disk, seed: 5)
    let expected = try Content(database)
    let frames = Self.frames(try #require(disk.bytes(of: Self.path)))
    var refusedKinds: Set<UInt8> = [], copiedKinds: Set<UInt8> = []
    for (index, frame) in frames.enumerated() {
      let end = index + 1 < frames.count ? frames[index + 1].offset : frame.offset + 96
      for position in [frame.offset + 33, (frame.offset + 96 + end) / 2] where position < end {
        #expect(disk.corrupt(Self.path, at: position))
        let names = disk.paths
        do {
          try database.backup(to: "copy", disk: disk)
          let copy = try Self.open(disk, "copy", seed: 9)
          #expect(try Content(copy) == expected, "\(frame)")
          try copy.expectClean()
          try copy.close()
          try disk.remove("copy")
          copiedKinds.insert(frame.kind)
        } catch let error as DatabaseError {
          #expect(error.code == .corrupted, "\(error)")
          #expect(disk.paths == names)
          refusedKinds.insert(frame.kind)
        }
        #expect(disk.corrupt(Self.path, at: position))
      }
    }
    #expect(refusedKinds == [1, 2] && copiedKinds.isSuperset(of: [3, 4, 5, 8]), "\(refusedKinds), \(copiedKinds)")
  }

  @Test("commits, checkpoints and a compaction that come during a backup are not in it")
  func others() throws {
    for other in 0..<4 {
      let disk = SimulatedDisk(seed: 6)
      let database = try Self.filled(disk, seed: 6)
      let expected = try Content(database)
      var isDone = false
      try database.backup(to: "copy", disk: disk) { done, total in
        guard done > total / 2, !isDone else { return true }
        isDone = true
        do {
          try database.put("later", in: Self.shelf, ["n": 4])
          if other & 1 != 0 { try database.store.checkpoint() }
          if other & 2 != 0 { try database.compact() }
          try database.put("even later", ["n": 4])
        } catch { Issue.record("\(error)") }
        return true
      }
      let copy = try Self.open(disk, "copy", seed: 9)
      #expect(isDone)
      #expect(try Content(copy) == expected)
      try copy.expectClean()
      try database.expectClean()
    }
  }

  @Test("a backup that finds no room anywhere leaves nothing, and can be made when there is some")
  func full() throws {
    let disk = SimulatedDisk(seed: 7)
    let database = try Self.filled(disk, seed: 7)
    let expected = try Content(database)
    let names = disk.paths
    let used = names.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) }
    let needed = try #require(disk.bytes(of: Self.path)).count
    var failures = 0
    for room in stride(from: 0, to: needed * 2, by: 3000) {
      disk.limit(toByteCount: used + room)
      let error = failure { try database.backup(to: "copy", disk: disk) }
      disk.limit(toByteCount: nil)
      if error == nil { break }
      #expect(error?.code == .diskFull && disk.paths == names)
      failures += 1
    }
    #expect(failures > 5)
    let copy = try Self.open(disk, "copy", seed: 9)
    #expect(try Content(copy) == expected)
    try copy.expectClean()
  }

  @Test("a backup of a file that was closed leaves what the next one removes, wherever it dies", arguments: [false, true])
  func interrupted(loses: Bool) throws {
    let disk = SimulatedDisk(seed: 8)
    var database = try Self.filled(disk, seed: 8)
    try database.close()
    database = try Self.open(disk, seed: 2)
    let expected = try Content(database)
    try database.close()
    let trial = disk.killed()
    let source = try Self.open(trial, seed: 3)
    let start = trial.callCount
    try source.backup(to: "copy", disk: trial)
    let calls = trial.callCount - start
    for call in 1...calls {
      let image = disk.killed()
      let source = try Self.open(image, seed: 3)
      image.stop(atCall: image.callCount + call, tearsWrite: call % 2 == 0)
      _ = failure { try source.backup(to: "copy", disk: image) }
      let found = loses ? image.crashed(seed: UInt64(call)) : image.killed()
      if try !found.exists("copy") {
        let again = try Self.open(found, seed: 4)
        try again.backup(to: "copy", disk: found)
        #expect(!found.paths.contains("copy.unfinished"))
      }
      #expect(try Content(Self.open(found, "copy", seed: 5)) == expected, "call \(call)")
    }
  }

  @Test("a backup of a file that is mostly old pages has the commits without them")
  func oldPages() throws {
    let disk = SimulatedDisk(seed: 9)
    let database = try Self.open(disk)
    try database.write { transaction in
      for number in 0..<300 { try transaction.save(.fresh("record \(number)", ["n": .int(Int64(number))])) }
    }
    for number in 0..<60 {
      try database.put("record \(number * 5)", ["n": 7])
      try database.store.checkpoint()
    }
    let expected = try Content(database)
    try database.backup(to: "copy", disk: disk)
    let (source, copy) = (disk.bytes(of: Self.path)?.count ?? 0, disk.bytes(of: "copy")?.count ?? 0)
    #expect(copy < source / 2, "\(copy) of \(source)")
    let opened = try Self.open(disk, "copy", seed: 9)
    #expect(try Content(opened) == expected)
    try opened.expectClean()
  }

  @Test("checkpoints of the source hold in the copy when its own is damaged")
  func olderCheckpoint() throws {
    let disk = SimulatedDisk(seed: 10)
    let database = try Self.open(disk)
    for round in 0..<3 {
      for number in 0..<20 { try database.put("r\(number)", ["n": .int(Int64(round))]) }
      // Commits come while a checkpoint is made, so its replay starts in front of its pages.
      try database.store.checkpoint()
      try database.put("after \(round)", ["n": 1])
    }
    let expected = try Content(database)
    try database.backup(to: "copy", disk: disk)
    let bytes = try #require(disk.bytes(of: "copy"))
    let checkpoints = Self.frames(bytes).filter { $0.kind == 4 }
    #expect(checkpoints.count == 4)
    #expect(disk.corrupt("copy", at: checkpoints[3].offset + 120))
    let copy = try Self.open(disk, "copy", seed: 9)
    #expect(try Content(copy) == expected)
    #expect(copy.lastRecovery.basis == .olderCheckpoint)
    try copy.put("more")
    try copy.expectClean()
  }

  @Test("a backup of a compacted file, which is one commit, tells how far it is, and stops when it is told to")
  func progressOfImage() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Self.open(disk)
    let text = String(repeating: "x", count: 99)
    for number in 0..<200 { try database.put("n\(number)", ["n": .int(Int64(number)), "text": .string(text)]) }
    try database.compact()
    var calls = 0
    try database.backup(to: "copy", disk: disk) { done, total in
      calls += 1
      return done <= total
    }
    #expect(calls > 5)
    for last in [1, 2, calls / 2] {
      var rest = last
      let stopped = failure {
        try database.backup(to: "stopped", disk: disk) { _, _ in
          rest -= 1
          return rest > 0
        }
      }
      #expect(stopped?.code == .operationCancelled && rest == 0)
      #expect(try !disk.exists("stopped"))
    }
  }
}

/// A disk in memory that notes what happens to its files, in order.
private final class WatchedDisk: ForwardingDisk {
  enum Event: Equatable {
    case written(Range<Int>)
    case begun(Range<Int>)
    case synced
    /// A file was given this name.
    case named(String)
  }

  let disk = MemoryDisk()
  let events = Locked<[Event]>([])

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.open(path, mode), self)
  }
  func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.create(path, byteCount: byteCount), self)
  }
  func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    WatchedFile(try disk.createPrivate(path, byteCount: byteCount), self)
  }
  func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try disk.renameWithoutReplacing(source, to: target)
    add(.named(target))
  }
  func add(_ event: Event) { events.withLock { $0.append(event) } }
}

private final class WatchedFile: ForwardingFile {
  let file: any DiskFile
  private let disk: WatchedDisk

  init(_ file: any DiskFile, _ disk: WatchedDisk) {
    self.file = file
    self.disk = disk
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    try file.write(bytes, at: offset)
    disk.add(.written(offset..<offset + bytes.count))
  }
  func beginWriteBack(_ range: Range<Int>) { disk.add(.begun(range)) }
  func sync(_ level: SyncLevel) throws(DiskFailure) {
    try file.sync(level)
    disk.add(.synced)
  }
}
