/// Rights of what lies in the directory: never wider than the database's file has them now.
///
/// Everything there is made with the rights that the file had then. A `chmod` of the file takes some away; then everything in the
/// directory loses them, and the directory itself last. So a directory that has no more rights than the file says that nothing in it
/// has: looking costs a few calls of the system, and only what has to change costs a call for each file.
///
/// Nothing ever gets more rights than it has. Asset files that were saved while the file was open to more users than the directory
/// are reached through the directory alone, and lose nothing until that does.
extension AssetStore {
  /// Takes from the directory and all in it what the database's file does not give. What belongs to a user who may not write the
  /// database stays as it is, and so does what the system refuses: the next call tries again. Does nothing in a directory of
  /// another database.
  package func narrowRights() {
    guard let root = try? root() else { return }
    narrowRights(of: root)
  }

  package func narrowRights(of root: any DiskFolder) {
    // A disk that knows no directories has one user.
    guard root.identity != nil, let attributes = try? attributes(), isTooWide(root, attributes.ofDirectory) else { return }
    let owners = FileOwners.ofWriters(of: attributes)
    guard (try? root.requireOwner(among: owners)) != nil, (try? notOurs(root)) == .some(nil) else { return }
    for entry in (try? root.entries()) ?? [] where AssetStore.isOwn(entry, in: "") {
      guard entry.isDirectory else {
        let isContent = AssetStore.isTemporaryName(entry.name)
        let wanted = isContent ? attributes.ofContent.orOwnersWrite : attributes.ofBookkeeping
        narrow(entry.name, in: root, to: wanted, owners)
        continue
      }
      guard let folder = try? root.folder(entry.name), (try? folder.requireOwner(among: owners)) != nil else { continue }
      for inner in (try? folder.entries()) ?? [] where AssetStore.isOwn(inner, in: entry.name) {
        narrow(inner.name, in: folder, to: attributes.ofContent.orOwnersWrite, owners)
      }
      narrow(folder, to: attributes.ofDirectory)
    }
    narrow(root, to: attributes.ofDirectory)
  }

  private func isTooWide(_ folder: any DiskFolder, _ wanted: FileAttributes) -> Bool {
    (try? folder.attributes().narrowed(to: wanted)) != .some(nil)
  }

  private func narrow(_ folder: any DiskFolder, to wanted: FileAttributes) {
    if let found = try? folder.attributes(), let less = found.narrowed(to: wanted) { try? folder.setAttributes(less) }
  }

  private func narrow(_ name: String, in folder: any DiskFolder, to wanted: FileAttributes, _ owners: FileOwners) {
    guard let file = try? folder.open(name, .readContent) else { return }
    defer { file.close() }
    guard let found = try? file.attributes(), owners.contains(found.owner, group: found.group), isOurs(file, found),
      let less = found.narrowed(to: wanted)
    else { return }
    try? file.setAttributes(less)
  }

  /// Whether a file with one of our names can be ours. Another user who may write here may have given the name to another file of
  /// its owner, which would lose its rights wherever it is. Of ours only asset files have several names, and those are read-only.
  private func isOurs(_ file: any DiskFile, _ attributes: FileAttributes) -> Bool {
    attributes.mode & 0o222 == 0 || (try? file.linkCount()) == 1 || isMutant("narrow-second-names")
  }
}

extension FileAttributes {
  /// What is being made may still be written by its owner.
  fileprivate var orOwnersWrite: FileAttributes {
    var result = self
    result.mode |= 0o200
    return result
  }
}
