/// Leftovers: files that a creation, a compaction or a copy was making when its process died, under names that belong to
/// another file. Those names are removed before the next one is made.
///
/// A database may have such a name, too: people call the file that is to replace NAME "NAME.new". So a file is removed only if
/// it is known for a leftover:
///
///     NAME.new                        a first page, or the beginning of one: it gets its name before its first commit
///     NAME.compacted, .unfinished     says itself that it was made under this name, and not that it was finished (`UnfinishedMark`)
extension Store {
  /// What a leftover of a kind can hold.
  package enum LeftoverContent: Sendable {
    case firstPage
    case unfinishedDatabase
  }

  /// The names, beside a database's own, whose leftovers a compaction removes.
  static let compactionLeftovers: [(suffix: String, content: LeftoverContent)] = [
    ("", .unfinishedDatabase), (".new", .firstPage),
  ]

  /// Removes the leftover of a compaction that died, unless a process is writing it right now.
  /// - Parameter file: the database's file: everyone who may write to it may have begun a compaction.
  static func removeLeftover(of path: String, _ file: any DiskFile, disk: any Disk) throws(DiskFailure) {
    for (suffix, content) in compactionLeftovers {
      try removeUnlocked(unfinishedPath(of: path) + suffix, content, disk: disk) { () throws(DiskFailure) in
        .ofWriters(of: try file.attributes())
      }
    }
  }

  /// What has a name that a compaction needs, and is none of the leftovers that it removes, or the database's own; nil when nothing is
  /// in the way.
  package func compactionObstacle() -> DiskFailure? {
    do throws(DiskFailure) {
      let named = try disk.namedFile(path, besides: file.identity, header)
      // A newer one is opened before it is compacted, or this one's compaction has just given it the name.
      if !named.isOfSameDatabase { return .nameLost(.rename, path: path, to: named) }
      let folder = try disk.folder(holding: path)
      for (suffix, content) in Store.compactionLeftovers {
        let name = lastName(of: Store.unfinishedPath(of: path)) + suffix
        if try folder.identity(of: name) == nil || folder.isEmptyFileOfRoot(name) { continue }
        try folder.checkRemovable(name, ownedBy: .ofWriters(of: try file.attributes()))
        let found = try folder.open(name, .readOnly)
        defer { found.close() }
        try Store.requireLeftover(found, content, at: folder.place(name), in: folder)
      }
      return nil
    } catch { return error.kind == .notFound ? nil : error }
  }

  /// Removes a leftover of ours that nobody has locked. A file that is locked, or that can be no leftover, is `.exists`; one of
  /// somebody else is `.foreign`.
  /// - Parameters:
  ///   - owners: asked when there is a file.
  ///   - first: what is done before it goes, while it is locked, with the number of its folder of assets (0 where the first
  ///     page cannot be read); if that fails, it stays.
  package static func removeUnlocked(
    _ path: String, _ content: LeftoverContent, disk: any Disk, ownedBy owners: () throws(DiskFailure) -> FileOwners,
    first: (_ folderNumber: UInt64, _ file: FileIdentity) throws(DiskFailure) -> Void = { (_, _) throws(DiskFailure) in }
  ) throws(DiskFailure) {
    let (folder, name) = (try disk.folder(holding: path), lastName(of: path))
    let file: any DiskFile
    do throws(DiskFailure) { file = try openLeftover(name, in: folder, content, at: path, ownedBy: owners) } catch {
      if error.kind == .notFound { return }
      throw error
    }
    defer { file.close() }
    guard try file.tryLock(.writer, .exclusive), try folder.identity(of: name) == file.identity else {
      throw DiskFailure(.create, path: path, kind: .exists, code: 17)
    }
    try requireLeftover(file, content, at: path, in: folder)
    let found = try owners()
    try folder.checkRemovable(name, ownedBy: found)
    if content == .unfinishedDatabase {
      // A constant keeps it alive: a view of a temporary buffer would outlive it.
      let page = try firstPage(of: file)
      try first((try? FileHeader(page.view))?.folderNumber ?? 0, file.identity)
    }
    try folder.remove(name, ownedBy: found)
  }

  /// Opens a leftover for locking, which takes the right to write. A copy of a read-only database becomes read-only just before
  /// it gets its name. If a crash came between, its owner takes the right to write again. An empty file that root made before it
  /// died is removed by its name; then this throws `.notFound`.
  private static func openLeftover(
    _ name: String, in folder: any DiskFolder, _ content: LeftoverContent, at path: String,
    ownedBy owners: () throws(DiskFailure) -> FileOwners
  ) throws(DiskFailure) -> any DiskFile {
    do throws(DiskFailure) { return try folder.open(name, .readWrite) } catch {
      if error.kind != .permission { throw error }
      if folder.isEmptyFileOfRoot(name) {
        try folder.remove(name)
        throw DiskFailure(.open, path: path, code: ErrorNumber.notFound)
      }
      let file = try folder.open(name, .readOnly)
      defer { file.close() }
      var attributes = try file.attributes()
      // A copy that is being made is locked; one whose owner may write is refused for another reason.
      guard attributes.mode & 0o600 != 0o600, try !file.isLockedByOthers(.writer) else { throw error }
      try requireLeftover(file, content, at: path, in: folder)
      try folder.checkRemovable(name, ownedBy: try owners())
      attributes.mode |= 0o600
      try file.setAttributes(attributes)
      return try folder.open(name, .readWrite)
    }
  }

  /// Throws `.exists`, of the operation `.remove`, when a file is more than a leftover can be.
  static func requireLeftover(
    _ file: any DiskFile, _ content: LeftoverContent, at path: String, in folder: any DiskFolder
  ) throws(DiskFailure) {
    if isMutant("remove-whole-databases") { return }
    let isLeftover: Bool
    switch content {
    case .firstPage:
      // A creation that died between its two names leaves a second name of a database that may be in use by now. A second name
      // elsewhere, as snapshots by links give, says nothing.
      var isSecondName = try file.linkCount() > 1
      if isSecondName, !isMutant("remove-linked-names") { isSecondName = try isNamed(path, file, in: folder) }
      isLeftover = isSecondName ? true : try isFirstPage(file)
    case .unfinishedDatabase:
      let page = try firstPage(of: file)
      let isMarked = UnfinishedMark.read(page.view) == UnfinishedMark.number(of: lastName(of: path))
      isLeftover = isMarked ? try !isFinished(file, page) : false
    }
    if !isLeftover { throw DiskFailure(.remove, path: path, kind: .exists, code: ErrorNumber.exists) }
  }

  /// Whether a file that is called NAME.new is what is called NAME.
  private static func isNamed(_ path: String, _ file: any DiskFile, in folder: any DiskFolder) throws(DiskFailure) -> Bool {
    let name = lastName(of: path)
    guard name.utf8.count > 4, let last = String(name.utf8.dropLast(4)) else { return false }
    return try folder.identity(of: last) == file.identity
  }

  /// Whether a creation can have left a file. It begins as a first page does, as far as it goes; or its first sector was never
  /// written: then a crash may have left anything there, and its size is a number of sectors, because a truncate arrives whole. A text
  /// is no such thing.
  private static func isFirstPage(_ file: any DiskFile) throws(DiskFailure) -> Bool {
    let byteCount = try file.byteCount()
    guard byteCount <= FileHeader.byteCount else { return false }
    if isMutant("remove-small-files") { return true }
    let page = try firstPage(of: file)
    let begin = page.view.prefix(min(8, page.count)).array
    let magic = ByteBuffer(capacity: 8)
    magic.append(uint64: FileHeader.magic)
    if begin == magic.view.prefix(begin.count).array || begin.allSatisfy({ $0 == 0 }) { return true }
    return byteCount % sectorByteCount == 0
      && page.view.prefix(min(sectorByteCount, page.count)).array.contains(where: isControl)
  }

  private static let sectorByteCount = 512

  /// Whether a byte is none of a text: a control character other than tabs and ends of lines and pages.
  private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && !(0x09...0x0D).contains(byte) || byte == 0x7F }

  static func firstPage(of file: any DiskFile) throws(DiskFailure) -> ByteBuffer {
    let page = ByteBuffer(capacity: FileHeader.byteCount)
    // Safe: the buffer was made for this many bytes.
    page.count = try unsafe file.read(into: page.base, count: FileHeader.byteCount, at: 0)
    return page
  }
}
