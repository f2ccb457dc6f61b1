#if !canImport(CloudKit)
  import Daybook
  import Foundation

  import class DaybookEngine.Locked

  /// A request that can be queued, cancelled, and made to wait for others.
  ///
  /// Blocks are set before it begins and called on any thread, one at a time. The last one is always called, once: with
  /// `operationCancelled` after ``Operation/cancel()``. What was committed before that stays.
  open class CKOperation: Operation, @unchecked Sendable {
    /// A name for logs.
    public let operationID = UUID().uuidString
    private let hasEnded = Locked(false)

    /// Does the work, and reports its results.
    func perform() throws {}

    /// Reports that everything is done, or what went wrong.
    func finish(_ error: CKError?) {}

    /// What a block that takes a result is told at the end: what became of the request. Items that failed are no failure of it, as they
    /// are to the older blocks that take an error: each has a result of its own.
    static func result(_ error: CKError?) -> Result<Void, any Error> {
      if let error, error.code != .partialFailure { .failure(error) } else { .success(()) }
    }

    private func end(_ error: CKError?) {
      let isFirst = hasEnded.withLock { hasEnded in
        defer { hasEnded = true }
        return !hasEnded
      }
      if isFirst { finish(error) }
    }

    /// Begins, or ends at once if it was cancelled.
    open override func start() {
      // A cancelled operation has no main.
      if isCancelled { end(CKError(.operationCancelled)) }
      super.start()
      // One that is cancelled between the two lines above has no main either. After a main this is the second end, which does
      // nothing.
      if isCancelled {
        end(CKError(.operationCancelled))
        letGoOfDependencies()
      }
    }

    deinit { letGoOfDependencies() }

    /// Foundation's operations on Linux know those that wait for them by address alone, and look at all of them at their end: also at one that
    /// was cancelled, and so did not wait, or was never queued, and that is gone by then.
    private func letGoOfDependencies() { for operation in dependencies { removeDependency(operation) } }

    /// Does the work.
    open override func main() {
      do {
        try perform()
        // One of its blocks may have cancelled it when nothing was left to stop.
        try checkCancellation()
        end(nil)
      } catch { end(CKError(any: error)) }
    }

    /// Throws where the operation was cancelled.
    func checkCancellation() throws {
      if isCancelled { throw CKError(.operationCancelled) }
    }
  }

  /// An operation on a database.
  open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    private let known = Locked<CKDatabase?>(nil)

    /// The database; set by ``CKDatabase/add(_:)``. Without one the operation is for the private database of the default container.
    public var database: CKDatabase? {
      get { known.withLock { $0 } }
      set { known.withLock { $0 = newValue } }
    }

    /// Does the work on a database.
    func perform(_ database: CKDatabase) throws {}

    override func perform() throws {
      try perform(database ?? CKContainer.default().privateCloudDatabase)
    }
  }
#endif
