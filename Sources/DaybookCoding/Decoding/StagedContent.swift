#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Files of contents that lie in records, for types that have files: a folder for each process, a file for each decoded value.
enum StagedContent {
  private static let folderName = "daybook-\(UUID().uuidString)"

  /// A new file of its own with the content: whoever decodes may change it, and nobody else could have put it there.
  static func fileURL(of data: Data, in directory: URL?) throws(DatabaseError) -> URL {
    let folder = (directory ?? FileManager.default.temporaryDirectory).appendingPathComponent(folderName, isDirectory: true)
    let file = folder.appendingPathComponent(UUID().uuidString, isDirectory: false)
    do {
      // For the owner alone, as the database's file may be.
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try data.write(to: file, options: .withoutOverwriting)
      return file
    } catch {
      throw DatabaseError(.ioFailed, "A file cannot be written.", facts: .init(path: file.path), cause: error)
    }
  }
}
