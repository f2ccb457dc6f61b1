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
      operation.append(uint32: 8 | 1 << 24)
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

  /// A commit that a later frame proves, whose payload is pieces one after the other, each with or without a flipped bit.
  private func damagedCommit(_ pieces: [Piece]) throws -> [UInt8] {
    var bytes = Forgery.header()
    let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    var generator = SeededGenerator(seed: 1)
    func frame(_ kind: FrameHeader.Kind, number: UInt64, _ fill: (ByteBuffer) -> Void) {
      let start = bytes.count
      let buffer = ByteBuffer(capacity: 4096)
      buffer.append(zeros: FrameHeader.byteCount)
      fill(buffer)
      var header = FrameHeader(
        kind: kind, offset: UInt64(start), number: number, sequence: 1, previous: 0, durableThrough: number - 1,
        newestCheckpoint: 0, olderCheckpoint: 0)
      header.seal(into: buffer, salt: salt)
      if kind == .commit { buffer.set(uint64: 1, at: 80) }
      buffer.set(uint64: XXH3.hash(buffer.view.prefix(88), seed: salt), at: 88)
      bytes += buffer.view.array
      while bytes.count % 8 != 0 { bytes.append(0) }
    }
    frame(.commit, number: 1) { buffer in
      for piece in pieces {
        switch piece {
        case .noise(let count):
          for _ in 0..<count { buffer.append(UInt8.random(in: 0...255, using: &generator)) }
        case .operation(let count, let isDamaged):
          let start = buffer.count
          buffer.append(zeros: Operation.headerByteCount)
          for _ in 0..<count { buffer.append(UInt8.random(in: 0...255, using: &generator)) }
          let offset = UInt64(FileHeader.byteCount + start)
          Operation.seal(buffer, from: start, kind: KeyValueApplier.Kind.put, salt: salt, offset: offset)
          if isDamaged { buffer.set(uint64: 1, at: start) }
        }
      }
    }
    frame(.note, number: 2) { _ in }
    return bytes
  }

  private enum Piece {
    case noise(Int)
    case operation(Int, isDamaged: Bool = false)
  }

  private func salvagedByteCounts(_ bytes: [UInt8], kinds: [UInt8]) throws -> [Int] {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    disk.install(bytes, at: storePath)
    var found: [Int] = []
    try SalvageReader(storePath, disk: disk, kinds: kinds).forEachCommit(progress: { _ in true }) {
      (commit) throws(StoreError) in
      for index in 0..<commit.count { found.append(Operation.payload(commit.operation(index)!).count) }
    }
    return found
  }

  @Test("operations behind a megabyte of random bytes are salvaged, short and long ones, and those behind a damaged one")
  func behindRandomBytes() throws {
    let kinds = Array(1...11) + [14, 15].map(UInt8.init)
    let bytes = try damagedCommit([
      .operation(20), .operation(100, isDamaged: true), .operation(30), .operation(300_000, isDamaged: true), .operation(31),
      .noise(1 << 20), .operation(40), .operation(41), .noise(200), .operation(100_000), .operation(200_000), .noise(100),
      .operation(50),
    ])
    #expect(try salvagedByteCounts(bytes, kinds: kinds) == [20, 30, 31, 40, 41, 100_000, 200_000, 50])
  }

  @Test("a payload of which three bytes cannot say how long it is is salvaged", arguments: [-1, 0, 1])
  func veryLong(more: Int) throws {
    let count = Operation.longPayloadByteCount + more
    let bytes = try damagedCommit([.operation(20), .operation(count), .noise(9), .operation(count), .operation(30)])
    #expect(try salvagedByteCounts(bytes, kinds: [1, 2]) == [20, count, count, 30])
  }
}
