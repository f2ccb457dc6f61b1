import DaybookEngine

/// Copies of whole databases: made under another name, and given their own only when all is done.
extension Database {
  /// Copies the database as it is now into a new file; writes go on meanwhile, and are not in it.
  ///
  /// The copy has the same identity: tokens and change tags go on in it, and once both have gone their own ways, tokens of
  /// one are refused by the other. Every commit is verified and written anew, under checksums of its own.
  /// - Parameters:
  ///   - target: a path where nothing is. It names a database only when the whole copy is durable.
  ///   - progress: called with the commits done and all commits; false stops with `operationCancelled`.
  /// - Throws: `corrupted` when acknowledged commits are damaged; `ioFailed`, `diskFull`.
  public func backup(
    to target: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    try backup(to: target, disk: SystemDisk(), progress: progress)
  }

  package func backup(
    to target: String, disk: any Disk, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      let store = view.store
      try Database.makeCopy(at: target, of: store.header, options: options, disk: disk) { copy in
        var copier = LogCopier(copy.store, options: copy.options, .backup)
        do throws(StoreError) {
          try store.forEachCommit(through: pin) { (sequence) throws(StoreError) in
            let goesOn = progress?(Int(clamping: sequence - 1), Int(clamping: pin.sequence)) ?? true
            if !goesOn { throw .refused(reason: "the copy was cancelled") }
          } _: { (commit) throws(StoreError) in
            try copier.copy(commit)
          }
        } catch { throw DatabaseError(error, path: path) }
      }
    }
  }

  /// Makes a database under a temporary name, lets `fill` write into it, and renames it when it is closed and durable.
  /// After an error nothing is left; a leftover of a process that died is removed by the next copy to the same path.
  static func makeCopy(
    at target: String, of original: FileHeader?, options: Options, disk: any Disk, fill: (Database) throws -> Void
  ) throws(DatabaseError) {
    let temporary = target + ".unfinished"
    var options = options
    options.isReadOnly = false
    // Nothing counts before the rename, and closing makes everything durable.
    options.durability = .relaxed
    options.lock = .whileOpen
    options.compaction.isAutomatic = false
    do throws(StoreError) {
      do throws(DiskFailure) {
        if try disk.exists(target) { throw DiskFailure(.create, path: target, kind: .exists, code: 17) }
        try Store.removeUnlocked(temporary, disk: disk)
      } catch { throw .disk(error) }
      try Store.create(temporary, disk: disk, options: options.storeOptions, copying: original)
    } catch { throw DatabaseError(error, path: target) }
    let copy: Database
    do { copy = try open(at: temporary, options: options, disk: disk) } catch {
      try? disk.remove(temporary)
      throw error
    }
    do {
      try fill(copy)
      try copy.close()
      do throws(DiskFailure) {
        try disk.renameWithoutReplacing(temporary, to: target)
        try disk.syncDirectory(holding: target)
      } catch { throw DatabaseError(error) }
    } catch {
      try? copy.close()
      try? disk.remove(temporary)
      throw error as? DatabaseError ?? DatabaseError(.internalError, facts: .init(path: target), cause: error)
    }
  }
}
