/// Commits of others that have just become visible.
package struct OthersCommits: Sendable {
  /// The last commit that was known before.
  package let known: UInt64
  /// The last one that is visible now; less than `known` where an older copy has taken the file's name.
  package let last: UInt64
  /// The file was opened again: something was discarded or rewritten, or it is another file or log.
  package let isReopened: Bool
}
