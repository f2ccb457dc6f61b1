import DaybookEngine

extension Database {
  /// Makes the file anew with only what lives in it: the present version of each record, tombstones, metadata.
  ///
  /// Reads and writes go on meanwhile, and snapshots keep reading the old file. Sequences, change tags, tokens and dates stay
  /// as they are, and so do rights, owner and extended attributes of the file; older versions of records go, so ``history(of:)`` begins anew. Takes free space for what lives. In the
  /// background this happens by itself, see ``Options/Compaction``.
  /// - Parameter progress: called with the records done and all records; false stops with `operationCancelled`, and the
  ///   database is as it was.
  /// - Throws: `badDatabase` when several names lead to the file (hard links): the new one could take only one of them.
  ///   `diskFull` and `ioFailed` leave the database as it was; `outcomeUnknown` when the last step failed, which
  ///   gives the new file its name: only opening it again tells which of the two it leads to. Both hold every commit.
  public func compact(progress: ((_ done: Int, _ total: Int) -> Bool)? = nil) throws(DatabaseError) {
    guard let compactor else { throw DatabaseError(.readOnly, facts: .init(path: path)) }
    do { try compactor.compact(RecordRewriter(options: options, progress: progress)) } catch {
      throw DatabaseError(error, path: path)
    }
  }
}
