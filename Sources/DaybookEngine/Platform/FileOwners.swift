/// The users whose files may be removed and whose folders are used.
package struct FileOwners: Sendable, Hashable {
  /// Nil: all users.
  private let numbers: Set<UInt32>?
  /// Whether a name of a file that has other names may be removed, whoever owns the file.
  let takesSecondNames: Bool

  private init(_ numbers: Set<UInt32>?, takesSecondNames: Bool = false) {
    self.numbers = numbers
    self.takesSecondNames = takesSecondNames
  }

  package static let anybody = FileOwners(nil)

  /// The same, and files of all other users that keep another name: only the name is lost.
  package var orOfSecondNames: FileOwners {
    FileOwners(numbers, takesSecondNames: !isMutant("second-names-stay"))
  }

  /// This process's user, and the owner of a file with these attributes. Root gets no more: anyone may have planted what it is
  /// asked to clear.
  package static func ofUser(andOf attributes: FileAttributes?) -> FileOwners {
    var numbers: Set<UInt32> = [SystemCall.effectiveUser]
    if let attributes { numbers.insert(attributes.owner) }
    return FileOwners(numbers)
  }

  /// The same, and everyone who may write to a file with these attributes: where a group or all users may write, any of them
  /// may have added a part of the database.
  package static func ofWriters(of attributes: FileAttributes?) -> FileOwners {
    if let attributes, attributes.mode & 0o022 != 0 { return .anybody }
    return ofUser(andOf: attributes)
  }

  /// The users whose folders may hold contents of a file with these attributes: everyone who may have made them, and root, who
  /// may do everything anyway. In anyone else's folder, contents stay only as long as that user likes.
  package static func ofKeepers(of attributes: FileAttributes?) -> FileOwners {
    guard let numbers = ofWriters(of: attributes).numbers else { return .anybody }
    return FileOwners(numbers.union([0]))
  }

  package func contains(_ owner: UInt32) -> Bool { numbers?.contains(owner) ?? true }
}
