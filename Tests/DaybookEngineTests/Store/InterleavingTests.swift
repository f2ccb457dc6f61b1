import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// A small explorer: a writer, a checkpoint or a compaction, a reader and a second process, step by step in every order up to a
// bound.
//
//     W  append, sync, append, sync        the two halves of two commits
//     C  start, go on, go on               a checkpoint, held at each of its syncs until it is its turn again
//     K  start, go on, go on               a compaction, held at its calls of the disk until it is its turn again
//     R  begin, look and end               a snapshot
//     P  refresh                           a reader in another process
//
// One thread does all of it: what comes while the checkpoint is under way runs inside its call of sync. So every order is
// run exactly as it is written down, and a failing one is printed as its letters.

private let path = "/d/book"

/// Every order of the letters, as strings; equal letters are not told apart.
private func orders(of counts: [(letter: Character, count: Int)]) -> [String] {
  if counts.allSatisfy({ $0.count == 0 }) { return [""] }
  var result: [String] = []
  for index in counts.indices where counts[index].count > 0 {
    var rest = counts
    rest[index].count -= 1
    result += orders(of: rest).map { String(counts[index].letter) + $0 }
  }
  return result
}

private final class Explorer: @unchecked Sendable {
  let disk: SimulatedDisk
  private let store: KeyValueStore
  private let other: KeyValueStore
  private var steps: [Character]
  /// What the store held after each commit.
  private var states: [UInt64: Contents] = [:]
  private var newest: Contents
  private var writerStep = 0
  private var ticket: Store.Ticket?
  private var ticketStore: Store?
  private var acknowledged: UInt64
  private var pin: Store.SnapshotPin?
  /// Where the reader looks: the store that it began in.
  private var pinned: Store?
  /// The letter of the background work that is under way and may be held now.
  private var held: Character?
  private var hasCheckpointed = false
  private var hasCompacted = false
  private var seenByOther: UInt64
  private var failure: (any Error)?

  init(_ image: SimulatedDisk, order: String) throws {
    disk = image.killed()
    store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    other = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints(seed: 2).readOnly)
    steps = Array(order)
    let (sequence, contents) = try store.snapshot()
    states[sequence] = contents
    newest = contents
    acknowledged = sequence
    seenByOther = try other.snapshot().sequence
    // Something that only memory holds, so that the checkpoint has pages to write.
    try put("m", [0])
    try store.store.wait(#require(ticket))
    acknowledged = ticket?.sequence ?? 0
  }

  private func put(_ key: String, _ value: [UInt8]) throws {
    let transaction = try store.stores.beginTransaction()
    // Whoever waits for a turn that is never given waits for ever.
    do { try KeyValueTransaction(transaction).put(key, value) } catch {
      transaction.store.abandon(transaction)
      throw error
    }
    newest[key] = value
    ticketStore = transaction.store
    ticket = try transaction.store.commit(transaction)
    states[try #require(ticket).sequence] = newest
  }

  func run() throws {
    disk.observe { [unowned self] call throws(DiskFailure) in
      switch call.operation {
      case .sync, .rename, .syncDirectory: if let held { whileHeld(held) }
      default: break
      }
    }
    while !steps.isEmpty {
      try next()
      if let failure { throw failure }
    }
    disk.observe(nil)
    try finish()
  }

  /// Inside a call of the background work: everybody else's steps, until it is its turn again. With the turn held nobody
  /// writes; then the step stays for later.
  fileprivate func whileHeld(_ letter: Character) {
    held = nil
    defer { held = letter }
    while let step = steps.first, failure == nil {
      if step == letter {
        steps.removeFirst()
        return
      }
      if "WCK".contains(step), store.store.turn.isTaken { return }
      // A compaction's last step waits for the end of a checkpoint.
      if step == "K", letter == "C", !hasCompacted { return }
      do { try next() } catch { failure = error }
    }
  }

  private func background(_ letter: Character, _ body: () throws -> Void) throws {
    let outer = held
    held = letter
    defer { held = outer }
    try body()
  }

  private func next() throws {
    switch steps.removeFirst() {
    case "W": try write()
    case "C":
      // The steps that a finished checkpoint did not need are nobody's.
      if hasCheckpointed { return }
      hasCheckpointed = true
      try background("C") { try store.store.checkpoint() }
    case "K":
      if hasCompacted { return }
      hasCompacted = true
      try background("K") { try store.compact() }
    case "R": try read()
    default: try refresh()
    }
  }

  private func write() throws {
    defer { writerStep += 1 }
    switch writerStep {
    case 0: try put("m", [1])
    case 2: try put("k1", [9, 9])
    default:
      let ticket = try #require(ticket)
      try (ticketStore ?? store.store).wait(ticket)
      acknowledged = ticket.sequence
      guard try store.snapshot().sequence >= ticket.sequence else { throw Deviation("a commit is not seen by its writer") }
    }
  }

  private func read() throws {
    guard let pin, let pinned else {
      let (current, taken) = try store.stores.beginSnapshot()
      pin = taken
      pinned = current
      guard taken.sequence >= acknowledged else { throw Deviation("a snapshot misses an acknowledged commit") }
      return
    }
    let isWhole = try store.contents(pinned.beginRead(via: pin), of: pinned) == states[pin.sequence]
    pinned.endRead(via: pin)
    pinned.endSnapshot(pin)
    guard isWhole else { throw Deviation("a snapshot changed") }
    self.pin = nil
  }

  private func refresh() throws {
    _ = try other.refresh()
    let (sequence, contents) = try other.snapshot()
    guard contents == states[sequence] else { throw Deviation("the other process sees what no commit left") }
    guard sequence >= seenByOther, sequence <= acknowledged || ticket?.sequence == sequence else {
      throw Deviation("the other process sees commit \(sequence) after \(seenByOther), \(acknowledged) is durable")
    }
    seenByOther = sequence
  }

  private func finish() throws {
    if pin != nil { try read() }
    try refresh()
    guard try store.contents() == newest else { throw Deviation("the store holds something else than was written") }
    try store.checkThoroughly()
    for (seed, policy) in [(1, CrashPolicy.none), (2, .all), (3, .random)] as [(UInt64, CrashPolicy)] {
      let found = try KeyValueStore(path, disk: disk.crashed(seed: seed, policy: policy), options: .withoutCheckpoints())
      let (sequence, contents) = try found.snapshot()
      guard sequence >= acknowledged, contents == states[sequence] else {
        throw Deviation("power loss left commit \(sequence) with \(contents), \(acknowledged) was acknowledged")
      }
    }
    try other.close()
    try store.close()
    let reopened = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    guard try reopened.contents() == newest else { throw Deviation("closing lost something") }
    try reopened.checkThoroughly()
  }
}

@Suite("Interleavings")
struct InterleavingTests {
  private static func filled() throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 61, maximumFileByteCount: 1 << 20)
    let store = try KeyValueStore(path, disk: disk, options: .withoutCheckpoints())
    for number in 0..<12 { try store.put("k\(number)", [UInt8(number)]) }
    try store.store.checkpoint()
    try store.close()
    return disk
  }

  @Test("a writer, a checkpoint, a reader and a second process agree in every order of their steps")
  func everyOrder() throws {
    let disk = try Self.filled()
    let all = orders(of: [("W", 4), ("C", 3), ("R", 2), ("P", 1)])
    #expect(all.count == 12_600 && Set(all).count == 12_600)
    // All of them take minutes; in between every 23rd, which has no factor in common with their number.
    let isWhole = ProcessInfo.processInfo.environment["DAYBOOK_INTERLEAVINGS"] == "all"
    var runCount = 0
    for index in stride(from: 0, to: all.count, by: isWhole ? 1 : 23) {
      do { try Explorer(disk, order: all[index]).run() } catch { Issue.record("order \(all[index]): \(error)") }
      runCount += 1
    }
    #expect(runCount >= 500)
    print("\(runCount) of \(all.count) orders")
  }

  @Test("and so they do with a compaction, and one with a checkpoint")
  func everyOrderWithCompaction() throws {
    let disk = try Self.filled()
    let isWhole = ProcessInfo.processInfo.environment["DAYBOOK_INTERLEAVINGS"] == "all"
    let all =
      orders(of: [("W", 4), ("K", 3), ("R", 2), ("P", 1)]) + orders(of: [("W", 3), ("K", 2), ("C", 2), ("P", 2), ("R", 1)])
    var runCount = 0
    for index in stride(from: 0, to: all.count, by: isWhole ? 1 : 83) {
      do { try Explorer(disk, order: all[index]).run() } catch { Issue.record("order \(all[index]): \(error)") }
      runCount += 1
    }
    #expect(runCount >= 500)
    print("\(runCount) of \(all.count) orders with a compaction")
  }
}
