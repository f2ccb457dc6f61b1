import DaybookEngine

/// Where a task waits for what another thread makes.
///
///     task      made { ──────────── waits ──────────── } takes the result out of the lock
///     thread           works, puts the result there, resumes
///
/// The result goes through a lock, not through the continuation: the runtime hands a value on without telling the thread sanitizer, which
/// would report every look at it, and true reports would drown among them.
package final class Handover<Value: Sendable>: Sendable {
  private let result: Locked<Result<Value, any Error>?>
  private let continuation: CheckedContinuation<Void, Never>

  private init(_ result: Locked<Result<Value, any Error>?>, _ continuation: CheckedContinuation<Void, Never>) {
    self.result = result
    self.continuation = continuation
  }

  /// Ends the task's waiting; exactly once.
  package func resume(with result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    continuation.resume()
  }

  package func resume(throwing error: any Error) { resume(with: .failure(error)) }

  package func resume(returning value: Value) { resume(with: .success(value)) }

  /// Waits for the result that `start` asks another thread for.
  package static func result(_ start: (Handover) -> Void) async throws -> Value {
    let result = Locked<Result<Value, any Error>?>(nil)
    await withCheckedContinuation { start(Handover(result, $0)) }
    let made = result.withLock { result in
      defer { result = nil }
      return result
    }
    guard let made else { preconditionFailure("a task goes on when its result is there") }
    return try made.get()
  }
}
