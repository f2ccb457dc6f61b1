@testable import DaybookEngine
import DaybookTesting
import Testing

/// What a file that a compaction has replaced costs those who still read it.
@Suite("Store: a replaced file")
struct ReplacedStoreTests {
  /// Knows which threads have freed a file that lost its name.
  private final class FreeingDisk: ForwardingDisk {
    let disk = SimulatedDisk(seed: 1)
    let freers = Locked<[UInt]>([])

    func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
      FreeingFile(try disk.open(path, mode), self)
    }
    func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
      FreeingFile(try disk.createPrivate(path, byteCount: byteCount), self)
    }
  }
  private final class FreeingFile: ForwardingFile {
    let file: any DiskFile
    private let owner: FreeingDisk
    init(_ file: any DiskFile, _ owner: FreeingDisk) { (self.file, self.owner) = (file, owner) }
    func closeRemoved(_ goesOn: () -> Bool) {
      owner.freers.withLock { $0.append(currentThreadNumber()) }
      file.closeRemoved(goesOn)
    }
  }

  @Test("the thread that ends the last snapshot of it does not free its file", arguments: [true, false])
  func frees(hasBackgroundThread: Bool) throws {
    let disk = FreeingDisk()
    var options = StoreOptions.small()
    options.hasBackgroundThread = hasBackgroundThread
    let store = try KeyValueStore("a", disk: disk, options: options)
    for number in 0..<100 { try store.put("key \(number)", [1]) }
    let old = store.store
    let pin = try old.beginSnapshot()
    try store.compact()
    #expect(disk.freers.withLock { $0.isEmpty })
    old.endSnapshot(pin)
    while disk.freers.withLock({ $0.isEmpty }) { SystemClock.sleep(nanoseconds: 1_000_000) }
    // Where the database has no thread of its own, there is no other.
    #expect((disk.freers.withLock { $0 } == [currentThreadNumber()]) == !hasBackgroundThread)
    try store.put("after", [1])
    #expect(try store.contents().count == 101)
    try store.close()
    #expect(disk.freers.withLock { $0.count } == 1)
  }

  /// A store whose pages are in memory, none of them in the file.
  private static func filled(snapshotMemoryByteCount: Int) throws -> KeyValueStore {
    var options = StoreOptions.small()
    options.minimumLogBudgetByteCount = 8 << 20
    options.maximumLogBudgetByteCount = 8 << 20
    options.snapshotMemoryByteCount = snapshotMemoryByteCount
    let store = try KeyValueStore("a", disk: SimulatedDisk(seed: 1), options: options)
    for round in 0..<30 {
      try store.write { transaction in for number in 0..<100 { try transaction.put("key \(round) \(number)", [1]) } }
    }
    return store
  }

  @Test("a snapshot that a compaction leaves behind ends when its pages take more than snapshots may hold")
  func memory() throws {
    let store = try Self.filled(snapshotMemoryByteCount: 64 << 10)
    let old = store.store
    #expect(old.editor.pages.usedByteCount > 64 << 10)
    let pins = try (0..<3).map { _ in try old.beginSnapshot() }
    try store.compact()
    for pin in pins { #expect(thrownCase { _ = try old.beginRead(via: pin) } == "snapshotTooOld") }
    #expect(old.isReleased)
    for pin in pins { old.endSnapshot(pin) }
    #expect(try store.contents().count == 3000)
    try store.close()
  }

  @Test("a snapshot that is being read stays, and ends afterwards")
  func beingRead() throws {
    let store = try Self.filled(snapshotMemoryByteCount: 64 << 10)
    let old = store.store
    let snapshot = try old.beginSnapshot()
    let pin = try old.beginRead(via: snapshot)
    try store.compact()
    #expect(!old.isReleased)
    #expect(try store.contents(pin, of: old).count == 3000)
    old.endRead(via: snapshot)
    // The next look is that of a writer that frees pages.
    store.store.withTurnForBackground { hold in store.store.versions.reclaim(hold) }
    #expect(thrownCase { _ = try old.beginRead(via: snapshot) } == "snapshotTooOld")
    #expect(old.isReleased)
    old.endSnapshot(snapshot)
    try store.close()
  }

  @Test("the oldest of several replaced files ends first, and only as many as necessary")
  func oldestFirst() throws {
    let store = try Self.filled(snapshotMemoryByteCount: 512 << 10)
    var olds: [(store: Store, pin: Store.SnapshotPin)] = []
    for round in 0..<6 {
      olds.append((store.store, try store.store.beginSnapshot()))
      try store.compact()
      // Each new file has pages of its own in memory.
      try store.write { transaction in
        for number in 0..<100 { for part in 0..<30 { try transaction.put("key \(part) \(number)", [UInt8(round)]) } }
      }
    }
    let ended = olds.map { old in
      do {
        let pin = try old.store.beginRead(via: old.pin)
        _ = pin
        old.store.endRead(via: old.pin)
        return false
      } catch { return true }
    }
    #expect(ended.first == true && ended.last == false && ended == ended.sorted { $0 && !$1 }, "\(ended)")
    let held = olds.reduce(0) { $0 + ($1.store.isReleased ? 0 : $1.store.editor.pages.usedByteCount) }
    #expect(held <= 512 << 10)
    for old in olds { old.store.endSnapshot(old.pin) }
    try store.close()
  }
}
