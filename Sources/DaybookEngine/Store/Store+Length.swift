/// How long a file must be, so that a file that was cut short is noticed.
///
///     ┌─ first page ────────────────────────────┐
///     │ header … least length │ … closed length │   frames …                     ┊ cut here
///     └──────────┬─────────────────────┬────────┘                                ┊
///                │                     └── written at each clean close ─────────┼────────► the log reached so far
///                └── written before the file got its name (compaction, backup, salvage)
///
/// For a commit alone, a cut cannot be told from a crash: a commit does not write the first page, and a power loss may take
/// what was not synced. So only lengths of durable data are written, and a log that ends before such a length has lost
/// something.
///
/// Always true: the holder of the file lock writes the length; it covers only bytes that were durable before (or, in a file
/// without a name, will be before it gets one); and it never becomes less. A process that takes over the file, follows it or
/// reads beside a writer need not read it again: while they run, only a stranger would shorten the file.
extension Store {
  /// The end of the log, if all of it is known to be durable. It is not behind a `closed` frame whose writer may have been
  /// killed before its sync; then nothing was appended since, and the length of that close is still right. Nil also if the next
  /// walk would end earlier.
  var durableEnd: UInt64? { isDurable(log.tail.number - 1) && !log.hasDamagedEnd ? log.tail.offset : nil }

  /// Writes, together with a `closed` frame, how long the log was before it; the sync of the frame makes both durable.
  ///
  /// Where disks may destroy more than they write (`padding`), the first page is not rewritten: without it the file is lost.
  /// - Returns: the failure, if any. The file is still valid, and the caller must sync before it reports the failure.
  func writeClosedLength(_ length: UInt64?) -> DiskFailure? {
    guard let length, !options.startsBatchesOnFreshSector else { return nil }
    let sector = ClosedLength.encoded(length, salt: header.salt)
    do {
      try file.write(sector.view, at: ClosedLength.offset)
      return nil
    } catch { return error }
  }

  /// Writes the present length into the header of a file without a name. The caller syncs before it gives the file its name.
  package func writeLeastLength() throws(StoreError) {
    try withTurnForBackground { (_) throws(StoreError) in
      try checkAlive()
      // An empty log cannot lose anything.
      guard log.tail.number > 1 else { return }
      var header = header
      header.leastByteCount = log.tail.offset
      let page = header.encoded()
      // If that fails, the file gets no name.
      try Store.onDisk { () throws(DiskFailure) in try file.write(page.view, at: 0) }
    }
  }

  /// A crash may have torn the length of the last close, which the next close writes again; and nothing needs the name under
  /// which the file was made but the removal of leftovers. These are remarks, not findings.
  func checkLengths(_ result: inout StoreCheck) throws(StoreError) {
    let isDamaged: Bool
    let isMarkDamaged: Bool
    do {
      (isDamaged, isMarkDamaged) = try Store.withFirstPage(of: file, options) {
        (ClosedLength.isDamaged($0, salt: header.salt), UnfinishedMark.isDamaged($0))
      }
    } catch { throw StoreError(diskOrStore: error) }
    if isMarkDamaged {
      result.remarks.append(
        .init(
          offset: UInt64(UnfinishedMark.offset),
          message: "the name under which the file was made does not match its checksum"))
    }
    if isDamaged {
      result.remarks.append(
        .init(offset: UInt64(ClosedLength.offset), message: "the length of the last close does not match its checksum"))
    }
  }

  /// Throws if something is known to be missing from the file: a copy would look complete.
  package func checkWhole() throws(StoreError) {
    if let lost = recovery.lostSequences { throw .corrupt(lost: lost) }
    guard recovery.missingByteCount > 0 else { return }
    throw .cutShort(
      offset: log.tail.offset, leastByteCount: header.leastByteCount, missingByteCount: recovery.missingByteCount)
  }
}

extension RecoveryPlan {
  /// Throws if the file must not be written.
  func checkUndamaged(_ header: FileHeader) throws(StoreError) {
    if case .corrupt(let lost) = ending { throw .corrupt(lost: lost) }
    guard ending == .cutShort else { return }
    throw .cutShort(
      offset: end.offset, leastByteCount: header.leastByteCount, missingByteCount: missingByteCount)
  }
}
