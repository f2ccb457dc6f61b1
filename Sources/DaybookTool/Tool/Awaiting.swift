import DaybookEngine
import Synchronization

/// Runs asynchronous work for a command, which is a plain function: the calling thread does the work, piece by piece, as it comes.
///
/// The calling thread may be one of the few that all tasks of a process share, so it must not wait for another of them.
enum Awaiting {
  static func result<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let loop = CallingThread()
    let outcome = Outcome<R>()
    Task.detached(executorPreference: loop) {
      let result: Result<R, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.value.withLock { $0 = result }
      loop.end()
    }
    loop.run()
    guard let result = outcome.value.withLock({ $0 }) else { preconditionFailure("the task writes its result before it ends") }
    return try result.get()
  }

  private final class Outcome<R: Sendable>: Sendable {
    let value = Mutex<Result<R, any Error>?>(nil)
  }

  /// The thread that called, as an executor of tasks.
  private final class CallingThread: TaskExecutor {
    private struct State {
      var jobs: [UnownedJob] = []
      var isEnded = false
    }

    private let state = Mutex(State())
    private let monitor = Monitor()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      state.withLock { $0.jobs.append(job) }
      wake()
    }

    func end() {
      state.withLock { $0.isEnded = true }
      wake()
    }

    private func wake() {
      monitor.lock()
      monitor.signal()
      monitor.unlock()
    }

    func run() {
      while true {
        monitor.lock()
        while state.withLock({ $0.jobs.isEmpty && !$0.isEnded }) { monitor.wait() }
        monitor.unlock()
        let (jobs, isEnded) = state.withLock { state in
          defer { state.jobs = [] }
          return (state.jobs, state.isEnded)
        }
        // Safe: the executor lives until this function returns, and a job is run once.
        for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        if isEnded, jobs.isEmpty { return }
      }
    }
  }
}
