import DaybookEngine

/// The place of an asynchronous transaction among those that wait for their turn.
///
///     new ──enter──► waiting ──leave──► left: it has the turn, its closure runs, and the commit happens or fails by itself
///      └──cancel──►     └──cancel──► cancelled: told at once, and its closure never runs
///
/// It leaves with the turn, not before: another thread or process may have the turn for long, and till then nothing is lost by
/// a cancellation.
///
/// Always true: of a transaction that was told of its cancellation the closure is not run, and one whose closure runs is told
/// of its own end only. Threads: the queue's thread leaves, any thread cancels.
final class PlaceInLine: Sendable {
  private enum State {
    case new, left, cancelled
    case waiting(tell: @Sendable () -> Void)
  }

  private let state = Locked(State.new)

  /// False when the task was cancelled before.
  /// - Parameter tell: called when it is cancelled while it waits.
  func enter(_ tell: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard case .new = state else { return false }
      state = .waiting(tell: tell)
      return true
    }
  }

  /// Whether it was not cancelled so far: else it need not wait for the turn.
  var isWaiting: Bool { state.withLock { if case .waiting = $0 { true } else { false } } }

  /// Its turn has come, or will not come; from here on its task is told of what happens to it. False when it was cancelled
  /// before, and told so.
  func leave() -> Bool {
    state.withLock { state in
      switch state {
      case .waiting: state = .left
      case .left: break
      case .new, .cancelled: return false
      }
      return true
    }
  }

  func cancel() {
    let tell: (@Sendable () -> Void)? = state.withLock { state in
      switch state {
      case .waiting(let tell):
        state = .cancelled
        return tell
      case .new:
        state = .cancelled
        return nil
      case .left, .cancelled: return nil
      }
    }
    tell?()
  }
}
