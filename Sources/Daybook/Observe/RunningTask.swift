import DaybookEngine

/// The task that waits for results in the name of an object that shows them; it ends with this.
package final class RunningTask: Sendable {
  private let task = Locked<Task<Void, Never>?>(nil)
  private let process = processID()

  package init() {}

  /// Ends the task before, and waits with another one from now on.
  package func replace(by new: Task<Void, Never>) {
    task.withLock { task -> Task<Void, Never>? in
      defer { task = new }
      return task
    }?.cancel()
  }

  // A child after `fork` has none of the threads that a task runs on.
  deinit { if process == processID() { task.withLock { $0 }?.cancel() } }
}
