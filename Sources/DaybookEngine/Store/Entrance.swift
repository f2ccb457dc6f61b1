import Synchronization

/// Where new readers of a database find the newest version of its current store. Written with the `syncMonitor` of the store
/// that it leads to.
final class Entrance: Sendable {
  let word = Atomic<UInt>(0)
}
