/// Whom the file belongs to that takes the old one's name after a compaction: to whom the old one does, with the rights that this has
/// when the name changes.
///
/// Always true: no user may do more with the new file than with the old one, or gets a file that was another's.
extension Store {
  /// Throws if the system has refused the new file the old one's owner, group or list of rights. Else a user who may only write to a
  /// database would take it away from its owner. And where only owners may rename, the rename would fail, too late.
  func checkBelongsToSame(_ made: any DiskFile, as attributes: FileAttributes) throws(StoreError) {
    let wanted = attributes.ofCopy
    let given = try Store.onDisk(call: try made.attributes())
    let hasLists = wanted.extended.allSatisfy { !AccessList.isName($0.key) || given.extended[$0.key] == $0.value }
    guard given.owner != wanted.owner || given.group != wanted.group || !hasLists else { return }
    if !isMutant("compaction-takes-over") { throw .ownerWouldChange(path: path) }
  }

  /// Gives the new file the present rights: some may have been taken away since it was made. Returns what the old file has.
  func takeOnAttributes(_ target: Store) throws(StoreError) -> FileAttributes {
    try Store.onDisk { () throws(DiskFailure) in
      let attributes = try file.attributes()
      if try target.file.attributes() != attributes.ofCopy { try target.file.setAttributes(attributes.ofCopy) }
      return attributes
    }
  }

  /// The new file has the name. What was changed at the old one between `takeOnAttributes` and the rename is changed at the new one;
  /// where a user has changed both, the new one is for those whom both let in.
  func followAttributes(_ given: FileAttributes, _ target: Store) {
    guard !isMutant("compaction-undoes-chmod"), let last = try? file.attributes(), last != given,
      let present = try? target.file.attributes()
    else { return }
    if present == given.ofCopy {
      try? target.file.setAttributes(last.ofCopy)
    } else if let less = present.narrowed(to: last) {
      try? target.file.setAttributes(less)
    }
  }
}
