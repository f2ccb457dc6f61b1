/// What gets a notice of each commit: streams, observation, subscriptions.
protocol CommitWatcher: AnyObject, Sendable {
  /// Called once for each commit that concerns it, in the order of commits, and when the commit can be read: on the thread that
  /// published it, with the hub locked. It keeps the notice and returns.
  func tell(_ notice: WatchNotice)
  /// The database is closed: no notice comes after this.
  func finish()
}
