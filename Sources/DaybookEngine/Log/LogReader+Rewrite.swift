extension LogReader {
  /// Writes frames that nothing proves durable again, from a verified copy: after a kill or a failed sync, the page cache
  /// proves nothing about the disk. Returns how many.
  func rewriteUnproven(_ plan: RecoveryPlan, to file: any DiskFile) throws(DiskFailure) -> Int {
    guard var offset = plan.firstUnproven else { return 0 }
    var count = 0
    let copy = ByteBuffer(capacity: 1 << 16)
    while offset < plan.end.offset {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = header(at: offset) else { break }
      copy.removeAll()
      try forEachPiece(of: offset..<min(header.next, end)) { (piece) throws(DiskFailure) in copy.append(piece) }
      let payload = copy.view.slice(FrameHeader.byteCount..<FrameHeader.byteCount + Int(header.payloadByteCount))
      let sum = XXH3.hash(payload, seed: FrameHeader.seed(salt: salt, offset: offset))
      // Pages are checked one by one when they are used. The frame's header must be sound, because the walk needs it.
      guard FrameHeader(copy.view, salt: salt, offset: offset) == header,
        sum == header.payloadChecksum || header.kind == .pages
      else {
        throw DiskFailure(.read, path: file.path, kind: .other, code: 5, offset: Int(offset), byteCount: copy.count)
      }
      try file.write(sum == header.payloadChecksum ? copy.view : copy.view.prefix(FrameHeader.byteCount), at: Int(offset))
      count += 1
      offset = header.next
    }
    try checkRead()
    return count
  }
}
