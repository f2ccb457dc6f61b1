/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
  package let name: String
  package let isDirectory: Bool
  package init(name: String, isDirectory: Bool) {
    self.name = name
    self.isDirectory = isDirectory
  }
}

extension DirectoryEntry {
  /// What a directory holds, for disks that keep whole paths in a table.
  package static func entries(
    of directory: String, files: some Sequence<String>, directories: some Sequence<String>
  ) -> [DirectoryEntry] {
    func name(_ path: String) -> String? {
      guard path.hasPrefix(directory + "/") else { return nil }
      let rest = path.dropFirst(directory.count + 1)
      return rest.isEmpty || rest.contains("/") ? nil : String(rest)
    }
    let all =
      files.compactMap { path in name(path).map { DirectoryEntry(name: $0, isDirectory: false) } }
      + directories.compactMap { path in name(path).map { DirectoryEntry(name: $0, isDirectory: true) } }
    return all.sorted { $0.name < $1.name }
  }
}

extension DirectoryEntry {
  /// What moves when a directory gets another name.
  package static func moves<Content>(
    of source: String, to target: String, files: [String: Content], directories: Set<String>
  ) -> (
    files: [(source: String, target: String, content: Content)], directories: [(source: String, target: String)]
  ) {
    func moved(_ path: String) -> String? {
      path == source ? target : path.hasPrefix(source + "/") ? target + path.dropFirst(source.count) : nil
    }
    return (
      files.sorted { $0.key < $1.key }.compactMap { path, content in moved(path).map { (path, $0, content) } },
      directories.sorted().compactMap { path in moved(path).map { (path, $0) } }
    )
  }
}
