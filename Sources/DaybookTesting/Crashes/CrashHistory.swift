import DaybookEngine

/// The states after the commits of a run, starting with the empty database. Each is stored with its hash, because a search
/// makes few states and compares them with millions of images.
package struct CrashHistory: Sendable {
  private var states = [CrashState()]
  private var hashes = [CrashState().hashValue]

  package var count: Int { states.count }

  package var last: CrashState { states[states.count - 1] }

  package subscript(sequence: Int) -> CrashState { states[sequence] }

  func hash(at sequence: Int) -> Int { hashes[sequence] }

  mutating func append(_ state: CrashState) {
    states.append(state)
    hashes.append(state.hashValue)
  }

  mutating func removeLast(_ count: Int = 1) {
    precondition(count < states.count, "the empty database stays")
    states.removeLast(count)
    hashes.removeLast(count)
  }
}
