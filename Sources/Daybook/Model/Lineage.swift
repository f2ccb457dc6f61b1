/// Whose history a commit belongs to: commits of one lineage and number are one commit, in whatever copy of a file. A random number that
/// is not zero; bytes of tokens, cursors and trees have zero for none.
struct Lineage: Hashable, Sendable {
  let number: UInt64

  /// Nil for zero.
  init?(_ number: UInt64) {
    if number == 0 { return nil }
    self.number = number
  }

  /// A new one.
  init(drawnFrom random: () -> UInt64) { number = random() | 1 }
}

extension Lineage? {
  /// As tokens and cursors write it.
  var number: UInt64 { self?.number ?? 0 }
}

/// A state of the database: its last commit, and whose history that belongs to.
struct StateMark: Hashable, Sendable {
  let sequence: UInt64
  let lineage: Lineage?
}
