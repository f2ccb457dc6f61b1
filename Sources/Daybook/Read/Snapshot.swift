import DaybookEngine

/// The database at one moment. Whatever is written later, a snapshot reads the same; what it can read is in ``RecordReader``.
///
/// Cheap to take (about 10 ns). A long-lived one keeps memory from being freed; past `Options.snapshotMemory` (256 MB) the
/// oldest are ended, and their reads throw `snapshotTooOld`. It may move to another thread, and several may read through it at
/// once; tasks share it as a `let` of a final class, because they cannot copy it.
public struct Snapshot: ~Copyable, Sendable {
  let database: Database
  /// The store that it reads: after a compaction another than the database's.
  let store: Store
  let pin: Store.SnapshotPin

  init(_ database: Database) throws(DatabaseError) {
    self.database = database
    do { (store, pin) = try database.stores.beginSnapshot() } catch { throw DatabaseError(error, path: database.path) }
  }

  deinit { store.endSnapshot(pin) }

  /// The last commit in the snapshot.
  public var sequence: UInt64 { pin.sequence }
}

extension Snapshot: RecordReader {
  /// The record with this ID, as it was; nil when there was none.
  /// - Throws: `corrupted` when the record's bytes fail their checksum; never wrong data.
  public func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    try reading { (view) throws(DatabaseError) in try view.record(id) }
  }

  /// Keeps the version from being revoked while it is read.
  @_spi(Daybook) @inline(__always)
  public func beginReading() throws(DatabaseError) -> ReadView {
    do throws(StoreError) {
      return ReadView(database: database, store: store, source: .pin(try store.beginRead(via: pin)))
    } catch { throw DatabaseError(error, path: database.path) }
  }

  /// From here on it may be revoked.
  @_spi(Daybook) @inline(__always)
  public func endReading(_ view: ReadView) { store.endRead(via: pin) }
}
