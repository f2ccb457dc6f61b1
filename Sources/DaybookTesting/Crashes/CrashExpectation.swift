import Daybook
import DaybookEngine

/// What must hold if the power fails now.
package struct CrashExpectation: Sendable {
  struct HeldToken: Sendable {
    let token: ChangeToken
    let sequence: Int
  }

  /// The state after each commit; the last may not be acknowledged or written yet.
  package internal(set) var history = CrashHistory()
  /// The newest commit whose `write` has returned with a promise.
  package internal(set) var acknowledged = 0
  /// Whether the open that created the database has returned. If it throws, the file may exist and not survive: before the
  /// first commit nothing is promised.
  package internal(set) var wasCreated = false
  package var mustExist: Bool { wasCreated || acknowledged > 0 }
  /// Tokens that an application keeps.
  var tokens: [HeldToken] = []
  /// What the backup may hold, and what it must hold: the state when the last backup returned.
  var copies: [CrashState] = []
  var copy: CrashState?
  /// Tokens of commits that a crash has lost.
  var lostTokens: [ChangeToken] = []

  /// A crash has gone back to this commit, and the application goes on from there.
  mutating func goBack(to sequence: Int) {
    history.removeLast(history.count - 1 - sequence)
    acknowledged = sequence
    lostTokens += tokens.filter { $0.sequence > sequence }.map(\.token)
    tokens.removeAll { $0.sequence > sequence }
  }
}
