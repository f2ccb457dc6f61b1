import Dispatch
import Synchronization

/// Runs asynchronous work for a command, which is a plain function: the calling thread waits for it.
///
/// The work has threads of its own. The calling thread may be one of the few that all tasks of a process share, and so may
/// those that wait beside it.
enum Awaiting {
  static func result<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let outcome = Outcome<R>()
    let done = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: QueueExecutor.shared) {
      let result: Result<R, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.value.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let result = outcome.value.withLock({ $0 }) else {
      preconditionFailure("the task writes its result before it signals")
    }
    return try result.get()
  }

  private final class Outcome<R: Sendable>: Sendable {
    let value = Mutex<Result<R, any Error>?>(nil)
  }

  private final class QueueExecutor: TaskExecutor {
    static let shared = QueueExecutor()
    private let queue = DispatchQueue(label: "daybook.tool.work", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      // Safe: the executor lives as long as the process.
      queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
}
