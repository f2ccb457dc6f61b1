import DaybookEngine

extension Database {
  /// What files that tell of this database must keep: they are no part of it, and nobody may read more in them than here.
  package func outputRules() throws(DatabaseError) -> OutputRules {
    do throws(DiskFailure) {
      return try OutputRules(
        path: path, file: store.identity, attributes: store.fileAttributes(for: library.store.disk),
        on: library.store.disk
      ) { [self] identity in
        // What cannot be asked is taken for a content: then nothing is written.
        guard let contents = try? storedAssets() else { return true }
        return contents.contains { (try? library.store.disk.identity(of: $0.path)) == identity }
      }
    } catch { throw DatabaseError(error) }
  }
}
