/// What an output must not overwrite, and who may read it. Made from the database whose records it holds.
package struct OutputRules {
  /// The database's file, under any name: the one that is open, and the one that a compaction has put in its place.
  private let files: Set<FileIdentity>
  /// The folder that holds it, and its name there. Names derived from that name belong to the database.
  private let home: FileIdentity?
  private let name: String
  /// The folder of contents; nothing below it is written.
  private let contents: FileIdentity?
  /// Whether a file lies in the folder of asset files. Not asked about files that were found elsewhere and have one name.
  private let isPart: (FileIdentity) -> Bool
  /// Nobody gets more rights on the output than on a file with these; nil: the process's mask decides.
  private let attributes: FileAttributes?

  /// - Parameter path: the path of the database, resolved. Its folder is reached as the disk reaches it: by the one that is open.
  package init(
    path: String, file: FileIdentity, attributes: FileAttributes?, on disk: any Disk,
    isPart: @escaping (FileIdentity) -> Bool
  ) throws(DiskFailure) {
    files = [file, try disk.identity(of: path) ?? file]
    self.attributes = attributes
    self.isPart = isPart
    name = lastName(of: path)
    let folder = try Self.folder(holding: path, on: disk)
    home = folder?.identity
    contents = try folder?.identity(of: name + ".assets")
  }

  /// Throws when something is the database's file or belongs to it.
  /// - Parameter isOpen: a descriptor leads there, which may have been opened by any way. What has one name, and was found in a
  ///   folder, is no part of the database outside of the folder of its contents.
  func check(_ present: NameStatus, isOpen: Bool = false) throws(OutputProblem) {
    if files.contains(present.identity) { throw .refused(.database) }
    guard present.kind == .regular, isOpen && !isMutant("descriptor-by-links") || present.linkCount > 1 else { return }
    if isPart(present.identity) { throw .refused(.database) }
  }

  /// Whether a name in a folder is one of the database's, now or later.
  /// - Parameter present: what has the name already.
  func check(_ name: String, _ present: NameStatus? = nil, in folder: FolderDescriptor) throws(OutputProblem) {
    let identity = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: folder.number).identity }
    if identity == home {
      if isOwnName(name) { throw .refused(.database) }
      if let present, hasOwnName(present.identity, in: folder) { throw .refused(.database) }
    }
    try check(folder)
  }

  /// Throws when a folder is the folder of contents, or lies in it.
  func check(_ folder: FolderDescriptor) throws(OutputProblem) {
    guard let contents else { return }
    let isInside = try OutputProblem.on { () throws(SystemError) in
      try FolderClimb.leads(from: folder.number, to: contents)
    }
    if isInside { throw .refused(.database) }
  }

  /// Whether a file has one of the database's names, too. A volume may know it by another that we do not know to be the same.
  private func hasOwnName(_ identity: FileIdentity, in folder: FolderDescriptor) -> Bool {
    let listed = (try? SystemCall.entries(in: folder.number)) ?? []
    let names = listed.isEmpty ? Self.ownEndings.map { name + $0 } : listed.map { $0.name }
    for other in names where isOwnName(other) {
      if let status = try? FolderCall.status(of: other, in: folder.number), status.identity == identity { return true }
    }
    return false
  }

  private func isOwnName(_ other: String) -> Bool { Self.isOwnName(other, of: name) }

  private static let ownEndings = [
    "", ".assets", ".new", ".compacted", ".compacted.assets", ".compacted.new", ".unfinished", ".unfinished.assets",
    ".unfinished.new",
  ]

  /// Whether a name belongs to the database of another name in the same folder, now or later. Which names are one to a volume,
  /// only the volume knows: names that any may take for one count as one. The database's own name is there, so its file tells.
  private static func isOwnName(_ other: String, of name: String) -> Bool {
    if other.utf8.elementsEqual(name.utf8) { return true }
    let found = folded(other)
    return ownEndings.dropFirst().contains { found == folded(name + $0) } || found.hasPrefix(folded(name + ".discarded-"))
  }

  /// A name without what volumes do not look at: the case of letters, how they are composed (as texts are compared), what is
  /// invisible, dots and spaces at the end.
  private static func folded(_ name: String) -> String {
    if isMutant("compare-names-exactly") { return name }
    var scalars = Array(name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint })
    while let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    // Both ways: some letters have a second small one, or a capital of two.
    return String(text).uppercased().lowercased()
  }

  /// Whether a path is the database's, one that it gives to what belongs to it, or one below the folder of its contents: a file
  /// there would be taken for a leftover, and removed.
  /// - Parameters:
  ///   - target: resolved, as the database's path, so that no folder on the way is a link.
  ///   - source: the disk that has the database; folders that a disk keeps open are reached by no path.
  package static func isOwnPath(
    _ target: String, on disk: any Disk, of path: String, on source: any Disk
  ) throws(DiskFailure) -> Bool {
    if isMutant("copy-to-own-name") { return false }
    let (holder, home) = (try folder(holding: target, on: disk), try folder(holding: path, on: source))
    var isBeside = directory(holding: target) == directory(holding: path)
    if let known = holder?.identity, let own = home?.identity { isBeside = known == own }
    let (name, own) = (lastName(of: target), lastName(of: path))
    if isBeside {
      if isOwnName(name, of: own) { return true }
      if let present = try holder?.identity(of: name), try home?.identity(of: own) == present { return true }
    }
    if target.utf8.starts(with: (path + ".assets/").utf8) { return true }
    guard let holder, let contents = try home?.identity(of: own + ".assets") else { return false }
    return try holder.isInside(contents)
  }

  /// Nil where the system does not let it be opened, as in a sandbox: then paths alone tell.
  private static func folder(holding path: String, on disk: any Disk) throws(DiskFailure) -> (any DiskFolder)? {
    do { return try disk.folder(holding: path) } catch {
      guard error.kind == .permission || error.kind == .notFound else { throw error }
      return nil
    }
  }

  /// Whether the group may do something that all others may not: a list of rights, which the group's part of a mode cuts down,
  /// may then give that to others.
  static func isForFew(_ mode: UInt32) -> Bool { mode >> 3 & ~mode & 0o7 != 0 && !isMutant("output-keeps-list") }

  private func hasList(_ present: NameStatus, _ name: String, in folder: FolderDescriptor) -> Bool {
    if isMutant("replace-without-list") { return false }
    guard let descriptor = try? SystemCall.openAnything(in: folder.number, name) else { return true }
    defer { SystemCall.close(descriptor) }
    guard (try? FolderCall.status(of: descriptor).identity) == present.identity else { return true }
    return (try? SystemCall.hasList(descriptor)) ?? true
  }

  /// The mode to ask for when something is made in a folder, before the process's mask, and the group it will have.
  func mode(
    of present: NameStatus?, _ name: String, in folder: FolderDescriptor, isFolder: Bool
  ) throws(SystemError) -> (mode: UInt32, group: UInt32) {
    let holder = try FolderCall.status(of: folder.number)
    #if canImport(Darwin)
      let group = holder.group
    #else
      let group = holder.mode & 0o2000 != 0 ? holder.group : FolderCall.group
    #endif
    func share(_ attributes: FileAttributes) -> UInt32 {
      attributes.ofCopy(
        keepsOwner: attributes.owner == SystemCall.effectiveUser && !UnknownNumbers.hasUser(attributes.owner),
        keepsGroup: attributes.group == group && !UnknownNumbers.hasGroup(group), keepsLists: false
      ).mode
    }
    var mode: UInt32 = 0o666
    if let attributes { mode &= share(attributes) }
    if let present {
      mode &= share(FileAttributes(mode: present.mode, owner: present.owner, group: present.group))
      // Whom its list shuts out would be among the others. What cannot be read may be a list.
      if mode & 0o077 != 0, hasList(present, name, in: folder) { mode &= 0o700 }
    }
    // Its maker may always write it, and everyone who may read the files of a folder may enter it.
    mode = isMutant("output-rights-not-kept") ? 0o666 : mode | 0o600
    return (isFolder ? mode | (mode & 0o444) >> 2 : mode, group)
  }
}
