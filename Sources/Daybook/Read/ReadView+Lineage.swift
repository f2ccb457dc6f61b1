import DaybookEngine

/// Which history a view shows: whether the place that a token or a cursor names is one of its past, of its future, or of another copy.
extension ReadView {
  /// What a commit of some lineage is to this view.
  enum Standing {
    case same
    /// It may come later.
    case notSeenYet
    /// It was lost, or belongs to a copy with a history of its own.
    case forked
  }

  var lineages: LineageTree { LineageTree(reader, root(.lineages)) }

  /// The lineage that a commit belongs to; nil when nothing was committed.
  func lineage(of sequence: UInt64) throws(DatabaseError) -> Lineage? {
    try asDatabaseError { () throws(PageFault) in try lineages.lineage(of: sequence) }
  }

  /// Without all commits there is no telling whether a later one is yet to be seen, was lost in a crash, or belongs to a copy. It is
  /// refused when this history has a commit of that number with another lineage; or before, when its lineage has ended here by
  /// another that came after it.
  /// - Parameter known: the newest commit, when the caller knows it: a later one is of another history.
  func standing(
    of commit: UInt64, _ lineage: Lineage?, known: @autoclosure () -> UInt64?
  ) throws(DatabaseError) -> Standing {
    if commit <= sequence { return try self.lineage(of: commit) == lineage ? .same : .forked }
    if let known = known(), commit > known { return .forked }
    return try asDatabaseError { () throws(PageFault) in try lineages.hasEnded(lineage) } ? .forked : .notSeenYet
  }

  // MARK: cursors

  /// The lineage for a cursor that leads to a commit and is about to be shown. In a transaction the commit may be its own: then the
  /// next transaction must not have its number and its lineage, should this one be rolled back.
  func lineageToShow(of sequence: UInt64) throws(DatabaseError) -> Lineage? {
    if case .transaction(let transaction, _) = source, sequence >= transaction.sequence {
      database.writerState.hasShownOwnCommit = true
    }
    return try lineage(of: sequence)
  }

  /// Whether a cursor's commit is ahead of what this view shows: then a page is empty and has the same cursor.
  /// - Throws: `changeTokenForked` when it is in another history.
  func mustWait(forCursorAt sequence: UInt64, of lineage: Lineage?) throws(DatabaseError) -> Bool {
    if isMutant("accept-forked-cursor") { return false }
    switch try standing(of: sequence, lineage, known: lastKnownCommit) {
    case .same: return false
    case .notSeenYet: return true
    case .forked:
      throw DatabaseError(
        .changeTokenForked, "The cursor belongs to a copy of this database with another history.",
        facts: .init(sequence: sequence))
    }
  }
}
