/// Refuses a second open for writing of one file in one process.
final class WriterClaim: Sendable {
  /// The process that made the claims, and the files: a child after `fork` has made none.
  private static let claimed = Locked<(process: Int32, files: Set<FileIdentity>)>((processID(), []))
  private let identity: FileIdentity

  init?(_ identity: FileIdentity) {
    self.identity = identity
    let isFree = WriterClaim.claimed.withLock { claimed in
      if claimed.process != processID() { claimed = (processID(), []) }
      return claimed.files.insert(identity).inserted
    }
    guard isFree else { return nil }
  }

  func release() { _ = WriterClaim.claimed.withLock { $0.files.remove(identity) } }
}
