import DaybookEngine

/// What a mailbox keeps for the loops over its stream.
protocol MailboxState {
  /// Whether a loop that waits would find something to do, or the end.
  var isReady: Bool { get }
}

/// What a stream keeps under a lock, and the loops that wait until there is something in it for them.
///
/// There may be several loops over one stream. A change of the state wakes them all; one that finds that another was faster waits
/// again. No loop is resumed under the lock.
final class Mailbox<State: MailboxState>: Sendable {
  private struct Guarded {
    var state: State
    var waiting: [CheckedContinuation<Void, Never>] = []

    /// Takes out those that have to be woken.
    mutating func takeReady() -> [CheckedContinuation<Void, Never>] {
      if waiting.isEmpty || !state.isReady { return [] }
      defer { waiting = [] }
      return waiting
    }
  }

  private let guarded: Locked<Guarded>

  init(_ state: State) { guarded = Locked(Guarded(state: state)) }

  /// Looks at the state, or changes it, and wakes the loops that wait if it is ready then.
  func withState<R>(_ body: (inout State) -> R) -> R {
    let (result, ready) = guarded.withLock { guarded in
      let result = body(&guarded.state)
      return (result, guarded.takeReady())
    }
    for loop in ready { loop.resume() }
    return result
  }

  /// Waits until the state is ready. It may be no more when this returns.
  func wait() async {
    await withCheckedContinuation { loop in
      let isReady = guarded.withLock { guarded in
        if guarded.state.isReady { return true }
        guarded.waiting.append(loop)
        return false
      }
      if isReady { loop.resume() }
    }
  }
}
