/// The payload of a checkpoint frame: where replay starts, and the roots that hold everything before.
///
///     offset  size  field
///          0    48  copy of the file header
///         48     8  replay start: offset of the first frame that the roots do not contain
///         56     8  replay start: its frame number
///         64     8  replay start: commit sequence of the last commit that the roots contain
///         72     8  replay start: header checksum of the frame before it
///         80     8  pages of all trees
///         88     8  bytes of the operations that the trees name
///         96     8  root count
///        104  24×n  roots: {u64 page, u64 records, u64 pages}
struct CheckpointContents: Equatable {
  /// The largest payload, and one byte more, so that a longer payload is noticed.
  static let maximumByteCount = 104 + RootSet.count * TreeRoot.encodedByteCount + 1
  var replayStart: LogPosition
  var pageCount: UInt64
  var liveByteCount: Int
  var roots: [TreeRoot]

  init(replayStart: LogPosition, pageCount: UInt64, liveByteCount: Int, roots: [TreeRoot]) {
    self.replayStart = replayStart
    self.pageCount = pageCount
    self.liveByteCount = liveByteCount
    self.roots = roots
  }

  /// Whether a frame may be a checkpoint, according to its header. Asked before the checksum of its payload is computed: a
  /// forged file may have many frames that claim to be as long as the file.
  static func mayStand(after header: FrameHeader) -> Bool {
    header.kind == .checkpoint && header.payloadByteCount < UInt64(maximumByteCount)
  }

  /// Reads the payload of the checkpoint frame at `offset`; nil when no checkpoint at that offset can have such a payload.
  init?(_ payload: ByteView, at offset: UInt64) {
    guard payload.count >= 104 else { return nil }
    replayStart = LogPosition(replayStart: payload, at: 48)
    pageCount = payload.uint64(at: 80)
    let live = payload.uint64(at: 88)
    liveByteCount = Int(clamping: live)
    let count = payload.uint64(at: 96)
    guard count <= UInt64(RootSet.count), payload.count == 104 + Int(count) * TreeRoot.encodedByteCount else { return nil }
    roots = []
    for index in 0..<Int(count) {
      roots.append(TreeRoot(payload, at: 104 + index * TreeRoot.encodedByteCount))
    }
    // Within these limits, no computation overflows.
    guard replayStart.offset <= offset, replayStart.number > 0, replayStart.number < FrameHeader.limit,
      replayStart.sequence < FrameHeader.limit, offset < FrameHeader.limit, pageCount < FrameHeader.limit >> 20,
      live < FrameHeader.limit
    else { return nil }
    // A root lies before its checkpoint, at a whole page; a tagged reference would be followed into memory.
    for root in roots {
      guard root.hasSaneCounts else { return nil }
    }
    for root in roots where root.reference != 0 {
      guard root.reference % UInt64(Page.byteCount) == 0, root.reference < offset else { return nil }
    }
  }

  func append(to buffer: ByteBuffer, header: FileHeader) {
    header.appendMeaningful(to: buffer)
    replayStart.append(to: buffer)
    buffer.append(uint64: pageCount)
    buffer.append(uint64: UInt64(max(0, liveByteCount)))
    buffer.append(uint64: UInt64(roots.count))
    for root in roots { root.append(to: buffer) }
  }
}
