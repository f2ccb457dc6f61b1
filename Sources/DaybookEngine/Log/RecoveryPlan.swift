/// What a walk over a log has found: which checkpoint to start from, which frames to replay, where the log ends, and how. The rule
/// by which it is found is in `LogWalk`.
///
/// This only says; `Store.open` carries out the plan. The same file always gives the same plan.
struct RecoveryPlan {
  enum Ending: Equatable {
    /// Only zeros follow the last frame.
    case clean
    /// Something unfinished follows the last valid frame.
    case torn
    /// Acknowledged commits are damaged. Nothing may be written to this file.
    case corrupt(lost: ClosedRange<UInt64>)
    /// The log ends before the length that its file names. Nothing may be written to this file.
    case cutShort
  }

  /// How far open had to go back for valid trees.
  enum Basis: Equatable { case newestCheckpoint, olderCheckpoint, log }

  var basis: Basis = .log
  var checkpoint: CheckpointContents?
  /// The first byte behind the checkpoint's frame.
  var checkpointEnd: UInt64 = 0
  var ending: Ending = .clean
  /// Where replay starts.
  var start = LogPosition.start
  /// Damaged stretches without data: each from its offset to the next valid frame.
  var skips: [UInt64: UInt64] = [:]
  /// The end of the last frame that counts.
  var end = LogPosition.start
  /// The end of the last commit that counts; the start when there is none. Frames from here to the end change nothing that
  /// readers see.
  var lastCommitEnd = LogPosition.start
  var last: FrameHeader?
  /// The highest frame number that any frame declares durable.
  var provenThrough: UInt64 = 0
  /// The end of the last frame that counts and is proven durable, and the end of the last such commit; the start when there is
  /// none. As the walk found them: beside a live writer, they may have changed since.
  var provenEnd = LogPosition.start
  var provenCommitEnd = LogPosition.start
  /// The first frame, of any kind, that no other frame proves durable. Losing a frame without data loses no data. But if it
  /// were counted as durable and then lost, a later frame would claim that what was torn in its place had been acknowledged.
  var firstUnproven: UInt64?
  /// Whether commits or checkpoints are among the frames that are not proven.
  var hasUnprovenData = false
  /// The header checksum of the first later frame that declares the corrupt part durable.
  var corruptionProof: UInt64?
  /// Whether there are whole frames in the torn part.
  var discardsFrames = false
  /// The checkpoint whose trees are used, and the one that it names as older. New frames name only these: a checkpoint that the
  /// walk has merely passed was not verified.
  var newestCheckpoint: UInt64 = 0
  var olderCheckpoint: UInt64 = 0
  /// Whether a checkpoint follows the one whose trees are used, or there are checkpoints and none can be used.
  var passesCheckpoint = false
  /// Bytes that were durable and are missing at the end of a file that was cut.
  var missingByteCount: UInt64 = 0
  /// The last commit before the last copy of declarations; 0 without one.
  var declarationsThrough: UInt64 = 0
  /// A note reports a damaged page: the trees are rebuilt from the log.
  var tellsOfDamagedPage = false
  var isClosed: Bool { last?.kind == .closed && ending == .clean }
  var lastSequence: UInt64 { end.sequence }
  /// The end of what trees may refer to: the checkpoint's pages were synced before its frame was written, whether that is
  /// proven or not.
  var readableEnd: UInt64 { max(end.offset, start.offset, checkpointEnd) }
  /// The log ends with a note that proves everything before it: its writer has released the file lock.
  var isHandedOver: Bool {
    guard let last, ending == .clean else { return false }
    return last.kind == .note && last.durableThrough + 1 == last.number
  }

  /// Nothing follows the place that a writer knew, or the log ends with such a note or a `closed` frame: all of it is durable,
  /// and the next writer has nothing to repair.
  var isCleanlyHandedOver: Bool { ending == .clean && (last == nil || isClosed || isHandedOver) }

  /// A plan for a log to which a live writer may be appending.
  ///
  /// A commit that was being written when the walk reached it looks corrupt if a later frame was written since and covers it.
  /// But a frame that covers another was written after that one was whole. So at a second look the commit is valid, or it is
  /// really corrupt. In between, both frames may have been taken back (`Store+TakeBack`), and the same may have happened to the
  /// next transaction. So the second look must find the same loss, proven by the same frame. As long as that frame is there, so
  /// is what it covers, except for parts that are being taken back right now, and parts are never called corrupt.
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
