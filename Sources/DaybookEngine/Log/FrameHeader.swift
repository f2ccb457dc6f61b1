/// The 96 bytes in front of every frame of the log.
///
///     offset  size  field
///          0     4  magic "DBf1"
///          4     1  kind: 1 commit, 2 part, 3 pages, 4 checkpoint, 5 closed, 6 note, 7 superseded,
///                    8 declarations; 128 to 255 are for later versions, and mean nothing to this one
///          5     1  flags: 1 = the payload starts with 32 bytes for a list of parts;
///                    2 = the next frame starts at a multiple of 4096;
///                    4 = an image: the first commit of a compacted file, with the sequence of the commit that it shows
///          6     2  zero
///          8     8  salt of the file
///         16     8  this frame's own offset in the file
///         24     8  frame number, growing by one with every frame
///         32     8  commit sequence: its own for a commit, else that of the last commit before it
///         40     8  header checksum of the frame before: the chain
///         48     8  durableThrough: the highest frame number known to be synced when this frame was written
///         56     8  offset of the newest checkpoint (a checkpoint names itself), 0 for none
///         64     8  offset of the one before
///         72     8  payload length
///         80     8  payload checksum, seeded with salt and offset
///         88     8  checksum of bytes 0 ..< 88, seeded with the salt
///
/// A frame starts at a multiple of eight; up to seven zero bytes fill the gap behind a payload. The header has a checksum of
/// its own, so the length can be trusted even when the payload is corrupt. Zero bytes are never a header. Spec: FORMAT.md §3.
package struct FrameHeader: Sendable, Equatable {
  package static let byteCount = 96
  static let magic: UInt32 = 0x3166_4244  // "DBf1"
  static let saltOffset = 8

  /// To a build that does not know a kind below 128, such a frame is no frame: torn, or corrupt if a later one proves that it was
  /// durable. So such a new kind raises `FileHeader.formatVersion`, which older builds refuse. One from 128 on counts in the chain
  /// and proves what is durable, and says nothing else to them.
  package enum Kind: RawRepresentable, Equatable, Sendable {
    case commit, part, pages, checkpoint, closed, note, superseded, declarations
    case later(UInt8)

    package init?(rawValue: UInt8) {
      switch rawValue {
      case 1: self = .commit
      case 2: self = .part
      case 3: self = .pages
      case 4: self = .checkpoint
      case 5: self = .closed
      case 6: self = .note
      case 7: self = .superseded
      case 8: self = .declarations
      case 128...255: self = .later(rawValue)
      default: return nil
      }
    }

    package var rawValue: UInt8 {
      switch self {
      case .commit: 1
      case .part: 2
      case .pages: 3
      case .checkpoint: 4
      case .closed: 5
      case .note: 6
      case .superseded: 7
      case .declarations: 8
      case .later(let number): number
      }
    }

    package var name: String {
      switch self {
      case .commit: "commit"
      case .part: "part"
      case .pages: "pages"
      case .checkpoint: "checkpoint"
      case .closed: "closed"
      case .note: "note"
      case .superseded: "superseded"
      case .declarations: "declarations"
      case .later(let number): "kind \(number)"
      }
    }
    /// Whether losing the frame loses data.
    var carriesData: Bool { self == .commit || self == .part }
    /// No honest payload is as long: what a part is made of, with the longest operation behind it; or 62 pages. A header that
    /// claims more would have holes read, or copied into memory.
    var payloadLimit: UInt64 { carriesData ? 1 << 31 : 1 << 20 }
  }

  package var kind: Kind
  /// The payload starts with room for a `PartList`: filled in by the closing commit, zero in later parts.
  package var hasParts = false
  /// Zeros follow up to a multiple of 4096, so that no later write touches a sector of this frame.
  package var fillsSectors = false
  /// The commit stands for all commits up to its sequence; only the first commit of a file can be an image.
  package var isImage = false
  package var offset: UInt64
  package var number: UInt64
  package var sequence: UInt64
  package var previous: UInt64
  package var durableThrough: UInt64
  package var newestCheckpoint: UInt64
  package var olderCheckpoint: UInt64
  package var payloadByteCount: UInt64 = 0
  package var payloadChecksum: UInt64 = 0
  /// The header's own checksum: what the next frame chains to.
  package var checksum: UInt64 = 0

  package init(
    kind: Kind, offset: UInt64, number: UInt64, sequence: UInt64, previous: UInt64, durableThrough: UInt64,
    newestCheckpoint: UInt64, olderCheckpoint: UInt64
  ) {
    self.kind = kind
    self.offset = offset
    self.number = number
    self.sequence = sequence
    self.previous = previous
    self.durableThrough = durableThrough
    self.newestCheckpoint = newestCheckpoint
    self.olderCheckpoint = olderCheckpoint
  }

  /// No genuine number, sequence or place reaches this; sums of those below it cannot overflow.
  static let limit: UInt64 = 1 << 60
  /// An open for writing refuses a log whose numbers reach this, so that no open can append enough frames to reach `limit`.
  /// Frames beyond `limit` would be written and acknowledged, but never found again.
  static let limitForWriting: UInt64 = limit - 1 << 40

  /// The start of a frame: zeros for its header, which `LogWriter.append` fills in, and room for the payload.
  static func buffer(payloadByteCount: Int = 160) -> ByteBuffer {
    let frame = ByteBuffer(capacity: byteCount + payloadByteCount)
    frame.append(zeros: byteCount)
    return frame
  }

  /// Reads a valid header: magic, salt, own offset and checksum must match. Anything else is nil.
  init?(_ bytes: ByteView, salt: UInt64, offset: UInt64) {
    guard bytes.count >= FrameHeader.byteCount, bytes.uint32(at: 0) == FrameHeader.magic else { return nil }
    let salt = isMutant("ignore-salt") ? bytes.uint64(at: 8) : salt
    guard bytes.uint64(at: 8) == salt, bytes.uint64(at: 16) == offset,
      bytes.uint64(at: 88) == XXH3.hash(bytes.prefix(88), seed: salt) || isMutant("accept-frame-header-checksum"),
      let kind = Kind(rawValue: bytes[4])
    else { return nil }
    self.kind = kind
    hasParts = bytes[5] & 1 != 0
    fillsSectors = bytes[5] & 2 != 0
    isImage = bytes[5] & 4 != 0
    self.offset = offset
    number = bytes.uint64(at: 24)
    sequence = bytes.uint64(at: 32)
    previous = bytes.uint64(at: 40)
    durableThrough = bytes.uint64(at: 48)
    newestCheckpoint = bytes.uint64(at: 56)
    olderCheckpoint = bytes.uint64(at: 64)
    payloadByteCount = bytes.uint64(at: 72)
    payloadChecksum = bytes.uint64(at: 80)
    checksum = bytes.uint64(at: 88)
    // The checksum excludes accidents, not forgeries, and later code computes with these numbers. A frame cannot be known to be
    // durable before it is written.
    guard number > 0, number < FrameHeader.limit, durableThrough < number, sequence < FrameHeader.limit,
      sequence > 0 || kind != .commit, payloadByteCount < kind.payloadLimit
    else { return nil }
  }

  /// Writes the header into the first 96 bytes of a frame that has its payload already, and computes both checksums.
  /// - Parameter start: where the frame begins in the buffer, whose last it is.
  mutating func seal(into frame: ByteBuffer, from start: Int = 0, salt: UInt64) {
    precondition(frame.count - start >= FrameHeader.byteCount, "a frame has room for its header")
    let payload = frame.view.dropFirst(start + FrameHeader.byteCount)
    payloadByteCount = UInt64(payload.count)
    payloadChecksum = XXH3.hash(payload, seed: FrameHeader.seed(salt: salt, offset: offset))
    frame.set(uint32: FrameHeader.magic, at: start)
    let flags: UInt32 = (hasParts ? 1 : 0) | (fillsSectors ? 2 : 0) | (isImage ? 4 : 0)
    frame.set(uint32: UInt32(kind.rawValue) | flags << 8, at: start + 4)
    frame.set(uint64: salt, at: start + 8)
    frame.set(uint64: offset, at: start + 16)
    frame.set(uint64: number, at: start + 24)
    frame.set(uint64: sequence, at: start + 32)
    frame.set(uint64: previous, at: start + 40)
    frame.set(uint64: durableThrough, at: start + 48)
    frame.set(uint64: newestCheckpoint, at: start + 56)
    frame.set(uint64: olderCheckpoint, at: start + 64)
    frame.set(uint64: payloadByteCount, at: start + 72)
    frame.set(uint64: payloadChecksum, at: start + 80)
    checksum = XXH3.hash(frame.view.slice(start..<start + 88), seed: salt)
    frame.set(uint64: checksum, at: start + 88)
  }

  static func seed(salt: UInt64, offset: UInt64) -> UInt64 { salt ^ (offset &* 0x9E37_79B9_7F4A_7C15) }

  package var payloadOffset: UInt64 { offset + UInt64(FrameHeader.byteCount) }
  /// The first byte behind the payload.
  package var end: UInt64 { payloadOffset + payloadByteCount }
  /// Where the next frame starts.
  package var next: UInt64 { fillsSectors ? (end + 4095) & ~4095 : (end + 7) & ~7 }
}
