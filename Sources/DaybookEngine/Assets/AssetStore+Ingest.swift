/// Ingest of contents: copy, hash the copy, sync, name, sync the names; all before any frame refers to them.
///
///     ingest (needs no turn)                                      in the turn of the commit
///     ──────────────────────────────────────────────────────      ─────────────────────────
///     ingest-… written, hashed as it was written                  secure: the name is there still,
///       ├─ the content is known:  its file gets our second name     durably, or is linked again and synced
///       │  and its bytes are good
///       └─ it is new:             synced, read-only, linked       frame
///     names and directories synced                                the second name goes with the hold
///
/// The second name protects an ingest from the collector: whatever the collector unlinks in between, the bytes are still there
/// under a name of ours, synced already, and the commit links them again.
///
/// A known content is read before it is trusted: if it is corrupt, the good copy takes its name. That is a rename, so at every
/// moment the name leads to the old bytes or to all of the new ones, which are synced by then. A reader that has the old file
/// open keeps reading that.
///
/// This needs a file system with hard links. Where the system refuses a link to another user's file (`fs.protected_hardlinks`),
/// a copy of the content is held instead.
extension AssetStore {
  /// Takes in a content. When this returns, it is durable under its name, and it stays reachable as long as the hold lives.
  /// - Parameters:
  ///   - byteCount: its length; `.changed` when it differs.
  ///   - wanted: its digest, if known; `.changed` when it is another content. Then no name has changed.
  package func ingest(
    _ input: AssetInput, byteCount: Int, named wanted: AssetDigest? = nil
  ) throws(AssetFault) -> AssetHold {
    let root: any DiskFolder
    let temporary: AssetTemporary
    do throws(DiskFailure) {
      try checkSyncs()
      root = try makeRoot()
      temporary = try newTemporary(in: root)
    } catch { throw .disk(error) }
    do throws(AssetFault) {
      let (file, digest) = try AssetStore.copy(input, byteCount: byteCount, to: temporary.name, in: root)
      defer { file.close() }
      if let wanted, wanted != digest, case .file(let source) = input {
        throw .changed(path: source.path, byteCount: byteCount, found: nil)
      }
      do throws(DiskFailure) { return try giveName(temporary, file, digest, byteCount, in: root) } catch { throw .disk(error) }
    } catch {
      release(temporary)
      throw error
    }
  }

  /// A hold on a content that is here already. Makes it durable, because the process that took it in may have died before it
  /// did. Nil when it is missing or damaged.
  /// - Parameter verifies: whether the bytes are compared with the digest; otherwise only the size is.
  package func adopt(_ digest: AssetDigest, byteCount: Int, verifies: Bool) throws(DiskFailure) -> AssetHold? {
    try checkSyncs()
    guard let root = try self.root() else { return nil }
    try requireTrustedOwner(root)
    return try adopt(digest, byteCount: byteCount, verifies: verifies, in: root)
  }

  private func adopt(
    _ digest: AssetDigest, byteCount: Int, verifies: Bool, in root: any DiskFolder
  ) throws(DiskFailure) -> AssetHold? {
    // Most contents are new; then there is nothing to hold.
    guard let folder = try root.folderIfAny(digest.folder), try folder.identity(of: digest.name) != nil else { return nil }
    try requireTrustedOwner(folder)
    let suspensionCount = suspensionCount
    let temporary = try newTemporary(in: root)
    do throws(DiskFailure) {
      var isLinked = true
      do { try folder.link(digest.name, to: root, temporary.name) } catch {
        switch error.kind {
        case .notFound:
          drop(temporary)
          return nil
        case .permission where !isMutant("hold-by-link-alone"): isLinked = false
        default: throw error
        }
      }
      let file: any DiskFile
      do {
        file = try isLinked ? root.open(temporary.name, .readContent) : folder.open(digest.name, .readContent)
      } catch {
        guard error.kind == .notRegular || !isLinked && error.kind == .notFound else { throw error }
        release(temporary)
        return nil
      }
      defer { file.close() }
      var isGood = try file.byteCount() == byteCount
      if isGood, !isLinked {
        isGood = try copy(file, digest, byteCount, to: temporary, in: root)
      } else if isGood, verifies {
        isGood = AssetStore.holds(file, digest, byteCount)
      }
      guard isGood else {
        release(temporary)
        return nil
      }
      // Sync the file that has the content's name, whatever is held.
      try sync(file)
      try syncNames(of: digest, in: folder, of: root)
    } catch {
      release(temporary)
      throw error
    }
    return AssetHold(
      store: self, digest: digest, byteCount: byteCount, temporary: temporary, suspensionCount: suspensionCount)
  }

  /// Makes the held name a durable copy of a content that is here, with its rights: a commit may give it the content's name.
  /// - Returns: false when the bytes do not match the name.
  private func copy(
    _ file: any DiskFile, _ digest: AssetDigest, _ byteCount: Int, to temporary: AssetTemporary, in root: any DiskFolder
  ) throws(DiskFailure) -> Bool {
    do throws(AssetFault) {
      let (copy, found) = try AssetStore.copy(.file(file), byteCount: byteCount, to: temporary.name, in: root)
      defer { copy.close() }
      guard found == digest else { return false }
      do throws(DiskFailure) {
        try protect(copy)
        try sync(copy)
      } catch { throw .disk(error) }
      return true
    } catch {
      guard case .disk(let failure) = error else { return false }
      throw failure
    }
  }

  /// Whether the bytes of a file match a name. False when it cannot be read.
  private static func holds(_ file: any DiskFile, _ digest: AssetDigest, _ byteCount: Int) -> Bool {
    (try? hash(of: file, byteCount: byteCount)) == digest
  }

  /// Called in the turn of a commit that will refer to a held content. When this returns, its name is there, durably.
  package func secure(_ hold: AssetHold) throws(DiskFailure) {
    precondition(hold.store === self, "a hold secures contents of its own store")
    try checkSyncs()
    state.withLock { _ = $0.rescued?.insert(hold.digest) }
    let root = try disk.folder(at: directory)
    try requireTrustedOwner(root)
    let folder = try root.folder(hold.digest.folder)
    try requireTrustedOwner(folder)
    let name = hold.digest.name
    if try hasDurableName(hold, in: folder) || isMutant("skip-asset-relink") { return }
    // Remembered until a sync has succeeded: a folder that cannot be opened now may be opened next time, and then the name is
    // there already.
    state.withLock { _ = $0.unsyncedNames.insert(hold.digest) }
    if try folder.identity(of: name) == nil {
      do { try hold.temporary.folder.link(hold.temporary.name, to: folder, name) } catch {
        if error.kind != .exists { throw error }
      }
    }
    try syncNames(of: hold.digest, in: folder, of: root)
    // If another ingest made the name and its sync failed, only that ingest was told.
    try checkSyncs()
    // A name is only restored within a turn, and this is one: nobody else has restored it in the meantime.
    state.withLock { _ = $0.unsyncedNames.remove(hold.digest) }
  }

  /// Whether a content's name is known to be durable. That it exists does not suffice: another ingest may just have made it.
  ///
  /// It is durable if it leads to the hold's own file: that name was synced before the hold existed, or again by the `secure`
  /// that restored it, whose failed sync would be known here. This does not hold for what another process did that had the turn
  /// in the meantime.
  private func hasDurableName(_ hold: AssetHold, in folder: any DiskFolder) throws(DiskFailure) -> Bool {
    guard !sharesFile, hold.suspensionCount == suspensionCount,
      !state.withLock({ $0.unsyncedNames.contains(hold.digest) }),
      let identity = try folder.identity(of: hold.digest.name)
    else { return false }
    return try hold.temporary.folder.identity(of: hold.temporary.name) == identity
  }

  private var suspensionCount: Int { state.withLock { $0.suspensionCount } }

  /// Gives a temporary file its final name, or releases it if the content has one already.
  private func giveName(
    _ temporary: AssetTemporary, _ file: any DiskFile, _ digest: AssetDigest, _ byteCount: Int, in root: any DiskFolder
  ) throws(DiskFailure) -> AssetHold {
    let suspensionCount = suspensionCount
    if let hold = try adopt(digest, byteCount: byteCount, verifies: true, in: root) {
      release(temporary)
      return hold
    }
    try protect(file)
    try sync(file)
    let folder = try makeFolder(digest.folder, in: root)
    do { try root.link(temporary.name, to: folder, digest.name) } catch {
      guard error.kind == .exists else { throw error }
      if let hold = try adopt(digest, byteCount: byteCount, verifies: true, in: root) {
        release(temporary)
        return hold
      }
      // The file that has the name is damaged: ours replaces it.
      let second = try newTemporary(in: root)
      do throws(DiskFailure) {
        try root.link(temporary.name, to: root, second.name)
        try root.rename(second.name, to: folder, digest.name)
      } catch {
        release(second)
        throw error
      }
      drop(second)
    }
    try syncNames(of: digest, in: folder, of: root)
    return AssetHold(
      store: self, digest: digest, byteCount: byteCount, temporary: temporary, suspensionCount: suspensionCount)
  }

  /// Copies a content into a new file and hashes what was written, not what was read: a source that changes in the meantime
  /// cannot give a file a name that does not match its bytes.
  package static func copy(
    _ input: AssetInput, byteCount: Int, to name: String, in folder: any DiskFolder
  ) throws(AssetFault) -> (file: any DiskFile, digest: AssetDigest) {
    let file: any DiskFile
    var isCloned = false
    do throws(DiskFailure) {
      // Before making room: a size from a caller may be anything.
      if case .file(let source) = input {
        let found = try source.byteCount()
        guard found == byteCount else { throw DiskFailure(.status, path: source.path, kind: .other, code: 0, byteCount: found) }
        isCloned = try folder.clone(source, to: name)
      }
      file = try isCloned ? folder.open(name, .readContent) : folder.create(name, byteCount: byteCount, like: nil)
    } catch {
      if error.operation == .status, error.code == 0 {
        throw .changed(path: error.path, byteCount: byteCount, found: error.byteCount)
      }
      throw .disk(error)
    }
    do throws(AssetFault) {
      let digest = try isCloned ? hash(of: file, byteCount: byteCount) : fill(file, from: input, byteCount: byteCount)
      return (file, digest)
    } catch {
      file.close()
      throw error
    }
  }

  private static func hash(of file: any DiskFile, byteCount: Int) throws(AssetFault) -> AssetDigest {
    var hash = SHA256()
    let piece = ByteBuffer(capacity: pieceByteCount)
    var offset = 0
    do throws(DiskFailure) {
      while true {
        // Safe: the buffer was made for this many bytes.
        piece.count = try unsafe file.read(into: piece.base, count: piece.capacity, at: offset)
        if piece.count == 0 { break }
        offset += piece.count
        // A clone may have any size by now; more bytes than announced are an error, whatever they are.
        if offset > byteCount { break }
        hash.update(piece.view)
      }
    } catch { throw .disk(error) }
    guard offset == byteCount else { throw .changed(path: file.path, byteCount: byteCount, found: offset) }
    return AssetDigest(hash.finish())
  }

  private static func fill(
    _ file: any DiskFile, from input: AssetInput, byteCount: Int
  ) throws(AssetFault) -> AssetDigest {
    var hash = SHA256()
    do throws(DiskFailure) {
      switch input {
      case .bytes(let bytes):
        precondition(bytes.count == byteCount, "the bytes are all there")
        try file.write(bytes, at: 0)
        hash.update(bytes)
      case .file(let source):
        let piece = ByteBuffer(capacity: max(1, min(pieceByteCount, byteCount)))
        var copiesInside = true
        var offset = 0
        while offset < byteCount {
          // What is no more than a size costs no room: anybody can make one of any length.
          let hole = min(source.contentStart(from: offset), byteCount) - offset
          if hole >= piece.capacity, !isMutant("fill-holes") {
            piece.truncate(to: 0)
            piece.append(zeros: piece.capacity)
            for _ in 0..<hole / piece.capacity { hash.update(piece.view) }
            offset += hole / piece.capacity * piece.capacity
            try file.truncate(to: offset)
            continue
          }
          let request = min(piece.capacity, byteCount - offset)
          var count = 0
          if copiesInside, let copied = try file.copyRange(of: source, at: offset, count: request), copied > 0 {
            // Safe: the buffer has room for `request` bytes, and no more were copied.
            count = try unsafe file.read(into: piece.base, count: copied, at: offset)
          } else {
            copiesInside = false
            // Safe: as above.
            count = try unsafe source.read(into: piece.base, count: request, at: offset)
            piece.count = count
            try file.write(piece.view, at: offset)
          }
          if count == 0 { break }
          piece.count = count
          hash.update(piece.view)
          offset += count
        }
        let found = try source.byteCount()
        guard offset == byteCount, found == byteCount else {
          throw DiskFailure(.status, path: source.path, kind: .other, code: 0, byteCount: found)
        }
      }
    } catch {
      if error.operation == .status, error.code == 0 {
        throw .changed(path: error.path, byteCount: byteCount, found: error.byteCount)
      }
      throw .disk(error)
    }
    return AssetDigest(hash.finish())
  }
}
