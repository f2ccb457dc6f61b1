/// The state of an application's file when it was examined, to tell later whether the file that is opened is still the same.
///
/// In between, the name may come to lead elsewhere. The owner of another file can give it the same size and time, but not the
/// same identity.
package struct SourceState: Sendable, Hashable {
  package let identity: FileIdentity
  package let byteCount: Int
  /// Seconds and nanoseconds since 1970.
  private let seconds: Int64
  private let nanoseconds: Int64

  init(_ status: FileStatus) throws(SystemError) {
    guard status.isRegular else { throw SystemError(code: ErrorNumber.tooManyLinks) }
    identity = status.identity
    byteCount = status.byteCount
    (seconds, nanoseconds) = status.modificationTime
  }
}

extension SystemDisk {
  /// The state of what a path leads to, through links. `.notRegular` when that is no regular file.
  package static func sourceState(of path: String) throws(DiskFailure) -> SourceState {
    try DiskFailure.calling(.status, path) { () throws(SystemError) in try SourceState(SystemCall.status(path)) }
  }

  /// Opens a file as `openSource` does; nil if it has changed since.
  package static func openSource(_ path: String, ifStill known: SourceState) throws(DiskFailure) -> (any DiskFile)? {
    let file = try openSource(path)
    do {
      if try (file as? SystemFile)?.sourceState() == known || isMutant("accept-other-source") { return file }
    } catch {
      file.close()
      throw error
    }
    file.close()
    return nil
  }
}

extension SystemFile {
  fileprivate func sourceState() throws(DiskFailure) -> SourceState {
    let status = try status()
    return try DiskFailure.calling(.status, path) { () throws(SystemError) in try SourceState(status) }
  }
}
