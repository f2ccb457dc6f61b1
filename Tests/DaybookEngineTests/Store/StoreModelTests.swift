import DaybookTesting
import Testing

@testable import DaybookEngine

// A store beside a dictionary for hundreds of random steps: puts, deletes, savepoints, aborted transactions, snapshots
// that are held for long, closing, killing, power loss. Whatever is asked, both answer the same.

private struct Lockstep {
  let path = "/d/book"
  var generator: SeededGenerator
  var disk: SimulatedDisk
  var options: StoreOptions
  var store: KeyValueStore
  var model: Contents = [:]
  /// Snapshots and what they must go on to show.
  enum Held {
    case read(Store.Pin)
    case snapshot(Store.SnapshotPin)
  }
  var held: [(Held, contents: Contents)] = []

  init(seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed, maximumFileByteCount: 16 << 20)
    options = .small(seed: seed)
    options.partByteCount = [300, 2000, 1 << 20][Int(seed % 3)]
    let budget = [4 << 10, 16 << 10, 64 << 10][Int(seed / 3 % 3)]
    options.minimumLogBudgetByteCount = budget
    options.maximumLogBudgetByteCount = budget
    store = try KeyValueStore(path, disk: disk, options: options)
  }

  mutating func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

  mutating func step() throws {
    switch random(0..<100) {
    case 0..<60: try transaction(isAborted: false)
    case 60..<68: try transaction(isAborted: true)
    case 68..<76: try hold()
    case 76..<84: try letGo()
    case 84..<88: try store.store.checkpoint()
    case 88..<90: store.store.appendNote()
    case 90..<92: store.store.prepareZeros()
    case 92..<94: try reopen { disk in disk }
    case 94..<96: try reopen { disk in disk.killed() }
    case 96..<98:
      let seed = generator.next()
      try reopen { disk in disk.crashed(seed: seed) }
    default:
      try compare()
      try store.checkThoroughly()
    }
    for _ in 0..<3 {
      let key = key()
      guard try store.value(key) == model[key] else { throw Deviation("another value under \(key)") }
    }
  }

  private mutating func key() -> String {
    String(repeating: "prefix ", count: random(0..<2) * 3) + "\(random(0..<400))"
  }

  private mutating func transaction(isAborted: Bool) throws {
    let before = model
    let transaction = try store.store.beginTransaction()
    do {
      try change(KeyValueTransaction(transaction), depth: 0)
      if isAborted { throw ChangedMyMind() }
    } catch {
      let ticket = store.store.abort(transaction)
      try store.store.wait(ticket)
      model = before
      if error is ChangedMyMind { return }
      throw error
    }
    try store.store.wait(try store.store.commit(transaction))
  }

  private mutating func change(_ transaction: borrowing KeyValueTransaction, depth: Int) throws {
    let count = random(0..<10) == 0 ? random(0..<150) : random(0..<8)
    for _ in 0..<count {
      let key = key()
      switch random(0..<20) {
      case 0..<11:
        let value = filler(random(0..<1 << 40), random(0..<10) == 0 ? random(0..<3000) : random(0..<60))
        try transaction.put(key, value)
        model[key] = value
      case 11..<17:
        try transaction.delete(key)
        model[key] = nil
      case 17:
        guard try transaction.value(key) == model[key] else { throw Deviation("a transaction reads something else") }
      default:
        guard depth < 3 else { continue }
        let before = model
        let savepoint = try transaction.transaction.savepoint()
        try change(transaction, depth: depth + 1)
        if random(0..<2) == 0 {
          try transaction.transaction.rollBack(to: savepoint)
          model = before
        }
      }
    }
  }

  private mutating func hold() throws {
    guard held.count < 12 else { return }
    let rests = random(0..<2) == 0
    held.append((try rests ? .snapshot(store.store.beginSnapshot()) : .read(store.store.beginRead()), model))
  }

  private mutating func letGo() throws {
    guard !held.isEmpty else { return }
    let (held, contents) = held.remove(at: random(0..<held.count))
    let isWhole: Bool
    switch held {
    case .read(let pin):
      isWhole = try store.contents(pin) == contents
      store.store.endRead(pin)
    case .snapshot(let snapshot):
      isWhole = try store.contents(store.store.beginRead(via: snapshot)) == contents
      store.store.endRead(via: snapshot)
      store.store.endSnapshot(snapshot)
    }
    guard isWhole else { throw Deviation("a snapshot has changed") }
  }

  private mutating func reopen(_ next: (SimulatedDisk) -> SimulatedDisk) throws {
    while !held.isEmpty { try letGo() }
    let image = next(disk)
    if image === disk { try store.close() } else { disk.stop() }
    disk = image
    store = try KeyValueStore(path, disk: disk, options: options)
    try compare()
  }

  func compare() throws {
    guard try store.contents() == model else { throw Deviation("the store holds something else than the model") }
  }

  mutating func finish() throws {
    while !held.isEmpty { try letGo() }
    try compare()
    try store.checkThoroughly()
    try store.store.checkpoint()
    // Without snapshots, memory holds what the file does not: nothing.
    guard store.store.editor.pages.usedPageCount == 0 else {
      throw Deviation("\(store.store.editor.pages.usedPageCount) pages are still in memory")
    }
    try store.close()
  }
}

@Suite("The store beside a model")
struct StoreModelTests {
  @Test("a store and a dictionary agree through hundreds of random steps", arguments: testSeeds(1...6))
  func lockstep(seed: UInt64) throws {
    var lockstep = try Lockstep(seed: seed)
    for step in 0..<150 {
      do { try lockstep.step() } catch { throw Deviation("seed \(seed), step \(step): \(error)") }
    }
    do { try lockstep.finish() } catch { throw Deviation("seed \(seed), at the end: \(error)") }
    let reopened = try KeyValueStore(lockstep.path, disk: lockstep.disk, options: .small(seed: seed))
    #expect(try reopened.contents() == lockstep.model)
  }
}
