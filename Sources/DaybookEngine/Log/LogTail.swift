/// The end of a log as its writer knows it: where the next frame goes, and what the frames before it say. Belongs to the
/// holder of the turn.
///
/// It moves on in three ways: an open sets it to the end of a plan that was carried out, a refresh moves it over frames of
/// other processes, and each append moves it by one frame. It moves back in one: `LogWriter.moveBack` restores the whole value
/// when a transaction is taken back (`Store+TakeBack.swift`).
struct LogTail {
  /// No writer prepares more zeros than this after its last frame.
  static let mostZeros: UInt64 = 4 << 20

  private(set) var position: LogPosition
  /// The checkpoints that new frames will name: one whose trees this open has read or written, and the one before it.
  /// Checkpoints of other processes are never named, because this open has not verified them.
  private(set) var newestCheckpoint: UInt64
  private(set) var olderCheckpoint: UInt64
  /// The `durableThrough` of the last frame, and the number of the last frame that carries data.
  private(set) var provenThrough: UInt64
  private(set) var lastDataNumber: UInt64
  /// The last checkpoint that this open has appended.
  private(set) var lastCheckpointNumber: UInt64 = 0

  /// The end of a plan that was carried out.
  init(_ plan: RecoveryPlan) {
    position = plan.end
    newestCheckpoint = plan.newestCheckpoint
    olderCheckpoint = plan.olderCheckpoint
    provenThrough = plan.provenThrough
    lastDataNumber = plan.hasUnprovenData ? plan.repairedThrough : plan.provenThrough
  }

  var offset: UInt64 { position.offset }
  var number: UInt64 { position.number }
  var sequence: UInt64 { position.sequence }
  var previous: UInt64 { position.previous }

  /// Moves behind what other processes have written and handed over.
  mutating func move(to position: LogPosition, provenThrough: UInt64) {
    self.position = position
    self.provenThrough = provenThrough
    lastDataNumber = provenThrough
  }

  mutating func move(over header: FrameHeader) {
    position.move(over: header)
    provenThrough = header.durableThrough
    if header.kind.carriesData { lastDataNumber = header.number }
    if header.kind == .checkpoint { lastCheckpointNumber = header.number }
  }

  /// From here on, frames name this checkpoint: it and its pages are durable.
  mutating func name(_ checkpoint: FrameHeader) {
    olderCheckpoint = newestCheckpoint
    newestCheckpoint = checkpoint.offset
  }
}
