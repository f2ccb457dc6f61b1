/// What an open found and did.
package struct RecoveryReport: Sendable, Equatable {
  /// Whether the file ended with a `closed` frame, so that nothing had to be recovered.
  package var wasClosed = true
  /// How far open had to go back for valid trees.
  package enum Basis: String, Sendable { case newestCheckpoint, olderCheckpoint, log }
  package var basis = Basis.log
  package var replayedCommitCount: UInt64 = 0
  package var replayedByteCount: UInt64 = 0
  /// Bytes behind the last commit that were discarded: an unacknowledged write.
  package var discardedByteCount: UInt64 = 0
  /// Where whole frames among those bytes were saved.
  package var discardedCopyPath: String?
  /// Whether there were whole frames but no room for a copy, or no right to make one.
  package var isDiscardedCopyMissing = false
  /// How many frames, not proven to be on the disk, were written and synced again.
  package var rewrittenFrameCount = 0
  /// Sequences of acknowledged commits that are damaged; nil when none are.
  package var lostSequences: ClosedRange<UInt64>?
  /// Bytes that were durable and are missing at the end of the file.
  package var missingByteCount: UInt64 = 0
  /// Whether the file is open for writing elsewhere, and was read only up to what its writer says is durable.
  package var isBesideWriter = false
  /// The last commit in the log at that time, if the writer had not yet said that it is durable.
  var unprovenSequence: UInt64?
  /// Whether the writer did not say so in time: then commits that it has acknowledged may not be visible yet.
  package var isBehindWriter = false
  /// Whether recovery discarded something, or rewrote what was not proven.
  package var hasChangedLog: Bool { discardedByteCount > 0 || rewrittenFrameCount > 0 }

  /// "commit 3 is" or "commits 3 to 5 are": the beginning of a sentence.
  package static func text(of lost: ClosedRange<UInt64>) -> String {
    lost.lowerBound == lost.upperBound ? "commit \(lost.lowerBound) is" : "commits \(lost.lowerBound) to \(lost.upperBound) are"
  }

  package init() {}
}
