/// What an output must not overwrite, and who may read it. Made from the database whose records it holds.
package struct OutputRules {
  /// The database's file, under any name: the one that is open, and the one that a compaction has put in its place.
  private let files: Set<FileIdentity>
  /// The folder that holds it, and its name there. Names derived from that name belong to the database.
  private let home: FileIdentity?
  private let name: String
  /// The folder of contents; nothing below it is written.
  private let contents: FileIdentity?
  /// Whether a file is one of the contents. Asked only about files with several names: the others are below `contents`.
  private let isContent: (FileIdentity) -> Bool
  /// Nobody gets more rights on the output than on a file with these; nil: the process's mask decides.
  private let attributes: FileAttributes?

  /// - Parameter path: the path of the database, resolved.
  package init(
    path: String, file: FileIdentity, attributes: FileAttributes?, on disk: any Disk,
    isContent: @escaping (FileIdentity) -> Bool
  ) throws(DiskFailure) {
    files = [file, try disk.identity(of: path) ?? file]
    self.attributes = attributes
    self.isContent = isContent
    let holder = directory(holding: path)
    name = String(path.utf8.dropFirst(holder == "/" ? 1 : holder == "." ? 0 : holder.utf8.count + 1)) ?? path
    home = try disk.identity(of: holder)
    contents = try disk.identity(of: path + ".assets")
  }

  /// Whether this is the database's file, for example behind standard output.
  package func forbids(_ identity: FileIdentity) -> Bool { files.contains(identity) }

  func check(_ present: NameStatus) throws(OutputProblem) {
    if files.contains(present.identity) { throw .refused(.database) }
    if present.kind == .regular, present.linkCount > 1, isContent(present.identity) { throw .refused(.database) }
  }

  /// Whether a name in a folder is one of the database's, now or later.
  func check(_ name: String, in folder: OutputFolder.Descriptor) throws(OutputProblem) {
    let identity = try OutputProblem.on { () throws(SystemError) in try OutputCall.status(of: folder.number).identity }
    if identity == home, isOwnName(name) { throw .refused(.database) }
    try check(folder, identity)
  }

  /// Throws when a folder is the folder of contents, or lies in it.
  func check(_ folder: OutputFolder.Descriptor, _ identity: FileIdentity) throws(OutputProblem) {
    guard let contents else { return }
    var (folder, identity) = (folder, identity)
    while identity != contents {
      let above: (folder: OutputFolder.Descriptor, identity: FileIdentity)
      do throws(SystemError) {
        let parent = OutputFolder.Descriptor(try OutputCall.openFolder("..", in: folder.number))
        above = (parent, try OutputCall.status(of: parent.number).identity)
      } catch {
        // A user who may not look up there cannot have come down from there; only the folders below matter.
        guard error.code == ErrorNumber.permission else { throw .system(error) }
        return
      }
      // The root is its own parent.
      if above.identity == identity { return }
      (folder, identity) = above
    }
    throw .refused(.database)
  }

  private func isOwnName(_ other: String) -> Bool { Self.isOwnName(other, of: name) }

  /// Whether a name belongs to the database of another name in the same folder, now or later.
  private static func isOwnName(_ other: String, of name: String) -> Bool {
    guard other.utf8.starts(with: name.utf8) else { return false }
    let rest = String(other.utf8.dropFirst(name.utf8.count)) ?? ""
    let endings = ["", ".assets", ".new"]
    return ["", ".compacted", ".unfinished"].contains { beginning in endings.contains { rest == beginning + $0 } }
      || rest.hasPrefix(".discarded-")
  }

  /// Whether a path is the database's, one that it gives to what belongs to it, or one below the folder of its contents: a file
  /// there would be taken for a leftover, and removed.
  /// - Parameters: resolved paths, so that no folder on the way is a link.
  package static func isOwnPath(_ target: String, of path: String, on disk: any Disk) throws(DiskFailure) -> Bool {
    if isMutant("copy-to-own-name") { return false }
    let (holder, home) = (directory(holding: target), directory(holding: path))
    let (holderIdentity, homeIdentity) = (try disk.identity(of: holder), try disk.identity(of: home))
    let isBeside = holder == home || holderIdentity != nil && holderIdentity == homeIdentity
    if isBeside, isOwnName(lastName(of: target), of: lastName(of: path)) { return true }
    let contents = path + ".assets"
    let contentsIdentity = try disk.identity(of: contents)
    var folder = holder
    while true {
      if folder == contents { return true }
      if let contentsIdentity, try disk.identity(of: folder) == contentsIdentity { return true }
      let above = directory(holding: folder)
      if above == folder || folder == "." { return false }
      folder = above
    }
  }

  /// Whether the group may do something that all others may not: a list of rights, which the group's part of a mode cuts down,
  /// may then give that to others.
  static func isForFew(_ mode: UInt32) -> Bool { mode >> 3 & ~mode & 0o7 != 0 && !isMutant("output-keeps-list") }

  /// The mode to ask for when something is made in a folder, before the process's mask, and the group it will have.
  func mode(
    of present: NameStatus?, in folder: OutputFolder.Descriptor, isFolder: Bool
  ) throws(SystemError) -> (mode: UInt32, group: UInt32) {
    let holder = try OutputCall.status(of: folder.number)
    #if canImport(Darwin)
      let group = holder.group
    #else
      let group = holder.mode & 0o2000 != 0 ? holder.group : OutputCall.group
    #endif
    func share(_ attributes: FileAttributes) -> UInt32 {
      attributes.narrowed(
        keepsOwner: attributes.owner == SystemCall.effectiveUser, keepsGroup: attributes.group == group, keepsLists: false
      ).mode
    }
    var mode: UInt32 = 0o666
    if let attributes { mode &= share(attributes) }
    if let present { mode &= share(FileAttributes(mode: present.mode, owner: present.owner, group: present.group)) }
    // Its maker may always write it, and everyone who may read the files of a folder may enter it.
    mode = isMutant("output-rights-not-kept") ? 0o666 : mode | 0o600
    return (isFolder ? mode | (mode & 0o444) >> 2 : mode, group)
  }
}
