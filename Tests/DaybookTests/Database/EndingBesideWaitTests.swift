import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Suspending and closing while something waits for the file lock of another process.
@Suite("endings beside a wait for the file lock", .serialized, .timeLimit(.minutes(15)))
struct EndingBesideWaitTests {
  enum Work: String, CaseIterable, Sendable { case save, collection, compaction, resume, reopening }

  private static func open(
    _ disk: SimulatedDisk, seed: UInt64, _ timeout: Duration, _ lock: Database.Options.Lock = .perTransaction
  ) throws -> Database {
    var options = Database.Options.simulated(seed: seed, clock: TestClock())
    options.lock = lock
    options.lockTimeout = timeout
    return try Database.open(at: "a.daybook", options: options, disk: disk)
  }

  @Test(
    "a suspension or a close does not wait for another process, whatever waits for its lock", arguments: Work.allCases,
    [false, true])
  func ends(work: Work, closes: Bool) throws {
    let disk = SimulatedDisk(seed: 1)
    let a = try Self.open(disk, seed: 1, .seconds(20), work == .resume ? .whileOpen : .perTransaction)
    try a.put("first")
    if work == .resume { try a.suspend() }
    let b = try Self.open(disk, seed: 2, .seconds(60))
    let (isInside, mayGoOn) = (Event(), Event())
    let other = BackgroundThread(name: "other") {
      try? b.write { transaction in
        isInside.signal()
        mayGoOn.wait()
      }
    }
    isInside.wait()
    let result = Locked<DatabaseError?>(nil)
    let waiting = BackgroundThread(name: "waiting") {
      do {
        switch work {
        case .save: try a.put("second")
        case .collection: try a.collectAssets()
        case .compaction: try a.compact()
        case .resume: try a.resume()
        case .reopening:
          let replacing = a.stores.replacing
          replacing.lock()
          defer { replacing.unlock() }
          do throws(StoreError) { try a.stores.reload(a.store, .otherFile) } catch {
            throw DatabaseError(error, path: "a.daybook")
          }
        }
      } catch { result.withLock { $0 = error as? DatabaseError } }
    }
    SystemClock.sleep(nanoseconds: 100_000_000)
    if closes { try a.close() } else { try a.suspend() }
    waiting?.join()
    // What waits to the end of its time says that the file is locked, and not why.
    let error = result.withLock { $0 }
    #expect(error?.code == (closes ? .closed : .locked), "\(String(describing: error))")
    if !closes { #expect("\(String(describing: error))".contains("suspended"), "\(String(describing: error))") }
    mayGoOn.signal()
    other?.join()
    if !closes {
      try a.resume()
      try a.put("third")
      try a.close()
    }
    try b.close()
  }
}
