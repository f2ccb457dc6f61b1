/// Refuses a second open for writing of one file in one process.
final class WriterClaim: Sendable {
  /// A child after `fork` has claimed nothing.
  private static let claimed = PerProcess { Locked<Set<FileIdentity>>([]) }
  private let identity: FileIdentity
  private let process = processID()

  init?(_ identity: FileIdentity) {
    self.identity = identity
    guard WriterClaim.claimed.value.withLock({ $0.insert(identity).inserted }) else { return nil }
  }

  func release() {
    // The parent's claim says nothing here, where the child may have the same file open.
    if process != processID() { return }
    WriterClaim.claimed.value.withLock { _ = $0.remove(identity) }
  }
}
