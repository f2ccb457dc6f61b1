import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The note that says since when nothing has referred to asset files (`unreferenced`).

@Suite("asset files that wait for their removal")
struct WaitingAssetTests {
  @Test(
    "a transaction reads and writes the note of unreferenced assets once, however many of them come back",
    arguments: [Database.Options.Lock.whileOpen, .perTransaction])
  func once(lock: Database.Options.Lock) throws {
    let (disk, folder) = (HookedDisk(), try TemporaryFolder())
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    options.lock = lock
    let database = try Database.open(at: folder.file("a"), options: options, disk: disk)
    for number in 0..<8 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
    for number in 0..<8 { try database.write { _ = try $0.delete(Record.ID("r\(number)")) } }
    #expect(try database.collectAssets(grace: .seconds(1000)).waitingCount == 8)
    let records = try (0..<6).map { number in
      var record = try Record.fresh("s\(number)")
      record["file"] = Asset(data: AssetBench.content(number))
      return try database.prepare(record)
    }
    let calls = Locked<[DiskFailure.Operation]>([])
    disk.before { operation, path in
      if path.contains("a.assets/unreferenced"), [.open, .create].contains(operation) {
        calls.withLock { $0.append(operation) }
      }
    }
    try database.write { transaction in for record in records { try transaction.save(record) } }
    disk.before(nil)
    #expect(calls.withLock { $0 } == [.open, .create])
    let report = try database.collectAssets(grace: .seconds(1000))
    #expect(report.waitingCount == 2 && report.keptCount == 6)
    try database.expectClean()
    try database.close()
  }
}
