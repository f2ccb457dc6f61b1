import DaybookEngine

/// A frame as it was written, read from its header by FORMAT.md §3.
struct WrittenFrame: Sendable, Equatable, CustomStringConvertible {
  let kind: UInt8
  let offset: Int
  let end: Int
  let next: Int
  let number: UInt64
  let sequence: UInt64
  let durableThrough: UInt64
  let newestCheckpoint: UInt64
  let olderCheckpoint: UInt64
  /// Commit: the number of its first part, when it has parts. Checkpoint: the number of the frame where replay starts.
  var named: UInt64 = 0

  var isCommit: Bool { kind == 1 }
  var isPages: Bool { kind == 3 }
  var isCheckpoint: Bool { kind == 4 }

  var description: String {
    let name = ["?", "commit", "part", "pages", "checkpoint", "closed", "note"][Int(min(kind, 6))]
    return "frame \(number) at \(offset)..<\(end): \(name), sequence \(sequence), durable through \(durableThrough)"
  }

  /// All frames of a log that is whole.
  static func all(of bytes: [UInt8]) -> [WrittenFrame] {
    var frames: [WrittenFrame] = []
    func number(_ offset: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) } }
    var offset = 4096
    while offset + 96 <= bytes.count, bytes[offset..<offset + 4].elementsEqual([0x44, 0x42, 0x66, 0x31]) {
      let flags = bytes[offset + 5]
      let end = offset + 96 + Int(number(offset + 72))
      // The payload of the last frame may be cut by a process that died in its write. Its header is still a proof.
      let isCut = end > bytes.count
      var frame = WrittenFrame(
        kind: bytes[offset + 4], offset: offset, end: end, next: flags & 2 != 0 ? (end + 4095) & ~4095 : (end + 7) & ~7,
        number: number(offset + 24), sequence: number(offset + 32), durableThrough: number(offset + 48),
        newestCheckpoint: number(offset + 56), olderCheckpoint: number(offset + 64))
      if frame.isCommit, flags & 1 != 0, !isCut { frame.named = number(offset + 96) }
      if frame.isCheckpoint, !isCut { frame.named = number(offset + 96 + 56) }
      frames.append(frame)
      if isCut { break }
      offset = frame.next
    }
    return frames
  }
}
