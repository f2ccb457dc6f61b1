import DaybookEngine

/// The place of an asynchronous transaction among those that wait for their turn.
///
///     new ──enter──► waiting ──leave──► left: its closure runs, and the commit happens or fails by itself
///      └──cancel──►     └──cancel──► cancelled: told at once, and never run
///
/// Always true: of a transaction that was told of its cancellation nothing is run, and one that runs is told of its own end
/// only. Threads: the queue's thread leaves, any thread cancels.
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

  /// Its turn has come; false when it was cancelled while it waited.
  func leave() -> Bool {
    state.withLock { state in
      guard case .waiting = state else { return false }
      state = .left
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
