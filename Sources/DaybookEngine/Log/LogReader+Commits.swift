extension LogReader {
  /// Calls `body` with the operations of each commit of a plan up to its last sequence, without operations that were rolled
  /// back to a savepoint.
  /// - Parameter sequence: later commits are left out.
  func forEachCommit(
    of plan: RecoveryPlan, through sequence: UInt64 = .max, _ body: (FrameHeader, LoggedOperations) throws(LogFault) -> Void
  ) throws(LogFault) {
    var offset = plan.start.offset
    var parts: [FrameHeader] = []
    // Nothing behind the last commit has an effect, and a writer in another process may take back parts for which it found no
    // room.
    while offset < plan.lastCommitEnd.offset {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = header(at: offset) else {
        do { try checkRead() } catch { throw .page(PageFault(error, offset: offset)) }
        throw .inconsistent
      }
      offset = header.next
      if header.kind == .part { parts.append(header) }
      guard header.kind == .commit else { continue }
      if header.sequence > min(plan.lastSequence, sequence) { return }
      var frames: [FrameHeader] = []
      if isMutant("replay-unnamed-parts") {
        frames = parts
      } else if header.hasParts, let payload = payload(of: header, limit: PartList.encodedByteCount),
        let list = PartList(payload)
      {
        frames = Array(parts.drop { $0.number != list.firstNumber })
      }
      parts.removeAll()
      try body(header, try operations(of: frames + [header]))
    }
  }
}
