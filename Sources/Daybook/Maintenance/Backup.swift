#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Copies of whole databases: made under another name, and given their own only when all is done.
extension Database {
  /// Copies the database as it is now into a new file; writes go on meanwhile, and are not in it.
  ///
  /// The copy has the same identity: tokens and change tags go on in it, and once each has a history of its own, tokens of
  /// one are refused by the other. Every commit is verified, and has other checksums in the copy. Contents of assets
  /// that live records name come along, each read and verified. Rights, owner and extended attributes of the file stay, as far
  /// as the system lets them be given; the copy is never for more people than this database.
  /// - Parameters:
  ///   - target: a path where nothing is. It names a database only when the whole copy is durable. Beside it nothing but
  ///     leftovers of a backup may have the names with `.unfinished`; links, files of somebody else and whole databases are
  ///     left alone, and the backup is refused.
  ///   - linksAssets: whether contents of assets may be shared with this database by a second name, where both lie on one
  ///     file system. That costs no space; but damage to one is damage to both. Else they are copied.
  ///   - progress: called with the commits done and all commits; false stops with `operationCancelled`. It begins once more where the
  ///     log could not be copied as it is.
  /// - Throws: `corrupted` when acknowledged commits are damaged, or the file was cut short; `ioFailed`, `diskFull`.
  public func backup(
    to target: String, linksAssets: Bool = true, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    try backup(to: target, disk: SystemDisk(), linksAssets: linksAssets, progress: progress)
  }

  /// Copies the database as it is now into a new file at a file URL.
  public func backup(
    to target: URL, linksAssets: Bool = true, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    try backup(to: Database.path(of: target), linksAssets: linksAssets, progress: progress)
  }

  /// - Parameter copiesFrames: whether the log may be copied frame by frame where nothing of it has to change.
  package func backup(
    to target: String, disk: any Disk, linksAssets: Bool = true, copiesFrames: Bool = true,
    progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      let store = view.store
      do throws(StoreError) { try store.checkWhole() } catch { throw DatabaseError(error, path: path) }
      let attributes: FileAttributes?
      do throws(DiskFailure) { attributes = try store.fileAttributes(for: disk) } catch { throw DatabaseError(error) }
      func isNext(_ sequence: UInt64) throws(StoreError) {
        let goesOn = progress?(Int(clamping: sequence - 1), Int(clamping: pin.sequence)) ?? true
        if !goesOn { throw .refused(reason: "the copy was cancelled") }
      }
      try Database.makeCopy(
        at: target, of: store.header, from: (path, library.store.disk), like: attributes,
        present: { () throws(DiskFailure) in try store.fileAttributes(for: disk) }, options: options, disk: disk,
        begin: { (file) throws(StoreError) in
          guard copiesFrames else { return 0 }
          let isCopied = try store.copyFrames(through: pin, to: file, copies: OperationKind.isCopied, progress: isNext)
          return isCopied ? pin.sequence : 0
        }
      ) { copy in
        do throws(StoreError) {
          if copy.store.lastSequence > 0 {
            try copy.store.repeatDeclarations()
          } else {
            var copier = LogCopier(copy.store, options: copy.options, .backup)
            try store.forEachCommit(through: pin, progress: isNext) { (commit) throws(StoreError) in try copier.copy(commit) }
          }
        } catch { throw DatabaseError(error, path: path) }
        for (digest, entry) in try view.assets().sorted(by: { $0.key < $1.key }) {
          guard progress?(Int(clamping: pin.sequence), Int(clamping: pin.sequence)) ?? true else {
            throw DatabaseError(.operationCancelled, "The work was stopped.", facts: .init(path: path))
          }
          do throws(AssetFault) {
            try copy.library.store.take(
              digest, byteCount: Int(clamping: entry.byteCount), from: library.store, links: linksAssets)
          } catch { throw DatabaseError(error) }
        }
      }
    }
  }

  /// Whether a copy would take the name of its source for a leftover of its own, and remove it: somebody may have found
  /// NAME.unfinished and want it back under NAME.
  private static func takes(
    _ source: (path: String, disk: any Disk), for target: String, on disk: any Disk
  ) throws(DiskFailure) -> Bool {
    if isMutant("copy-over-source") { return false }
    for name in [target, target + ".unfinished"] {
      if try OutputRules.isOwnPath(source.path, on: source.disk, of: name, on: disk) { return true }
    }
    return false
  }

  /// Makes a database under a temporary name, lets `fill` write into it, and renames it when it is closed and durable.
  /// After an error nothing is left; a leftover of a process that died is removed by the next copy to the same path.
  /// - Parameters:
  ///   - source: what it is a copy of; none of its names is taken.
  ///   - attributes: the rights and owners of the original; nil for those of a new file.
  ///   - present: returns them as they are when it is called: before the copy gets its name, it loses what was taken from the
  ///     original meanwhile.
  ///   - begin: writes commits into the locked file before it is opened, and returns the sequence of the last one, 0 for none.
  static func makeCopy(
    at given: String, of original: FileHeader?, from source: (path: String, disk: any Disk), like attributes: FileAttributes?,
    present: @escaping () throws(DiskFailure) -> FileAttributes?, options: Options, disk givenDisk: any Disk,
    begin: (any DiskFile) throws(StoreError) -> UInt64 = { (_) throws(StoreError) in 0 }, fill: (Database) throws -> Void
  ) throws(DatabaseError) {
    let target: String
    let disk: any Disk
    let isOwn: Bool
    do throws(DiskFailure) {
      target = try givenDisk.resolve(given)
      disk = try givenDisk.keepingFolder(holding: target)
      let isSameDisk = givenDisk === source.disk || disk === source.disk || disk is SystemDisk && source.disk is SystemDisk
      if isSameDisk, try OutputRules.isOwnPath(target, on: disk, of: source.path, on: source.disk) {
        isOwn = true
      } else {
        isOwn = isSameDisk ? try takes(source, for: target, on: disk) : false
      }
    } catch { throw DatabaseError(opening: given, .disk(error), on: givenDisk) }
    if isOwn {
      throw DatabaseError(
        .invalidArguments,
        "The copy or the database has a name that belongs to the other one: give the copy another name.",
        facts: .init(path: target))
    }
    let temporary = target + ".unfinished"
    var options = options
    // The copy is no database of a container, whatever the original is.
    options.role = nil
    options.isReadOnly = false
    // Nothing counts before the rename, and closing makes everything durable.
    options.durability = .relaxed
    options.lock = .whileOpen
    options.compaction.isAutomatic = false
    let made: any DiskFile
    let spare: SpareDescriptors?
    do throws(StoreError) {
      do throws(DiskFailure) {
        try Store.checkLengthOfName(in: target)
        spare = try disk.folder(holding: target).spareDescriptors(CopyName.descriptorCount)
        if try disk.exists(target) { throw DiskFailure(.create, path: target, kind: .exists, code: 17) }
        try removeLeftover(of: target, temporary, ownedBy: .ofUser(andOf: attributes), on: disk)
      } catch { throw .disk(error) }
      // Whoever makes it has to write it, also when nobody may write to the original.
      var writable = attributes
      writable?.mode |= 0o600
      made = try Store.make(
        temporary, disk: disk, options: options.storeOptions, copying: original, by: .copy, like: writable,
        staysLocked: true)
    } catch { throw DatabaseError(opening: target, error, on: disk) }
    defer { made.close() }
    let copy: Database
    let name: CopyName
    let begun: UInt64
    do throws(DatabaseError) {
      // Locked, so that no process takes it for a leftover; an open takes the lock for itself.
      do throws(StoreError) {
        defer { made.unlock(.writer) }
        begun = try begin(made)
      } catch { throw DatabaseError(error, path: source.path) }
      copy = try open(at: temporary, made: made, options: options, disk: disk)
      do { name = try CopyName(of: copy, target: target, attributes: attributes, disk: disk, spare) } catch {
        throw DatabaseError(error)
      }
    } catch {
      spare?.release()
      // Somebody else may have found it unlocked, and have it now, or have put another in its place.
      if (try? disk.folder(holding: temporary).identity(of: lastName(of: temporary))) == made.identity {
        try? Store.removeUnlocked(temporary, .unfinishedDatabase, disk: disk) { .ofUser(andOf: attributes) }
      }
      throw error
    }
    var failure: DatabaseError?
    do {
      try requireOwn(copy, of: original, begun)
      // What another one has left. Not before the file is locked: somebody who is at work has the same name for it.
      do throws(DiskFailure) {
        try name.requireCopy()
        try name.removeUnfinishedAssets()
      } catch { throw DatabaseError(error) }
      try fill(copy)
      do throws(StoreError) { try copy.store.writeLeastLength() } catch { throw DatabaseError(error, path: target) }
    } catch { failure = error as? DatabaseError ?? DatabaseError(.internalError, facts: .init(path: target), cause: error) }
    do throws(DatabaseError) {
      // Still locked: nobody takes it for a leftover, or has another file where it was.
      try copy.close { (isSound) throws(StoreError) in
        guard isSound, failure == nil else {
          name.withdraw()
          // What could not be removed is a leftover, and must not look like a file that was closed.
          throw .refused(reason: "the copy has failed")
        }
        do throws(DiskFailure) { try name.give(narrowedTo: present) } catch { throw .disk(error) }
      }
    } catch { throw failure ?? error }
    if let failure { throw failure }
  }

  /// Removes what a copy has left that died: its folder of assets first, if that has its last name already. Then nothing tells
  /// whose that is but the file, which has not.
  private static func removeLeftover(
    of target: String, _ temporary: String, ownedBy owners: FileOwners, on disk: any Disk
  ) throws(DiskFailure) {
    try Store.removeUnlocked(temporary, .unfinishedDatabase, disk: disk) {
      owners
    } first: { (number, file) throws(DiskFailure) in
      let folder = try disk.folder(holding: target)
      try AssetStore.removeMoved(lastName(of: target) + ".assets", in: folder, of: number, file, ownedBy: owners)
    }
  }

  /// Between its creation and its lock another copy to the same target may have removed the file, and made one of its own.
  /// - Parameter sequence: its last commit.
  private static func requireOwn(
    _ copy: Database, of original: FileHeader?, _ sequence: UInt64
  ) throws(DatabaseError) {
    let header = copy.store.header
    let isOfOriginal = original.map { $0.uuidHigh == header.uuidHigh && $0.uuidLow == header.uuidLow } ?? true
    if isOfOriginal, copy.store.lastSequence == sequence { return }
    throw DatabaseError(.locked, "Another copy is being made under the same name.", facts: .init(path: copy.path))
  }
}

/// The names of a copy: the one under which it is made, and the one that it is given when all of it is durable. Whoever uses
/// this has the file locked.
///
/// Always true: all names are names in one directory that is open, and what is removed is what was made here, the file by its
/// identity, and the directory of assets, too.
private struct CopyName {
  private let temporary: String
  private let target: String
  private let folder: any DiskFolder
  /// The file of the copy.
  private let identity: FileIdentity
  /// What its folder of assets is marked with.
  private let folderNumber: UInt64
  /// The rights and owners that it will have; nil for those that it has.
  private let attributes: FileAttributes?
  private let disk: any Disk
  private let path: String
  /// Knows which directory the copy has made.
  private let assets: AssetStore
  /// What a withdrawal needs.
  private let spare: SpareDescriptors?
  /// The directory of assets twice, one in it, and the list of that.
  static let descriptorCount = 4

  init(
    of copy: Database, target: String, attributes: FileAttributes?, disk: any Disk, _ spare: SpareDescriptors?
  ) throws(DiskFailure) {
    self.spare = spare
    path = target
    folder = try disk.folder(holding: target)
    self.target = lastName(of: target)
    temporary = lastName(of: copy.path)
    identity = copy.store.identity
    folderNumber = copy.store.header.folderNumber
    self.attributes = attributes
    self.disk = disk
    assets = copy.library.store
  }

  private var owners: FileOwners { .ofUser(andOf: attributes) }

  /// `.notRegular` unless the temporary name is the copy's, and no link that leads to a file elsewhere.
  func requireCopy() throws(DiskFailure) {
    guard try folder.identity(of: temporary) == identity else { throw isAnother }
  }

  private var isAnother: DiskFailure {
    DiskFailure(.open, path: folder.place(temporary), kind: .notRegular, code: ErrorNumber.exists)
  }

  /// Clears away what another copy to the same target has left.
  func removeUnfinishedAssets() throws(DiskFailure) {
    try AssetStore.removeUnfinished(temporary + ".assets", in: folder, ownedBy: owners)
  }

  /// Takes from the copy what was taken from its original since it began. Its assets follow its file.
  /// - Parameter isLast: its owner may write it until then, whatever the original says: else a crash would leave what the next
  ///   copy cannot lock.
  private func narrow(to present: FileAttributes?, isLast: Bool = false) throws(DiskFailure) {
    guard let attributes, let present else { return }
    let narrowed = attributes.narrowed(to: present)
    var target = narrowed ?? attributes
    if !isLast { target.mode |= 0o600 }
    if narrowed == nil, target.mode & 0o600 == 0o600 { return }
    let file = try folder.open(temporary, .readOnly)
    defer { file.close() }
    guard file.identity == identity else { throw isAnother }
    if let less = try file.attributes().narrowed(to: target) {
      try file.setAttributes(less)
      assets.narrowRights()
    }
  }

  /// Gives the copy its name, durably; after an error it has none, and nothing is left of it.
  func give(narrowedTo present: () throws(DiskFailure) -> FileAttributes?) throws(DiskFailure) {
    var hasName = false
    do throws(DiskFailure) {
      if try disk.exists(path) { throw DiskFailure(.create, path: path, kind: .exists, code: 17) }
      try narrow(to: try present())
      // Before the database has its name, durably: it is never without its assets.
      if let made = assets.madeRoot {
        let moved = try AssetStore.move(
          made, temporary + ".assets", to: target + ".assets", in: folder, trusted: .trusted(with: attributes),
          number: assets.newNumber())
        if let moved {
          try folder.sync(holding: target + ".assets")
          // Not before its name is durable: else a crash could leave an unfinished one that is not marked as such.
          assets.markFinished(moved)
        }
      }
      // Once more: syncs take their time.
      try narrow(to: try present(), isLast: true)
      try requireCopy()
      try folder.renameWithoutReplacing(temporary, to: folder, target)
      hasName = true
      try folder.sync(holding: target)
    } catch {
      // A crash may keep the name until it is durably gone, and then finds it with all its assets. From then on it is a leftover
      // that says whose they are.
      if hasName, (try? takeBack()) == nil { throw error }
      withdraw()
      throw error
    }
  }

  /// Nothing is left of a copy that will not be given its name. The file last: with it goes the lock that keeps others away, and
  /// what the next copy knows its folder by.
  func withdraw() {
    if !isMutant("withdraw-without-descriptors") { spare?.release() }
    do throws(DiskFailure) {
      try AssetStore.removeMoved(target + ".assets", in: folder, of: folderNumber, identity, ownedBy: owners)
    } catch { return }
    if let made = assets.madeRoot {
      try? AssetStore.removeAll(temporary + ".assets", in: folder, ownedBy: owners, ifStill: made)
    }
    try? remove(temporary)
  }

  /// Gives the file the name of an unfinished one again, durably.
  private func takeBack() throws(DiskFailure) {
    guard try folder.identity(of: target) == identity else { return }
    try folder.renameWithoutReplacing(target, to: folder, temporary)
    try folder.sync(holding: target)
  }

  private func remove(_ name: String) throws(DiskFailure) {
    if try folder.identity(of: name) == identity { try folder.remove(name) }
  }
}
