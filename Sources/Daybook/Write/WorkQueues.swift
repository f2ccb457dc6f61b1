import DaybookEngine
import Dispatch
import Synchronization

/// Where `async` reads and transactions run, so that no caller's thread waits.
///
/// Transactions wait for their turn on one queue and for their sync on another. However many there are, they take two
/// threads; the next one writes while the last one syncs; and reads never wait for them. (On one concurrent queue fifty waiting
/// writers kept every read waiting for seconds, because the pool adds threads slowly.) Nor do reads wait for assets that are
/// ingested, which may take minutes: a few of these at a time, on threads of another pool, as maintenance is.
final class WorkQueues: Sendable {
  static let ingestWidth = 4
  private let reads = DispatchQueue(label: "daybook.reads", attributes: .concurrent)
  private let turns = DispatchQueue(label: "daybook.turns")
  private let syncs = DispatchQueue(label: "daybook.syncs")
  private let notices = DispatchQueue(label: "daybook.notices")
  private let maintenance = DispatchQueue(label: "daybook.maintenance", qos: .utility, attributes: .concurrent)
  private let ingests = DispatchQueue(label: "daybook.ingests", qos: .utility, attributes: .concurrent)
  private let ingestLine = Locked(IngestLine())

  /// One asset, or those of one record, in the queue.
  private final class Ingest: Sendable {
    let isCancelled = Atomic<Bool>(false)
    /// Called once, with whether it was cancelled before its time came.
    let work: @Sendable (_ isCancelled: Bool) -> Void

    init(_ work: @escaping @Sendable (_ isCancelled: Bool) -> Void) { self.work = work }
  }

  private struct IngestLine {
    var runningCount = 0
    /// What is taken out is released at once: it keeps the database and the assets alive.
    var waiting: [Ingest] = []
  }

  func read<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await Handover.result { handover in
      reads.async { handover.resume(with: Result { try body() }) }
    }
  }

  /// What may take minutes, and is not asked for often.
  func maintain<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await Handover.result { handover in
      maintenance.async { handover.resume(with: Result { try body() }) }
    }
  }

  /// Tells observations of commits, one group after the other. Returns at once.
  func observe(_ body: @escaping @Sendable () -> Void) { notices.async(execute: body) }

  /// Ingests assets. A task that is cancelled while it waits leaves the queue, with `CancellationError`.
  func ingest<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    let own = Locked<Ingest?>(nil)
    return try await withTaskCancellationHandler {
      try await Handover.result { handover in
        let ingest = Ingest { isCancelled in
          handover.resume(
            with: Result {
              if isCancelled { throw CancellationError() }
              return try body()
            })
        }
        own.withLock { $0 = ingest }
        if Task.isCancelled { ingest.isCancelled.store(true, ordering: .sequentiallyConsistent) }
        start(ingest)
      }
    } onCancel: {
      if let ingest = own.withLock({ $0 }) { cancel(ingest) }
    }
  }

  private func start(_ ingest: Ingest) {
    let (isCancelled, needsThread) = ingestLine.withLock { line in
      // A cancellation that comes later finds it in the queue.
      if ingest.isCancelled.load(ordering: .sequentiallyConsistent) { return (true, false) }
      line.waiting.append(ingest)
      guard line.runningCount < WorkQueues.ingestWidth else { return (false, false) }
      line.runningCount += 1
      return (false, true)
    }
    if isCancelled { return ingest.work(true) }
    guard needsThread else { return }
    ingests.async { [self] in
      while let ingest = nextIngest() { ingest.work(false) }
    }
  }

  private func nextIngest() -> Ingest? {
    ingestLine.withLock { line in
      if line.waiting.isEmpty {
        line.runningCount -= 1
        return nil
      }
      return line.waiting.removeFirst()
    }
  }

  private func cancel(_ ingest: Ingest) {
    ingest.isCancelled.store(true, ordering: .sequentiallyConsistent)
    let hasWaited = ingestLine.withLock { line in
      guard let index = line.waiting.firstIndex(where: { $0 === ingest }) else { return false }
      line.waiting.remove(at: index)
      return true
    }
    if hasWaited { ingest.work(true) }
  }

  /// `turn` does the transaction and says what to wait for; its result is returned after `wait`. A task that is cancelled
  /// before its turn does nothing, and throws `CancellationError`.
  /// - Parameter turn: leaves its place in the line when it has the turn, and does nothing but throw when that is too late.
  func write<R: Sendable>(
    turn: @escaping @Sendable (PlaceInLine) throws -> (result: Result<R, any Error>, ticket: WriteTicket),
    wait: @escaping @Sendable (WriteTicket) throws -> Void
  ) async throws -> R {
    let place = PlaceInLine()
    return try await withTaskCancellationHandler {
      try await Handover.result { handover in
        guard place.enter({ handover.resume(throwing: CancellationError()) }) else {
          return handover.resume(throwing: CancellationError())
        }
        turns.async { [syncs] in
          guard place.isWaiting else { return }
          do {
            let (result, ticket) = try turn(place)
            syncs.async {
              handover.resume(
                with: Result {
                  try wait(ticket)
                  return try result.get()
                })
            }
          } catch { if place.leave() { handover.resume(throwing: error) } }
        }
      }
    } onCancel: {
      place.cancel()
    }
  }
}
