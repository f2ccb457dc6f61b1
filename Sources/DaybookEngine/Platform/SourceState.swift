/// What a file of somebody else was when it was looked at, to tell whether what is opened later is still the same.
///
/// Between a look and an opening a name may come to lead elsewhere, and size and time of a file can be given to any other by
/// whoever owns that one. Which file it is cannot.
package struct SourceState: Sendable, Hashable {
  package let identity: FileIdentity
  package let byteCount: Int
  /// Seconds and nanoseconds since 1970.
  private let seconds: Int64
  private let nanoseconds: Int64

  fileprivate init(_ status: FileStatus) throws(SystemError) {
    guard status.isRegular else { throw SystemError(code: ErrorNumber.tooManyLinks) }
    identity = status.identity
    byteCount = status.byteCount
    (seconds, nanoseconds) = status.modificationTime
  }
}

extension SystemDisk {
  /// The state of what a path leads to, through links. `.notRegular` when that is no regular file.
  package static func sourceState(of path: String) throws(DiskFailure) -> SourceState {
    do { return try SourceState(SystemCall.status(path)) } catch {
      throw DiskFailure(.status, path: path, code: error.code)
    }
  }

  /// The state of a file below a folder, by a way without links: whoever may rename things there cannot lead it out.
  /// - Parameters:
  ///   - path: the names of folders, and of the file.
  ///   - root: the folder; its own path may lead through links.
  /// - Throws: `.notRegular` when a name on the way is a link, or the last one no regular file.
  package static func sourceState(of path: [String], below root: String) throws(DiskFailure) -> SourceState {
    let all = ([root] + path).joined(separator: "/")
    do throws(SystemError) {
      var folder = OutputFolder.Descriptor(try OutputCall.openFolder(root))
      for name in path.dropLast() {
        guard try SystemCall.status(in: folder.number, name).isDirectory else {
          throw SystemError(code: ErrorNumber.tooManyLinks)
        }
        folder = OutputFolder.Descriptor(try OutputCall.openFolderItself(name, in: folder.number))
      }
      guard let name = path.last else { throw SystemError(code: ErrorNumber.tooManyLinks) }
      return try SourceState(SystemCall.status(in: folder.number, name))
    } catch { throw DiskFailure(.status, path: all, code: error.code) }
  }

  /// Opens a file as `openSource` does, if it is still what it was; else nil.
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
    do { return try SourceState(status) } catch { throw DiskFailure(.status, path: path, code: error.code) }
  }
}
