/// What a damaged file says of its operations' meaning, wherever it is.
extension SalvageReader {
  /// Where an operation was found.
  package enum Source: Sendable {
    /// In a whole frame that a commit wrote, or that repeats what commits wrote.
    case commit
    /// In a part, in a damaged frame or between frames: it may have been rolled back.
    case anywhere
  }

  /// Calls `visit` with the payload of every operation of a kind that matches its checksum: in commits and parts, whole or damaged, in
  /// the frames that repeat them, and between frames. The view ends with the call.
  ///
  /// Costs a walk over the file without its pages.
  package func forEachOperation(of kind: UInt8, _ visit: (ByteView, Source) -> Void) {
    var offset = UInt64(FileHeader.byteCount)
    // Parts belong to the commit that names them, or to a transaction that never ended.
    var parts: [FrameHeader] = []
    func visitParts(_ committed: ArraySlice<FrameHeader>) {
      for part in parts {
        let isCommitted = committed.first.map { part.number >= $0.number } ?? false
        visitOperations(in: pieces(of: part), of: kind, isCommitted ? .commit : .anywhere, visit)
      }
      parts.removeAll()
    }
    while let header = log.header(at: offset) ?? log.nextHeader(from: offset) {
      if offset < header.offset { visitOperations(in: Int(offset)..<Int(header.offset), of: kind, .anywhere, visit) }
      if header.kind == .part {
        parts.append(header)
      } else if header.kind == .commit || header.kind == .declarations {
        let isWhole = header.end <= log.end && log.isPayloadValid(header)
        if header.kind == .commit { visitParts(isWhole && header.hasParts ? named(by: header, parts) ?? [] : []) }
        visitOperations(in: pieces(of: header), of: kind, isWhole ? .commit : .anywhere, visit)
      }
      // A length that leads beyond the file, or into it, is not trusted.
      offset = header.end <= log.end ? header.next : header.offset + UInt64(FrameHeader.byteCount)
    }
    visitParts([])
    // Mostly there are zeros.
    if offset < log.end, log.hasContent(in: offset..<log.end) {
      visitOperations(in: Int(offset)..<Int(log.contentEnd(from: offset)), of: kind, .anywhere, visit)
    }
  }

  private func visitOperations(
    in range: Range<Int>, of kind: UInt8, _ source: Source, _ visit: (ByteView, Source) -> Void
  ) {
    // What was rolled back says the same: a number follows from what it names.
    for place in operationsThatHold(in: range, keepsRolledBack: true).places {
      let start = Int(place.offset)
      guard let bytes = log.view(start..<start + Int(place.byteCount)), Operation.kind(bytes) == kind else { continue }
      visit(Operation.payload(bytes), source)
    }
  }
}
