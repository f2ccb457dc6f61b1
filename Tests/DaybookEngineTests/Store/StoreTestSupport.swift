import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// What the tests of the store share.

let storePath = "/d/book"

func newDisk(_ megabytes: Int = 4) -> SimulatedDisk {
  SimulatedDisk(seed: 5, maximumFileByteCount: megabytes << 20)
}

/// Runs a body on some threads at once; the first error that one of them throws.
func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) throws -> Void) throws {
  let failure = Locked<(any Error)?>(nil)
  let threads = (0..<count).map { index in
    BackgroundThread(name: "test \(index)") {
      do { try body(index) } catch { failure.withLock { $0 = $0 ?? error } }
    }
  }
  for thread in threads { try #require(thread).join() }
  if let failure = failure.withLock({ $0 }) { throw failure }
}

func withDirectory(_ body: (String) throws -> Void) throws {
  let directory = NSTemporaryDirectory() + "/daybook-store-" + UUID().uuidString
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  try body(directory)
}
