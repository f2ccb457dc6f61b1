import Daybook

/// A loop that syncs when there is a reason: the beginning, a commit here, a word of the remote, the clock, a failure that may
/// have passed.
final class AutomaticSync: Sendable {
  private let reasons: AsyncStream<Void>.Continuation
  private let tasks: [Task<Void, Never>]

  /// The loop keeps no engine alive but while it syncs.
  init(of engine: SyncEngine) {
    // Many reasons are one.
    let (stream, reasons) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.reasons = reasons
    let commits = engine.local.commits(excluding: SyncEngine.origin)
    let notifications = engine.remote.notifications()
    let delays = engine.configuration.retryDelays
    let interval = engine.configuration.pollInterval
    reasons.yield()
    tasks = [
      Task { [weak engine] in
        var delay = delays.lowerBound
        var earliest = ContinuousClock.now
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        for await _ in stream {
          // What the server says is obeyed; the timer comes then.
          if ContinuousClock.now < earliest { continue }
          guard let running = engine else { return }
          do {
            try await running.sync()
            delay = delays.lowerBound
          } catch {
            let failure = DatabaseError(wrapping: error)
            // A later commit or word of the remote is a reason of its own.
            guard failure.mayPass, !Task.isCancelled else { continue }
            let wait = max(delay, failure.retryAfter ?? .zero)
            if let retryAfter = failure.retryAfter { earliest = .now + retryAfter }
            running.tell(.waiting(wait, failure))
            delay = min(delay * 2, delays.upperBound)
            timer?.cancel()
            timer = Task { if (try? await Task.sleep(for: wait)) != nil { reasons.yield() } }
          }
        }
      },
      Task { for await _ in commits { reasons.yield() } },
      Task { for await _ in notifications { reasons.yield() } },
      Task {
        guard let interval else { return }
        while (try? await Task.sleep(for: interval)) != nil { reasons.yield() }
      },
    ]
  }

  func trigger() { reasons.yield() }

  func stop() {
    reasons.finish()
    for task in tasks { task.cancel() }
  }

  deinit { stop() }
}
