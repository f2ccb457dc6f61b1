import Foundation

/// What the disk itself allows: small writes into a prepared file, each followed by fdatasync.
final class Floor {
  private let descriptor: Int32
  private var offset = 0
  private let byteCount = 200

  init(in directory: String, writeCount: Int) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    descriptor = open(directory + "/floor", O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw BenchmarkFault("the floor cannot open its file") }
    let zeros = [UInt8](repeating: 0, count: writeCount * byteCount)
    guard pwrite(descriptor, zeros, zeros.count, 0) == zeros.count, fsync(descriptor) == 0 else {
      throw BenchmarkFault("the floor cannot prepare its file")
    }
  }

  func append(_ count: Int) throws {
    let bytes = [UInt8](repeating: 7, count: byteCount)
    for _ in 0..<count {
      guard pwrite(descriptor, bytes, byteCount, off_t(offset)) == byteCount, sync() == 0 else {
        throw BenchmarkFault("the floor cannot write")
      }
      offset += byteCount
    }
  }

  private func sync() -> Int32 {
    #if os(Linux)
      fdatasync(descriptor)
    #else
      fcntl(descriptor, F_FULLFSYNC)
    #endif
  }

  func close() { _ = Foundation.close(descriptor) }
}
