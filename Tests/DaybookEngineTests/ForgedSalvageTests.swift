import DaybookTesting
import Testing

@testable import DaybookEngine

// What a salvage makes of files whose frames no store writes.

@Suite("forged files and salvage", .serialized)
struct ForgedSalvageTests {
  /// Headers of parts that claim to be longer than the file, one behind the other, then operations that hold, then a commit whose
  /// payload does not, and a note that proves it.
  private func nested(partCount: Int, operationCount: Int) throws -> [UInt8] {
    var bytes = Forgery.header()
    let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    var number: UInt64 = 0
    func frame(_ kind: FrameHeader.Kind, _ payload: ByteBuffer, byteCount: UInt64? = nil, hasParts: Bool = false) {
      number += 1
      let buffer = ByteBuffer(capacity: 4096)
      buffer.append(zeros: FrameHeader.byteCount)
      buffer.append(payload.view)
      var header = FrameHeader(
        kind: kind, offset: UInt64(bytes.count), number: number, sequence: kind == .commit || kind == .note ? 1 : 0,
        previous: 0, durableThrough: kind == .note ? number - 1 : 0, newestCheckpoint: 0, olderCheckpoint: 0)
      header.hasParts = hasParts
      header.seal(into: buffer, salt: salt)
      if let byteCount { buffer.set(uint64: byteCount, at: 72) }
      if kind == .commit { buffer.set(uint64: 1, at: 80) }
      buffer.set(uint64: XXH3.hash(buffer.view.prefix(88), seed: salt), at: 88)
      bytes += buffer.view.array
      while bytes.count % 8 != 0 { bytes.append(0) }
    }
    let empty = ByteBuffer(capacity: 16)
    // Parts of one transaction: all but its first have room for a list.
    for index in 0..<partCount { frame(.part, empty, byteCount: 1 << 30, hasParts: index > 0) }
    bytes += [UInt8](repeating: 0, count: PartList.encodedByteCount)
    for index in 0..<operationCount {
      let operation = ByteBuffer(capacity: 64)
      operation.append(uint64: 0)
      operation.append(uint32: 8)
      operation.append(uint32: 1)
      operation.append(uint64: UInt64(index))
      operation.set(uint64: Operation.checksum(operation.view, salt: salt, offset: UInt64(bytes.count)), at: 0)
      bytes += operation.view.array
    }
    let payload = ByteBuffer(capacity: 64)
    payload.append(zeros: PartList.encodedByteCount)
    frame(.commit, payload, hasParts: true)
    frame(.note, empty)
    return bytes
  }

  @Test("what lies in frames that reach beyond the file, one in another, is salvaged once, not once for each")
  func nestedFrames() throws {
    for partCount in [1, 2, 60] {
      let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 1 << 20)
      disk.install(try nested(partCount: partCount, operationCount: 50), at: storePath)
      var operationCount = 0
      try SalvageReader(storePath, disk: disk).forEachCommit(progress: { _ in true }) { (commit) throws(StoreError) in
        operationCount += commit.count
      }
      #expect(operationCount == 50, "\(partCount) parts")
    }
  }
}
