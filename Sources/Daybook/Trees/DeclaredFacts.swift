import DaybookEngine

/// What the small trees of a version declare, decoded once: which indexes there are, and what the file requires.
///
/// It belongs to a version as its roots do: a reader gets it with its pin, a transaction begins with that of the version it begins on, a
/// rollback brings that of its savepoint, and a commit gives the store its own (`RecordApplier+Facts.swift`). So definitions are read
/// from the tree when a file is opened, and not again.
final class DeclaredFacts: RootFacts {
  let indexes: DefinedIndexes
  let features: RequiredFeatures

  init(_ indexes: DefinedIndexes, _ features: RequiredFeatures) {
    self.indexes = indexes
    self.features = features
  }
}
