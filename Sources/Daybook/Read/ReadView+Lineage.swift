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

  /// The state that a cursor is about to be shown in. That of a transaction that has changed something is its own commit: should that be
  /// rolled back, the next one must not have its number and its lineage.
  func stateToShow() throws(DatabaseError) -> StateMark {
    var last = sequence
    if case .transaction(let transaction, _) = source {
      if transaction.hasOperations { try database.writerState.context?.willShowOwnState() } else { last -= 1 }
    }
    return StateMark(sequence: last, lineage: try lineage(of: last))
  }

  /// Whether a cursor is of a state that this view is older than: then a page is empty and has the same cursor. What a later state has
  /// moved after the cursor's place would be in none of the pages.
  /// - Throws: `changeTokenForked` when it is in another history.
  func mustWait(forCursorOf state: StateMark) throws(DatabaseError) -> Bool {
    if isMutant("accept-forked-cursor") { return false }
    switch try standing(of: state.sequence, state.lineage, known: lastKnownCommit) {
    case .same: return false
    case .notSeenYet: return true
    case .forked:
      throw DatabaseError(
        .changeTokenForked, "The cursor belongs to a copy of this database with another history.",
        facts: .init(sequence: state.sequence))
    }
  }
}
