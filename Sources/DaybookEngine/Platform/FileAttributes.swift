/// Who may do what with a file, and what a system keeps beside its bytes. A copy that takes a file's place gets the same.
///
/// A copy is made for its owner alone, then gets its attributes, and only then its bytes, so nobody can read it early. Where
/// the system refuses a part (only a superuser gives files away, some volumes know no owners), a compaction is refused, and the rights
/// of other copies are narrowed: a copy may be open to fewer people than its original, never to more.
package struct FileAttributes: Hashable, Sendable {
  /// Permission bits as in `chmod`, without the kind of file.
  package var mode: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// Extended attributes by name. Access control lists are among them (POSIX ACLs on Linux; Apple's under a name of our own).
  package var extended: [String: [UInt8]]

  package init(mode: UInt32, owner: UInt32 = 0, group: UInt32 = 0, extended: [String: [UInt8]] = [:]) {
    self.mode = mode
    self.owner = owner
    self.group = group
    self.extended = extended
  }

  /// The attributes of a new file, before the process's mask.
  package static let ofNewFile = FileAttributes(mode: 0o644)
  package static let ofNewDirectory = FileAttributes(mode: 0o755)

  /// The same for a file or directory that is made like this one. Of the mode only the rights: a system takes setuid and setgid
  /// from a file that others write to, and a copy by root would give them back, to bytes of others; on a directory setgid gives what
  /// is in it to a group that was not chosen for it.
  package var ofCopy: FileAttributes {
    var result = self
    if !isMutant("copy-every-bit") { result.mode &= 0o777 }
    return result
  }

  /// The same for a file that nobody writes to.
  package var readOnly: FileAttributes {
    var result = self
    result.mode &= ~0o222
    return result
  }

  /// The same for a directory of files that belong to this file: everyone who may read may enter. Its owner may do everything
  /// there even if the file is read-only for him: an open for writing goes on when that right is taken away.
  package var ofDirectory: FileAttributes {
    var result = self
    result.mode |= (mode & 0o444) >> 2 | 0o700
    if let list = extended[AccessList.posixName] { result.extended[AccessList.posixName] = AccessList.entering(list) }
    return result
  }

  /// The same for content that belongs to this file and never changes: everyone who may read this file may read it.
  package var ofContent: FileAttributes {
    var result = self
    result.mode = mode & 0o444 | 0o400
    return result
  }

  /// The same for a file of bookkeeping, which every writer updates.
  package var ofBookkeeping: FileAttributes {
    var result = self
    result.mode = mode & 0o666 | 0o600
    return result
  }

  /// Whether no user may do more with a file that has these than with one that has others (`Access`).
  func isContained(in others: FileAttributes) -> Bool {
    // What is made in a directory gets the default list.
    let list = extended[AccessList.posixDefaultName]
    guard list == nil || list == others.extended[AccessList.posixDefaultName] else { return false }
    // A change of the mode is one of the mask.
    return [false, true].allSatisfy { Access(self, ignoresMask: $0).isContained(in: Access(others, ignoresMask: $0)) }
  }

  /// The same without what another file does not give: for a file that must not be open to more users than `limit`. Nil when
  /// that is so already. Owners stay, and so do the bits that are no rights.
  ///
  /// If modes are not enough, the other file's lists are copied whole. Only the owner keeps rights in two cases: the copied list would
  /// admit a user whom this file refuses; or the groups differ, so that the list names other people.
  package func narrowed(to limit: FileAttributes) -> FileAttributes? {
    if isContained(in: limit) { return nil }
    var result = self
    result.mode &= limit.mode | ~0o777
    let isSameGroup = group == limit.group && !UnknownNumbers.hasGroup(group)
    if !isSameGroup {
      // Members of either group are others for the other file.
      result.mode &= limit.mode << 3 | ~0o070
      result.mode &= limit.mode >> 3 | ~0o007
    }
    if result.isContained(in: limit) || isMutant("compare-modes-alone") { return result == self ? nil : result }
    // Without its list the digit was the mask, not what the group may.
    result.mode &= Access(self).owningGroup << 3 | ~0o070
    for name in extended.keys where AccessList.isName(name) { result.extended[name] = limit.extended[name] }
    for (name, list) in limit.extended where AccessList.isName(name) && name != AccessList.posixDefaultName {
      if AccessList.ofFiles.contains(name), !isSameGroup {
        result.extended[name] = nil
        result.mode &= ~0o077
      } else {
        result.extended[name] = list
        if name == AccessList.posixName { result.mode |= mode & limit.mode & 0o070 }
      }
    }
    if !result.isContained(in: self), !isMutant("give-while-narrowing") {
      result.extended = result.extended.filter { !AccessList.isName($0.key) }
      result.mode &= ~0o077
    }
    return result
  }

  /// The attributes for a copy whose owner is not the original's, so that nobody gets more rights than on the original.
  /// - Parameter keepsLists: whether the copy can have every access control list, too.
  package func ofCopy(keepsOwner: Bool, keepsGroup: Bool, keepsLists: Bool) -> FileAttributes {
    var result = self
    // Users that a list restricted would now have the rights of all others.
    let losesList = extended.keys.contains { AccessList.isName($0) } && !(keepsLists && keepsGroup)
    if losesList {
      result.extended = extended.filter { !AccessList.isName($0.key) }
      result.mode &= 0o700
    }
    if !keepsGroup {
      // Members of the old group now count as others, and some others are members of the new group.
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
  /// Creates a file that gets its attributes before its first byte. Otherwise like `.createNew`.
  package func create(
    _ path: String, byteCount: Int? = nil, like attributes: FileAttributes
  ) throws(DiskFailure) -> any DiskFile {
    if isMutant("mode-not-kept") { return try open(path, .createNew) }
    let file = try createPrivate(path, byteCount: byteCount)
    do { try file.setAttributes(attributes.ofCopy) } catch {
      file.close()
      try? remove(path)
      throw error
    }
    return file
  }

  /// Makes a directory that gets its attributes before it holds anything; `.exists` when the name is taken.
  package func makeDirectory(_ path: String, like attributes: FileAttributes) throws(DiskFailure) {
    try makePrivateDirectory(path)
    do { try setAttributes(attributes.ofCopy, of: path) } catch {
      try? removeDirectory(path)
      throw error
    }
  }
}
