/// What a damaged file says of its operations' meaning, wherever it is.
extension SalvageReader {
  /// Calls `visit` with the payload of every operation of a kind that matches its checksum: in commits and parts, whole or damaged, in
  /// the frames that repeat them, and between frames. The view ends with the call.
  ///
  /// Costs a walk over the file without its pages.
  package func forEachOperation(of kind: UInt8, _ visit: (ByteView) -> Void) {
    var offset = UInt64(FileHeader.byteCount)
    while let header = log.header(at: offset) ?? log.nextHeader(from: offset) {
      if offset < header.offset { visitOperations(in: Int(offset)..<Int(header.offset), of: kind, visit) }
      if header.kind.carriesData || header.kind == .declarations { visitOperations(in: pieces(of: header), of: kind, visit) }
      // A length that leads beyond the file, or into it, is not trusted.
      offset = header.end <= log.end ? header.next : header.offset + UInt64(FrameHeader.byteCount)
    }
    // Mostly there are zeros.
    if offset < log.end, log.hasContent(in: offset..<log.end) {
      visitOperations(in: Int(offset)..<Int(log.contentEnd(from: offset)), of: kind, visit)
    }
  }

  private func visitOperations(in range: Range<Int>, of kind: UInt8, _ visit: (ByteView) -> Void) {
    for place in operationsThatHold(in: range).places {
      let start = Int(place.offset)
      guard let bytes = log.view(start..<start + Int(place.byteCount)), Operation.kind(bytes) == kind else { continue }
      visit(Operation.payload(bytes))
    }
  }
}
