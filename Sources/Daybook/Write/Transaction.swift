#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A write transaction, lent to the closure of ``Database/write(origin:_:)``.
///
/// Reads inside a transaction, those of ``RecordReader``, see what it has written so far. Errors of single calls leave the
/// transaction usable: catch them, or let them leave the closure, and then nothing of the transaction is kept.
///
/// It belongs to the thread that runs the closure, and ends with it: what is kept of it refuses every call with
/// `invalidArguments`.
public struct Transaction {
  let context: WriteContext

  init(_ context: WriteContext) { self.context = context }

  // MARK: records

  /// Saves a record as the policy says; returns it with its new change tag and dates.
  ///
  /// With the default policy a record that changed since it was read is refused with `serverRecordChanged`, whose conflict
  /// has the common ancestor, the client's and the server's version.
  /// A parent's own change tag stays when a child is saved; the tag of a record changes with its own saves only.
  ///
  /// Assets that were set are read, copied and synced now, while all other writers wait: ``Database/prepare(_:)-(Record)``
  /// does that before the transaction.
  /// - Throws: `serverRecordChanged`, `unknownItem`, `zoneNotFound`, `invalidArguments`, `limitExceeded`; for an asset
  ///   `assetFileNotFound`, `assetFileModified`, `assetNotAvailable`, `ioFailed`.
  @discardableResult
  public func save(
    _ record: Record, policy: SavePolicy = .ifServerRecordUnchanged
  ) throws(DatabaseError) -> Record {
    try context.save(record, policy: policy)
  }

  /// Deletes a record; deleting one that is not there is no error.
  ///
  /// Records that refer to it with `deleteSelf` are deleted with it, and those that refer to them, in the same commit.
  /// - Throws: `zoneNotFound`; `limitExceeded` when the transaction grows too large, and then it cannot be committed.
  public func delete(_ id: Record.ID) throws(DatabaseError) { try context.delete(id) }

  /// Asks at the end of the transaction whether a value is in a record, of which a record that was saved has only a reference.
  /// - Parameters:
  ///   - key: the field that has the reference; nil for the parent.
  ///   - type: that of the value's record; nil for any.
  package func requireRecord(_ target: Record.ID, ofType type: String?, for key: String?, of source: Record.ID) {
    context.queueValueCheck(of: source, key, target, type: type)
  }

  /// Deletes records, and those that they own; those that are not there are no error.
  /// - Throws: as ``delete(_:)-(Record.ID)``, at the first that is refused; those before it are deleted in this transaction.
  public func delete(_ ids: [Record.ID]) throws(DatabaseError) { for id in ids { try context.delete(id) } }

  // MARK: zones

  /// Creates a zone; saving one that exists changes its capabilities only.
  public func save(_ zone: Zone) throws(DatabaseError) { try context.save(zone) }

  /// Deletes a zone with everything in it. Takes the same time whatever is in the zone.
  /// - Throws: `zoneNotFound`; `invalidArguments` for the default zone.
  public func deleteZone(
    _ id: Zone.ID, reason: DatabaseChanges.DeletedZone.Reason = .deleted
  ) throws(DatabaseError) {
    try context.deleteZone(id, reason: reason)
  }

  // MARK: metadata of the application

  /// Keeps bytes under a key, in the same commit as the data they describe and in no change feed; nil removes them.
  /// - Throws: `invalidArguments` for a key that is empty or longer than 1,024 bytes of UTF-8, or begins with U+0000: those are
  ///   the library's own.
  public func setMetadata(_ value: Data?, forKey key: String) throws(DatabaseError) {
    if key.utf8.first == 0 {
      throw DatabaseError(.invalidArguments, "Keys of metadata that begin with U+0000 are the library's own.")
    }
    try context.setMetadata(value, forKey: key)
  }

  // MARK: schema

  /// Adds the types, fields, kinds and indexes of a schema to the database's, also where it is locked.
  ///
  /// An index of a type without records is complete at once. Where there are records, it serves when it is built
  /// (``Database/buildIndexes(progress:)``).
  /// - Throws: `invalidArguments` for names that are not valid, a key that would be both encrypted and plain, and in
  ///   ``Dialect/cloudKit`` a second kind of a field.
  public func declare(_ schema: Schema) throws(DatabaseError) { try context.declare(schema) }

  /// Adds the entries of some of the records that are there to indexes that are being built.
  /// - Returns: whether all indexes are complete now.
  package func buildIndexes(recordCount: Int) throws(DatabaseError) -> Bool { try context.buildIndexes(limit: recordCount) }

  /// Drops the indexes of a field, or those of some kinds. Returns whether there was one.
  package func dropIndex(
    on key: String, ofType type: String, kinds: Set<IndexKind>? = nil
  ) throws(DatabaseError) -> Bool {
    try context.dropIndex(on: key, ofType: type, kinds: kinds)
  }

  // MARK: savepoints

  /// Runs a part of the transaction that can be rolled back separately: when `body` throws, what it did is undone, and the
  /// error is thrown on. Savepoints nest.
  @discardableResult
  public func savepoint<R>(_ body: () throws -> R) throws -> R { try context.savepoint(body) }

  /// Forgets deletions up to and including a commit; change tokens from before it expire.
  /// - Throws: `invalidArguments` for a commit that does not exist yet.
  public func forgetDeletions(through sequence: UInt64) throws(DatabaseError) {
    try context.raiseHorizon(sequence)
  }
}

extension Transaction: RecordReader {
  /// The record with this ID, as this transaction has it; nil when there is none.
  /// - Throws: `corrupted` when the record's bytes fail their checksum; never wrong data.
  public func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    try context.requireOpen()
    return try context.record(id)
  }

  /// The database as this transaction has it.
  @_spi(Daybook) @inline(__always)
  public func beginReading() throws(DatabaseError) -> ReadView {
    try context.requireOpen()
    return context.view
  }

  /// Nothing to release.
  @_spi(Daybook) @inline(__always)
  public func endReading(_ view: ReadView) {}
}
