/// Copies the log of an open store, frame by frame, for backups, or reads it commit by commit, for backups and for the end of a
/// compaction.
extension Store {
  /// Copies the log up to a pinned version into a new file that has its first page only, each frame to its own offset, and after
  /// them the version's trees. Nothing is proven durable but what the checkpoint at the end names.
  /// - Parameters:
  ///   - copies: whether an operation of a kind may be copied as it is.
  ///   - progress: called with the next sequence; an error that it throws ends the copy.
  /// - Returns: false, and the file as it was, where this is no log that can be copied so, or not worth it: its commits have to
  ///   be copied one by one, which also finds what is damaged.
  package func copyFrames(
    through pin: Pin, to target: any DiskFile, copies: (_ kind: UInt8) -> Bool,
    progress: (UInt64) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    let version = pin.state.fields
    guard version.sequence > 0, laterFeatures.load(ordering: .acquiring) == 0 else { return false }
    if try FrameCopier(self, version, to: target, copies: copies).copy(progress) { return true }
    try Store.onDisk { () throws(DiskFailure) in try target.truncate(to: FileHeader.byteCount) }
    return false
  }

  /// Visits every commit up to a pinned version, oldest first. The bytes of a log never change, so writers can go on.
  /// - Parameters:
  ///   - progress: called with the next sequence; an error that it throws ends the walk.
  ///   - visit: gets the commit; its operations are valid during the call.
  /// - Throws: `.corrupt` where acknowledged commits are damaged: a copy of the others would not be a backup.
  package func forEachCommit(
    through pin: Pin, progress: (UInt64) throws(StoreError) -> Void,
    _ visit: (CommitReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    try forEachCommit(pin, { (log) throws(DiskFailure) in try log.planFromStart() }, progress, visit)
  }

  /// The same for commits behind a place that was reached before.
  func forEachCommit(
    from position: LogPosition, through pin: Pin, progress: (UInt64) throws(StoreError) -> Void,
    _ visit: (CommitReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    try forEachCommit(
      pin, { (log) throws(DiskFailure) in try log.plan(continuing: position, provenThrough: position.number - 1) }, progress,
      visit)
  }

  private func forEachCommit(
    _ pin: Pin, _ makePlan: (LogReader) throws(DiskFailure) -> RecoveryPlan,
    _ progress: (UInt64) throws(StoreError) -> Void, _ visit: (CommitReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    let log = logReader(upTo: pin.end)
    let plan = try Store.onDisk(call: try makePlan(log))
    if case .corrupt(let lost) = plan.ending { throw .corrupt(lost: lost) }
    guard plan.lastSequence >= pin.sequence else {
      throw .corrupt(lost: plan.lastSequence + 1...pin.sequence)
    }
    var failure: StoreError?
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        guard failure == nil, commit.sequence <= pin.sequence else { return }
        do throws(StoreError) {
          try progress(commit.sequence)
          try visit(CommitReader(store: self, end: pin.end, header: commit, places: operations.places))
        } catch { failure = error }
      }
    } catch { throw StoreError(error) }
    if let failure { throw failure }
  }
}

extension Store {
  /// Copies an operation into a buffer and verifies the copy.
  package func copyOperation(at place: Place, end: UInt64, into buffer: ByteBuffer) throws(StoreError) -> ByteView {
    try Store.checkPlace(place, end: end)
    buffer.truncate(to: 0)
    buffer.reserve(Int(place.byteCount))
    // Safe: the line above made room.
    unsafe try copyOperation(at: place, end: end, to: buffer.base)
    buffer.count = Int(place.byteCount)
    return buffer.view
  }
}
