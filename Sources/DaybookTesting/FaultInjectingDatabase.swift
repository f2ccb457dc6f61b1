import Daybook
import Foundation
import Synchronization

/// A server on a bad day, for tests of what talks to one: a database whose calls fail or take long when a test says so.
///
/// ```swift
/// let server = FaultInjectingDatabase(try Database.inMemory())
/// server.fail(.modify, with: DatabaseError(.networkFailure), losing: .answer)   // the next one: done there, and not told
/// ```
/// What is not told to fail goes to the database that it was made with, and so do results, limits and notifications. An answer that
/// is lost is the case to test: the records are saved there, and the caller has to find out.
///
/// Any thread may use it. Calls that run beside each other are counted in the order in which they begin.
public final class FaultInjectingDatabase: RecordDatabase {
  /// The calls of ``Daybook/RecordDatabase``.
  public enum Call: Sendable, CaseIterable {
    case accountStatus, modify, records, query, zones, modifyZones, changes, asset, databaseChanges, subscriptions
    case modifySubscriptions
  }

  /// What a failure keeps from arriving.
  public enum Loss: Sendable {
    /// Nothing was done.
    case request
    /// It was done; the error comes in the place of the result.
    case answer
  }

  private struct Fault {
    let call: Call?
    var skipCount: Int
    var count: Int
    let error: DatabaseError?
    let loss: Loss
    let delay: Duration?

    func matches(_ other: Call) -> Bool { call == nil || call == other }
  }

  private struct State {
    var faults: [Fault] = []
    var calls: [Call] = []
    var status: AccountStatus?
  }

  private let base: any RecordDatabase
  private let state = Mutex(State())

  /// Passes on to a database, which may be any: one in memory, one on a simulated disk, another one of these.
  public init(_ base: any RecordDatabase) { self.base = base }

  // MARK: what a test says

  /// Lets calls fail.
  ///
  /// Each call meets all that was asked for and is not over: the first error that it meets is the one that it throws.
  /// - Parameters:
  ///   - call: nil for any.
  ///   - skipping: how many such calls are let through first.
  ///   - count: how many fail then; `Int.max` for all.
  ///   - error: such as `networkFailure`, or one with a `retryAfter`.
  ///   - loss: whether the call is done before it fails.
  public func fail(
    _ call: Call? = nil, skipping: Int = 0, count: Int = 1, with error: DatabaseError = DatabaseError(.networkFailure),
    losing loss: Loss = .request
  ) {
    add(Fault(call: call, skipCount: max(0, skipping), count: count, error: error, loss: loss, delay: nil))
  }

  /// Lets calls wait before they begin. A task that is cancelled meanwhile throws `CancellationError`, and nothing is done.
  public func delay(_ call: Call? = nil, by duration: Duration, skipping: Int = 0, count: Int = 1) {
    add(Fault(call: call, skipCount: max(0, skipping), count: count, error: nil, loss: .request, delay: duration))
  }

  /// From here on all calls are let through at once.
  public func stopFailing() { state.withLock { $0.faults = [] } }

  /// What ``accountStatus()`` says; nil, as at the beginning, asks the database.
  public var status: AccountStatus? {
    get { state.withLock { $0.status } }
    set { state.withLock { $0.status = newValue } }
  }

  /// The calls so far, in order, with those that failed: a test can say that one action of the user is one request.
  public var calls: [Call] { state.withLock { $0.calls } }

  private func add(_ fault: Fault) {
    if fault.count > 0 { state.withLock { $0.faults.append(fault) } }
  }

  // MARK: calls

  /// Counts a call, and takes what it is to meet.
  private func begin(_ call: Call) -> (error: DatabaseError?, loss: Loss, delay: Duration) {
    state.withLock { state in
      state.calls.append(call)
      var met: (error: DatabaseError?, loss: Loss, delay: Duration) = (nil, .request, .zero)
      for index in state.faults.indices where state.faults[index].matches(call) {
        if state.faults[index].skipCount > 0 {
          state.faults[index].skipCount -= 1
          continue
        }
        let fault = state.faults[index]
        if fault.count != .max { state.faults[index].count -= 1 }
        if met.error == nil, let error = fault.error { (met.error, met.loss) = (error, fault.loss) }
        if let delay = fault.delay { met.delay += delay }
      }
      state.faults.removeAll { $0.count == 0 }
      return met
    }
  }

  private func run<R>(_ call: Call, _ body: () async throws -> R) async throws -> R {
    let (error, loss, delay) = begin(call)
    if delay > .zero { try await Task.sleep(for: delay) }
    guard let error else { return try await body() }
    if loss == .answer { _ = try await body() }
    throw error
  }

  /// Those of the database.
  public var limits: Limits { base.limits }

  /// That of the database; it never fails.
  public func identity() async throws -> String? { try await base.identity() }

  /// ``status``, or what the database says.
  public func accountStatus() async throws -> AccountStatus {
    try await run(.accountStatus) { [status] in
      if let status { return status }
      return try await base.accountStatus()
    }
  }

  /// Tells the database; see ``Daybook/RecordDatabase/modify(saving:deleting:policy:atomically:)``.
  @discardableResult
  public func modify(
    saving records: [Record], deleting ids: [Record.ID], policy: SavePolicy, atomically: Bool
  ) async throws -> ModifyResult {
    try await run(.modify) {
      try await base.modify(saving: records, deleting: ids, policy: policy, atomically: atomically)
    }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/records(for:desiredKeys:)``.
  public func records(
    for ids: [Record.ID], desiredKeys: [String]? = nil
  ) async throws -> [Record.ID: Result<Record, DatabaseError>] {
    try await run(.records) { try await base.records(for: ids, desiredKeys: desiredKeys) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/query(_:after:)``.
  public func query(_ query: Query, after cursor: Query.Cursor? = nil) async throws -> Query.Page {
    try await run(.query) { try await base.query(query, after: cursor) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/zones()``.
  public func zones() async throws -> [Zone] { try await run(.zones) { try await base.zones() } }

  /// Tells the database; see ``Daybook/RecordDatabase/modifyZones(saving:deleting:)``.
  @discardableResult
  public func modifyZones(saving zones: [Zone], deleting ids: [Zone.ID]) async throws -> ModifyZonesResult {
    try await run(.modifyZones) { try await base.modifyZones(saving: zones, deleting: ids) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/changes(in:since:limit:desiredKeys:)``.
  public func changes(
    in zone: Zone.ID, since token: ChangeToken?, limit: Int? = nil, desiredKeys: [String]? = nil
  ) async throws -> ZoneChanges {
    try await run(.changes) { try await base.changes(in: zone, since: token, limit: limit, desiredKeys: desiredKeys) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/asset(_:of:)``.
  public func asset(_ key: String, of id: Record.ID) async throws -> URL {
    try await run(.asset) { try await base.asset(key, of: id) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/databaseChanges(since:limit:)``.
  public func databaseChanges(since token: ChangeToken?, limit: Int? = nil) async throws -> DatabaseChanges {
    try await run(.databaseChanges) { try await base.databaseChanges(since: token, limit: limit) }
  }

  /// Asks the database; see ``Daybook/RecordDatabase/subscriptions()``.
  public func subscriptions() async throws -> [Subscription] {
    try await run(.subscriptions) { try await base.subscriptions() }
  }

  /// Tells the database; see ``Daybook/RecordDatabase/modifySubscriptions(saving:deleting:)``.
  @discardableResult
  public func modifySubscriptions(
    saving subscriptions: [Subscription], deleting ids: [Subscription.ID]
  ) async throws -> ModifySubscriptionsResult {
    try await run(.modifySubscriptions) { try await base.modifySubscriptions(saving: subscriptions, deleting: ids) }
  }

  /// Those of the database: they never fail, and a test that wants one to be missed does not listen.
  public func notifications() -> AsyncStream<SubscriptionNotification> { base.notifications() }
}
