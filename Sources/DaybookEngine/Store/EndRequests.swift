import Synchronization

/// That a database is about to be closed or suspended, or is suspended, which all of its stores and their opens know.
///
///     close, suspend ── begin ──► wait for who may replace the store ──► end the store ──► finish
///                         └────► waits for the file lock of another process end at once
///
/// The flags of `StoreLife` belong to one store, and are set by who has the right to replace it. A collection, a compaction or
/// a resume may have that right while it waits for another process: so this is said first, without waiting for anything.
///
/// What stops for a suspension asks here, and keeps no flag of its own: two threads that suspend and resume would leave it as the
/// one that came last set it, and the file as the other one did.
package final class EndRequests: Sendable {
  enum Kind { case close, suspension }

  private let closeCount = Atomic<Int>(0)
  private let suspensionCount = Atomic<Int>(0)
  /// From before the locks are released until a resume has caught up. Set with `replacing`.
  private let suspended = Atomic<Bool>(false)

  /// Whether the database is suspended, or about to be: then others may commit, and work that others wait for gives up.
  package var isSuspending: Bool {
    suspended.load(ordering: .sequentiallyConsistent) || suspensionCount.load(ordering: .sequentiallyConsistent) > 0
  }

  func setSuspended(_ value: Bool) { suspended.store(value, ordering: .sequentiallyConsistent) }

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
