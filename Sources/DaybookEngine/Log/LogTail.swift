/// The end of a log as its writer knows it: where the next frame goes, and what the frames before it say. Belongs to the
/// holder of the turn.
///
/// It moves in three ways, all of them here: an open sets it behind a plan that has been carried out, a look at what other
/// processes have written moves it behind theirs, and each frame that is appended moves it by one. Parts of a transaction that
/// found no room are taken back: then it is put back as a whole to what it was.
struct LogTail {
  private(set) var position: LogPosition
  /// The checkpoints that frames to come will name: one whose trees this open has read or written, and the one before it.
  /// Those of other processes are never named: nothing here has looked into them.
  private(set) var newestCheckpoint: UInt64
  private(set) var olderCheckpoint: UInt64
  /// The `durableThrough` of the last frame, and the last frame that carries truth.
  private(set) var provenThrough: UInt64
  private(set) var lastTruthNumber: UInt64
  /// The last checkpoint that this open has appended.
  private(set) var lastCheckpointNumber: UInt64 = 0

  /// Behind a plan that has been carried out.
  init(_ plan: RecoveryPlan) {
    position = plan.end
    newestCheckpoint = plan.newestCheckpoint
    olderCheckpoint = plan.olderCheckpoint
    provenThrough = plan.provenThrough
    lastTruthNumber = plan.hasUnprovenTruth ? plan.repairedThrough : plan.provenThrough
  }

  var offset: UInt64 { position.offset }
  var number: UInt64 { position.number }
  var sequence: UInt64 { position.sequence }
  var previous: UInt64 { position.previous }

  /// Behind what others have written and handed over.
  mutating func move(to place: LogPosition, provenThrough: UInt64) {
    position = place
    self.provenThrough = provenThrough
    lastTruthNumber = provenThrough
  }

  mutating func move(over header: FrameHeader) {
    position.move(over: header)
    provenThrough = header.durableThrough
    if header.kind.carriesTruth { lastTruthNumber = header.number }
    if header.kind == .checkpoint { lastCheckpointNumber = header.number }
  }

  /// From here on frames name this checkpoint: it and its pages are durable.
  mutating func name(_ checkpoint: FrameHeader) {
    olderCheckpoint = newestCheckpoint
    newestCheckpoint = checkpoint.offset
  }
}
