/// What work in the background failed at, for those who ask: no call waits for such work, so none can throw.
///
/// Who tries again, and when:
///
///     checkpoint    the maintenance thread, after the next commit that is due for one; above the log's whole budget each
///                   committing thread itself, after its commit is durable
///     compaction    its own thread, when the next checkpoint or pause finds it due: after 10 s, then twice as long, at most 600 s
///     collection    (of assets, by the record layer) when a commit or an open has something to collect again
///
/// Commits go on meanwhile, and what was acknowledged is safe: a file without checkpoints has a longer log to replay, and memory
/// for its changed pages; one that is not compacted is larger, and so is a folder from which no assets are removed.
///
/// One for a database: a store that replaces another has the same. Always true: a failure is kept until the same work succeeds.
package final class BackgroundFailures: Sendable {
  package enum Work: Sendable { case checkpoint, compaction, collection }

  private let failures = Locked<[Work: any Error]>([:])

  package init() {}

  /// Why the last attempt failed; nil when it succeeded, or when there was none.
  package subscript(work: Work) -> (any Error)? {
    get { failures.withLock { $0[work] } }
    set { failures.withLock { $0[work] = newValue } }
  }
}
