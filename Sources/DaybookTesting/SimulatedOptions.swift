#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook
import DaybookEngine

extension Database.Options {
  /// Where the same run is the same everywhere: random numbers and dates by a seed, no thread of its own, few tables.
  static func simulated(seed: UInt64) -> Database.Options {
    let generator = Locked(SeededGenerator(seed: seed))
    let seconds = Locked(1000.0)
    var options = Database.Options()
    options.random = { generator.withLock { $0.next() } }
    options.now = {
      Date(
        timeIntervalSinceReferenceDate: seconds.withLock {
          $0 += 1
          return $0
        })
    }
    options.hasBackgroundThread = false
    options.readerLimit = 64
    options.checkpoint.maximumLogByteCount = 64 << 10
    return options
  }

  /// What no version needs any more is freed at once and filled with a pattern, also in a release build: an address that has outlived
  /// its page leads to nothing that looks like one.
  mutating func freeAtOnce() {
    poisonsFreedMemory = true
    reclaimByteCount = 0
  }
}
