import DaybookEngine

extension Database {
  /// The rules for files that show data of this database: they are no part of it, and readable for no more people.
  package func outputRules() throws(DatabaseError) -> OutputRules {
    do throws(DiskFailure) {
      return try OutputRules(
        path: path, file: store.identity, attributes: store.fileAttributes(for: library.store.disk),
        on: library.store.disk
      ) { [self] identity in
        // Where the assets cannot be listed, every file counts as one: then nothing is written.
        guard let contents = try? storedAssets() else { return true }
        return contents.contains { (try? library.store.disk.identity(of: $0.path)) == identity }
      }
    } catch { throw DatabaseError(error) }
  }
}
