/// The log from a damaged commit on. Recovery ends there, and so does what readers see, but there may be more damage after it.
///
///     ├─ commit 6 ─┤├─ commit 7 ▒▒ ─┤├─ commit 8 ─┤▒▒▒▒▒▒▒▒▒├─ commit 10 ▒ ─┤├─ note: all durable ─┤
///                   recovery ends    whole         a gap     damaged
///
/// Frames are found as a salvage finds them. What no later frame proves to have been durable may be an unfinished write, and is not called
/// damaged.
extension Store {
  /// - Parameter start: where the valid log ends. What is damaged there has a finding already.
  func checkDamagedRest(
    from start: LogPosition, _ pin: Pin, progress: ((UInt64, UInt64) -> Bool)?, into result: inout StoreCheck
  ) throws(StoreError) {
    // Where an open found the damage, no process writes to the file. Otherwise there may be a writer, after the pinned version.
    let end = recovery.lostSequences == nil ? pin.end : UInt64(try Store.onDisk(call: try file.byteCount()))
    guard start.offset < end else { return }
    // A window, because after the pinned version the file need not be mapped.
    let log = LogReader(
      LogWindow(file, byteCount: Int(clamping: end), gapByteCount: Page.byteCount - 1), salt: header.salt)
    var (offset, number) = (start.offset, start.number - 1)
    let provenThrough = log.highestProof(from: offset, after: number)
    while let frame = log.nextFrame(from: offset, after: number) {
      if frame.number > number + 1, number < provenThrough {
        result.addDamage("\(frame.offset - offset) bytes hold no valid frame", at: offset)
      }
      let isWhole = !frame.kind.carriesData || log.isPayloadValid(frame)
      if isWhole || frame.number <= provenThrough {
        result.frameCount += 1
        if frame.kind == .commit { result.commitCount += 1 }
        if !isWhole, frame.offset != start.offset {
          result.addDamage(
            frame.kind == .commit ? "commit \(frame.sequence) is damaged" : "a part of a commit is damaged", at: frame.offset)
        }
        if frame.kind.carriesData { try checkOperations(frame, log, into: &result) }
      }
      try Store.onDisk(call: try log.checkRead())
      number = frame.number
      offset = log.offset(after: frame)
      if let progress, !progress(offset, end) { throw .refused(reason: "the check was cancelled") }
    }
    try Store.onDisk(call: try log.checkRead())
  }
}
