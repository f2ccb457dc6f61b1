/// Repair: makes the file what a plan says it is. It writes only verified bytes and zeros. A crash may interrupt it at any
/// step; then it starts over.
extension Store {
  /// Makes the file what the plan says it is. Each step may be repeated after a crash.
  /// - Parameter isMade: the file does not have the name yet that has to be durable.
  func repair(_ plan: RecoveryPlan, log reader: LogReader, isMade: Bool) throws(StoreError) {
    do {
      var mustSync = false
      var zerosEnd = UInt64.max
      let end = plan.end.offset
      if plan.ending != .clean, end < reader.end {
        if plan.discardsFrames { try saveDiscardedIfPossible(plan, log: reader) }
        // Only as far as there is content, and as far as a writer may have prepared zeros: a sparse file may claim a size that
        // would fill the disk.
        let contentEnd = reader.contentEnd(from: end)
        try reader.checkRead()
        zerosEnd = min(reader.end, contentEnd + LogTail.mostZeros)
        let stretches = reader.stretches(of: end..<zerosEnd)
        for stretch in stretches where !isMutant("keep-stale-bytes") {
          try file.writeZeros(Int(stretch.lowerBound)..<Int(stretch.upperBound))
        }
        // Behind the first hole there is no room yet.
        zerosEnd = stretches.first.flatMap { $0.lowerBound == end ? $0.upperBound : nil } ?? end
        mustSync = true
      }
      if !plan.isClosed, plan.firstUnproven != nil {
        if !isMutant("skip-recovery-rewrite") { recovery.rewrittenFrameCount += try reader.rewriteUnproven(plan, to: file) }
        mustSync = true
      }
      if mustSync {
        if !isMutant("skip-recovery-sync") { try file.sync(.full) }
        if !isMade {
          if !isMutant("skip-directory-sync-in-recovery") { try disk.syncDirectory(holding: path) }
          hasDurableName = true
        }
      }
      log.zerosEnd.store(min(UInt64(try file.byteCount()), zerosEnd), ordering: .relaxed)
    } catch { throw .disk(error) }
  }

  /// The copy is optional, because these commits were not acknowledged. If there is no room for it, no permission or no free
  /// name, the database is opened without it, so that something can be deleted.
  private func saveDiscardedIfPossible(_ plan: RecoveryPlan, log: LogReader) throws(DiskFailure) {
    do { try saveDiscarded(plan, log: log) } catch {
      // What cannot be read from the log itself is not discarded unseen; a failed sync of the folder is final.
      if error.path == file.path || error.operation == .syncDirectory { throw error }
      recovery.isDiscardedCopyMissing = true
    }
  }

  /// If there are whole frames in the discarded part, keeps a copy of it beside the file.
  private func saveDiscarded(_ plan: RecoveryPlan, log: LogReader) throws(DiskFailure) {
    // An existing copy stays: an earlier recovery made it, and may have zeroed part of the original since.
    let folder = try disk.folder(holding: path)
    let first = "\(lastName(of: path)).discarded-\(plan.lastSequence + 1)"
    var target = first
    var count = 1
    while try folder.identity(of: target) != nil {
      count += 1
      target = "\(first)-\(count)"
    }
    let attributes = try file.attributes()
    try removeUnfinishedDiscarded(in: folder, ownedBy: .ofWriters(of: attributes))
    // A user may have called a file of his own the same without the random part.
    let temporary = "\(first).new-\(hexDigits(options.random()))"
    let copy = try folder.create(temporary, byteCount: nil, like: attributes)
    var isFinished = false
    defer {
      if !isFinished { folder.remove(temporary, ifStill: copy) }
      copy.close()
    }
    let contentEnd = log.contentEnd(from: plan.end.offset)
    try log.checkRead()
    // Holes stay holes.
    for stretch in log.stretches(of: plan.end.offset..<contentEnd) {
      var position = Int(stretch.lowerBound - plan.end.offset)
      try log.forEachPiece(of: stretch) { (piece) throws(DiskFailure) in
        try copy.write(piece, at: position)
        position += piece.count
      }
    }
    try copy.sync(.full)
    // Anything that was put there in the meantime is neither taken for the copy nor replaced by it.
    guard try folder.identity(of: temporary) == copy.identity else {
      throw DiskFailure(.rename, path: folder.place(temporary), code: ErrorNumber.tooManyLinks)
    }
    try folder.renameWithoutReplacing(temporary, to: folder, target)
    isFinished = true
    try folder.sync(holding: target)
    recovery.discardedCopyPath = folder.place(target)
  }

  /// Removes the copies of discarded frames that a recovery was making when it died: what has exactly the form of their names,
  /// NAME.discarded-N.new- and 16 digits. A recovery has the file lock, so none is being made now.
  private func removeUnfinishedDiscarded(in folder: any DiskFolder, ownedBy owners: FileOwners) throws(DiskFailure) {
    let beginning = lastName(of: path) + ".discarded-"
    // A folder that may be entered but not listed keeps them.
    for entry in (try? folder.entries()) ?? [] where !entry.isDirectory {
      // By bytes: a database whose name is composed in another way has copies of its own.
      guard let rest = entry.name.afterBytes(beginning) else { continue }
      let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, UInt64(parts[0]) != nil, parts[1].hasPrefix("new-"), AssetHolder.isNumber(parts[1].dropFirst(4))
      else { continue }
      try? folder.remove(entry.name, ownedBy: owners)
    }
  }

  /// Makes frames durable for a reader that is alone with a file, before it shows them: nobody else will.
  ///
  /// A sync alone does not suffice. The writer may have died of a failed sync, after which the system calls the lost pages
  /// clean. So the same bytes are written again, as an open for writing does. If the file may only be read, a sync must
  /// suffice.
  static func makeDurable(
    _ plan: RecoveryPlan, log: LogReader, of file: any DiskFile, at path: String, disk: any Disk
  ) throws(DiskFailure) {
    var writable: (any DiskFile)?
    do { writable = try disk.open(path, .readWrite) } catch { guard error.kind == .permission else { throw error } }
    defer { writable?.close() }
    // Another file may have the name by now; then commits go on there.
    if let writable, writable.identity == file.identity, !isMutant("sync-without-rewrite") {
      _ = try log.rewriteUnproven(plan, to: writable)
      try writable.sync(.full)
    } else {
      try file.sync(.full)
    }
    // The process that created or renamed the file may have died before its name was durable.
    try disk.syncDirectory(holding: path)
  }
}
