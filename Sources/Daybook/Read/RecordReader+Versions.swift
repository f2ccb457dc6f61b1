/// Older versions of a record, as the base of a three-way merge.
extension RecordReader where Self: ~Copyable {
  /// The version of a record that had a change tag, if the file still has it: what both sides began with when a client that
  /// keeps a tag meets a newer version. The conflict of a `serverRecordChanged` has it as its ancestor.
  ///
  /// Nil when the record never had that tag here, or a compaction has dropped that version: then a merge takes the two sides
  /// alone. A version of an earlier life of the record counts, too.
  /// - Throws: `zoneNotFound`; `corrupted` when a version that is on the way fails its checksum.
  /// - Complexity: O(versions that are newer).
  public func record(_ id: Record.ID, withChangeTag tag: String) throws(DatabaseError) -> Record? {
    try reading { (view) throws(DatabaseError) in
      if let current = try view.record(id), current.metadata?.changeTag == tag { return current }
      // Only as far as it has to go: an older version may be damaged, and the newer ones do not need it.
      var walk = try view.historyWalk(of: id)
      while let version = try walk.next() {
        if version.changeTag == tag { return version.record }
      }
      return nil
    }
  }
}

extension Database {
  /// The version of a record that had a change tag, if the file still has it; off the caller's thread.
  public func record(_ id: Record.ID, withChangeTag tag: String) async throws -> Record? {
    try await queues.read { [self] in try record(id, withChangeTag: tag) }
  }
}
