/// Decides what of a log holds: which checkpoint to start from, which frames to replay, where the log ends, and whether
/// what does not hold is *torn* (an unacknowledged write that a crash cut) or *rotten* (acknowledged data, damaged later).
///
/// The rule: behind the accepted checkpoint, a damaged frame that carries no truth is stepped over if the
/// commit sequences on both sides are equal or adjacent. Where a commit is damaged or missing, a later frame whose
/// `durableThrough` covers it proves that it was acknowledged: rotten. Without such a frame it is torn.
///
/// Only reads; what it finds is carried out by `Store.open`. The same file always gives the same answer.
struct RecoveryPlan {
  enum Ending: Equatable {
    /// Nothing behind the last frame but zeros.
    case clean
    /// Something unfinished stands behind the last frame that holds.
    case torn
    /// Acknowledged commits are damaged. Nothing may be written to this file.
    case rotten(lost: ClosedRange<UInt64>)
  }

  /// How far open had to go back for trees that hold.
  enum Basis: Equatable { case newestCheckpoint, olderCheckpoint, log }

  var basis: Basis = .log
  var checkpoint: CheckpointContents?
  /// The first byte behind the checkpoint's frame.
  var checkpointEnd: UInt64 = 0
  var ending: Ending = .clean
  /// Where replay starts, and the commit sequence before it.
  var startOffset = UInt64(FileHeader.byteCount)
  var startSequence: UInt64 = 0
  /// Damaged stretches without truth: from their offset on to the next frame that holds.
  var skips: [UInt64: UInt64] = [:]
  /// The first byte behind the last frame that counts.
  var end = UInt64(FileHeader.byteCount)
  var last: FrameHeader?
  var lastSequence: UInt64 = 0
  /// Bytes behind the start that are frames of pages.
  var pageFrameByteCount: UInt64 = 0
  /// The highest frame number that some frame says is durable.
  var provenThrough: UInt64 = 0
  /// The first frame that no other proves durable, of any kind. A lost frame without truth loses no data, but were it
  /// counted as durable, a later frame would claim that what was torn at its place had been acknowledged.
  var firstUnproven: UInt64?
  /// Commits or checkpoints are among them.
  var hasUnprovenTruth = false
  /// Whole frames stand in the torn part.
  var discardsFrames = false
  var newestCheckpoint: UInt64 = 0
  var olderCheckpoint: UInt64 = 0
  /// A note told of a damaged page: the trees are rebuilt from the log.
  var tellsOfDamagedPage = false
  var isClosed: Bool { last?.kind == .closed && ending == .clean }
  /// The log ends with a note that proves everything before it: who wrote it gave the file lock back.
  var isHandedOver: Bool {
    guard let last, ending == .clean else { return false }
    return last.kind == .note && last.durableThrough + 1 == last.number
  }

  /// A plan of a log that a writer goes on with meanwhile.
  ///
  /// A commit that was being written when the walk came to it, and a frame behind it that was written since and covers it,
  /// look like rot. But a frame that covers another was written when that one was whole: so it holds at a second look, or
  /// it is rotten indeed.
  static func besideWriter(_ look: () throws(DiskFailure) -> RecoveryPlan) throws(DiskFailure) -> RecoveryPlan {
    var plan = try look()
    while case .rotten(let lost) = plan.ending {
      plan = try look()
      if case .rotten(let again) = plan.ending, again.lowerBound == lost.lowerBound { break }
    }
    return plan
  }
}

extension LogReader {
  func plan() throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    guard let last = lastHeader() else {
      var empty = RecoveryPlan()
      if hasContent(in: min(empty.end, end)..<end) { empty.ending = .torn }
      try checkRead()
      return empty
    }
    return try plan(from: [(.newestCheckpoint, last.newestCheckpoint), (.olderCheckpoint, last.olderCheckpoint)])
  }

  /// The plan on the first of some checkpoints that holds; on the log alone when none does.
  func plan(from candidates: [(RecoveryPlan.Basis, UInt64)]) throws(DiskFailure) -> RecoveryPlan {
    for (basis, offset) in candidates where offset != 0 {
      guard let header = header(at: offset), header.kind == .checkpoint, payloadHolds(header),
        let payload = payload(of: header, limit: CheckpointContents.maximumByteCount),
        let contents = CheckpointContents(payload, at: offset)
      else {
        try checkRead()
        continue
      }
      var walk = LogWalk(self, from: contents)
      if walk.advance(through: header) {
        walk.plan.basis = basis
        walk.plan.checkpoint = contents
        walk.plan.checkpointEnd = header.next
        var plan = try finish(&walk)
        if basis == .olderCheckpoint {
          // The newer one was passed on the way, but it did not serve: frames to come name the one that did.
          plan.newestCheckpoint = header.offset
          plan.olderCheckpoint = header.olderCheckpoint
        }
        return plan
      }
      try checkRead()
    }
    return try planFromStart()
  }

  /// The plan that uses no tree of the file.
  func planFromStart() throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    var walk = LogWalk(self)
    return try finish(&walk)
  }

  /// What came behind a place that was reached before.
  func plan(continuing place: CheckpointContents) throws(DiskFailure) -> RecoveryPlan {
    lookAgain()
    var walk = LogWalk(self, from: place)
    return try finish(&walk)
  }

  /// What a walk says when a read failed on the way means nothing.
  private func finish(_ walk: inout LogWalk) throws(DiskFailure) -> RecoveryPlan {
    walk.advanceToEnd()
    try checkRead()
    return walk.plan
  }
}

/// Walks frame by frame and keeps what the plan needs to know.
private struct LogWalk {
  let log: LogReader
  var plan = RecoveryPlan()
  private var offset: UInt64
  private var number: UInt64
  private var sequence: UInt64
  /// Nil behind a damaged frame: its header's checksum is not known.
  private var previous: UInt64?
  private var parts: [FrameHeader] = []
  private var unproven: [(offset: UInt64, number: UInt64, kind: FrameHeader.Kind)] = []

  init(_ log: LogReader) {
    self.log = log
    offset = UInt64(FileHeader.byteCount)
    number = 1
    sequence = 0
    previous = 0
  }

  init(_ log: LogReader, from contents: CheckpointContents) {
    self.log = log
    offset = contents.freezeOffset
    number = contents.freezeNumber
    sequence = contents.freezeSequence
    previous = contents.freezePrevious
    plan.startOffset = offset
    plan.startSequence = sequence
    plan.end = offset
    plan.lastSequence = sequence
    // The checkpoint was written after everything before its freeze position was durable.
    plan.provenThrough = number - 1
  }

  /// Walks up to and including a checkpoint; false if any frame on the way does not hold.
  mutating func advance(through checkpoint: FrameHeader) -> Bool {
    while offset <= checkpoint.offset {
      guard let header = expectedHeader(), holds(header) else { return false }
      accept(header)
    }
    return plan.last?.offset == checkpoint.offset
  }

  mutating func advanceToEnd() {
    while true {
      if let header = expectedHeader() {
        if holds(header) {
          accept(header)
          continue
        }
        if header.kind != .commit, header.end <= log.end {
          // A damaged part is judged with its commit; other kinds carry no truth. The length can be trusted.
          stepOver(to: header.next, number: header.number + 1, previous: header.checksum)
          continue
        }
        if header.kind != .commit {
          // The file was cut inside this frame. What looks like a frame there lies inside it, and must not count now: once
          // the file has grown, the length would be trusted, and lead over what was appended meanwhile.
          plan.ending = .torn
          plan.discardsFrames = log.nextHeader(from: offset + 8) != nil
          break
        }
        stop(lostNumber: header.number, from: header.end <= log.end ? header.next : offset + 8)
        break
      }
      guard let next = log.nextHeader(from: offset + 8), next.number > number else {
        // From the last frame that counts: damaged ones that were stepped over at the very end go as well.
        if plan.end < log.end, log.hasContent(in: plan.end..<log.end) { plan.ending = .torn }
        break
      }
      if next.kind == .commit ? follows(next) : next.sequence == sequence {
        stepOver(to: next.offset, number: next.number, previous: nil)
      } else {
        stop(lostNumber: number, from: next.offset)
        break
      }
    }
    unproven.removeAll { $0.number <= plan.provenThrough }
    plan.firstUnproven = unproven.first?.offset
    plan.hasUnprovenTruth = unproven.contains { $0.kind.carriesTruth || $0.kind == .checkpoint }
  }

  /// The header at the present offset, if it continues this log.
  private func expectedHeader() -> FrameHeader? {
    guard let header = log.header(at: offset), header.number == number,
      previous == nil || header.previous == previous || isMutant("ignore-previous-link")
    else { return nil }
    return header
  }

  /// Whether a frame counts: payload, sequence, and for a commit all of its parts.
  private func holds(_ header: FrameHeader) -> Bool {
    switch header.kind {
    case .pages:
      return header.sequence == sequence && header.end <= log.end
    case .part, .checkpoint, .closed, .note, .superseded:
      return header.sequence == sequence && log.payloadHolds(header)
    case .commit:
      guard follows(header), log.payloadHolds(header) else { return false }
      return !header.hasParts || partsHold(of: header)
    }
  }

  /// Whether a commit is the next one. An image stands for all up to its own sequence.
  private func follows(_ commit: FrameHeader) -> Bool {
    commit.sequence == sequence + 1 || commit.isImage && sequence == 0
  }

  private func partsHold(of commit: FrameHeader) -> Bool {
    guard let payload = log.payload(of: commit, limit: PartList.encodedByteCount), let list = PartList(payload),
      let first = parts.firstIndex(where: { $0.number == list.firstNumber && $0.offset == list.firstOffset }),
      parts.count - first == Int(clamping: list.count)
    else { return false }
    return PartList.checksum(parts[first...].map(\.payloadChecksum)) == list.checksum || isMutant("ignore-parts-checksum")
  }

  private mutating func accept(_ header: FrameHeader) {
    switch header.kind {
    case .commit:
      sequence = header.sequence
      parts.removeAll()
    case .part:
      parts.append(header)
    case .checkpoint:
      plan.olderCheckpoint = header.olderCheckpoint
      plan.newestCheckpoint = header.offset
      plan.tellsOfDamagedPage = false
    case .note:
      // A note with a payload names a page that failed its check.
      if header.payloadByteCount > 0 { plan.tellsOfDamagedPage = true }
    case .pages:
      plan.pageFrameByteCount += header.next - header.offset
    case .closed, .superseded:
      // `superseded` means nothing to whoever finds it under the file's name: the rename did not happen.
      break
    }
    unproven.append((header.offset, header.number, header.kind))
    if header.durableThrough > plan.provenThrough {
      plan.provenThrough = header.durableThrough
      unproven.removeAll { $0.number <= header.durableThrough }
    }
    plan.last = header
    plan.lastSequence = sequence
    offset = header.next
    number = header.number + 1
    previous = header.checksum
    plan.end = offset
  }

  private mutating func stepOver(to target: UInt64, number: UInt64, previous: UInt64?) {
    plan.skips[offset] = target
    offset = target
    self.number = number
    self.previous = previous
  }

  /// A commit is damaged or missing: its frame number is `lostNumber` at the lowest.
  private mutating func stop(lostNumber: UInt64, from start: UInt64) {
    var isRotten = false
    // Commits between the gap and the next frame that holds are lost.
    var newestLost: UInt64?
    var position = start
    while let header = log.nextHeader(from: position) {
      position = header.end <= log.end ? header.next : header.offset + 8
      guard header.number > lostNumber || header.number == number else { continue }
      plan.discardsFrames = true
      if header.durableThrough >= lostNumber, !isMutant("call-rot-torn") { isRotten = true }
      if newestLost == nil { newestLost = header.kind == .commit ? header.sequence - 1 : header.sequence }
    }
    plan.ending = isRotten ? .rotten(lost: sequence + 1...max(newestLost ?? 0, sequence + 1)) : .torn
  }
}
