/// Reading the whole log of an open store, commit by commit: what a backup copies.
extension Store {
  /// Visits every commit up to a pinned version, oldest first. The bytes of a log never change, so writers go on meanwhile.
  /// - Parameters:
  ///   - progress: called with the sequence that comes next; false ends the walk with `.refused`.
  ///   - visit: gets the commit's operations; they are valid during the call.
  /// - Throws: `.rotten` where acknowledged commits are damaged: a copy of the rest is no backup.
  package func forEachCommit(
    through pin: Pin, progress: (UInt64) -> Bool,
    _ visit: (_ sequence: UInt64, _ operations: [ByteView]) throws(StoreError) -> Void
  ) throws(StoreError) {
    // Safe: everything below the end of a pinned version is mapped and stays so.
    let log = LogReader(unsafe ByteView(source.base, count: Int(pin.end)), salt: header.salt)
    let plan = log.planFromStart()
    if case .rotten(let lost) = plan.ending { throw .rotten(lost: lost) }
    guard plan.lastSequence >= pin.sequence else {
      throw .rotten(lost: plan.lastSequence + 1...pin.sequence)
    }
    var failure: StoreError?
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (sequence, operations) throws(LogFault) in
        guard failure == nil, sequence <= pin.sequence else { return }
        do throws(StoreError) {
          guard progress(sequence) else { throw .refused(reason: "the copy was cancelled") }
          try visit(sequence, operations.map { $0.1 })
        } catch { failure = error }
      }
    } catch { throw .log(error) }
    if let failure { throw failure }
  }
}
