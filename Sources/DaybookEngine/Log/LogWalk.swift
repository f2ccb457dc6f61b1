/// Decides which part of a log is valid: walks it frame by frame, and says where it ends and whether what is invalid there is
/// *torn* (an unacknowledged write that a crash cut off) or *corrupt* (acknowledged data that was damaged later).
///
///     checkpoint ─► frames that are valid ─► a frame that is not
///                                            ├─ without data, sequences on both sides equal or adjacent:    stepped over
///                                            ├─ a later frame's `durableThrough` covers it:                 corrupt
///                                            └─ no later frame does:                                        torn
///
/// A frame whose `durableThrough` covers another proves that the other was acknowledged. `stop` decides; then the plan is compared
/// with the length that the first page names (`RecoveryPlan+Length.swift`: cut short), and beside a live writer cut to what that
/// one has proven (`RecoveryPlan+Proven.swift`).
struct LogWalk {
  let log: LogReader
  var plan = RecoveryPlan()
  /// Where the next frame is expected: behind the last one that counts, or behind a damaged stretch.
  private var offset: UInt64
  private var number: UInt64
  /// Nil behind a damaged frame: its header's checksum is not known.
  private var previous: UInt64?
  private var sequence: UInt64 { plan.end.sequence }
  private var parts: [FrameHeader] = []
  /// Frames that count and are not proven yet, in order. Those before `firstUnprovenIndex` have been proven since, and are
  /// removed from time to time: a log of ten million commits that prove each other is walked in the memory of a few hundred.
  private var unproven: [Unproven] = []
  private var firstUnprovenIndex = 0
  private static let mostProvenCount = 256

  private struct Unproven {
    /// Behind the frame.
    var position: LogPosition
    var kind: FrameHeader.Kind
  }

  /// How many frames there is memory for.
  var unprovenCapacity: Int { unproven.capacity }

  init(_ log: LogReader, from start: LogPosition, provenThrough: UInt64) {
    self.log = log
    offset = start.offset
    number = start.number
    previous = start.previous
    plan.start = start
    plan.end = start
    plan.lastCommitEnd = start
    plan.provenEnd = start
    plan.provenCommitEnd = start
    plan.provenThrough = provenThrough
  }

  /// Walks up to and including a checkpoint; false if any frame on the way is invalid.
  mutating func advance(through checkpoint: FrameHeader) -> Bool {
    while offset <= checkpoint.offset {
      guard let header = expectedHeader(), isValid(header) else { return false }
      accept(header)
    }
    return plan.last?.offset == checkpoint.offset
  }

  mutating func advanceToEnd() {
    while true {
      if let header = expectedHeader() {
        if isValid(header) {
          accept(header)
          continue
        }
        if header.kind != .commit, header.end <= log.end {
          // A damaged part is judged with its commit; other kinds carry no data. The length can be trusted, so skip the frame.
          stepOver(to: header.next, number: header.number + 1, previous: header.checksum)
          continue
        }
        if header.kind != .commit {
          // The file was cut inside this frame. Anything inside it that looks like a frame must not count now: when the file
          // has grown, the length would be trusted, and would skip what was appended in the meantime.
          plan.ending = .torn
          plan.discardsFrames = log.nextHeader(from: offset + 8) != nil
          break
        }
        stop(lostNumber: header.number, from: header.end <= log.end ? header.next : offset + 8)
        break
      }
      guard let next = log.nextHeader(from: offset + 8), next.number > number else {
        // From the last frame that counts: damaged frames that were skipped at the very end are discarded, too.
        if plan.end.offset < log.end, log.hasContent(in: plan.end.offset..<log.end) { plan.ending = .torn }
        break
      }
      if next.kind == .commit ? follows(next) : next.sequence == sequence {
        stepOver(to: next.offset, number: next.number, previous: nil)
      } else {
        stop(lostNumber: number, from: next.offset)
        break
      }
    }
    passProven()
    let rest = unproven[firstUnprovenIndex...]
    plan.firstUnproven = rest.first?.position.lastFrameOffset
    plan.hasUnprovenData = rest.contains { $0.kind.carriesData || $0.kind == .checkpoint }
  }

  /// The header at the present offset, if it continues this log.
  private func expectedHeader() -> FrameHeader? {
    guard let header = log.header(at: offset), header.number == number,
      previous == nil || header.previous == previous || isMutant("ignore-previous-link")
    else { return nil }
    return header
  }

  /// Whether a frame counts: payload, sequence, and for a commit all of its parts.
  private func isValid(_ header: FrameHeader) -> Bool {
    switch header.kind {
    case .pages:
      return header.sequence == sequence && header.end <= log.end
    case .part, .checkpoint, .closed, .note, .superseded, .declarations, .later:
      return header.sequence == sequence && log.isPayloadValid(header)
    case .commit:
      guard follows(header), log.isPayloadValid(header) else { return false }
      return !header.hasParts || partsHold(of: header)
    }
  }

  /// Whether a commit has the next sequence. An image stands for all commits up to its own.
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
      parts.removeAll()
    case .part:
      parts.append(header)
    case .declarations:
      plan.declarationsThrough = header.sequence
    case .checkpoint:
      plan.passesCheckpoint = true
    case .note:
      // A note with a payload names a page that failed its check.
      if header.payloadByteCount > 0 { plan.tellsOfDamagedPage = true }
    case .pages, .closed, .superseded, .later:
      // A `superseded` frame in a file that still has its name means nothing: the rename did not happen.
      break
    }
    plan.last = header
    plan.end.move(over: header)
    unproven.append(Unproven(position: plan.end, kind: header.kind))
    if header.durableThrough > plan.provenThrough {
      plan.provenThrough = header.durableThrough
      passProven()
    }
    if header.kind == .commit { plan.lastCommitEnd = plan.end }
    (offset, number, previous) = (plan.end.offset, plan.end.number, plan.end.previous)
  }

  /// Numbers ascend, so each frame is passed once, whatever a forged file claims to be durable.
  private mutating func passProven() {
    while firstUnprovenIndex < unproven.count, unproven[firstUnprovenIndex].position.number - 1 <= plan.provenThrough {
      plan.provenEnd = unproven[firstUnprovenIndex].position
      if unproven[firstUnprovenIndex].kind == .commit { plan.provenCommitEnd = plan.provenEnd }
      firstUnprovenIndex += 1
    }
    if firstUnprovenIndex >= LogWalk.mostProvenCount, firstUnprovenIndex >= unproven.count / 2 {
      unproven.removeSubrange(..<firstUnprovenIndex)
      firstUnprovenIndex = 0
    }
  }

  private mutating func stepOver(to target: UInt64, number: UInt64, previous: UInt64?) {
    plan.skips[offset] = target
    offset = target
    self.number = number
    self.previous = previous
  }

  /// A commit is damaged or missing: its frame number is at least `lostNumber`.
  private mutating func stop(lostNumber: UInt64, from start: UInt64) {
    var proof: UInt64?
    // Commits between the gap and the next valid frame are lost.
    var newestLost: UInt64?
    var position = start
    while let header = log.nextHeader(from: position) {
      position = header.end <= log.end ? header.next : header.offset + 8
      guard header.number > lostNumber || header.number == number else { continue }
      plan.discardsFrames = true
      if proof == nil, header.durableThrough >= lostNumber, !isMutant("call-corruption-torn") { proof = header.checksum }
      if newestLost == nil { newestLost = header.kind == .commit ? header.sequence - 1 : header.sequence }
    }
    plan.corruptionProof = proof
    plan.ending = proof != nil ? .corrupt(lost: sequence + 1...max(newestLost ?? 0, sequence + 1)) : .torn
  }
}
