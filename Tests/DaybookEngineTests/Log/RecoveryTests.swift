import DaybookTesting
import Testing

@testable import DaybookEngine

// What open makes of files that were cut, torn, corrupt or spliced. The rule is DESIGN's: damage that a later frame's
// `durableThrough` covers was acknowledged and is corrupt; nothing may be written over it. Damage that nothing covers is torn:
// it is discarded, zeroed and reported. Never a trap, never wrong data, never a stale frame brought back.

private let path = "/d/book"

@Suite("Recovery")
struct RecoveryTests {
  // MARK: cut files

  @Test(
    "a file that names no length opens, cut at any, to the state after some commit, or throws; one that does is never written",
    arguments: [false, true])
  func everyLength(withCheckpoints: Bool) throws {
    var specimen = try Specimen.typical(withCheckpoints ? .small() : .withoutCheckpoints(), generations: 2)
    let closed = specimen.bytes
    specimen.bytes.replaceSubrange(2048..<2560, with: [UInt8](repeating: 0, count: 512))
    let last = try #require(try specimen.frames.dropLast().last)
    let ends = Set(try specimen.frames(.closed).map { Int($0.next) })
    var seen: Set<Int> = []
    // Page frames are long and all alike inside.
    let step = withCheckpoints ? 37 : 1
    var lengths = Set(stride(from: 0, through: specimen.bytes.count, by: step))
    for frame in try specimen.frames {
      for length in Int(frame.offset) - 9...Int(frame.offset) + 9 { lengths.insert(length) }
    }
    lengths.formUnion(ends)
    for length in lengths.sorted() where length <= specimen.bytes.count {
      let outcome = try specimen.outcome(of: Array(specimen.bytes[..<length]))
      switch outcome {
      case .refused:
        #expect(length < FileHeader.byteCount)
      case .corrupt, .unreadable:
        Issue.record("cut at \(length): nothing that is there proves what is missing")
      case .opened(let sequence, let recovery, _):
        #expect(recovery.wasClosed == (ends.contains(length) || length == FileHeader.byteCount), "cut at \(length)")
        seen.insert(sequence)
      }
      if case .refused = try specimen.outcome(of: Array(closed[..<length])) {
        #expect(length < last.end)
      } else {
        #expect(length >= last.end, "cut at \(length)")
      }
    }
    #expect(seen == Set(0..<specimen.history.count))
  }

  @Test("a last frame that is cut, with zeros or garbage behind it, is discarded and zeroed")
  func tornTail() throws {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued(closing: false) { store, specimen in
      for number in 1...3 { try specimen.commit(store, ("key \(number)", filler(number, 50))) }
    }
    let last = try #require(try specimen.frames.last)
    for cut in Int(last.offset)..<Int(last.end) {
      for tail in 0..<4 {
        var bytes = Array(specimen.bytes[..<cut])
        switch tail {
        case 0: break
        case 1: bytes += [UInt8](repeating: 0, count: 500)
        case 2: bytes += filler(cut, Int(last.end) - cut)
        default: bytes += filler(cut, 700) + [UInt8](repeating: 0, count: 100)
        }
        let disk = specimen.disk(bytes)
        let store = try specimen.open(disk)
        let found = try store.snapshot()
        // A payload that ends in a zero needs no last byte.
        if found.sequence == 3 {
          #expect(bytes.count >= Int(last.end) && bytes[..<Int(last.end)] == specimen.bytes[..<Int(last.end)])
          continue
        }
        #expect(found.sequence == 2 && found.contents == specimen.history[2], "cut at \(cut), tail \(tail)")
        #expect(!store.store.recovery.wasClosed)
        let after = try #require(disk.bytes(of: path))
        #expect(after.count == bytes.count && after[Int(last.offset)...].allSatisfy { $0 == 0 })
        #expect(store.store.recovery.discardedByteCount > 0 || bytes[Int(last.offset)...].allSatisfy { $0 == 0 })
        #expect(store.store.recovery.discardedCopyPath == nil)
        try store.put("key 3", [9])
        try store.close()
        let reopened = try specimen.open(disk)
        #expect(reopened.store.recovery.wasClosed)
        #expect(try reopened.value("key 3") == [9])
      }
    }
  }

  // MARK: one flipped byte

  @Test("one flipped byte is detected or harmless, wherever it is", arguments: [0, 1, 2])
  func everyByte(kind: Int) throws {
    let specimen: Specimen
    switch kind {
    case 0: specimen = try .typical(.withoutCheckpoints(), generations: 1, commits: 3)
    case 1: specimen = try .typical(.withoutCheckpoints(), generations: 3, commits: 2)
    default: specimen = try .typical(.small(), generations: 3, commits: 4)
    }
    let isThorough = testSeeds(1...1).upperBound > 1
    for offset in specimen.bytes.indices {
      // All of every header, and samples of the rest.
      let isInHeader = try specimen.frames.contains { Int($0.offset) <= offset && offset < Int($0.payloadOffset) }
      guard isThorough || isInHeader && offset % 3 == kind || offset % 61 == 0 else { continue }
      for mask in isThorough ? [1, 0x80, 0xff] as [UInt8] : [1 << UInt8(offset & 7)] {
        var bytes = specimen.bytes
        bytes[offset] ^= mask
        let outcome: Specimen.Outcome
        do { outcome = try specimen.outcome(of: bytes) } catch { throw Deviation("byte \(offset), mask \(mask): \(error)") }
        #expect(outcome.isTold, "byte \(offset)")
        if case .opened(let sequence, _, _) = outcome {
          #expect(sequence == specimen.history.count - 1, "byte \(offset): a closed file loses nothing to one byte")
        }
        do { _ = try specimen.outcome(of: bytes, readOnly: true) } catch {
          throw Deviation("byte \(offset), mask \(mask), reading only: \(error)")
        }
      }
    }
  }

  // MARK: torn or corrupt

  @Test(
    "a damaged commit that a later frame covers is corrupt: nothing is written, reading stops before it", arguments: [30, 100])
  func corrupt(at place: Int) throws {
    let specimen = try Specimen.threeCommits(closing: true)
    let commits = try specimen.frames(.commit)
    for (index, commit) in commits.enumerated() {
      var bytes = specimen.bytes
      bytes[Int(commit.offset) + place] ^= 4
      let disk = specimen.disk(bytes)
      #expect(thrownCase { _ = try specimen.open(disk) } == "corrupt")
      do { _ = try specimen.open(disk) } catch StoreError.corrupt(let lost) {
        #expect(lost.contains(commit.sequence))
      } catch {}
      #expect(disk.bytes(of: path) == bytes)
      let reader = try KeyValueStore(path, disk: disk, options: specimen.options.readOnly)
      #expect(try reader.contents() == specimen.history[index])
      #expect(reader.store.recovery.lostSequences?.contains(commit.sequence) == true)
      #expect(thrownCase { try reader.put("a", [1]) } == "readOnly")
      try reader.close()
      #expect(disk.bytes(of: path) == bytes)
      #expect(disk.paths == [path])
    }
  }

  @Test("a damaged commit that nothing covers is torn; whole frames behind it are copied aside", arguments: [30, 100])
  func torn(at place: Int) throws {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    // The second and the third went out together: neither covers the other.
    var bytes = specimen.bytes
    let third = commits[2]
    bytes = try resealed(bytes, third) { $0.durableThrough = commits[0].number }
    bytes[Int(commits[1].offset) + place] ^= 4
    let disk = specimen.disk(bytes)
    try disk.setAttributes(FileAttributes(mode: 0o640, owner: 7, group: 8), of: path)
    let store = try specimen.open(disk)
    #expect(try store.contents() == specimen.history[1])
    let copyPath = try #require(store.store.recovery.discardedCopyPath)
    #expect(copyPath == path + ".discarded-2")
    #expect(try disk.attributes(of: copyPath) == FileAttributes(mode: 0o640, owner: 7, group: 8))
    #expect(disk.bytes(of: copyPath) == Array(bytes[Int(commits[1].offset)..<Int(third.end)]))
    #expect(disk.bytes(of: path)?[Int(commits[1].offset)...].allSatisfy { $0 == 0 } == true)
    try store.checkThoroughly()
    try store.put("key 9", [9])
    try store.close()
    let reopened = try specimen.open(disk)
    #expect(reopened.store.recovery.wasClosed)
    #expect(try reopened.contents() == specimen.history[1].merging(["key 9": [9]]) { $1 })
  }

  @Test(
    "a torn tail with whole frames is repaired without their copy where there is no room, no right or no name for it",
    arguments: [ErrorNumber.noSpace, 13, 36])
  func tornWithoutCopy(code: Int32) throws {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    var bytes = try resealed(specimen.bytes, commits[2]) { $0.durableThrough = commits[0].number }
    bytes[Int(commits[1].offset) + 100] ^= 4
    for operation in [DiskFailure.Operation.create, .write, .sync, .rename] {
      let disk = specimen.disk(bytes)
      disk.inject(SimulatedFault([operation], call: 1, code: code))
      let store = try specimen.open(disk)
      #expect(try store.contents() == specimen.history[1])
      #expect(store.store.recovery.isDiscardedCopyMissing && store.store.recovery.discardedCopyPath == nil)
      #expect(!disk.paths.contains { $0.hasSuffix(".new") })
      try store.put("key 9", [9])
      try store.close()
    }
    // What the log does not give, and a folder whose sync failed, are told.
    let disk = specimen.disk(bytes)
    disk.inject(SimulatedFault([.syncDirectory], call: 1, code: ErrorNumber.inputOutput))
    #expect(thrownCase { _ = try specimen.open(disk) } == "disk")
  }

  @Test("of a torn tail in a file that claims to be much longer, only what may stand there is zeroed")
  func tornSparse() throws {
    let specimen = try Specimen.threeCommits(closing: false)
    let disk = SimulatedDisk(seed: 7, maximumFileByteCount: 64 << 20)
    disk.install(specimen.bytes, at: path)
    let file = try disk.open(path, .readWrite)
    try [UInt8(1)].withView { (byte) throws(DiskFailure) in try file.write(byte, at: specimen.bytes.count + 100) }
    try file.truncate(to: 32 << 20)
    file.close()
    disk.startTrace()
    let store = try specimen.open(disk)
    let written = disk.trace.reduce(0) { $0 + ($1.operation == .write ? $1.byteCount ?? 0 : 0) }
    #expect(written < 8 << 20)
    #expect(try store.contents() == specimen.newest)
    try store.put("key 9", [9])
    try store.checkThoroughly()
    try store.close()
  }

  @Test("a commit that was being written when a reader came by is not called corrupt, however far the writer has got since")
  func writtenMeanwhile() throws {
    let specimen = try Specimen.threeCommits(closing: true)
    let commit = try specimen.frames(.commit)[1]
    var early = specimen.bytes
    for place in Int(commit.offset)..<Int(commit.next) { early[place] = 0 }
    func plan(_ bytes: [UInt8]) throws -> RecoveryPlan {
      try bytes.withView { (view: ByteView) throws -> RecoveryPlan in
        try LogReader(view, salt: try FileHeader(view).salt).plan()
      }
    }
    let plans = [try plan(early), try plan(specimen.bytes)]
    #expect(plans[0].ending == .corrupt(lost: 2...2) && plans[1].ending == .clean)
    var lookCount = 0
    let settled = try RecoveryPlan.besideWriter { () throws(DiskFailure) in
      lookCount += 1
      return plans[min(lookCount - 1, 1)]
    }
    #expect(settled.ending == .clean && lookCount == 2)
    let corrupt = try RecoveryPlan.besideWriter { () throws(DiskFailure) in plans[0] }
    #expect(corrupt.ending == .corrupt(lost: 2...2))
  }

  @Test("the copy of discarded frames is made again under another name, never overwritten")
  func discardedTwice() throws {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    var bytes = try resealed(specimen.bytes, commits[2]) { $0.durableThrough = commits[0].number }
    bytes[Int(commits[1].offset) + 100] ^= 4
    let disk = specimen.disk(bytes)
    disk.install([1, 2, 3], at: path + ".discarded-2")
    disk.install([4], at: path + ".discarded-2.new")
    let store = try specimen.open(disk)
    #expect(store.store.recovery.discardedCopyPath == path + ".discarded-2-2")
    #expect(disk.bytes(of: path + ".discarded-2") == [1, 2, 3])
    #expect(disk.bytes(of: path + ".discarded-2-2") == Array(bytes[Int(commits[1].offset)..<Int(commits[2].end)]))
    try store.close()
  }

  @Test("a damaged part takes its commit with it: torn when nothing covers the commit, corrupt when something does")
  func damagedPart() throws {
    for isCovered in [false, true] {
      for place in [20, 300] {
        var specimen = Specimen(.withoutCheckpoints())
        try specimen.continued(closing: isCovered) { store, specimen in
          try specimen.commit(store, ("a", [1]))
          try specimen.commit(
            store, ("b", filler(1, 900)), ("c", filler(2, 900)), ("d", filler(3, 900)), ("e", filler(4, 900)))
        }
        let parts = try specimen.frames(.part)
        #expect(parts.count == 2)
        for part in parts {
          var bytes = specimen.bytes
          bytes[Int(part.offset) + place] ^= 16
          let disk = specimen.disk(bytes)
          if isCovered {
            #expect(thrownCase { _ = try specimen.open(disk) } == "corrupt")
          } else {
            let store = try specimen.open(disk)
            #expect(try store.contents() == specimen.history[1])
            try store.put("b", [2])
            try store.checkThoroughly()
            try store.close()
          }
        }
      }
    }
  }

  @Test("a commit whose parts are others than those it was made of does not hold, however sound each is by itself")
  func exchangedPart() throws {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("a", [1]))
      try specimen.commit(
        store, ("b", filler(1, 900)), ("c", filler(2, 900)), ("d", filler(3, 900)), ("e", filler(4, 900)))
    }
    for number in try specimen.frames(.part).map(\.number) {
      var bytes = specimen.bytes
      // Another value in one part; then every seal and link from there on as a writer would have made them.
      for frame in try specimen.frames where frame.number >= number {
        let previous = try frames(of: bytes).last { $0.number < frame.number }?.checksum
        if frame.number == number { bytes[Int(frame.payloadOffset) + 400] ^= 1 }
        bytes = try resealed(bytes, frame) { $0.previous = previous ?? 0 }
      }
      #expect(try frames(of: bytes).count == specimen.frames.count)
      let store = try specimen.open(specimen.disk(bytes))
      #expect(try store.contents() == specimen.history[1])
      #expect(store.store.recovery.discardedByteCount > 0)
      try store.close()
    }
  }

  @Test("damaged frames that carry no data are stepped over", arguments: [30, 97])
  func steppedOver(at place: Int) throws {
    var specimen = Specimen(.withoutCheckpoints())
    for generation in 0..<3 {
      try specimen.continued { store, specimen in
        try specimen.commit(store, ("key", [UInt8(generation)]))
        if generation == 1 { try store.store.checkpoint() }
        try specimen.commit(store, ("key \(generation)", [5]))
        store.store.appendNote()
      }
    }
    var kinds: Set<String> = []
    for frame in try specimen.frames.dropLast() where !frame.kind.carriesData && Int(frame.end - frame.offset) > place {
      var bytes = specimen.bytes
      bytes[Int(frame.offset) + place] ^= 1
      let store = try specimen.open(specimen.disk(bytes))
      #expect(try store.contents() == specimen.newest, "\(frame.kind) at \(frame.offset)")
      #expect(store.store.recovery.lostSequences == nil)
      kinds.insert(frame.kind.name)
      try store.put("more", [1])
      try store.close()
    }
    #expect(kinds == (place < 96 ? ["note", "closed", "pages", "checkpoint"] : ["pages", "checkpoint"]))
  }

  @Test("a note that is torn at the very end is zeroed, not left under the next frame")
  func tornNoteAtTheEnd() throws {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("a", [1]))
      try store.store.checkpoint()
    }
    let last = try #require(try specimen.frames.last)
    #expect(last.kind == .checkpoint)
    var bytes = specimen.bytes
    bytes[Int(last.end) - 3] ^= 1
    let disk = specimen.disk(bytes)
    let store = try specimen.open(disk)
    #expect(try store.contents() == ["a": [1]])
    #expect(disk.bytes(of: path)?[Int(last.offset)...].allSatisfy { $0 == 0 } == true)
    try store.put("b", [2])
    try store.checkThoroughly()
  }

  // MARK: checkpoints

  @Test("when the newest checkpoint is damaged the older one serves, when both are the log does")
  func fallback() throws {
    let specimen = try Specimen.twoCheckpoints()
    let checkpoints = try specimen.frames(.checkpoint)
    #expect(checkpoints.count == 2)
    for place in [40, 110] {
      var bytes = specimen.bytes
      let expected: [RecoveryReport.Basis] = [.olderCheckpoint, .log]
      for (checkpoint, basis) in zip(checkpoints.reversed(), expected) {
        bytes[Int(checkpoint.offset) + place] ^= 1
        let disk = specimen.disk(bytes)
        let store = try specimen.open(disk)
        #expect(store.store.recovery.basis == basis)
        #expect(try store.contents() == specimen.newest)
        try store.put("more", [1])
        try store.close()
        // Whoever comes next is sent to the one that served.
        let last = try frames(of: disk.bytes(of: path) ?? []).last
        #expect(last?.newestCheckpoint == (basis == .log ? 0 : checkpoints[0].offset))
        let reopened = try specimen.open(disk)
        #expect(reopened.store.recovery.basis == (basis == .log ? .log : .newestCheckpoint))
        #expect(try reopened.contents() == specimen.newest.merging(["more": [1]]) { $1 })
        try reopened.close()
      }
    }
  }

  @Test("replay begins behind the pages of a checkpoint, unless something was committed meanwhile", arguments: [false, true])
  func replayBehindPages(commitsMeanwhile: Bool) throws {
    let disk = newDisk()
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    for number in 0..<300 { try store.put("key \(number)", [UInt8](repeating: 1, count: 100)) }
    let version = store.store.head.end
    if commitsMeanwhile {
      // Not synced, so readers do not see it, and the checkpoint is of the version before.
      let transaction = KeyValueTransaction(try store.store.beginTransaction())
      let key = ByteBuffer(capacity: 16)
      key.append([UInt8]("late".utf8))
      try transaction.put(key.view, key.view)
      _ = try store.store.commit(transaction.transaction)
    }
    let commits = store.store.log.tail.offset
    try store.store.checkpoint()
    let frames = try frames(of: disk.bytes(of: path) ?? [])
    let checkpoint = try #require(frames.last { $0.kind == .checkpoint })
    #expect(frames.contains { $0.kind == .pages && $0.offset >= commits })
    #expect(store.store.replayStart.offset == (commitsMeanwhile ? version : checkpoint.offset))
    let again = try KeyValueStore(path, disk: disk.killed(), options: .withoutCheckpoints())
    #expect(again.store.recovery.basis == .newestCheckpoint)
    #expect(again.store.recovery.replayedCommitCount == (commitsMeanwhile ? 1 : 0))
    #expect(try again.contents().count == (commitsMeanwhile ? 301 : 300))
    try again.put("more", [1])
    try again.checkThoroughly()
  }

  @Test("when a page of the newest checkpoint is damaged replay falls back, and the next close writes good trees")
  func damagedPage() throws {
    let specimen = try Specimen.twoCheckpoints()
    let pages = try specimen.frames(.pages)
    var bytes = specimen.bytes
    var expected: [RecoveryReport.Basis] = [.olderCheckpoint, .log]
    for frame in pages.reversed() {
      // The last page of the frame is the root, which replay touches.
      bytes[Int(frame.end) - 100] ^= 1
      let disk = specimen.disk(bytes)
      let store = try specimen.open(disk)
      #expect(store.store.recovery.basis == expected.removeFirst())
      #expect(try store.contents() == specimen.newest)
      var options = specimen.options
      options.closeCheckpointByteCount = 0
      try store.close()
      // Nothing was written by the caller, but trees that had to be rebuilt are worth a checkpoint.
      let second = try KeyValueStore(path, disk: disk, options: options)
      #expect(try second.contents() == specimen.newest)
      try second.close()
      let third = try specimen.open(disk)
      #expect(third.store.recovery.basis == .newestCheckpoint)
      #expect(try third.contents() == specimen.newest)
      try third.close()
    }
  }

  @Test("a page that fails at a read is told of, behind each checkpoint again, and the next open rebuilds from the log")
  func pageFailsAtRead() throws {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued { store, specimen in
      try store.write { transaction in
        for number in 0..<400 { try transaction.put("key \(number + 1000)", filler(number, 30)) }
      }
      try store.store.checkpoint()
    }
    let contents = try specimen.open(specimen.disk()).contents()
    let frame = try #require(try specimen.frames(.pages).first)
    #expect(frame.payloadByteCount > 4 * 4096)
    let disk = specimen.disk()
    disk.corrupt(path, at: Int(frame.payloadOffset + 4095) / 4096 * 4096 + 2000)
    let store = try specimen.open(disk)
    #expect(thrownCase { _ = try store.contents() } == "page")
    try store.put("zzz", [1])
    try store.store.checkpoint()
    try store.put("zzzz", [2])
    try store.close()
    let after = try frames(of: try #require(disk.bytes(of: path)))
    let checkpoints = after.filter { $0.kind == .checkpoint }
    let notes = after.filter { $0.kind == .note && $0.payloadByteCount == 8 }
    #expect(checkpoints.count == 2)
    #expect(notes.map(\.number).contains { $0 == (checkpoints.last?.number ?? 0) + 1 })
    let reopened = try specimen.open(disk)
    #expect(reopened.store.recovery.basis == .log)
    #expect(try reopened.contents() == contents.merging(["zzz": [1], "zzzz": [2]]) { $1 })
    try reopened.store.checkpoint()
    try reopened.close()
    let third = try specimen.open(disk)
    #expect(third.store.recovery.basis == .newestCheckpoint)
    try third.checkThoroughly()
    try third.close()
  }

  @Test("when the trees need a part of the log that is corrupt, nothing is written, let alone truncated")
  func corruptBehindTheCheckpoint() throws {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued { store, specimen in
      for number in 0..<5 { try specimen.commit(store, ("key \(number)", filler(number, 60))) }
      try store.store.checkpoint()
      for number in 5..<8 { try specimen.commit(store, ("key \(number)", filler(number, 60))) }
    }
    var bytes = specimen.bytes
    let pages = try #require(try specimen.frames(.pages).first)
    bytes[Int(pages.end) - 100] ^= 1
    bytes[Int(try specimen.frames(.commit)[2].offset) + 100] ^= 1
    let disk = specimen.disk(bytes)
    #expect(thrownCase { _ = try specimen.open(disk) } == "corrupt")
    #expect(disk.bytes(of: path) == bytes)
    let reader = try KeyValueStore(path, disk: disk, options: specimen.options.readOnly)
    #expect(try reader.contents() == specimen.history[2])
    #expect(reader.store.recovery.lostSequences == 3...3)
  }

  // MARK: stale and spliced frames

  @Test("a frame of a copy that has a history of its own does not continue this log")
  func spliced() throws {
    var base = Specimen(.withoutCheckpoints())
    try base.continued(closing: false) { store, specimen in try specimen.commit(store, ("a", [1])) }
    var left = base
    var right = base
    try left.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("b", [1, 1]))
      try specimen.commit(store, ("c", [1, 2]))
    }
    try right.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("b", [2, 1]))
      try specimen.commit(store, ("c", [2, 2]))
    }
    let last = try #require(try left.frames.last)
    #expect(try right.frames.last?.offset == last.offset)
    var bytes = left.bytes
    bytes.replaceSubrange(Int(last.offset)..<Int(last.end), with: right.bytes[Int(last.offset)..<Int(last.end)])
    let store = try left.open(left.disk(bytes))
    #expect(try store.contents() == left.history[2])
  }

  @Test("a frame with the salt of another file is not a frame")
  func otherSalt() throws {
    var left = Specimen(.withoutCheckpoints(seed: 1))
    var right = Specimen(.withoutCheckpoints(seed: 2))
    try left.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("a", [1]))
      try store.store.checkpoint()
    }
    try right.continued(closing: false) { store, specimen in
      try specimen.commit(store, ("a", [1]))
      try store.store.checkpoint()
      try specimen.commit(store, ("a", [2]))
      try store.store.checkpoint()
      try specimen.commit(store, ("b", [2]))
    }
    #expect(right.bytes.count > left.bytes.count)
    let bytes = left.bytes + right.bytes[left.bytes.count...]
    let disk = left.disk(bytes)
    let store = try left.open(disk)
    #expect(try store.contents() == ["a": [1]])
    // Nor is it asked where the newest checkpoint is.
    #expect(store.store.recovery.basis == .newestCheckpoint)
    #expect(disk.bytes(of: path)?[left.bytes.count...].allSatisfy { $0 == 0 } == true)
  }

  @Test("discarded frames never come back, also when the zeroing is cut half way and commits follow")
  func staleFramesStayDead() throws {
    let specimen = try Specimen.threeCommits(closing: false)
    let commits = try specimen.frames(.commit)
    var torn = try resealed(specimen.bytes, commits[2]) { $0.durableThrough = commits[0].number }
    torn[Int(commits[1].offset) + 100] ^= 4
    for seed in 0..<40 as Range<UInt64> {
      let first = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
      first.install(torn, at: path)
      let callCount = Int(seed % 8) + 1
      first.stop(atCall: callCount, tearsWrite: true)
      _ = try? specimen.open(first)
      let second = first.crashed(seed: seed, policy: .random)
      let store = try specimen.open(second)
      #expect(try store.contents() == specimen.history[1])
      try store.put("key 2", filler(2, 40))
      #expect(second.bytes(of: path)?[Int(commits[2].offset)..<Int(commits[2].offset) + 96].allSatisfy { $0 == 0 } == true)
      let third = second.crashed(seed: seed, policy: .random)
      let reopened = try specimen.open(third)
      #expect(try reopened.contents() == specimen.history[2])
    }
  }
}
