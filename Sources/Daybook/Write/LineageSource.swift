import DaybookEngine

/// Which lineage commits get: that of the next transaction, from the open on, and that of the transaction under way. Belongs to the
/// holder of the turn.
///
///     open: none ── the first change draws one ──► commit ──► transactions after it have the same
///       ▲                                                       │
///       ├── the file was reopened ◄─────────────────────────────┤
///       ├── a cursor into what was rolled back ◄────────────────┤
///                             theirs ◄── others committed in one that began after this open
///
/// A cursor names a commit by number and lineage, and a transaction that is rolled back leaves its number to the next one. So what has
/// been shown of it gets a lineage that no commit will have.
struct LineageSource {
  /// Of the next transaction; nil where its first change draws one.
  private var next: Lineage?
  /// Of the last commit that is known here.
  private var last = LineageTree.Last.unreadable
  /// The last commit when the database was opened.
  private var openSequence: UInt64 = 0
  /// What other processes have done since the last transaction here.
  private var others = Others.nothing

  /// Of the present transaction's commit; nil as long as it has none.
  private var present: Lineage?
  /// The first change of the present transaction draws one.
  private(set) var isDrawnAtStart = true
  /// It has drawn one: no other process knows it.
  private var hasDrawn = false
  /// A cursor was shown of a state that the present transaction has made.
  private var hasShown = false

  private enum Others {
    case nothing, committed
    /// The file was reopened: a recovery discarded or rewrote frames, or another file has the name, maybe an older copy, whose
    /// next commit would have the number and the lineage of a commit that was lost.
    case reopened
  }

  /// The database is open, and the caller has not got it yet.
  mutating func begin(with store: Store) {
    openSequence = store.lastSequence
    last = LineageTree.last(in: store)
  }

  // MARK: the transaction under way

  mutating func beginTransaction() {
    present = next
    isDrawnAtStart = next == nil
    hasDrawn = false
    hasShown = false
  }

  /// The present transaction's commit gets a lineage of its own. The caller writes it.
  mutating func draw(from random: () -> UInt64) -> Lineage {
    let lineage = Lineage(drawnFrom: random)
    present = lineage
    hasDrawn = true
    return lineage
  }

  /// Called before a cursor into the present transaction's own state is shown. Returns whether a lineage must be drawn first: if
  /// this transaction is rolled back, another process that shares the file may make the next commit, with the same number and in
  /// the lineage that both know.
  mutating func willShow(isShared: Bool) -> Bool {
    hasShown = true
    return isShared && !hasDrawn && !isMutant("show-in-shared-lineage")
  }

  /// A savepoint begins. What was shown before it stays true when it is rolled back. Returns whether something was.
  mutating func beginPart() -> Bool {
    defer { hasShown = false }
    return hasShown
  }

  mutating func endPart(after hadShown: Bool) { hasShown = hasShown || hadShown }

  /// A part was rolled back, and what follows has its numbers. Returns whether another lineage has to be drawn, at once or with the first
  /// change: whatever the cursors were shown in, it may have been drawn in the part.
  mutating func rollBackPart() -> Bool {
    guard mustRefuseShown else { return false }
    isDrawnAtStart = true
    return true
  }

  /// All of the transaction is rolled back, or may be: the next one has its number, and a cursor that it has given must not pass
  /// for one of that.
  mutating func rollBack() {
    if mustRefuseShown { next = nil }
    hasShown = false
  }

  private var mustRefuseShown: Bool { hasShown && !isMutant("keep-lineage-of-rollback") }

  /// The transaction's commit was written.
  mutating func didCommit() {
    next = present
    last = .read(present)
    hasShown = false
  }

  // MARK: other processes

  /// Commits of other processes are published. Returns them with what is left of those known before: a file that was restored,
  /// and written to since, has others of the same numbers.
  mutating func follow(_ commits: OthersCommits, in store: Store) -> OthersCommits {
    if commits.isReopened { others = .reopened } else if others == .nothing { others = .committed }
    var commits = commits
    if commits.isReopened, !isMutant("take-numbers-for-commits") {
      commits.lastCommon = LineageTree.lastCommon(with: last, upTo: commits.known, in: store)
    }
    last = LineageTree.last(in: store)
    return commits
  }

  /// Whether other processes have written since the last transaction here.
  @inline(__always)
  var mustChoose: Bool { others != .nothing }

  /// Decides which lineage the next transaction has, after other processes have written:
  ///
  ///     they committed in a lineage that began after this open     that one goes on
  ///     they committed in one that began before                    this open's own stays
  ///     the file was reopened                                      a new one is drawn
  mutating func choose(_ transaction: StoreTransaction) throws(LogFault) {
    if others == .reopened {
      next = nil
    } else {
      do throws(PageFault) {
        let last = try LineageTree(transaction.reader, transaction.roots[Roots.lineages]).last()
        if let last, let theirs = last.lineage, last.first > openSequence { next = theirs }
      } catch { throw .page(error) }
    }
    others = .nothing
  }
}
