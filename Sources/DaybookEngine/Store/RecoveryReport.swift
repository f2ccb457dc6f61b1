/// What open found and did.
package struct RecoveryReport: Sendable, Equatable {
  /// The file ended with a `closed` frame: nothing had to be recovered.
  package var wasClosed = true
  /// How far open had to go back for trees that hold.
  package enum Basis: String, Sendable { case newestCheckpoint, olderCheckpoint, log }
  package var basis = Basis.log
  package var replayedCommitCount: UInt64 = 0
  package var replayedByteCount: UInt64 = 0
  /// Bytes behind the last commit that were thrown away: an unacknowledged write.
  package var discardedByteCount: UInt64 = 0
  /// Where whole frames among them were saved.
  package var discardedCopyPath: String?
  /// There were some, and no room for a copy, or no right to make one.
  package var isDiscardedCopyMissing = false
  /// Frames that nothing proved to be on the disk, written and synced again.
  package var rewrittenFrameCount = 0
  /// Sequences of acknowledged commits that are damaged; nil when none are.
  package var lostSequences: ClosedRange<UInt64>?
  /// Bytes at the end of the file that were durable once and are not there any more.
  package var missingByteCount: UInt64 = 0
  /// A file that is open elsewhere was read up to what its writer says is durable.
  package var isBesideWriter = false
  /// The last commit that stood in the log then, where the writer had not said so of it.
  var unprovenSequence: UInt64?
  /// The writer did not say so in time: commits that it has acknowledged may not be shown yet.
  package var isBehindWriter = false
  /// Recovery threw something away, or made sure of what nothing proved.
  package var hasChangedLog: Bool { discardedByteCount > 0 || rewrittenFrameCount > 0 }
  package init() {}
}
