/// Creation of an empty database: a temporary file that only one creator holds, then its name.
extension Store {
  /// Creates an empty database; throws `.disk` with kind `.exists` when there is a file already.
  ///
  /// The temporary file has one name for all who create this database, and the one that gets its writer's lock goes on. With
  /// separate names, the slower of two creators would rename its empty file over the database in which the faster one has
  /// already committed.
  /// - Parameters:
  ///   - original: the database that the file will be a copy of: the copy gets the same UUID and a salt of its own.
  ///   - generations: how many generations to add.
  ///   - maker: what it is made for where the name is not the one that it will have: then the file says so from its first byte on.
  ///   - attributes: its rights and owners, set before its first byte; nil for those of any new file of this process.
  package static func create(
    _ path: String, disk: any Disk, options: StoreOptions, copying original: FileHeader? = nil,
    generations: UInt64 = 0, by maker: UnfinishedMark.Maker? = nil, like attributes: FileAttributes? = nil
  ) throws(StoreError) {
    try make(
      path, disk: disk, options: options, copying: original, generations: generations, by: maker, like: attributes
    ).close()
  }

  /// The same, and the file stays open: as long as it does, no other file has its identity.
  /// - Parameter replacesEmpty: takes the name, rights and owner of a file that is there without a byte. It is looked at with the
  ///   lock that all creators take, so it is never a database that one of them has just made.
  /// - Parameter staysLocked: whether the caller gives the writer's lock back.
  package static func make(
    _ path: String, disk: any Disk, options: StoreOptions, copying original: FileHeader? = nil,
    generations: UInt64 = 0, by maker: UnfinishedMark.Maker? = nil, like given: FileAttributes? = nil,
    replacesEmpty: Bool = false, staysLocked: Bool = false
  ) throws(StoreError) -> any DiskFile {
    let exists = DiskFailure(.create, path: path, kind: .exists, code: 17)
    let (name, temporary) = (lastName(of: path), lastName(of: path) + ".new")
    let folder: any DiskFolder
    var attributes = given
    do throws(DiskFailure) {
      if maker == nil { try checkLengthOfName(in: path) }
      let isTaken = try disk.exists(path)
      if isTaken, !replacesEmpty { throw exists }
      folder = try disk.folder(holding: path)
      if isTaken { attributes = try emptyFile(name, in: folder) }
    } catch { throw .disk(error) }
    let file = try lockForCreating(temporary, in: folder, path: path, disk: disk, options: options, like: attributes)
    do throws(DiskFailure) {
      var generator = ClosureGenerator(draw: options.random)
      // A constant keeps the buffer alive: a view of a temporary buffer would outlive it.
      var first = FileHeader(random: &generator, copying: original, generations: generations)
      if let maker { (first.unfinishedName, first.maker) = (UnfinishedMark.number(of: name), maker) }
      let header = first.encoded()
      do throws(DiskFailure) {
        // Look again, now with the lock: another creator may have finished in the meantime.
        if !replacesEmpty, try disk.exists(path) { throw exists }
        // Whatever a full disk, a kill and a power loss leave of the write, the size says what it was (`isFirstPage`).
        try file.truncate(to: isMutant("grow-with-first-page") ? 0 : FileHeader.byteCount)
        try file.write(header.view, at: 0)
        try file.sync(.full)
        if replacesEmpty, try folder.identity(of: name) != nil {
          // The name is never free, or a kill would take the caller's file, and another user could take the name. As late as
          // possible it is looked at again: another creator or program may have written into it.
          _ = try emptyFile(name, in: folder)
          if isMutant("free-name-of-empty-file") { try folder.remove(name) }
          try folder.rename(temporary, to: folder, name)
        } else {
          // Anything that took the name in the meantime, a copied file for instance, is never replaced.
          try folder.renameWithoutReplacing(temporary, to: folder, name)
        }
      } catch {
        folder.remove(temporary, ifStill: file)
        throw error
      }
      do throws(DiskFailure) {
        if !isMutant("skip-directory-sync-at-creation") { try folder.sync(holding: name) }
      } catch {
        // An empty database with its own name may be found by others already.
        if maker != nil { folder.remove(name, ifStill: file) }
        throw error
      }
    } catch {
      file.close()
      throw .disk(error)
    }
    if !staysLocked { file.unlock(.writer) }
    return file
  }

  /// The attributes of a file without a byte; `.exists` when there is anything in it.
  private static func emptyFile(_ name: String, in folder: any DiskFolder) throws(DiskFailure) -> FileAttributes {
    let file = try folder.open(name, .readContent)
    defer { file.close() }
    guard try file.byteCount() == 0 else {
      throw DiskFailure(.create, path: folder.place(name), kind: .exists, code: ErrorNumber.exists)
    }
    // The owner of the file will own the database, and another user could have planted it.
    if !isMutant("empty-file-of-anybody") { try folder.checkRemovable(name, ownedBy: .ofUser(andOf: nil)) }
    return try file.attributes()
  }

  /// Makes the temporary file and locks it. A leftover of a crash is not locked. It is removed rather than reused: the creation
  /// may have died between its two names. What has its second name elsewhere stays. `.foreign`
  /// when what has the name belongs to another user, `.exists` (of the operation `.remove`) when it is a whole database.
  private static func lockForCreating(
    _ temporary: String, in folder: any DiskFolder, path: String, disk: any Disk, options: StoreOptions,
    like attributes: FileAttributes?
  ) throws(StoreError) -> any DiskFile {
    let start = SystemClock.monotonicNanoseconds()
    while true {
      do throws(DiskFailure) {
        let file: any DiskFile
        var isLeftover = false
        do throws(DiskFailure) {
          if let attributes {
            file = try folder.create(temporary, byteCount: nil, like: attributes)
          } else {
            file = try folder.open(temporary, .createNew)
          }
        } catch {
          guard error.kind == .exists else { throw error }
          file = try folder.open(temporary, .readWrite)
          isLeftover = true
        }
        // It counts only if it is still the temporary file: an earlier creator may have renamed or removed it.
        if try file.tryLock(.writer, .exclusive),
          try folder.identity(of: temporary) == file.identity || isMutant("skip-inode-check-at-creation")
        {
          if !isLeftover { return file }
          defer { file.close() }
          do throws(DiskFailure) { try requireLeftover(file, .firstPage, at: path + ".new", in: folder) } catch {
            // The process that opened the database has removed its second name since.
            if try folder.identity(of: temporary) != file.identity { continue }
            throw error
          }
          try folder.remove(temporary, ownedBy: .ofUser(andOf: attributes))
          continue
        }
        file.close()
      } catch {
        // Renamed or removed between two calls: look again.
        if error.kind != .notFound { throw .disk(error) }
      }
      do throws(DiskFailure) {
        if try disk.exists(path) { throw DiskFailure(.create, path: path, kind: .exists, code: 17) }
      } catch { throw .disk(error) }
      if SystemClock.nanoseconds(since: start) >= options.lockTimeoutNanoseconds { throw .locked(path: path) }
      SystemClock.sleep(nanoseconds: 1_000_000)
    }
  }
}

/// A generator that draws from the options' closure.
struct ClosureGenerator: RandomNumberGenerator {
  let draw: @Sendable () -> UInt64
  mutating func next() -> UInt64 { draw() }
}
