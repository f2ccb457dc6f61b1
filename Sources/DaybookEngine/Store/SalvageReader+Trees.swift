/// What checkpoints have of a tree, page by page: a damaged page takes no more than what is on it and below it.
extension SalvageReader {
  /// Calls `visit` with each record of a tree, of all valid checkpoints, from every valid page. Checkpoints share pages; each
  /// is visited once. The records of one page ascend; pages come in any order. The views end with the call.
  ///
  /// Costs a walk over the headers of all frames, and a read of each page of the tree.
  /// - Parameter index: the number of the tree's root.
  package func forEachRecord(ofRoot index: Int, _ visit: (_ key: ByteView, _ value: ByteView) -> Void) {
    let copy = ByteBuffer(capacity: Page.byteCount)
    let key = ByteBuffer(capacity: 64)
    // `visit` gets views of both.
    defer { withExtendedLifetime((copy, key)) {} }
    var seen: Set<UInt64> = []
    var waiting: [UInt64] = []
    var offset = UInt64(FileHeader.byteCount)
    while let header = log.header(at: offset) ?? log.nextHeader(from: offset) {
      if CheckpointContents.mayStand(after: header), log.isPayloadValid(header),
        let payload = log.payload(of: header, limit: CheckpointContents.maximumByteCount),
        let contents = CheckpointContents(payload, at: header.offset), index < contents.roots.count
      {
        waiting.append(contents.roots[index].reference)
      }
      while let place = waiting.popLast() {
        guard seen.insert(place).inserted, let page = page(at: place, in: copy) else { continue }
        if page.isBranch {
          for child in -1..<page.cellCount { waiting.append(page.child(child)) }
          continue
        }
        for cell in 0..<page.cellCount {
          key.truncate(to: 0)
          page.appendKey(cell, to: key)
          visit(key.view, page.value(cell))
        }
      }
      // A length that leads beyond the file, or into it, is not trusted.
      offset = header.end <= log.end ? header.next : header.offset + UInt64(FrameHeader.byteCount)
    }
  }

  /// The page at a place, in `copy`; nil when there is no valid one. Zero is the place of an empty tree's.
  private func page(at place: UInt64, in copy: ByteBuffer) -> Page? {
    let byteCount = UInt64(Page.byteCount)
    guard place >= byteCount, place % byteCount == 0, place < log.end, log.end - place >= byteCount,
      let bytes = log.view(Int(place)..<Int(place + byteCount))
    else { return nil }
    copy.truncate(to: 0)
    copy.append(bytes)
    // Safe: the buffer has the bytes of a page, and keeps them until the next one is asked for.
    let page = unsafe Page(copy.base)
    return page.verify(salt: log.salt, offset: place) == nil ? page : nil
  }
}
