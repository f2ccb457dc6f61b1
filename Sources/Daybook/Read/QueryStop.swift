import Synchronization

/// Tells a query, or maintenance, on another thread that its task was cancelled.
final class QueryStop: Sendable {
  private let flag = Atomic<Bool>(false)

  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
