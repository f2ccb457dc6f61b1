import DaybookEngine

extension Database {
  /// Rewrites the file without dead data: the present version of each record, tombstones and metadata stay.
  ///
  /// Reads and writes go on meanwhile, and snapshots keep reading the old file. Sequences, change tags, tokens and dates stay
  /// as they are, and so do rights, owner and extended attributes of the file. Older versions are dropped, so
  /// ``history(of:before:limit:)`` starts over. Needs free space for the live data. Happens in the background by default, see
  /// ``Options/Compaction``.
  /// - Parameter progress: called with the records done and all records; false stops with `operationCancelled`, and the
  ///   database is as it was.
  /// - Throws: `badDatabase` when several names lead to the file (hard links): the new one could take only one of them; and when the
  ///   database's name leads to another file by now, or to none.
  ///   `permissionFailure` when a file of this user's could not have the owner, group or access control list of this one.
  ///   `diskFull` and `ioFailed` leave the database as it was, though a transaction that deletes may find no room while it tries
  ///   with that of the reserve; `outcomeUnknown` when the last step failed, which
  ///   gives the new file its name: only opening it again tells which of the two it leads to. Both have every commit.
  public func compact(progress: ((_ done: Int, _ total: Int) -> Bool)? = nil) throws(DatabaseError) {
    guard let compactor else { throw DatabaseError(.readOnly, facts: .init(path: path)) }
    do { try compactor.compact(RecordRewriter(options: options, assets: library.store, progress: progress)) } catch {
      throw DatabaseError(error, path: path)
    }
  }
}
