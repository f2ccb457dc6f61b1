/// A folder of a disk that keeps whole paths in a table: it has no links, so a path leads where it led before.
///
/// Each call is one call of the disk (two where a file is made with attributes), so a simulated disk counts them, fails them
/// and loses their effects as usual.
package final class PathFolder: DiskFolder {
  package let path: String
  private let disk: any Disk

  package init(_ path: String, on disk: any Disk) {
    self.path = path
    self.disk = disk
  }

  package var identity: FileIdentity? { nil }

  package func open(_ name: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    try disk.open(place(name), mode)
  }

  package func create(
    _ name: String, byteCount: Int?, like attributes: FileAttributes?
  ) throws(DiskFailure) -> any DiskFile {
    guard let attributes else { return try disk.createPrivate(place(name), byteCount: byteCount) }
    return try disk.create(place(name), byteCount: byteCount, like: attributes)
  }

  package func folder(_ name: String) throws(DiskFailure) -> any DiskFolder { try disk.folder(at: place(name)) }

  package func makeFolder(_ name: String, like attributes: FileAttributes?) throws(DiskFailure) -> any DiskFolder {
    if let attributes {
      try disk.makeDirectory(place(name), like: attributes)
    } else {
      try disk.makePrivateDirectory(place(name))
    }
    return PathFolder(place(name), on: disk)
  }

  package func entries() throws(DiskFailure) -> [DirectoryEntry] { try disk.entriesBehindNoLink(of: path) }

  package func identity(of name: String) throws(DiskFailure) -> FileIdentity? { try disk.identity(of: place(name)) }

  package func remove(_ name: String) throws(DiskFailure) { try disk.remove(place(name)) }

  /// Everything on such a disk is this process's.
  package func remove(_ name: String, ownedBy owners: FileOwners) throws(DiskFailure) { try remove(name) }

  package func checkRemovable(_ name: String, ownedBy owners: FileOwners) {}

  package func removeFolder(_ name: String) throws(DiskFailure) { try disk.removeDirectory(place(name)) }

  package func requireOwner(among owners: FileOwners) {}

  package func rename(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    try disk.rename(place(name), to: try sibling(target, .rename, name).place(newName))
  }

  /// Such disks rename a directory to a free name only.
  package func renameFolder(_ name: String, toFree newName: String) throws(DiskFailure) {
    try disk.rename(place(name), to: place(newName))
  }

  package func renameWithoutReplacing(
    _ name: String, to target: any DiskFolder, _ newName: String
  ) throws(DiskFailure) {
    try disk.renameWithoutReplacing(place(name), to: try sibling(target, .rename, name).place(newName))
  }

  package func link(_ name: String, to target: any DiskFolder, _ newName: String) throws(DiskFailure) {
    try disk.link(place(name), to: try sibling(target, .link, name).place(newName))
  }

  package func clone(_ source: any DiskFile, to name: String) throws(DiskFailure) -> Bool { false }

  package func attributes() throws(DiskFailure) -> FileAttributes { try disk.attributes(of: path) }

  package func setAttributes(_ attributes: FileAttributes) throws(DiskFailure) {
    try disk.setAttributes(attributes, of: path)
  }

  /// Folders have their names at once: no other process makes any here.
  package func removeUnfinishedNames(ownedBy owners: FileOwners) {}

  package func sync(holding name: String) throws(DiskFailure) { try disk.syncDirectory(holding: place(name)) }

  private func sibling(
    _ folder: any DiskFolder, _ operation: DiskFailure.Operation, _ name: String
  ) throws(DiskFailure) -> PathFolder {
    if let folder = folder as? PathFolder, folder.disk === disk { return folder }
    throw DiskFailure(operation, path: place(name), code: ErrorNumber.otherVolume)
  }
}
