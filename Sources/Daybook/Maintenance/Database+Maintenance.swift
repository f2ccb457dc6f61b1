#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Maintenance off the caller's thread: in an asynchronous function these are meant, and `await` is needed.
///
/// Labels and defaults are those of their namesakes, see `Database+Async.swift`. A task that is cancelled stops what has a
/// progress, as a progress that returns false does, and throws `CancellationError`. The progress is called on the thread that works.
extension Database {
  /// Copies the database as it is now into a new file, off the caller's thread.
  public func backup(
    to target: String, linksAssets: Bool = true, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws {
    try await maintain(progress) { [self] progress in try backup(to: target, linksAssets: linksAssets, progress: progress) }
  }

  /// Copies the database as it is now into a new file at a file URL, off the caller's thread.
  public func backup(
    to target: URL, linksAssets: Bool = true, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws {
    try await backup(to: Database.path(of: target), linksAssets: linksAssets, progress: progress)
  }

  /// Looks at the whole file and says what is wrong, off the caller's thread.
  public func check(
    _ depth: CheckDepth = .structure, progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws -> CheckReport {
    try await maintain(progress) { [self] progress in try check(depth, progress: progress) }
  }

  /// Rewrites the file without dead data, off the caller's thread.
  public func compact(progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil) async throws {
    try await maintain(progress) { [self] progress in try compact(progress: progress) }
  }

  /// Gives a field indexes, or takes them away, off the caller's thread.
  public func setIndex(
    _ kinds: IndexKinds, on key: String, ofType type: String,
    progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil
  ) async throws {
    try await maintain(progress) { [self] progress in try setIndex(kinds, on: key, ofType: type, progress: progress) }
  }

  /// Completes the indexes that are being built, off the caller's thread.
  public func buildIndexes(progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)? = nil) async throws {
    try await maintain(progress) { [self] progress in try buildIndexes(progress: progress) }
  }

  /// The indexes, by type, key and kind, off the caller's thread.
  public func indexes() async throws -> [IndexState] { try await queues.read { [self] in try indexes() } }

  /// Removes asset files that no record names any more, off the caller's thread.
  @discardableResult
  public func collectAssets(grace: Duration? = nil) async throws -> AssetCollection {
    try await queues.maintain { [self] in try collectAssets(grace: grace) }
  }

  /// Makes the folder of assets beside the file this database's own, off the caller's thread.
  public func takeOverAssets() async throws { try await queues.maintain { [self] in try takeOverAssets() } }

  /// The assets that are stored, off the caller's thread.
  public func storedAssets() async throws -> [StoredAsset] { try await queues.maintain { [self] in try storedAssets() } }

  /// Numbers about the database, off the caller's thread.
  public func statistics() async throws -> Statistics { try await queues.read { [self] in try statistics() } }

  /// Moves a database on to what other processes have committed since, off the caller's thread.
  @discardableResult
  public func refresh(to target: RefreshTarget = .durable) async throws -> Bool {
    try await queues.read { [self] in try refresh(to: target) }
  }

  /// Makes every commit so far durable, off the caller's thread.
  public func sync() async throws { try await queues.read { [self] in try sync() } }

  private func maintain<R: Sendable>(
    _ progress: (@Sendable (Int, Int) -> Bool)?,
    _ body: @escaping @Sendable (_ progress: @escaping (Int, Int) -> Bool) throws -> R
  ) async throws -> R {
    let stop = QueryStop()
    return try await withTaskCancellationHandler {
      try await queues.maintain {
        if stop.isSet { throw CancellationError() }
        do {
          return try body { done, total in (progress?(done, total) ?? true) && !stop.isSet }
        } catch let error as DatabaseError where stop.isSet && error.code == .operationCancelled {
          throw CancellationError()
        }
      }
    } onCancel: {
      stop.set()
    }
  }
}
