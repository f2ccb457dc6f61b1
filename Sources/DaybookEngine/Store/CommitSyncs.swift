import Synchronization

/// Whether commits are being synced, for background work that syncs its own writes piece by piece.
struct CommitSyncs {
  final class Count: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var now: Int { value.load(ordering: .relaxed) }
  }

  private let syncs: Count
  private var count: Int
  /// Whether a commit had been synced at the last look.
  private(set) var wereSeen = false

  init(_ store: Store) {
    syncs = store.commitSyncs
    count = syncs.now
  }

  /// Whether a commit has been synced since the last look.
  mutating func look() -> Bool {
    let now = syncs.now
    wereSeen = now != count
    count = now
    return wereSeen
  }
}
