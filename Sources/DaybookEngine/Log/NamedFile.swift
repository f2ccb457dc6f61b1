/// Whose file has a database's name. Another program may remove the file that is open, or put another in its place. Commits go on in the
/// open file, but what is made, marked, removed or replaced under its name belongs to the file that has the name by then.
package enum NamedFile: Sendable, Equatable {
  /// The one that is open.
  case ours
  /// Another one of this database: a compaction of another process has made it, or a copy was put there.
  case newer(FileIdentity, FileHeader)
  /// One of another database, or no database.
  case another
  /// There is no file of that name.
  case none

  /// Whether work under the name is this database's, in this file or in a newer one.
  var isOfSameDatabase: Bool {
    switch self {
    case .ours, .newer: true
    case .another, .none: false
    }
  }
}

extension Disk {
  /// - Parameters:
  ///   - file: the file that is open.
  ///   - header: its first page.
  func namedFile(_ path: String, besides file: FileIdentity, _ header: FileHeader) throws(DiskFailure) -> NamedFile {
    guard let identity = try identity(of: path) else { return .none }
    if identity == file { return .ours }
    do throws(DiskFailure) {
      let other = try open(path, .readContent)
      defer { other.close() }
      let page = ByteBuffer(capacity: FileHeader.byteCount)
      // Safe: the buffer was made for this many bytes.
      page.count = try unsafe other.read(into: page.base, count: FileHeader.byteCount, at: 0)
      guard let found = try? FileHeader(page.view), found.isOfSameDatabase(as: header) else { return .another }
      return .newer(other.identity, found)
    } catch {
      switch error.kind {
      case .notFound: return .none
      // A file that may not be read, or a link.
      case .permission, .notRegular: return .another
      default: throw error
      }
    }
  }
}

extension DiskFailure {
  /// The name of a database leads to `named`, which is not its file.
  static func nameLost(_ operation: Operation, path: String, to named: NamedFile) -> DiskFailure {
    DiskFailure(
      operation, path: path, kind: .nameLost, code: named == .none ? ErrorNumber.notFound : ErrorNumber.exists)
  }
}
