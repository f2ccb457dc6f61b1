import DaybookTesting
import Synchronization
import Testing

@testable import DaybookEngine

@Suite("one sync for the commits of many threads")
struct GroupCommitThreadTests {
  /// A sync by the book: begun, made, ended; with the counts of commits at each.
  private func sync(
    _ groups: inout GroupCommit, frame: UInt64, begin: UInt64, covered: UInt64, end: UInt64, nanoseconds: UInt64 = 100_000
  ) -> GroupCommit.Patience? {
    let patience = groups.begin(commitCount: begin)
    if patience != nil { groups.endPatience(commitCount: covered) }
    let companionCount = groups.cover(through: frame, commitCount: covered)
    groups.end(commitCount: end, companionCount: companionCount, nanoseconds: nanoseconds)
    return patience
  }

  @Test("frames written before a sync belong to it, later ones to the next")
  func groups() {
    var groups = GroupCommit()
    _ = groups.begin(commitCount: 1)
    let first = groups.covered
    // Nobody knows yet where the sync will begin.
    #expect(groups.group(ofFrame: 900) == first)
    _ = groups.cover(through: 10, commitCount: 1)
    #expect(groups.group(ofFrame: 10) == first)
    #expect(groups.group(ofFrame: 11) == 1 - first)
    groups.end(commitCount: 3, companionCount: 1, nanoseconds: 1)
    _ = groups.begin(commitCount: 3)
    #expect(groups.covered == 1 - first)
    #expect(groups.group(ofFrame: 11) == 1 - first)
  }

  @Test("a leader waits for as many commits as the last sync let go, and for no longer than a sync takes")
  func patience() {
    var groups = GroupCommit()
    // Four of eight were in time for the first sync; the others wrote while it went on.
    #expect(sync(&groups, frame: 4, begin: 1, covered: 4, end: 8) == nil)
    #expect(sync(&groups, frame: 12, begin: 8, covered: 12, end: 12) == .init(nanoseconds: 100_000, commitCount: 12))
    // All eight were let go now.
    #expect(sync(&groups, frame: 20, begin: 13, covered: 20, end: 20) == .init(nanoseconds: 100_000, commitCount: 20))
    #expect(sync(&groups, frame: 28, begin: 28, covered: 28, end: 28, nanoseconds: 9_000_000) == nil)
    #expect(sync(&groups, frame: 36, begin: 29, covered: 36, end: 36)?.nanoseconds == 200_000)
  }

  @Test("one thread alone, and syncs that take no time, wait for nobody")
  func noPatience() {
    var groups = GroupCommit()
    for number in 1...10 as ClosedRange<UInt64> {
      #expect(sync(&groups, frame: number, begin: number, covered: number, end: number) == nil)
    }
    groups = GroupCommit()
    for number in 1...10 as ClosedRange<UInt64> {
      #expect(
        sync(&groups, frame: 8 * number, begin: 8 * number - 7, covered: 8 * number, end: 8 * number, nanoseconds: 900) == nil)
    }
  }

  @Test("where companions do not come back, a leader waits for them ever more rarely, and again once they do")
  func vainPatience() {
    var groups = GroupCommit()
    // Two threads commit again and again, but each second sync has one of them alone.
    var waits = 0
    var commits: UInt64 = 0
    for _ in 0..<3000 {
      _ = sync(&groups, frame: commits + 2, begin: commits + 2, covered: commits + 2, end: commits + 2)
      commits += 2
      if sync(&groups, frame: commits + 1, begin: commits + 1, covered: commits + 1, end: commits + 1) != nil { waits += 1 }
      commits += 1
    }
    #expect((5...30).contains(waits))
    // Now they keep together, and after the rest of the hurried ones each sync waits.
    waits = 0
    for _ in 0..<1000 {
      if sync(&groups, frame: commits + 2, begin: commits + 1, covered: commits + 2, end: commits + 2) != nil { waits += 1 }
      commits += 2
    }
    #expect(waits >= 700)
  }

  @Test("eight threads that commit again at once need less than one sync for two commits, and lose none")
  func companions() throws {
    let gathering = GatheringDisk(threadCount: 8)
    let disk = CountingDisk(gathering)
    let store = try KeyValueStore("/d/book", disk: disk, options: .withoutCheckpoints())
    try store.put("first", [1])
    let before = disk.syncCount
    try onThreads(8) { thread in
      defer { gathering.leave() }
      for number in 0..<100 { try store.put("companion \(thread) \(number)", filler(number, 40)) }
    }
    // The frames that one sync does not cover wait for the next: two syncs for eight commits at most, one where a leader waits.
    #expect(disk.syncCount - before < 400)
    #expect(try store.contents().count == 801)
    try store.close()
  }

  @Test("a writer in line gets its turn, however many others are awake")
  func noStarvation() throws {
    var options = StoreOptions.withoutCheckpoints()
    options.durability = .relaxed
    let store = try KeyValueStore("/d/book", disk: MemoryDisk(), options: options)
    let isDone = Atomic(false)
    try onThreads(6) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        for number in 0..<300 { try store.put("patient \(number)", [1]) }
      } else {
        while !isDone.load(ordering: .acquiring) { try store.put("eager \(thread)", [1]) }
      }
    }
    #expect(try store.contents().count >= 300)
    try store.close()
  }

  @Test("threads that wait for a sync, or to lead the next, are told when a write beside it cannot be undone")
  func deathBesideSync() throws {
    for round in 0..<12 {
      let disk = newDisk()
      let store = try KeyValueStore(storePath, disk: disk, options: .withoutCheckpoints())
      try store.put("a", [1])
      disk.observe { call throws(DiskFailure) in
        if call.operation == .sync { SystemClock.sleep(nanoseconds: 300_000) }
      }
      // A write fails, and so does taking back what it left.
      disk.inject(SimulatedFault([.write], call: 20 + round, repeats: true))
      let deaths = Locked(0)
      try onThreads(8) { thread in
        for number in 0..<200 {
          do { try store.put("key \(thread) \(number)", [1]) } catch { return deaths.withLock { $0 += 1 } }
        }
      }
      #expect(deaths.withLock { $0 } == 8)
      try? store.close()
    }
  }
}

/// A disk in memory whose syncs take until every thread that still commits waits for one: what a slow disk does on a machine
/// that is quick, and here on any machine.
private final class GatheringDisk: ForwardingDisk {
  let disk = MemoryDisk()
  private let gathering: Gathering

  init(threadCount: Int) { gathering = Gathering(threadCount: threadCount) }

  /// A thread has committed for the last time.
  func leave() { gathering.counts.withLock { $0.threads -= 1 } }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    GatheringFile(try disk.open(path, mode), gathering)
  }
  func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile {
    GatheringFile(try disk.create(path, byteCount: byteCount), gathering)
  }
}

private final class Gathering: Sendable {
  struct Counts {
    var threads: Int
    var written = 0
    var durable = 0
  }
  let counts: Locked<Counts>
  init(threadCount: Int) { counts = Locked(Counts(threads: threadCount)) }
}

private final class GatheringFile: ForwardingFile {
  let file: any DiskFile
  private let gathering: Gathering

  init(_ file: any DiskFile, _ gathering: Gathering) {
    self.file = file
    self.gathering = gathering
  }

  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure) {
    try file.write(bytes, at: offset)
    if bytes.array.firstRange(of: Array("companion ".utf8)) != nil { gathering.counts.withLock { $0.written += 1 } }
  }

  func sync(_ level: SyncLevel) throws(DiskFailure) {
    let covered = gathering.counts.withLock { $0.written }
    // A thread that this sync holds up never comes: after ten thousand looks it goes on without.
    var looks = 0
    while covered > 0, looks < 10_000, gathering.counts.withLock({ $0.written - $0.durable < $0.threads }) {
      SystemClock.sleep(nanoseconds: 50_000)
      looks += 1
    }
    try file.sync(level)
    gathering.counts.withLock { $0.durable = covered }
  }
}
