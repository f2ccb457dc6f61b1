/// Refuses a second open for writing of one file in one process.
final class WriterClaim: Sendable {
  /// The files, and whether the lock of each is kept while it is open. A child after `fork` has claimed nothing.
  private static let claimed = PerProcess { Locked<[FileIdentity: Bool]>([:]) }
  private let identity: FileIdentity
  private let process = processID()

  /// Nil where another store of this process has the file.
  init?(_ identity: FileIdentity) {
    self.identity = identity
    let isClaimed = WriterClaim.claimed.value.withLock { claimed in
      if claimed[identity] != nil { return true }
      claimed[identity] = false
      return false
    }
    if isClaimed { return nil }
  }

  /// The lock is kept while the store is open, and not only for a transaction.
  func keep() { WriterClaim.claimed.value.withLock { $0[identity] = true } }

  /// Whether a store of this process has the file, and keeps it.
  static func isKept(_ identity: FileIdentity) -> Bool { claimed.value.withLock { $0[identity] ?? false } }

  func release() {
    // The parent's claim says nothing here, where the child may have the same file open.
    if process != processID() { return }
    WriterClaim.claimed.value.withLock { $0[identity] = nil }
  }
}
