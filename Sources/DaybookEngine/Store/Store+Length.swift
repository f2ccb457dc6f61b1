/// How long a file has to be, so that one which was cut short is not taken for a shorter one.
///
///     ┌─ first page ────────────────────────────┐
///     │ header … least length │ … closed length │   frames …                     ┊ cut here
///     └──────────┬─────────────────────┬────────┘                                ┊
///                │                     └── written at each clean close ─────────┼────────► the log reached so far
///                └── written before the file got its name (compaction, backup, salvage)
///
/// Behind a commit nobody can tell a cut from a crash: a commit does not write the first page, and a power loss may take what
/// was not synced. So only lengths of what was durable are named, and a log that ends before one has lost something.
///
/// Always true: a length is written by the holder of the file lock, names nothing that was not durable before (or, in a file
/// that has no name yet, will be before it gets one), and never becomes less. Who takes the file over, follows it or reads it
/// beside a writer need not look at it again: within their lives only a stranger shortens the file.
extension Store {
  /// The end of the log, where all of it is known to be durable. Not so behind a `closed` frame of somebody who may have been
  /// killed before its sync: then nothing has come since, and the length of that close stands. Nor where the next walk would not
  /// come so far.
  var durableEnd: UInt64? { isDurable(log.tail.number - 1) && !log.hasDamagedEnd ? log.tail.offset : nil }

  /// Writes beside a `closed` frame how long the log was before it; the sync of the frame makes both durable.
  ///
  /// Where disks may destroy more than they write (`padding`), the first page is left alone: without it there is no file.
  /// - Returns: what failed. The file is none the worse, and the caller has a sync to do first.
  func writeClosedLength(_ length: UInt64?) -> DiskFailure? {
    guard let length, !options.startsBatchesOnFreshSector else { return nil }
    let sector = ClosedLength.encoded(length, salt: header.salt)
    do {
      try file.write(sector.view, at: ClosedLength.offset)
      return nil
    } catch { return error }
  }

  /// Puts the present length into the header of a file that has no name yet. Whoever gives it one syncs before.
  package func writeLeastLength() throws(StoreError) {
    try withTurnForBackground { (_) throws(StoreError) in
      try checkAlive()
      // An empty log has nothing to lose.
      guard log.hasWritten else { return }
      var header = header
      header.leastByteCount = log.tail.offset
      let page = header.encoded()
      // Where that fails the file gets no name.
      try Store.mapped { () throws(DiskFailure) in try file.write(page.view, at: 0) }
    }
  }

  /// The length of the last close need not hold: a crash may have torn it. The next close writes another.
  func checkLengths(_ result: inout StoreCheck) throws(StoreError) {
    let isDamaged: Bool
    do {
      isDamaged = try Store.withFirstPage(of: file, options) { ClosedLength.isDamaged($0, salt: header.salt) }
    } catch { throw .disk(error as! DiskFailure) }
    if isDamaged {
      result.remarks.append(
        .init(offset: UInt64(ClosedLength.offset), message: "the length of the last close does not match its checksum"))
    }
  }

  /// Throws where something of the file is known to be missing: a copy of the rest would look whole.
  package func checkWhole() throws(StoreError) {
    if let lost = recovery.lostSequences { throw .corrupt(lost: lost) }
    guard recovery.missingByteCount > 0 else { return }
    throw .cutShort(
      offset: log.tail.offset, leastByteCount: header.leastByteCount, missingByteCount: recovery.missingByteCount)
  }
}

extension RecoveryPlan {
  /// Holds the end of a walk against the length that the file names.
  mutating func compare(with header: FileHeader, fileEnd: UInt64) {
    guard end.offset < header.leastByteCount else { return }
    // The file may have its size, with zeros or something else in place of what it had.
    missingByteCount = header.leastByteCount - (fileEnd < header.leastByteCount ? fileEnd : end.offset)
    if case .corrupt = ending { return }
    ending = .cutShort
    discardsFrames = false
    // The length says that they are durable.
    firstUnproven = nil
    hasUnprovenTruth = false
  }

  /// Throws where the file must not be written.
  func checkUndamaged(_ header: FileHeader) throws(StoreError) {
    if case .corrupt(let lost) = ending { throw .corrupt(lost: lost) }
    guard ending == .cutShort else { return }
    throw .cutShort(
      offset: end.offset, leastByteCount: header.leastByteCount, missingByteCount: missingByteCount)
  }
}
