import Synchronization
import Testing

@testable import DaybookEngine
@testable import DaybookTesting

@Suite("Readers' slots and snapshots' places")
struct ReaderSlotTests {
  private let path = "book"

  private func newStore(_ disk: SimulatedDisk = SimulatedDisk(seed: 1)) throws -> KeyValueStore {
    try KeyValueStore(path, disk: disk, options: .small())
  }

  @Test("a read finds its slot at once, however many snapshots are open")
  func manySnapshots() throws {
    let store = try newStore()
    try store.put("a", [1])
    let snapshots = try (0..<10_000).map { _ in try store.store.beginSnapshot() }
    let (current, pin) = try store.stores.beginRead()
    #expect(pin.slot < 16)
    current.endRead(pin)
    for snapshot in snapshots { store.store.endSnapshot(snapshot) }
    try store.close()
  }

  @Test("places of snapshots that ended are used again, by as many threads as like")
  func placesAreReused() throws {
    let store = try newStore()
    try store.put("a", [1])
    try onThreads(4) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      var held: [Store.SnapshotPin] = []
      for _ in 0..<5000 {
        if held.count < 50, Bool.random(using: &generator) || held.isEmpty {
          held.append(try store.store.beginSnapshot())
        } else {
          let snapshot = held.remove(at: Int.random(in: 0..<held.count, using: &generator))
          let pin = try store.store.beginRead(via: snapshot)
          guard pin.root(0).count == 1, snapshot.index < 200 else { throw Deviation("place \(snapshot.index)") }
          store.store.endRead(via: snapshot)
          store.store.endSnapshot(snapshot)
        }
      }
      for snapshot in held { store.store.endSnapshot(snapshot) }
    }
    let all = try (0..<200).map { _ in try store.store.beginSnapshot() }
    #expect(Set(all.map(\.index)).count == 200)
    for snapshot in all { store.store.endSnapshot(snapshot) }
    #expect(!store.store.versions.haveReaders)
    try store.close()
  }

  @Test("two threads that read through one snapshot never hear that it is too old")
  func sharedSnapshot() throws {
    let store = try newStore()
    for number in 0..<50 { try store.put("key \(number)", [UInt8(number)]) }
    let snapshot = try store.store.beginSnapshot()
    try onThreads(3) { thread in
      for round in 0..<300 {
        if thread == 0 {
          try store.put("key \(round % 50)", [9])
          continue
        }
        let pin = try store.store.beginRead(via: snapshot)
        defer { store.store.endRead(via: snapshot) }
        guard try store.contents(pin)["key 7"] == [7] else { throw Deviation("the snapshot has changed") }
      }
    }
    store.store.endSnapshot(snapshot)
    try store.close()
  }

  @Test("a snapshot that one thread reads through is not revoked because another stops")
  func readsKeepSnapshot() throws {
    let store = try newStore()
    try store.put("a", [1])
    let snapshot = try store.store.beginSnapshot()
    _ = try store.store.beginRead(via: snapshot)
    _ = try store.store.beginRead(via: snapshot)
    store.store.endRead(via: snapshot)
    try store.put("a", [2])
    func revoke() -> Bool {
      let snapshots = store.store.slots.snapshots
      return snapshots.resting(below: .max, of: store.store.versions.live).first.map { snapshots.revoke($0) } ?? false
    }
    #expect(!revoke())
    store.store.endRead(via: snapshot)
    #expect(revoke())
    #expect(thrownCase { _ = try store.store.beginRead(via: snapshot) } == "snapshotTooOld")
    #expect(snapshot.sequence == 1)
    store.store.endSnapshot(snapshot)
    // The next one to have the place is not revoked.
    let next = try store.store.beginSnapshot()
    #expect(next.index == snapshot.index)
    #expect(try store.contents(store.store.beginRead(via: next)) == ["a": [2]])
    store.store.endRead(via: next)
    store.store.endSnapshot(next)
    try store.close()
  }

  @Test("the last sequence is asked for while commits come and versions are freed")
  func lastSequence() throws {
    let store = try newStore()
    let isDone = Atomic<Bool>(false)
    try onThreads(3) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        for number in 0..<2000 {
          try store.write { transaction in
            try transaction.put("key \(number % 5)", [1])
            transaction.transaction.withTurn { hold in store.store.versions.reclaim(hold) }
          }
        }
      } else {
        var last: UInt64 = 0
        while !isDone.load(ordering: .acquiring) {
          let next = store.store.lastSequence
          guard next >= last, next <= 2000 else { throw Deviation("\(next) after \(last)") }
          last = next
        }
      }
    }
    #expect(store.store.lastSequence == 2000)
    try store.close()
  }

  @Test("nothing is left of a store whose place is taken once its last reader has gone")
  func supersededStoreGoes() throws {
    let store = try newStore()
    try store.put("a", [1])
    weak let unread = store.store
    try store.compact()
    #expect(unread == nil)

    weak var read: Store?
    func readBesideCompaction() throws {
      let (old, pin) = try store.stores.beginRead()
      let snapshot = try old.beginSnapshot()
      read = old
      try store.compact()
      #expect(try store.contents(pin, of: old) == ["a": [1]])
      old.endRead(pin)
      #expect(store.stores.storesInUse.count == 2)
      #expect(try store.contents(old.beginRead(via: snapshot), of: old) == ["a": [1]])
      old.endRead(via: snapshot)
      old.endSnapshot(snapshot)
    }
    try readBesideCompaction()
    #expect(read == nil)
    #expect(store.stores.storesInUse.count == 1)
    try store.close()
  }

  @Test("readers that come, go and ask for the store while compactions replace it find it whole")
  func readersBesideReplacements() throws {
    let store = try newStore(newDisk(64))
    for number in 0..<20 { try store.put("key \(number)", [UInt8(number)]) }
    let contents = try store.contents()
    let isDone = Atomic<Bool>(false)
    try onThreads(4) { thread in
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        for _ in 0..<40 { try store.compact() }
        return
      }
      while !isDone.load(ordering: .acquiring) {
        if thread == 1 {
          let (current, pin) = try store.stores.beginRead()
          defer { current.endRead(pin) }
          guard try store.contents(pin, of: current) == contents else { throw Deviation("a read finds something else") }
        } else if thread == 2 {
          let (current, snapshot) = try store.stores.beginSnapshot()
          defer { current.endSnapshot(snapshot) }
          let pin = try current.beginRead(via: snapshot)
          defer { current.endRead(via: snapshot) }
          guard try store.contents(pin, of: current) == contents else { throw Deviation("a snapshot finds something else") }
        } else {
          guard store.store.lastSequence == 20 else { throw Deviation("a store of another sequence") }
        }
      }
    }
    try store.compact()
    #expect(store.stores.storesInUse.count == 1)
    try store.close()
  }
}
