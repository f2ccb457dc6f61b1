/// Copies of declarations in the log: a `declarations` frame has all of them, as operations.
///
/// A declaration is in its commit, and in a tree. A copy of all follows each checkpoint, and comes again when the log has become longer
/// by 64 MB; one of those that are new since the last one precedes the `closed` frame. No open needs one; a salvage takes
/// what is valid of them all.
extension Store {
  /// How far from the last copy another one is due.
  private static let declarationDistance: UInt64 = 64 << 20

  /// Appends a copy of all declarations, or of those from a number on. The caller syncs.
  func repeatDeclarations(_ hold: borrowing Turn.Hold, from first: Int = 0) throws(StoreError) {
    let count = applier.declarationCount(in: head.roots)
    if count <= first || isMutant("never-repeat-declarations") { return }
    let tail = log.tail
    let frame = FrameHeader.buffer(payloadByteCount: 4000)
    var number = 0
    applier.forEachDeclaration(in: head.roots) { kind, payload in
      defer { number += 1 }
      if number < first { return }
      let start = frame.count
      frame.append(zeros: Operation.headerByteCount)
      frame.append(payload)
      Operation.seal(frame, from: start, kind: kind, salt: header.salt, offset: tail.offset + UInt64(start))
    }
    guard UInt64(frame.count - FrameHeader.byteCount) <= FrameHeader.Kind.declarations.payloadLimit else { return }
    _ = try log.append(.declarations, frame, sequence: tail.sequence, via: backgroundFile, hold)
    repeated = (count, log.tail.offset)
  }

  /// Appends a copy of all declarations to a file that was copied up to its checkpoint.
  package func repeatDeclarations() throws(StoreError) {
    try withTurnForBackground { (hold) throws(StoreError) in try repeatDeclarations(hold) }
  }

  /// Whether there are declarations of which no copy is in the log.
  func haveDeclarationsGrown(_: borrowing Turn.Hold) -> Bool { applier.declarationCount(in: head.roots) > repeated.count }

  /// Appends a copy when the last one is far away. What has no room waits: the commit before it counts without.
  func repeatDeclarationsIfDue(_ hold: borrowing Turn.Hold) {
    let last = max(repeated.offset, log.tail.newestCheckpoint)
    if log.tail.offset - min(last, log.tail.offset) > Store.declarationDistance { try? repeatDeclarations(hold) }
  }
}
