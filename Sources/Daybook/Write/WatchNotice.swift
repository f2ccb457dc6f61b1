import DaybookEngine

/// Word of a commit, or of several, that has become visible.
enum WatchNotice: Sendable {
  /// Why a notice says nothing of a commit but that it happened.
  enum Gap: Sendable {
    /// It began before anybody asked for what this watcher wants to know.
    case notWatched
    /// It changed more than is kept in memory.
    case tooMuch
  }
  /// A commit of this database.
  case commit(CommitChanges)
  /// A commit of this database of which nothing is known here: a watcher that has to know reads a feed, or queries again.
  case untold(sequence: UInt64, origin: Origin?, Gap)
  /// Another process has made commits, or the file was reopened. After a reopen, commits that were reported before may be gone,
  /// and others have their numbers.
  case others(OthersCommits)
}
