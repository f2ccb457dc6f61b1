import DaybookEngine

/// The directory of a container: opened once, and kept open as long as the container is.
///
///     disk.folder(holding: "/srv/alice/box/…")       by its path, through links, at the open and never again
///       ├─ ID.account.json                           itself; a link in its place has been followed at the open, once
///       └─ ID.private.daybook …                      each as `Database` opens its file
///
/// A path says where a directory was, not which one it is: the directory may be renamed while it is open, and another one made
/// under its name; one text may be two directories, and two texts one. So two opens mean one container when they have opened
/// one directory, by device and inode, which no other has while it is open.
///
/// Always true: what belongs to the container is reached below this directory, wherever it is called from then on.
final class ContainerFolder: Sendable {
  /// Without links, where the disk has any. It is where the directory was at the open.
  let path: String
  /// Reaches names in the directory from there.
  let disk: any Disk
  /// The disk that was given: it has its identity as long as this object lives.
  private let given: any Disk
  /// Nil once the container is closed.
  private let folder: Locked<(any DiskFolder)?>
  /// What tells directories from each other; nil on a disk that knows them by their paths alone.
  let identity: FileIdentity?

  init(_ directory: String, on given: any Disk) throws(DiskFailure) {
    self.given = given
    let found = try given.folder(holding: Self.anyName(in: directory))
    guard found.identity != nil else {
      // Such a disk has no links either.
      (path, disk, folder, identity) = (directory, given, Locked(found), nil)
      return
    }
    // The directory itself, whatever it is called.
    path = try given.resolve(directory + "/.")
    disk = try given.keepingFolder(holding: Self.anyName(in: path))
    let kept = try disk.folder(holding: Self.anyName(in: path))
    (folder, identity) = (Locked(kept), kept.identity)
  }

  /// Directories are asked for by a name in them.
  private static func anyName(in directory: String) -> String { directory + "/container" }

  /// The container is closed, and the directory with it.
  func letGo() {
    disk.letGoOfFolder()
    folder.withLock { $0 = nil }
  }
}

extension ContainerFolder {
  /// What tells the containers of this process from each other, as long as each has its directory open.
  struct Key: Hashable {
    private enum Place: Hashable {
      case directory(FileIdentity)
      /// Bytes: to Swift a composed and a decomposed "é" are one text.
      case path([UInt8])
    }

    private let place: Place
    /// The disk, where it is not the system's.
    private let disk: ObjectIdentifier?
    private let id: [UInt8]

    init(_ id: String, in folder: ContainerFolder) {
      let identity = isMutant("container-by-path") ? nil : folder.identity
      place = identity.map { .directory($0) } ?? .path(Array(folder.path.utf8))
      disk = folder.given is SystemDisk ? nil : ObjectIdentifier(folder.given)
      self.id = Array(id.utf8)
    }
  }
}
