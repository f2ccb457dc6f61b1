/// Whose files may be removed, and whose folders are used.
package struct FileOwners: Sendable, Hashable {
  /// Nil: everybody's.
  private let numbers: Set<UInt32>?
  /// The group whose members are among them.
  private let group: UInt32?
  /// Users who are not, whatever their group: the file's list takes the right from them.
  private let refused: Set<UInt32>
  /// Whether a name may be taken from anybody's file that has others.
  let takesSecondNames: Bool

  private init(
    _ numbers: Set<UInt32>?, group: UInt32? = nil, refused: Set<UInt32> = [], takesSecondNames: Bool = false
  ) {
    self.numbers = numbers
    self.group = group
    self.refused = refused
    self.takesSecondNames = takesSecondNames
  }

  package static let anybody = FileOwners(nil)

  /// The same, and files of everybody else that keep another name: what is lost is the name.
  package var orOfSecondNames: FileOwners {
    FileOwners(numbers, group: group, refused: refused, takesSecondNames: !isMutant("second-names-stay"))
  }

  /// This process's user, and the owner of a file with these attributes. Root gets no more than that: what it is asked to
  /// clear may have been planted by anybody.
  package static func ofUser(andOf attributes: FileAttributes?) -> FileOwners {
    var numbers: Set<UInt32> = [SystemCall.effectiveUser]
    if let attributes { numbers.insert(attributes.owner) }
    return FileOwners(numbers)
  }

  /// The same, and all who may write to a file with these attributes: where a group or everybody may, any of them may have
  /// added what belongs to it. Of a group's members nobody has a list; but what they add here gets the file's group, and nobody
  /// can give a file to a group that he is not in. Whom the file's list names is known by his number, also to be refused.
  package static func ofWriters(of attributes: FileAttributes?) -> FileOwners {
    guard let attributes else { return ofUser(andOf: nil) }
    let access = Access(attributes)
    if attributes.mode & 0o020 != 0, isMutant("anybody-in-the-group") { return .anybody }
    let numbers = ofUser(andOf: attributes).numbers?.union(access.namedUsers(whoMayWrite: true))
    let refused = access.namedUsers(whoMayWrite: false).subtracting(numbers ?? [])
    if access.everybodyMayWrite { return FileOwners(nil, refused: refused) }
    return FileOwners(numbers, group: access.groupMayWrite ? attributes.group : nil, refused: refused)
  }

  /// In whose files a copy may keep what belongs to a file with these attributes: in those of this process's user, of the file's owner and of
  /// root. Other writers of the file could change theirs, in the copy too.
  package static func keepers(of attributes: FileAttributes) -> FileOwners {
    FileOwners(ofUser(andOf: attributes).numbers?.union([0]))
  }

  /// The same, and root: what root was making for a user when it died may be root's still. Root could remove it anyway, and who
  /// gave a file of root's one of our names here could have removed it.
  package var orOfRoot: FileOwners {
    guard !isMutant("leave-roots-leftovers") else { return self }
    return FileOwners(
      numbers?.union([0]), group: group, refused: refused.subtracting([0]), takesSecondNames: takesSecondNames)
  }

  /// Whose folders contents may be put into that belong to a file with these attributes: of all who may have made them, and of
  /// root, who may do everything anyway. In another one's folder, contents are there as long as that one likes.
  package static func trusted(with attributes: FileAttributes?) -> FileOwners {
    let writers = ofWriters(of: attributes)
    return FileOwners(writers.numbers?.union([0]), group: writers.group, refused: writers.refused.subtracting([0]))
  }

  /// Whether a file of this owner and group belongs to one of them.
  package func contains(_ owner: UInt32, group: UInt32) -> Bool {
    // One who cannot be known may be any of those who are refused, and is none of the others.
    let isKnown = !UnknownNumbers.hasUser(owner)
    if isKnown, numbers?.contains(owner) == true { return true }
    guard isKnown ? !refused.contains(owner) : refused.isEmpty else { return false }
    return numbers == nil || self.group == group && !UnknownNumbers.hasGroup(group)
  }
}
