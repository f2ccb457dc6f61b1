import DaybookEngine

extension Database {
  /// The rules for files that show data of this database: they are no part of it, and readable for no more people.
  package func outputRules() throws(DatabaseError) -> OutputRules {
    do throws(DiskFailure) {
      return try OutputRules(
        path: path, file: store.identity, attributes: store.fileAttributes(for: library.store.disk),
        on: library.store.disk
      ) { [self] identity in
        // Where they cannot be listed, every file counts as one: then nothing is written.
        (try? library.store.holds(identity)) ?? true
      }
    } catch { throw DatabaseError(error) }
  }
}
