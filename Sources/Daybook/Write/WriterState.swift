import DaybookEngine

/// What a database remembers between write transactions. Belongs to the holder of the turn.
///
/// Always true: `lineage` is that of the next commit, or nil where that draws one: the first of an open, one after the file was
/// reopened, and one after a rollback of what cursors lead into.
final class WriterState: @unchecked Sendable {
  /// One that this open has drawn is set when the commit can no longer fail; another process's when a transaction begins in it.
  @safe @exclusivity(unchecked) private(set) var lineage: Lineage?
  /// Change tags that this open gives.
  @safe @exclusivity(unchecked) var tags: ChangeTagSource
  /// The last commit when the database was opened. Set once, before its first use.
  @safe @exclusivity(unchecked) private(set) var openSequence: UInt64 = 0
  /// The lineage of the last commit that is known here.
  @safe @exclusivity(unchecked) private var knownLineage = LineageTree.Last.unreadable
  /// The transaction that is under way, while its closure runs.
  @safe @exclusivity(unchecked) var context: WriteContext?
  /// A cursor was shown that is of a state which the present transaction has made.
  @safe @exclusivity(unchecked) private var hasShownOwnState = false
  /// What other processes have done since the last transaction here.
  @safe @exclusivity(unchecked) private var others = Others.nothing
  /// What the schema is known to have.
  @safe @exclusivity(unchecked) var knownShapes = KnownShapes()
  /// Finds the declarations that bodies are packed with.
  let packer = BodyPacker()
  let userID: [UInt8]?
  let deviceID: [UInt8]?
  let scratch = ByteBuffer(capacity: 512)

  init(options: Database.Options) {
    tags = ChangeTagSource(random: options.random)
    userID = options.userID.map { Array($0.utf8) }
    deviceID = options.deviceID.map { Array($0.utf8) }
  }

  /// What the schema and the dictionary are known to have may have been rolled back.
  func forgetShapes() {
    knownShapes.removeAll()
    packer.removeAll()
  }

  private enum Others {
    case nothing, committed
    /// The file was reopened.
    case reopened
  }

  /// The database is open, and the caller has not got it yet.
  func begin(with store: Store) {
    openSequence = store.lastSequence
    knownLineage = LineageTree.last(in: store)
  }

  /// A commit of this open was written.
  func didCommit(_ lineage: Lineage?) {
    self.lineage = lineage
    knownLineage = .read(lineage)
    hasShownOwnState = false
  }

  /// A cursor of a state that the present transaction has made is about to be shown.
  func willShowOwnState() throws(DatabaseError) {
    hasShownOwnState = true
    try context?.willShowOwnState()
  }

  /// A savepoint begins. What was shown before it stays true when it is rolled back. Returns whether something was.
  func beginPart() -> Bool {
    defer { hasShownOwnState = false }
    return hasShownOwnState
  }

  func endPart(after hadShown: Bool) { hasShownOwnState = hasShownOwnState || hadShown }

  var mustRefuseShownCursors: Bool { hasShownOwnState && !isMutant("keep-lineage-of-rollback") }

  /// The next transaction has the number of the present one: a cursor that this has given must not pass for one of that.
  func refuseShownCursors() {
    if mustRefuseShownCursors { lineage = nil }
    hasShownOwnState = false
  }

  /// Commits of other processes are published. Called within the turn. Returns them with what is left of those known before: a
  /// file that was restored, and written to since, has others of the same numbers.
  func follow(_ commits: OthersCommits, in store: Store) -> OthersCommits {
    if commits.isReopened { others = .reopened } else if others == .nothing { others = .committed }
    var commits = commits
    if commits.isReopened, !isMutant("take-numbers-for-commits") {
      commits.lastCommon = LineageTree.lastCommon(with: knownLineage, upTo: commits.known, in: store)
    }
    knownLineage = LineageTree.last(in: store)
    return commits
  }

  /// Whether other processes have written since the last transaction here.
  @inline(__always)
  var mustChooseLineage: Bool { others != .nothing }

  /// Decides which lineage the next transaction has, after other processes have written:
  ///
  ///     they committed in a lineage that began after this open     that one goes on
  ///     they committed in one that began before                    this open's own stays
  ///     the file was reopened                                      a new one is drawn
  ///
  /// Reopened means that a recovery discarded or rewrote frames, or that another file has the name: maybe an older copy, whose
  /// next commit would have the number and the lineage of a commit that was lost.
  func chooseLineage(_ transaction: StoreTransaction) throws(LogFault) {
    // What stood in the schema may have gone with a commit that a recovery threw away.
    forgetShapes()
    if others == .reopened {
      lineage = nil
    } else {
      do throws(PageFault) {
        let last = try LineageTree(transaction.reader, transaction.roots[Roots.lineages]).last()
        if let last, let theirs = last.lineage, last.first > openSequence { lineage = theirs }
      } catch { throw .page(error) }
    }
    others = .nothing
  }
}
