import DaybookEngine

/// Copying records that come in an order which somebody else chose: the pages of a feed, of a backup, of a server.
///
/// Within one transaction the order never matters. Over several, a child may come many pages before its parent:
///
/// ```swift
/// for page in pages {
///   try database.writeUnordered { transaction in try transaction.save(page, policy: .allKeys) }
/// }
/// let missing = try database.referencesWithoutTarget(in: library)     // empty when all has arrived
/// ```
extension Database {
  /// Runs a transaction that does not ask whether parents and validated targets exist, and is like ``write(origin:_:)`` in
  /// everything else. In the end ``referencesWithoutTarget(in:limit:)`` says what is missing.
  ///
  /// A record that was left without its target stays so: later transactions ask only about what they change themselves.
  @discardableResult
  public func writeUnordered<R>(origin: Origin? = nil, _ body: (borrowing Transaction) throws -> R) throws -> R {
    try write(origin, checksReferences: false, body)
  }

  /// Runs a transaction that does not ask whether parents and validated targets exist, off the caller's thread; with
  /// cancellation as ``write(origin:_:)``.
  @discardableResult
  public func writeUnordered<R: Sendable>(
    origin: Origin? = nil, _ body: @escaping @Sendable (borrowing Transaction) throws -> R
  ) async throws -> R {
    try await write(origin, checksReferences: false, body)
  }

  /// A record that needs another one that is not there.
  public struct MissingTarget: Sendable, Hashable {
    /// The record that has the other one as its parent, or validates a reference to it.
    public let source: Record.ID
    /// The record that is not there.
    public let target: Record.ID
  }

  /// The parents and validated targets of a zone's records that are not there, by name; of the records that need one of them
  /// the first is named. Empty after any number of ordinary transactions.
  /// - Throws: `zoneNotFound`.
  /// - Complexity: O(references of the zone).
  public func referencesWithoutTarget(in zone: Zone.ID, limit: Int = .max) throws(DatabaseError) -> [MissingTarget] {
    try PageLimit.require(limit, in: zone)
    return try reading { (view) throws(DatabaseError) in
      try view.referencesWithoutTarget(in: try view.existingZone(zone), limit: limit).map {
        MissingTarget(
          source: Record.ID(unchecked: $0.source, in: zone), target: Record.ID(unchecked: $0.target, in: zone))
      }
    }
  }

  /// The parents and validated targets of a zone's records that are not there, off the caller's thread.
  public func referencesWithoutTarget(in zone: Zone.ID, limit: Int = .max) async throws -> [MissingTarget] {
    try await queues.read { [self] in try referencesWithoutTarget(in: zone, limit: limit) }
  }
}
