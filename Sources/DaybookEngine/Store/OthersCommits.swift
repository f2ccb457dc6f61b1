/// Commits of other processes that have just become visible.
package struct OthersCommits: Sendable {
  /// The last commit that was known before.
  package let known: UInt64
  /// The last commit that is visible now; less than `known` if an older copy has taken the file's name.
  package let last: UInt64
  /// Whether the file was opened again: something was discarded or rewritten, or it is another file or log.
  package let isReopened: Bool
  /// The last of the commits known before that is still one of this history, as far as the listener has found out.
  package var lastCommon: UInt64

  init(known: UInt64, last: UInt64, isReopened: Bool) {
    self.known = known
    self.last = last
    self.isReopened = isReopened
    lastCommon = min(known, last)
  }
}
