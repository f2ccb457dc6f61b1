import DaybookEngine

/// A failure to come.
package struct SimulatedFault: Sendable {
  /// What happens to the pages that a failed sync did not write.
  package enum SyncLoss: Sendable {
    /// The cache keeps the new bytes and calls them clean; no later sync writes them. (ext4 and XFS do this.)
    case keepsPages
    /// The cache drops them and shows the old bytes.
    case dropsPages
  }

  package var operations: Set<DiskFailure.Operation>
  /// Which of the calls with these operations fails, counted from 1 when the fault is set.
  package var call: Int
  package var code: Int32
  /// Whether all such calls after it fail as well.
  package var repeats: Bool
  package var syncLoss: SyncLoss
  /// Whether a failing write leaves a part of its bytes behind, as a real one may.
  package var leavesPartOfWrite: Bool
  /// Only calls on this path; nil for all.
  package var path: String?
  /// Whether a failed sync is reported to each description that is open then, or only to the one that asked.
  package var tellsEveryDescription: Bool

  package init(
    _ operations: Set<DiskFailure.Operation> = SimulatedCall.countedOperations, call: Int,
    code: Int32 = ErrorNumber.inputOutput, repeats: Bool = false, syncLoss: SyncLoss = .keepsPages,
    leavesPartOfWrite: Bool = true, path: String? = nil, tellsEveryDescription: Bool = true
  ) {
    self.operations = operations
    self.call = call
    self.code = code
    self.repeats = repeats
    self.syncLoss = syncLoss
    self.leavesPartOfWrite = leavesPartOfWrite
    self.path = path
    self.tellsEveryDescription = tellsEveryDescription
  }
}
