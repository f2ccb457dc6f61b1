/// Decides what of a log holds: which checkpoint to start from, which frames to replay, where the log ends, and whether
/// what does not hold is *torn* (an unacknowledged write that a crash cut) or *corrupt* (acknowledged data, damaged later).
///
/// The rule: behind the accepted checkpoint, a damaged frame that carries no truth is stepped over if the
/// commit sequences on both sides are equal or adjacent. Where a commit is damaged or missing, a later frame whose
/// `durableThrough` covers it proves that it was acknowledged: corrupt. Without such a frame it is torn. A log that ends before
/// a length that the file's first page names was cut (`Store/Store+Length.swift`).
///
/// Only reads; what it finds is carried out by `Store.open`. The same file always gives the same answer.
struct RecoveryPlan {
  enum Ending: Equatable {
    /// Nothing behind the last frame but zeros.
    case clean
    /// Something unfinished stands behind the last frame that holds.
    case torn
    /// Acknowledged commits are damaged. Nothing may be written to this file.
    case corrupt(lost: ClosedRange<UInt64>)
    /// The log ends before the length that its file names. Nothing may be written to this file.
    case cutShort
  }

  /// How far open had to go back for trees that hold.
  enum Basis: Equatable { case newestCheckpoint, olderCheckpoint, log }

  var basis: Basis = .log
  var checkpoint: CheckpointContents?
  /// The first byte behind the checkpoint's frame.
  var checkpointEnd: UInt64 = 0
  var ending: Ending = .clean
  /// Where replay starts.
  var start = LogPosition.start
  /// Damaged stretches without truth: from their offset on to the next frame that holds.
  var skips: [UInt64: UInt64] = [:]
  /// Behind the last frame that counts.
  var end = LogPosition.start
  /// Behind the last commit that counts; the start when none does. What stands from here to the end shows nothing.
  var lastCommitEnd = LogPosition.start
  var last: FrameHeader?
  /// The highest frame number that some frame says is durable.
  var provenThrough: UInt64 = 0
  /// Behind the last frame that counts and is proven durable, and behind the last such commit; the start when there is none. As
  /// the walk met them: beside a writer something else may stand there by now.
  var provenEnd = LogPosition.start
  var provenCommitEnd = LogPosition.start
  /// The first frame that no other proves durable, of any kind. A lost frame without truth loses no data, but were it
  /// counted as durable, a later frame would claim that what was torn at its place had been acknowledged.
  var firstUnproven: UInt64?
  /// Commits or checkpoints are among them.
  var hasUnprovenTruth = false
  /// The header checksum of the frame that says that what is corrupt was durable: the first one behind it.
  var corruptionProof: UInt64?
  /// Whole frames stand in the torn part.
  var discardsFrames = false
  /// The checkpoint whose trees serve, and the one that it names as older. Frames to come name these and no others: one
  /// that was passed on the way has not been looked into.
  var newestCheckpoint: UInt64 = 0
  var olderCheckpoint: UInt64 = 0
  /// A checkpoint stands behind the one whose trees serve; or none serves, and there are some.
  var passesCheckpoint = false
  /// Bytes that were durable once and are not there any more, at the end of a file that was cut.
  var missingByteCount: UInt64 = 0
  /// A note told of a damaged page: the trees are rebuilt from the log.
  var tellsOfDamagedPage = false
  var isClosed: Bool { last?.kind == .closed && ending == .clean }
  var lastSequence: UInt64 { end.sequence }
  /// How far trees may refer to: the checkpoint's pages were synced before its frame was written, proven or not.
  var readableEnd: UInt64 { max(end.offset, start.offset, checkpointEnd) }
  /// The log ends with a note that proves everything before it: who wrote it gave the file lock back.
  var isHandedOver: Bool {
    guard let last, ending == .clean else { return false }
    return last.kind == .note && last.durableThrough + 1 == last.number
  }

  /// Nothing came behind the place that a writer knew, or it ends with such a note or mark: all of it is durable, and whoever
  /// goes on has nothing to repair.
  var isCleanlyHandedOver: Bool { ending == .clean && (last == nil || isClosed || isHandedOver) }

  /// A plan of a log that a writer goes on with meanwhile.
  ///
  /// A commit that was being written when the walk came to it, and a frame behind it that was written since and covers it,
  /// look like corruption. But a frame that covers another was written when that one was whole: so it holds at a second look, or
  /// it is corrupt indeed. Both may have been taken back meanwhile (`Store+TakeBack`), and the same have happened to the next
  /// transaction: so the second look must find the same loss proven by the same frame. While that one stands, what it covers
  /// stands too, but for what is being taken back right now, which nothing calls corrupt: these are parts.
  static func besideWriter(_ look: () throws(DiskFailure) -> RecoveryPlan) throws(DiskFailure) -> RecoveryPlan {
    var plan = try look()
    while case .corrupt(let lost) = plan.ending {
      let proof = plan.corruptionProof
      plan = try look()
      if case .corrupt(let again) = plan.ending, again.lowerBound == lost.lowerBound, plan.corruptionProof == proof { break }
    }
    return plan
  }
}

extension LogReader {
  func plan() throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    guard let last = lastHeader() else {
      var empty = RecoveryPlan()
      if hasContent(in: min(empty.end.offset, end)..<end) { empty.ending = .torn }
      try checkRead()
      return empty
    }
    return try plan(from: [(.newestCheckpoint, last.newestCheckpoint), (.olderCheckpoint, last.olderCheckpoint)])
  }

  /// The plan on the first of some checkpoints that holds; on the log alone when none does.
  func plan(from candidates: [(RecoveryPlan.Basis, UInt64)]) throws(DiskFailure) -> RecoveryPlan {
    for (basis, offset) in candidates where offset != 0 {
      guard let header = header(at: offset), CheckpointContents.mayStand(behind: header), payloadHolds(header),
        let payload = payload(of: header, limit: CheckpointContents.maximumByteCount),
        let contents = CheckpointContents(payload, at: offset)
      else {
        try checkRead()
        continue
      }
      // The checkpoint was written after everything before its freeze position was durable.
      var walk = LogWalk(self, from: contents.freeze, provenThrough: contents.freeze.number - 1)
      if walk.advance(through: header) {
        walk.plan.basis = basis
        walk.plan.checkpoint = contents
        walk.plan.checkpointEnd = header.next
        // What notes before it say is of older trees; those behind it are of these.
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

  /// What came behind a place that was reached before.
  /// - Parameter provenThrough: the highest frame that is known to be durable.
  func plan(continuing place: LogPosition, provenThrough: UInt64) throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    var walk = LogWalk(self, from: place, provenThrough: provenThrough)
    return try finish(&walk)
  }

  /// What a walk says when a read failed on the way means nothing.
  private func finish(_ walk: inout LogWalk) throws(DiskFailure) -> RecoveryPlan {
    walk.advanceToEnd()
    try checkRead()
    return walk.plan
  }
}
