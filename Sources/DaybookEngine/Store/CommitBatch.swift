/// Commits that a compaction copies unchanged. Each is written at once; their effects go into the trees together, in the order
/// of keys, as in replay.
///
///     copied commits    frame  frame  frame  frame …        in the order of the log, written one by one
///     trees                                     └─ flush    one edit, one version: the newest commit's
///
/// One transaction lasts from the first commit to `flush`; until then, a checkpoint sees the trees and the log as they were
/// before the batch. This is for operations whose copy does not depend on the trees. Applied one by one, random updates of ten
/// million keys took 2.3 µs each, and commits waited for that (`daybook-bench large-keys`).
///
/// Belongs to the thread that copies, which holds the turn of the store in the making.
@safe package final class CommitBatch {
  package let target: Store
  private var transaction: StoreTransaction?
  private var last: FrameHeader?
  private var operationCount = 0
  /// Each operation may make a delta of its own, of 256 to 1,024 bytes.
  private let operationLimit: Int

  init(_ target: Store) {
    self.target = target
    operationLimit = max(1, target.options.checkpointMemoryByteCount / 512)
  }

  /// Whether no commit waits to be applied.
  var isFlushed: Bool { transaction == nil }

  /// Copies a commit with its operations unchanged. Returns its sequence.
  package func append(_ commit: CommitReader) throws(StoreError) -> UInt64 {
    let transaction = try open()
    for index in 0..<commit.count {
      let (kind, payload) = try commit.operation(index)
      let start = transaction.beginOperation()
      transaction.payload.append(payload)
      try transaction.endOperation(start, kind: kind)
    }
    let header = try transaction.writeCommit()
    last = header
    operationCount += commit.count
    transaction.beginNextOfBatch()
    if operationCount >= operationLimit { try flush() }
    return header.sequence
  }

  private func open() throws(StoreError) -> StoreTransaction {
    if let transaction { return transaction }
    let transaction = try target.beginTransaction()
    self.transaction = transaction
    transaction.startGathering()
    operationCount = 0
    return transaction
  }

  /// Puts what has been copied into the trees, as one version.
  package func flush() throws(StoreError) {
    guard let transaction else { return }
    guard let last else { return abandon() }
    do throws(StoreError) { try transaction.applyGathered() } catch {
      abandon()
      throw error
    }
    self.transaction = nil
    self.last = nil
    _ = target.makeNewest(transaction, with: last)
  }

  /// Gives up what has not been flushed; the caller then discards the unfinished file.
  func abandon() {
    guard let transaction else { return }
    self.transaction = nil
    last = nil
    target.abandon(transaction)
  }
}
