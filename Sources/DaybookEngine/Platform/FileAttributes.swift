/// Who may do what with a file, and what a system keeps beside its bytes: what a copy that takes a file's place has, too.
///
/// A copy is made for its owner alone, gets its attributes, and only then its bytes: nobody reads for a moment what he may
/// not. Where the system refuses a part (only a superuser gives files away, some volumes know no owners), the rest is
/// narrowed: a copy may be for fewer people than its original, never for more.
package struct FileAttributes: Hashable, Sendable {
  /// Rights as `chmod` counts them, without the kind of file.
  package var mode: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// Extended attributes by name. Lists of rights are among them (POSIX ACLs on Linux; Apple's under a name of our own).
  package var extended: [String: [UInt8]]

  package init(mode: UInt32, owner: UInt32 = 0, group: UInt32 = 0, extended: [String: [UInt8]] = [:]) {
    self.mode = mode
    self.owner = owner
    self.group = group
    self.extended = extended
  }

  /// What a new file has, before the process's mask.
  package static let ofNewFile = FileAttributes(mode: 0o644)
  package static let ofNewDirectory = FileAttributes(mode: 0o755)

  /// The same for a file that nobody writes to.
  package var readOnly: FileAttributes {
    var result = self
    result.mode &= ~0o222
    return result
  }

  /// The same for a directory of what belongs to this file: whoever may read may enter. Its owner may do everything there, also
  /// where he may only read the file: an open that may write goes on when that right is taken away.
  package var ofDirectory: FileAttributes {
    var result = self
    result.mode |= (mode & 0o444) >> 2 | 0o700
    if let list = extended[AccessList.posixName] { result.extended[AccessList.posixName] = AccessList.entering(list) }
    return result
  }

  /// The same for content that belongs to this file and never changes: whoever may read this one may read it.
  package var ofContent: FileAttributes {
    var result = self
    result.mode = mode & 0o444 | 0o400
    return result
  }

  /// The same for a file of notes, which all who write keep.
  package var ofBookkeeping: FileAttributes {
    var result = self
    result.mode = mode & 0o666 | 0o600
    return result
  }

  /// What may be given to a copy that belongs to somebody else than the original, so that nobody has more rights than there.
  /// - Parameter keepsLists: whether every list of rights can be given to it as well.
  package func narrowed(keepsOwner: Bool, keepsGroup: Bool, keepsLists: Bool) -> FileAttributes {
    var result = self
    // Names that no list holds back any more have what all others have.
    let losesList = extended.keys.contains { AccessList.isName($0) } && !(keepsLists && keepsGroup)
    if losesList {
      result.extended = extended.filter { !AccessList.isName($0.key) }
      result.mode &= 0o700
    }
    if !keepsGroup {
      // Members of the one group are among all others now, and some of all others are members of the other one.
      let both = result.mode >> 3 & result.mode & 0o7
      result.mode = result.mode & ~0o2077 | both << 3 | both
    }
    if !keepsOwner {
      let own = result.mode >> 6 & 0o7
      result.mode &= ~0o4000 & (0o7700 | own << 3 | own)
    }
    return result
  }
}

extension Disk {
  /// Creates a file that has its attributes before it has any byte. Like `.createNew` else.
  package func create(
    _ path: String, byteCount: Int? = nil, like attributes: FileAttributes
  ) throws(DiskFailure) -> any DiskFile {
    if isMutant("mode-not-kept") { return try open(path, .createNew) }
    let file = try createPrivate(path, byteCount: byteCount)
    do { try file.setAttributes(attributes) } catch {
      file.close()
      try? remove(path)
      throw error
    }
    return file
  }

  /// Makes a directory that has its attributes before it holds anything; `.exists` when the name is taken.
  package func makeDirectory(_ path: String, like attributes: FileAttributes) throws(DiskFailure) {
    try makePrivateDirectory(path)
    do { try setAttributes(attributes, of: path) } catch {
      try? removeDirectory(path)
      throw error
    }
  }
}
