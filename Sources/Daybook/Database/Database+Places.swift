import DaybookEngine

/// Where databases are put: directories that are missing, and what is in the way of a file.
extension Database {
  /// Makes the directory that will hold a file, and those above it; durable, as the file in it is to be.
  static func makeDirectory(for path: String) throws(DatabaseError) {
    let disk = SystemDisk()
    var missing: [String] = []
    var directory = path.deletingLastComponent
    do throws(DiskFailure) {
      while directory != ".", directory != "/", try !disk.exists(directory) {
        missing.append(directory)
        directory = directory.deletingLastComponent
      }
      for directory in missing.reversed() {
        do throws(DiskFailure) { try disk.makeDirectory(directory) } catch {
          // Another process was faster.
          guard error.kind == .exists else { throw error }
        }
        try disk.syncDirectory(holding: directory)
      }
    } catch { throw DatabaseError(error) }
  }
}

extension String {
  fileprivate var deletingLastComponent: String {
    guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == utf8.startIndex ? "/" : String(self[..<slash])
  }
}

extension DatabaseError {
  /// What a directory in the place of a database is called.
  package static let directorySentence = "The path is a directory; a database is a file."

  /// Why a database could not be opened, with what its path leads to: the system's own word for that rarely helps.
  init(opening path: String, _ error: StoreError, on disk: any Disk) {
    let directory = path.deletingLastComponent
    guard case .disk(let failure) = error, disk is SystemDisk else {
      self.init(error, path: path)
      return
    }
    if failure.kind == .notRegular, failure.path == path, FoundName.isDirectory(path) {
      self.init(.ioFailed, DatabaseError.directorySentence, facts: .init(path: path), cause: failure)
    } else if failure.kind == .notFound, (try? disk.exists(directory)) == false {
      self.init(.ioFailed, "The directory of the file does not exist.", facts: .init(path: directory), cause: failure)
    } else {
      self.init(error, path: path)
    }
  }
}
