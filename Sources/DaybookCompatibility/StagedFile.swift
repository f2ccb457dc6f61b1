#if !canImport(CloudKit)
  import Foundation

  /// Files for bytes that had none, in the system's temporary folder: one folder for each process, below it one for each file, so
  /// that a file may have any name. For the owner alone, and removed when the system clears temporary files.
  enum StagedFile {
    private static let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "daybook-\(UUID().uuidString)", isDirectory: true)

    /// A new file with a content.
    static func make(_ content: Data, name: String) throws -> URL {
      let own = folder.appendingPathComponent(UUID().uuidString, isDirectory: true)
      for folder in [folder, own] {
        try FileManager.default.createDirectory(
          at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      }
      let file = own.appendingPathComponent(name, isDirectory: false)
      try content.write(to: file, options: .withoutOverwriting)
      return file
    }
  }
#endif
