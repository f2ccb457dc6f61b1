import DaybookEngine

/// What the applier knows of the trees that it changes: the facts of the version that its transaction began on, then its own.
///
///     facts of the store ──► begin ──► lists of the applier ──► operations change them ──► savepoint, commit: new facts
///                                             ▲                                                 │
///                                             └────────────── rollback: facts of the savepoint ─┘
extension RecordApplier {
  /// What the store knows of the trees of this transaction, where it knows them.
  private func known(_ changes: StoreTransaction) -> DeclaredFacts? {
    guard let known = changes.facts else { return nil }
    if let facts, known === facts { return facts }
    return known as? DeclaredFacts
  }

  /// Looks what the transaction's trees require.
  /// - Throws: `requires` when nothing can be read. A file that must not be changed is read on; when the
  ///   transaction's trees are published, the store refuses to write.
  func alignFeatures(_ changes: StoreTransaction) throws(LogFault) {
    if let known = known(changes) { features = known.features } else { features = try storedFeatures(changes) }
    try checkFeatures(changes)
  }

  private func storedFeatures(_ changes: StoreTransaction) throws(LogFault) -> RequiredFeatures {
    let settings = changes.roots[Roots.settings]
    guard settings.reference != 0 else { return RequiredFeatures(reading: 0, writing: 0) }
    key.truncate(to: 0)
    key.append(utf8: RequiredFeatures.settingsKey)
    guard let value = try changes.value(key.view, in: settings) else { return RequiredFeatures(reading: 0, writing: 0) }
    guard let found = RequiredFeatures(value) else { throw .inconsistent }
    return found
  }

  private func checkFeatures(_ changes: StoreTransaction) throws(LogFault) {
    let unknown = features.unknown
    guard unknown.reading == 0 else { throw .requires(features: unknown.reading) }
    changes.laterFeatures = unknown.writing
  }

  /// Applies the operation: adds to what the file requires.
  func require(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard let more = RequiredFeatures(payload) else { throw .operation }
    features.reading |= more.reading
    features.writing |= more.writing
    facts = nil
    key.truncate(to: 0)
    key.append(utf8: RequiredFeatures.settingsKey)
    value.truncate(to: 0)
    features.append(to: value)
    try changes.put(key.view, value.view, in: &changes.roots[Roots.settings])
    // At once: what follows in this commit may be of kinds that this version does not know.
    try checkFeatures(changes)
  }

  /// Makes the lists of indexes what the transaction's trees have.
  func alignIndexes(_ changes: StoreTransaction) throws(LogFault) {
    if let known = known(changes) {
      if facts === known { return }
      facts = known
      declared.replace(known.indexes)
    } else {
      facts = nil
      do throws(PageFault) {
        declared.replace(try decodedIndexes(in: changes.roots[Roots.schema], changes.reader))
      } catch { throw .page(error) }
    }
    indexes.replace(declared.defined)
  }

  /// Reads the definitions of a tree, where no version has kept what is in it. May be called without the turn.
  func decodedIndexes(in root: TreeRoot, _ reader: TreeReader) throws(PageFault) -> DefinedIndexes {
    decodingCount.add(1, ordering: .relaxed)
    return DefinedIndexes(try IndexDefinition.all(in: root, reader))
  }

  /// What the transaction's trees declare now.
  func declaredFacts(_ changes: StoreTransaction) throws(LogFault) -> DeclaredFacts {
    try alignShapes(changes)
    return declaredFacts
  }

  private var declaredFacts: DeclaredFacts {
    if let facts { return facts }
    let made = DeclaredFacts(declared.defined, features)
    facts = made
    return made
  }

  func facts(_ changes: StoreTransaction) -> (any RootFacts)? { areShapesAligned ? declaredFacts : changes.facts }
}

extension ReadView {
  /// What this version declares. Decoded by who made it.
  func facts() throws(DatabaseError) -> DeclaredFacts {
    switch source {
    case .pin(let pin):
      if let facts = store.facts(of: pin) as? DeclaredFacts { return facts }
      let indexes = try asDatabaseError { () throws(PageFault) in
        try store.records.decodedIndexes(in: root(.schema), reader)
      }
      return DeclaredFacts(indexes, RequiredFeatures(reading: 0, writing: 0))
    case .transaction(let transaction, let applier):
      do throws(LogFault) { return try applier.declaredFacts(transaction) } catch { throw failure(error) }
    }
  }
}
