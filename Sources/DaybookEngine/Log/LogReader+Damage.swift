/// Frames among damage: found by their headers, wherever one is, without the chain.
extension LogReader {
  /// The next valid frame that was written after frame `number`.
  func nextFrame(from start: UInt64, after number: UInt64) -> FrameHeader? {
    var offset = start
    while let header = header(at: offset) ?? nextHeader(from: offset) {
      if header.number > number { return header }
      offset = header.offset + 8
    }
    return nil
  }

  /// Where to look for the frame after one. A length that leads beyond the file is not trusted.
  func offset(after header: FrameHeader) -> UInt64 { header.end <= end ? header.next : header.offset + 8 }

  /// The highest frame number that any frame declares durable, of those from an offset on that were written after frame `number`.
  func highestProof(from start: UInt64, after number: UInt64) -> UInt64 {
    var proven: UInt64 = 0
    var (offset, number) = (start, number)
    while let header = nextFrame(from: offset, after: number) {
      // A frame can only prove earlier frames.
      proven = max(proven, min(header.durableThrough, header.number - 1))
      number = header.number
      offset = self.offset(after: header)
    }
    return proven
  }
}
