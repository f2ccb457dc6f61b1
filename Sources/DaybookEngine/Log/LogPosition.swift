/// A position between two frames of a log: what lies before it, and how the next frame must continue the chain.
///
///     … │ frame 7 │ frame 8 │ ← offset: the first byte of frame 9; previous: the checksum of frame 8's header
///
/// Such positions say where the next frame goes, where a version ends, where replay starts, and how far a copy has come. A position
/// is made only at the start of a file, from a checkpoint, or by moving over a frame; so its parts always belong together.
struct LogPosition: Equatable, Sendable {
  /// The first byte behind the previous frame.
  private(set) var offset: UInt64
  /// The number of the frame that starts here.
  private(set) var number: UInt64
  /// The header checksum of the previous frame, which the next one repeats.
  private(set) var previous: UInt64
  /// The sequence of the last commit before this position.
  private(set) var sequence: UInt64
  /// Bytes of frames before this position that an open passes (pages, copies of declarations), counted from where this open began to replay.
  private(set) var passedByteCount: UInt64 = 0
  /// Where the previous frame starts; nil for a position that comes from a checkpoint, which does not record it.
  private(set) var lastFrameOffset: UInt64?

  /// In front of the first frame of a file.
  static let start = LogPosition(
    offset: UInt64(FileHeader.byteCount), number: 1, previous: 0, sequence: 0, passedByteCount: 0, lastFrameOffset: nil)

  private init(
    offset: UInt64, number: UInt64, previous: UInt64, sequence: UInt64, passedByteCount: UInt64, lastFrameOffset: UInt64?
  ) {
    self.offset = offset
    self.number = number
    self.previous = previous
    self.sequence = sequence
    self.passedByteCount = passedByteCount
    self.lastFrameOffset = lastFrameOffset
  }

  /// Where a checkpoint says that replay starts.
  init(replayStart payload: ByteView, at index: Int) {
    self.init(
      offset: payload.uint64(at: index), number: payload.uint64(at: index + 8), previous: payload.uint64(at: index + 24),
      sequence: payload.uint64(at: index + 16), passedByteCount: 0, lastFrameOffset: nil)
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(uint64: offset)
    buffer.append(uint64: number)
    buffer.append(uint64: sequence)
    buffer.append(uint64: previous)
  }

  /// Moves behind a frame. There may be a damaged stretch in front of it, which a walk has skipped.
  @inline(__always)
  mutating func move(over header: FrameHeader) {
    offset = header.next
    number = header.number + 1
    previous = header.checksum
    if header.kind == .commit { sequence = header.sequence }
    if header.kind == .pages || header.kind == .declarations { passedByteCount &+= header.next - header.offset }
    lastFrameOffset = header.offset
  }

  /// The same position in a copy of the log, where headers have other checksums; nil unless that frame of the copy ends here.
  func following(_ copy: FrameHeader) -> LogPosition? {
    guard copy.next == offset, copy.number + 1 == number else { return nil }
    var position = self
    position.previous = copy.checksum
    return position
  }

  /// The offset without the frames before it that no one replays or copies.
  var commitOffset: UInt64 { offset &- passedByteCount }

  /// Whether the previous frame is still there, in a log that other processes may have changed.
  func isValid(in log: LogReader) throws(DiskFailure) -> Bool {
    guard let lastFrameOffset else { return true }
    let found = log.header(at: lastFrameOffset)
    try log.checkRead()
    // The zeros that fill the last sector may be missing.
    guard let found, found.end <= log.end else { return false }
    return found.checksum == previous
  }
}
