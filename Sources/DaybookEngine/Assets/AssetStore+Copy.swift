/// Copies of a store: what backup and salvage make, one content at a time, each verified.
extension AssetStore {
  /// Takes a content over from another store, durably under its name when this returns.
  ///
  /// - Parameter links: whether a second name of the same file will do, where the file system can give one. It costs
  ///   no space, and what rots in one rots in both.
  /// - Throws: `.missing` and `.changed` when the other store does not have it, or has something else.
  package func take(
    _ digest: AssetDigest, byteCount: Int, from source: AssetStore, links: Bool
  ) throws(AssetFault) {
    if links, try link(digest, byteCount: byteCount, from: source) { return }
    let file = try source.open(digest, byteCount: byteCount)
    defer { file.close() }
    let isSystem = source.disk is SystemDisk && disk is SystemDisk
    let hold = try ingest(.file(file, path: isSystem ? source.path(of: digest) : nil), byteCount: byteCount)
    guard hold.digest == digest else {
      _ = try? disk.remove(path(of: hold.digest))
      throw .changed(path: source.path(of: digest), byteCount: byteCount, found: nil)
    }
  }

  /// False when the file system gives no second name there.
  private func link(_ digest: AssetDigest, byteCount: Int, from source: AssetStore) throws(AssetFault) -> Bool {
    guard source.disk === disk || source.disk is SystemDisk && disk is SystemDisk else { return false }
    try source.verify(digest, byteCount: byteCount)
    do throws(DiskFailure) {
      try makeDirectory(directory)
      try makeDirectory("\(directory)/\(digest.folder)")
    } catch { throw .disk(error) }
    do throws(DiskFailure) { try disk.link(source.path(of: digest), to: path(of: digest)) } catch {
      // Another volume, or one without links: a copy will tell if it is something worse.
      if error.kind != .exists { return false }
    }
    let file = try open(digest, byteCount: byteCount)
    defer { file.close() }
    do throws(DiskFailure) {
      try sync(file)
      try syncNames(of: digest)
    } catch { throw .disk(error) }
    return true
  }

  // MARK: whole directories

  /// Gives a directory of assets the name that belongs to another database file. Where that directory exists already, the
  /// contents join those that are there, and take the place of what has their names: ours were verified. Durable when
  /// this returns.
  /// - Throws: `.notRegular` when `target` is a link: what it leads to is somebody else's.
  package static func move(_ source: String, to target: String, on disk: any Disk) throws(DiskFailure) {
    do {
      _ = try disk.entriesBehindNoLink(of: target)
      try merge(source, into: target, on: disk)
    } catch {
      guard error.kind == .notFound else { throw error }
      try disk.rename(source, to: target)
    }
    try disk.syncDirectory(holding: target)
  }

  private static func merge(_ source: String, into target: String, on disk: any Disk) throws(DiskFailure) {
    for entry in try disk.entriesBehindNoLink(of: source) {
      let (from, to) = ("\(source)/\(entry.name)", "\(target)/\(entry.name)")
      if entry.isDirectory {
        do { try disk.makeDirectory(to, like: disk.attributes(of: from)) } catch {
          guard error.kind == .exists else { throw error }
          // Not into what a link leads to.
          _ = try disk.entriesBehindNoLink(of: to)
        }
        try merge(from, into: to, on: disk)
      } else {
        try disk.rename(from, to: to)
        // Where both were names of one file, the system has done nothing.
        if try disk.exists(from) { try disk.remove(from) }
        try disk.syncDirectory(holding: to)
      }
    }
    try disk.removeDirectory(source)
  }

  /// Removes a directory of assets with all that it holds; nothing to do when there is none. Only what this library makes is
  /// removed, and no link is followed.
  /// - Throws: `.notRegular` when it is a link, `.exists` when something lies in it that no database puts there. Then
  ///   everything is as it was.
  package static func removeAll(_ directory: String, on disk: any Disk) throws(DiskFailure) {
    var files: [String] = []
    var folders: [String] = []
    let entries: [DirectoryEntry]
    do { entries = try disk.entriesBehindNoLink(of: directory) } catch {
      if error.kind == .notFound { return }
      throw error
    }
    for entry in entries {
      let path = "\(directory)/\(entry.name)"
      guard entry.isDirectory ? isOwnFolder(entry.name) : isOwnFile(entry.name) else { throw stranger(path) }
      guard entry.isDirectory else {
        files.append(path)
        continue
      }
      folders.append(path)
      for inner in try disk.entriesBehindNoLink(of: path) {
        let path = "\(path)/\(inner.name)"
        guard !inner.isDirectory, isOwnFile(inner.name, in: entry.name) else { throw stranger(path) }
        files.append(path)
      }
    }
    for file in files { try disk.remove(file) }
    for folder in folders { try disk.removeDirectory(folder) }
    try disk.removeDirectory(directory)
  }

  private static func stranger(_ path: String) -> DiskFailure {
    DiskFailure(.remove, path: path, kind: .exists, code: ErrorNumber.notEmpty)
  }

  private static func isOwnFolder(_ name: String) -> Bool {
    name == stagingName || name.utf8.count == 2 && name.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }

  private static func isOwnFile(_ name: String) -> Bool {
    name.hasPrefix(temporaryPrefix) || name.hasPrefix(AssetHolder.prefix) || name == noteName || name == noteName + ".new"
  }

  private static func isOwnFile(_ name: String, in folder: String) -> Bool {
    if folder != stagingName { return AssetDigest(name: name)?.folder == folder }
    return AssetDigest(name: String(name.prefix(64))) != nil && name.dropFirst(64).hasPrefix("-")
  }
}
