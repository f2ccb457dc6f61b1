import Foundation

/// What the disk itself allows: small writes into a prepared file, each followed by fdatasync.
final class SyncFloor {
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

/// What memory itself allows a get: one load that has to wait for the one before it, anywhere in as many bytes as an index of
/// places needs (36 a key), or a copy of one record from anywhere in as many bytes as the records need.
final class MemoryFloor {
  private let lines: UnsafeMutablePointer<UInt64>
  private let lineCount: Int
  private let records: UnsafeMutableRawPointer
  private let recordCount: Int
  private let recordByteCount: Int
  private static let indexByteCountPerKey = 36

  init(recordCount: Int, recordByteCount: Int) {
    self.recordCount = recordCount
    self.recordByteCount = recordByteCount
    lineCount = max(2, recordCount * MemoryFloor.indexByteCountPerKey / 64)
    lines = .allocate(capacity: lineCount * 8)
    lines.initialize(repeating: 0, count: lineCount * 8)
    records = .allocate(byteCount: recordCount * recordByteCount, alignment: 64)
    records.initializeMemory(as: UInt8.self, repeating: 7, count: recordCount * recordByteCount)
    // Sattolo's shuffle: one cycle through all lines.
    var order = Array(0..<lineCount)
    for index in stride(from: lineCount - 1, to: 0, by: -1) {
      order.swapAt(index, Int(Workload.mix(UInt64(index)) % UInt64(index)))
    }
    for index in 0..<lineCount { lines[order[index] * 8] = UInt64(order[(index + 1) % lineCount]) }
  }

  deinit {
    lines.deallocate()
    records.deallocate()
  }

  func chase(_ count: Int) -> UInt64 {
    var line: UInt64 = 0
    for _ in 0..<count { line = lines[Int(line) * 8] }
    return line
  }

  func copy(_ count: Int, round: UInt64) -> UInt64 {
    let target = UnsafeMutableRawPointer.allocate(byteCount: recordByteCount, alignment: 16)
    defer { target.deallocate() }
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Int(Workload.pick(step, among: UInt64(recordCount), round: round))
      target.copyMemory(from: records + number * recordByteCount, byteCount: recordByteCount)
      sum &+= Workload.sum(target, recordByteCount)
    }
    return sum
  }
}
