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
    // Where the database has no thread of its own, there is nobody else.
    #expect((disk.freers.withLock { $0 } == [currentThreadNumber()]) == !hasBackgroundThread)
    try store.put("after", [1])
    #expect(try store.contents().count == 101)
    try store.close()
    #expect(disk.freers.withLock { $0.count } == 1)
  }
}
