import DaybookEngine
import Synchronization

/// The status of the account, and the listeners to its changes.
///
/// Changes are queued, and one thread at a time delivers them, so that every listener gets them in the order in which they
/// happened. They are not delivered under the lock: a listener may ask for the status at once.
final class AccountState: Sendable {
  private typealias Listener = AsyncStream<AccountStatus>.Continuation

  private enum Step {
    case status(AccountStatus, [Listener])
    case finish([Listener])
  }

  private struct State {
    var status: AccountStatus
    var listeners: [Int: Listener] = [:]
    var nextNumber = 0
    var isFinished = false
    var waiting: [Step] = []
    var isDelivering = false
  }

  private let state: Locked<State>
  /// Which of `AccountStatus.allCases` it is: asked without the lock, as in a child after `fork`.
  private let number: Atomic<Int>
  private let process = processID()

  init(_ status: AccountStatus) {
    state = Locked(State(status: status))
    number = Atomic(AccountState.number(of: status))
  }

  private static func number(of status: AccountStatus) -> Int { AccountStatus.allCases.firstIndex(of: status) ?? 0 }

  var status: AccountStatus { AccountStatus.allCases[number.load(ordering: .acquiring)] }

  /// Takes a new status; `deliver` calls the listeners.
  func change(to status: AccountStatus) {
    state.withLock { state in
      if state.status == status { return }
      state.status = status
      number.store(AccountState.number(of: status), ordering: .releasing)
      state.waiting.append(.status(status, Array(state.listeners.values)))
    }
  }

  /// Hands out what waits, unless another thread does so already.
  func deliver() {
    var step = state.withLock { state in
      if state.isDelivering { return nil as Step? }
      state.isDelivering = !state.waiting.isEmpty
      return state.isDelivering ? state.waiting.removeFirst() : nil
    }
    while let present = step {
      switch present {
      case .status(let status, let listeners): for listener in listeners { listener.yield(status) }
      case .finish(let listeners): for listener in listeners { listener.finish() }
      }
      step = state.withLock { state in
        state.isDelivering = !state.waiting.isEmpty
        return state.isDelivering ? state.waiting.removeFirst() : nil
      }
    }
  }

  func changes() -> AsyncStream<AccountStatus> {
    AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
      if process != processID() { return continuation.finish() }
      let number = state.withLock { state -> Int? in
        if state.isFinished { return nil }
        state.nextNumber += 1
        state.listeners[state.nextNumber] = continuation
        return state.nextNumber
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in self?.remove(number) }
    }
  }

  private func remove(_ number: Int) {
    if process != processID() { return }
    _ = state.withLock { $0.listeners.removeValue(forKey: number) }
  }

  func finish() {
    state.withLock { state in
      state.isFinished = true
      state.waiting.append(.finish(Array(state.listeners.values)))
      state.listeners = [:]
    }
    deliver()
  }
}
