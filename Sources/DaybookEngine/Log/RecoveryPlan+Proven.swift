/// What a plan makes durable, and what it shows where a live writer says what is.
extension RecoveryPlan {
  /// The highest frame number that is durable once the plan has been carried out: all frames, except a `closed` frame at the
  /// end. That one is not synced, so that opening a closed database costs no sync; it becomes durable with the next commit.
  var repairedThrough: UInt64 {
    let number = last?.number ?? 0
    return isClosed ? number - 1 : number
  }

  /// Limits the plan to what a live writer has proven durable, up to the last such commit: parts behind it may be taken back,
  /// proven or not, and be replaced by something else (`Store+TakeBack`).
  mutating func cut(to log: LogReader) throws(DiskFailure) {
    // What follows may be a frame that is being written.
    if ending == .torn { ending = .clean }
    if let last, last.number > provenThrough {
      // Not searched for again: what follows the last commit by now may belong to another transaction, with the numbers of one
      // that was proven and taken back.
      lastCommitEnd = provenCommitEnd
      end = provenEnd
      let newest = provenEnd == start ? nil : provenEnd.lastFrameOffset.flatMap { log.header(at: $0) }
      try log.checkRead()
      self.last = newest?.checksum == provenEnd.previous ? newest : nil
    }
    if !isMutant("cut-behind-parts") { end = lastCommitEnd }
  }
}
