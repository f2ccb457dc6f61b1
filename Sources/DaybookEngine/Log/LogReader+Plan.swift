extension LogReader {
  func plan() throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    // A file system that takes written bytes for a hole does not make the file an empty one.
    guard let last = lastHeader() ?? header(at: UInt64(FileHeader.byteCount)) else {
      var empty = RecoveryPlan()
      if hasContent(in: min(empty.end.offset, end)..<end) { empty.ending = .torn }
      try checkRead()
      return empty
    }
    return try plan(from: [(.newestCheckpoint, last.newestCheckpoint), (.olderCheckpoint, last.olderCheckpoint)])
  }

  /// The plan that skips so many of the checkpoints that the last frame names.
  func plan(skipping count: Int) throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    let last = lastHeader()
    try checkRead()
    guard count == 1, let last, last.olderCheckpoint != 0 else { return try planFromStart() }
    return try plan(from: [(.olderCheckpoint, last.olderCheckpoint)])
  }

  /// The plan that uses the first valid one of some checkpoints; the log alone when none is valid.
  func plan(from candidates: [(RecoveryPlan.Basis, UInt64)]) throws(DiskFailure) -> RecoveryPlan {
    for (basis, offset) in candidates where offset != 0 {
      guard let header = header(at: offset), CheckpointContents.mayStand(after: header), isPayloadValid(header),
        let payload = payload(of: header, limit: CheckpointContents.maximumByteCount),
        let contents = CheckpointContents(payload, at: offset)
      else {
        try checkRead()
        continue
      }
      // The checkpoint was written after everything before the start of its replay was durable.
      var walk = LogWalk(self, from: contents.replayStart, provenThrough: contents.replayStart.number - 1)
      if walk.advance(through: header) {
        walk.plan.basis = basis
        walk.plan.checkpoint = contents
        walk.plan.checkpointEnd = header.next
        // Notes before the checkpoint are about older trees; notes behind it are about these.
        walk.plan.tellsOfDamagedPage = false
        walk.plan.passesCheckpoint = false
        walk.plan.newestCheckpoint = header.offset
        walk.plan.olderCheckpoint = header.olderCheckpoint
        return try finish(&walk)
      }
      try checkRead()
    }
    return try planFromStart()
  }

  /// The plan that uses no tree of the file.
  func planFromStart() throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    var walk = LogWalk(self, from: .start, provenThrough: 0)
    return try finish(&walk)
  }

  /// The plan for what follows a position that was reached before.
  /// - Parameter provenThrough: the highest frame that is known to be durable.
  func plan(continuing position: LogPosition, provenThrough: UInt64) throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    var walk = LogWalk(self, from: position, provenThrough: provenThrough)
    return try finish(&walk)
  }

  /// Ends a walk. If a read failed on the way, its result means nothing.
  private func finish(_ walk: inout LogWalk) throws(DiskFailure) -> RecoveryPlan {
    walk.advanceToEnd()
    try checkRead()
    return walk.plan
  }
}
