/// Whether a file that was made under another name is finished, and how it says so. One that is not is a leftover.
extension Store {
  /// Says that this file, which was made under another name, is finished: it has its own name, or a user has taken what was
  /// left for a database. Everything before this is durable.
  func tellFinished() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in _ = try log.appendClosed(via: backgroundFile, hold) }
  }

  /// Whether a file that was made under another name was finished. Its least length is written once it has all that it was made
  /// for, and only then can a commit follow. Otherwise it must have been closed, and a copy must also have got its name: then the
  /// zeros after its first `closed` frame were cut off, or another frame took their place.
  static func isFinished(_ file: any DiskFile, _ page: ByteBuffer) throws(DiskFailure) -> Bool {
    if isMutant("keep-unfinished-mark") { return false }
    let salt = page.view.uint64(at: FileHeader.saltOffset)
    let isCopy = UnfinishedMark.maker(page.view) == .copy
    if !isCopy, ClosedLength.read(page.view, salt: salt) ?? 0 > 0 { return true }
    // A crash may have torn it while it was written; then only a `closed` frame counts, wherever it is.
    let least = FileHeader.firstLeastByteCount(page.view) ?? 0
    let byteCount = try file.byteCount()
    let log = LogReader(LogWindow(file, byteCount: byteCount), salt: salt)
    var next = log.nextHeader(from: least)
    while let frame = next, frame.kind != .closed, least == 0 || frame.kind != .commit {
      next = log.nextHeader(from: frame.next)
    }
    if isCopy, let closed = next, closed.kind == .closed, UInt64(byteCount) > closed.next {
      next = log.nextHeader(from: closed.next)
    }
    try log.checkRead()
    return next != nil
  }

  /// Whether an open has to say it: a crash came first, or a user has taken a leftover for a database.
  func isFinishedUntold(isClosed: Bool) -> Bool {
    // Of a compaction only a finished one has a `closed` frame.
    if isClosed, header.maker == .compaction || ((try? file.byteCount()) ?? 0) <= Int(log.tail.offset) { return false }
    return (try? Store.isFinished(file, try Store.firstPage(of: file))) == false
  }

  /// A file is finished only when its name is durable: else a power loss could give it the name back under which it was made, and
  /// no compaction would remove it there. Where the folder cannot be opened nothing is said; a commit will need it, too.
  /// - Returns: whether the name is durable.
  func makeNameOfFinishedDurable() throws(StoreError) -> Bool {
    if isMutant("finish-before-name") { return true }
    do throws(StoreError) {
      try withTurnForBackground { (hold) throws(StoreError) in try makeNameDurable(hold) }
      return true
    } catch {
      // A failed sync of the folder is final; but whatever was acknowledged is durable.
      guard case .outcomeUnknown(let failure) = error else { return false }
      throw .disk(failure)
    }
  }
}
