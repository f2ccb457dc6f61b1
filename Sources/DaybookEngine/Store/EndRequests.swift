import Synchronization

/// That a database is about to be closed or suspended, which all of its stores and their opens know.
///
///     close, suspend ── begin ──► wait for who may replace the store ──► end the store ──► finish
///                         └────► waits for the file lock of another process end at once
///
/// The flags of `StoreLife` belong to one store, and are set by who has the right to replace it. A collection, a compaction or
/// a resume may have that right while it waits for another process: so this is said first, without waiting for anything.
final class EndRequests: Sendable {
  enum Kind { case close, suspension }

  private let closeCount = Atomic<Int>(0)
  private let suspensionCount = Atomic<Int>(0)

  func begin(_ kind: Kind) { add(1, to: kind) }
  func finish(_ kind: Kind) { add(-1, to: kind) }

  private func add(_ number: Int, to kind: Kind) {
    switch kind {
    case .close: closeCount.add(number, ordering: .sequentiallyConsistent)
    case .suspension: suspensionCount.add(number, ordering: .sequentiallyConsistent)
    }
  }

  /// Throws when the database is about to end: asked by everything that waits for another process.
  func check() throws(StoreError) {
    if closeCount.load(ordering: .sequentiallyConsistent) > 0 { throw .closed }
    if suspensionCount.load(ordering: .sequentiallyConsistent) > 0 { throw .suspended }
  }
}
