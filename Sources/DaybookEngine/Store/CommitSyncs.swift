import Synchronization

/// Whether others sync commits, seen from work in the background that syncs pieces of its own.
struct CommitSyncs {
  final class Count: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var now: Int { value.load(ordering: .relaxed) }
  }

  private let syncs: Count
  private var count: Int
  /// Somebody had at the last look.
  private(set) var wereSeen = false

  init(_ store: Store) {
    syncs = store.commitSyncs
    count = syncs.now
  }

  /// Whether somebody has since the last look.
  mutating func look() -> Bool {
    let now = syncs.now
    wereSeen = now != count
    count = now
    return wereSeen
  }
}
