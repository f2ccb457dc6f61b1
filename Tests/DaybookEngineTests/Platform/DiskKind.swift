import DaybookEngine
import DaybookTesting
import Foundation

/// The disks that keep the promises of the seam.
enum DiskKind: CaseIterable {
  case system, memory, simulated

  /// Hands over such a disk, and a directory on it that is removed afterwards.
  func use(_ body: (any Disk, String) throws -> Void) throws {
    switch self {
    case .memory:
      try body(MemoryDisk(), "/somewhere")
    case .simulated:
      try body(SimulatedDisk(seed: 1, maximumFileByteCount: 512 << 20), "/somewhere")
    case .system:
      let directory = NSTemporaryDirectory() + "/daybook-platform-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      try body(SystemDisk(), directory)
    }
  }
}
