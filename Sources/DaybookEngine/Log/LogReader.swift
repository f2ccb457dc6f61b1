/// Reads frames from a log: in place where the file is mapped, else through a window. It changes nothing and trusts no length.
///
/// When the disk fails, bytes are unreadable and walks end early. So code that bases a decision on a walk calls `checkRead`
/// before using it; the plans do that themselves.
@safe struct LogReader {
  /// All bytes of the log; empty where it is read through a window.
  let bytes: ByteView
  let salt: UInt64
  let end: UInt64
  private let window: LogWindow?
  private let holes: LogHoles?
  /// Where an operation of a mapped log is verified.
  private let copy: ByteBuffer?

  /// - Parameter holes: of the file that the bytes are mapped from.
  init(_ bytes: ByteView, salt: UInt64, holes: LogHoles? = nil) {
    self.bytes = bytes
    self.salt = salt
    end = UInt64(bytes.count)
    window = nil
    self.holes = holes
    copy = ByteBuffer(capacity: 256)
  }

  init(_ window: LogWindow, salt: UInt64) {
    bytes = unsafe ByteView(UnsafeRawBufferPointer(start: nil, count: 0))
    self.salt = salt
    end = UInt64(window.byteCount)
    self.window = window
    holes = window.holes
    copy = nil
  }

  // MARK: bytes

  /// Bytes of the file; nil when the disk fails. Valid until the next call.
  @inline(__always)
  func view(_ range: Range<Int>) -> ByteView? { window == nil ? bytes.slice(range) : window?.view(range) }

  @inline(__always)
  private func view(from lower: Int, atLeast count: Int) -> ByteView? {
    window == nil ? bytes.dropFirst(lower) : window?.view(from: lower, atLeast: count)
  }

  @inline(__always)
  private func view(before upper: Int, atLeast count: Int) -> ByteView? {
    window == nil ? bytes.prefix(upper) : window?.view(before: upper, atLeast: count)
  }

  /// The bytes of a view in memory of this reader's own: a window's are there already.
  func ownCopy(of view: ByteView) -> ByteView {
    guard let copy else { return view }
    copy.removeAll(keeping: 64 << 10)
    copy.append(view)
    return copy.view
  }

  /// Makes further reads see the file as it is now.
  func lookAgain() {
    window?.forget()
    holes?.forget()
  }

  /// Throws when a read has failed since the last call: then what was found means nothing.
  func checkRead() throws(DiskFailure) {
    if let failure = window?.takeFailure() { throw failure }
  }

  /// Calls `body` with the bytes of a range, piece by piece.
  func forEachPiece(of range: Range<UInt64>, _ body: (ByteView) throws(DiskFailure) -> Void) throws(DiskFailure) {
    var position = Int(range.lowerBound)
    let upper = Int(range.upperBound)
    while position < upper {
      guard let piece = view(from: position, atLeast: 1)?.clamped(to: upper - position) else { return try checkRead() }
      try body(piece)
      position += piece.count
    }
  }

  // MARK: frames

  /// The header at an offset, if there is a valid one.
  func header(at offset: UInt64) -> FrameHeader? {
    guard offset >= UInt64(FileHeader.byteCount), offset & 7 == 0, offset < end,
      end - offset >= UInt64(FrameHeader.byteCount), let bytes = view(Int(offset)..<Int(offset) + FrameHeader.byteCount)
    else { return nil }
    return FrameHeader(bytes, salt: salt, offset: offset)
  }

  /// The payload of a frame of a mapped log; nil when the file ends within it.
  func payload(of header: FrameHeader) -> ByteView? {
    precondition(window == nil, "a payload may be longer than what is read at once")
    guard header.payloadByteCount <= end, header.end <= end else { return nil }
    return bytes.slice(Int(header.payloadOffset)..<Int(header.end))
  }

  /// The first bytes of a payload, `limit` at most; nil when the file ends within the frame.
  func payload(of header: FrameHeader, limit: Int) -> ByteView? {
    guard header.payloadByteCount <= end, header.end <= end else { return nil }
    let start = Int(header.payloadOffset)
    return view(start..<start + min(limit, Int(header.payloadByteCount)))
  }

  func isPayloadValid(_ header: FrameHeader) -> Bool {
    guard header.payloadByteCount <= end, header.end <= end else { return false }
    if isMutant("accept-payload-checksum") { return true }
    let salt = isMutant("ignore-salt") ? view(Int(header.offset)..<Int(header.offset) + 16)?.uint64(at: 8) ?? salt : salt
    let seed = FrameHeader.seed(salt: salt, offset: header.offset)
    let isValid = checksum(of: header.payloadOffset..<header.end, seed: seed) == header.payloadChecksum
    if isValid { VerifiedBytes.tell(salt: salt, offset: header.payloadOffset) }
    return isValid
  }

  /// The checksum of a stretch of any length; nil when the disk fails.
  func checksum(of range: Range<UInt64>, seed: UInt64) -> UInt64? {
    let start = Int(range.lowerBound)
    guard let window else { return XXH3.hash(bytes.slice(start..<Int(range.upperBound)), seed: seed) }
    return XXH3.hash(byteCount: range.count, seed: seed) { piece in
      window.view(start + piece.lowerBound..<start + piece.upperBound)
    }
  }

  // MARK: searches, which pass over holes

  /// The first valid header at or behind `offset`.
  func nextHeader(from offset: UInt64) -> FrameHeader? {
    var candidate = max((offset + 7) & ~7, UInt64(FileHeader.byteCount))
    var search = LogHoles.Search(holes, from: Int(clamping: candidate))
    while candidate + UInt64(FrameHeader.byteCount) <= end {
      guard let bytes = view(from: Int(candidate), atLeast: FrameHeader.byteCount)?.clamped(to: search.pieceByteCount) else {
        return nil
      }
      var index = 0
      while index + 4 <= bytes.count, bytes.uint32(at: index) != FrameHeader.magic { index += 8 }
      candidate += UInt64(index)
      guard index + 4 <= bytes.count else {
        // In front of what follows a hole there may be less than eight bytes of it.
        candidate = UInt64(search.end(ofHoleFrom: Int(candidate), limit: Int(end))) & ~7
        continue
      }
      if let header = header(at: candidate) { return header }
      candidate += 8
    }
    return nil
  }

  /// The last valid header, searched backwards from the end of the file.
  func lastHeader() -> FrameHeader? {
    let least = UInt64(FileHeader.byteCount)
    guard end >= least + UInt64(FrameHeader.byteCount) else { return nil }
    // The end of the candidate, so that it never goes below zero.
    var upper = ((end - UInt64(FrameHeader.byteCount)) & ~7) + 8
    var search = LogHoles.Search(holes, before: Int(upper))
    while upper > least {
      guard let bytes = view(before: Int(upper), atLeast: 8)?.suffix(search.pieceByteCount) else { return nil }
      var index = bytes.count - 8
      while index >= 0, bytes.uint32(at: index) != FrameHeader.magic { index -= 8 }
      // Fewer than eight bytes remain at the front of the window; they are searched with the next one.
      upper -= UInt64(bytes.count - 8 - index)
      guard index >= 0 else {
        upper = min(upper, (UInt64(search.start(ofHoleBefore: Int(upper), limit: Int(least))) + 7) & ~7)
        continue
      }
      if let header = header(at: upper - 8) { return header }
      upper -= 8
    }
    return nil
  }

  /// Whether there is anything but zeros in `range`.
  func hasContent(in range: Range<UInt64>) -> Bool {
    var position = Int(range.lowerBound)
    let upper = Int(range.upperBound)
    var search = LogHoles.Search(holes, from: position)
    while position < upper {
      let limit = min(search.pieceByteCount, upper - position)
      guard let piece = view(from: position, atLeast: 1)?.clamped(to: limit) else { return false }
      if !piece.isZero { return true }
      position = search.end(ofHoleFrom: position + piece.count, limit: upper)
    }
    return false
  }

  /// The first offset from `start` on behind which there are only zeros.
  func contentEnd(from start: UInt64) -> UInt64 {
    let lower = Int(min(start, end))
    var upper = Int(end)
    var search = LogHoles.Search(holes, before: upper)
    while upper > lower {
      let limit = min(search.pieceByteCount, upper - lower)
      guard let piece = view(before: upper, atLeast: 1)?.suffix(limit) else { return UInt64(upper) }
      let zeroCount = piece.trailingZeroByteCount
      upper -= zeroCount
      if zeroCount < piece.count { break }
      upper = search.start(ofHoleBefore: upper, limit: lower)
    }
    return UInt64(upper)
  }

  /// The stretches of a range that are no holes, in order. All of them before anything is written there: a write into a hole
  /// fills blocks on both sides of what it writes.
  func stretches(of range: Range<UInt64>) -> [Range<UInt64>] {
    guard let holes else { return range.isEmpty ? [] : [range] }
    var result: [Range<UInt64>] = []
    var position = range.lowerBound
    while position < range.upperBound {
      position = UInt64(holes.end(ofHoleFrom: Int(position), limit: Int(range.upperBound)))
      let stop = min(position + UInt64(LogHoles.shortByteCount), range.upperBound)
      if let last = result.last, last.upperBound == position {
        result[result.count - 1] = last.lowerBound..<stop
      } else if position < stop {
        result.append(position..<stop)
      }
      position = stop
    }
    return result
  }

  /// For a search that goes forward byte by byte.
  func search(from position: Int) -> LogHoles.Search { LogHoles.Search(holes, from: position) }
}

extension ByteView {
  /// The first bytes, as many as there are.
  fileprivate func clamped(to limit: Int) -> ByteView { count <= limit ? self : prefix(limit) }
  /// The last bytes, as many as there are.
  fileprivate func suffix(_ limit: Int) -> ByteView { count <= limit ? self : dropFirst(count - limit) }

  fileprivate var isZero: Bool {
    var offset = 0
    while offset + 8 <= count {
      if uint64(at: offset) != 0 { return false }
      offset += 8
    }
    while offset < count {
      if self[offset] != 0 { return false }
      offset += 1
    }
    return true
  }

  fileprivate var trailingZeroByteCount: Int {
    var offset = count
    while offset >= 8, uint64(at: offset - 8) == 0 { offset -= 8 }
    while offset > 0, self[offset - 1] == 0 { offset -= 1 }
    return count - offset
  }
}
