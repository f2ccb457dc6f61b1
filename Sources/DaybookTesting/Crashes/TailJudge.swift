/// Decides what recovery must do with a damaged log. It knows the undamaged one: which frames were written, and which of their
/// bytes differ now. It verifies no checksum and searches for nothing, so it shares no mistake with `RecoveryPlan`.
///
///     written   c1  c2  n3  c4  c5  c6        c commit, n note; c6 says durableThrough = 4
///     found     c1  c2  n3  ▒▒  c5  c6        c4 damaged, c6 covers it: corrupt, commits 1 and 2 can be read
///     found     c1  c2  n3  c4  ▒▒  c6        c5 damaged, nobody covers it: torn, the log ends with c4
import DaybookEngine

struct TailJudge {
  enum Verdict: Hashable, CustomStringConvertible {
    /// The log ends with this commit; nothing acknowledged is missing.
    case ends(UInt64)
    /// This commit was acknowledged and is damaged.
    case corrupt(UInt64)
    /// The log ends with this commit, before the length that a close has recorded.
    case cut(UInt64)

    var description: String {
      switch self {
      case .ends(let sequence): "ends with commit \(sequence)"
      case .corrupt(let sequence): "commit \(sequence) is corrupt"
      case .cut(let sequence): "is cut short behind commit \(sequence)"
      }
    }
  }

  let frames: [WrittenFrame]
  /// The length that the last close has recorded.
  private let leastEnd: Int
  private let foundByteCount: Int
  private var hasHeader: [Bool] = []
  private var isWhole: [Bool] = []
  /// Damage that no walk needs to notice, because it lies before the start of replay or inside pages.
  private(set) var hasDamagedPages = false

  init(_ frames: [WrittenFrame], written: [UInt8], found: [UInt8], leastEnd: Int) {
    self.frames = frames
    self.leastEnd = leastEnd
    foundByteCount = found.count
    for frame in frames {
      func equals(_ range: Range<Int>) -> Bool {
        range.upperBound <= min(found.count, written.count) && written[range].elementsEqual(found[range])
      }
      let header = equals(frame.offset..<frame.offset + 96)
      let whole = header && equals(frame.offset..<frame.end)
      hasHeader.append(header)
      isWhole.append(whole)
      if frame.isPages && !whole { hasDamagedPages = true }
    }
  }

  /// Whether some commit or part at or before a sequence is damaged, wherever replay starts.
  func hasDamagedData(through sequence: UInt64) -> Bool {
    frames.indices.contains { frames[$0].kind <= 2 && !isWhole[$0] && frames[$0].sequence <= sequence }
  }

  /// Whether the header of some frame after the first `count` is as it was written.
  func hasHeader(after count: Int) -> Bool { hasHeader.dropFirst(count).contains(true) }

  /// The allowed verdicts: one, except for damaged pages, which are only noticed when they are used.
  var verdicts: Set<Verdict> {
    guard let last = frames.indices.last(where: { hasHeader[$0] }) else { return [leastEnd > 4096 ? .cut(0) : .ends(0)] }
    var verdicts: Set<Verdict> = []
    for checkpoint in [frames[last].newestCheckpoint, frames[last].olderCheckpoint] where checkpoint != 0 {
      guard let index = frames.firstIndex(where: { $0.offset == Int(checkpoint) }),
        let start = frames.firstIndex(where: { $0.number == frames[index].named }),
        (start...index).allSatisfy({ frames[$0].isPages ? hasHeader[$0] : isWhole[$0] })
      else { continue }
      verdicts.formUnion(walk(from: start))
      if !hasDamagedPages { return verdicts }
    }
    verdicts.formUnion(walk(from: 0))
    return verdicts
  }

  private func walk(from start: Int) -> Set<Verdict> {
    var sequence = frames[start].isCommit ? frames[start].sequence - 1 : frames[start].sequence
    for index in frames.indices[start...] where frames[index].isCommit {
      let commit = frames[index]
      if isHeld(index) {
        sequence = commit.sequence
        continue
      }
      if covers(commit.number, after: index) { return [.corrupt(commit.sequence)] }
      // Frames without headers cannot be told apart: if one of those just before it was acknowledged, this one may have been,
      // too.
      var first = index
      while first > start, !hasHeader[first - 1] { first -= 1 }
      let isDoubtful = !hasHeader[index] && first < index && covers(frames[first].number, after: index)
      let end = end(sequence, from: start, before: index)
      return isDoubtful ? [.corrupt(commit.sequence), end] : [end]
    }
    return [end(sequence, from: start, before: frames.endIndex)]
  }

  /// The verdict if the walk counts no frame from `stop` on.
  private func end(_ sequence: UInt64, from start: Int, before stop: Int) -> Verdict {
    let last = frames.indices[start..<stop].last {
      frames[$0].isPages ? hasHeader[$0] && frames[$0].end <= foundByteCount : isWhole[$0]
    }
    let end = last.map { frames[$0].next } ?? frames[start].offset
    return end < leastEnd ? .cut(sequence) : .ends(sequence)
  }

  /// Commits that a frame with a valid header proves durable: the undamaged ones and the damaged ones.
  var acknowledgedCommits: (whole: Set<UInt64>, damaged: Set<UInt64>) {
    let proven = frames.indices.filter { hasHeader[$0] }.map { min(frames[$0].durableThrough, frames[$0].number - 1) }.max()
    var whole: Set<UInt64> = []
    var damaged: Set<UInt64> = []
    for index in frames.indices where frames[index].isCommit && frames[index].number <= proven ?? 0 {
      if isHeld(index) { whole.insert(frames[index].sequence) } else { damaged.insert(frames[index].sequence) }
    }
    return (whole, damaged)
  }

  /// Whether a commit and all its parts are as they were written.
  private func isHeld(_ index: Int) -> Bool {
    let commit = frames[index]
    return isWhole[index]
      && frames.indices.allSatisfy {
        let isPart = commit.named != 0 && frames[$0].kind == 2 && frames[$0].number >= commit.named && $0 < index
        return !isPart || isWhole[$0]
      }
  }

  private func covers(_ number: UInt64, after index: Int) -> Bool {
    frames.indices[(index + 1)...].contains { hasHeader[$0] && frames[$0].durableThrough >= number }
  }

  /// The newest commit that can be lost when this one is; known exactly if the next header is valid.
  func newestLost(_ sequence: UInt64) -> UInt64? {
    guard let index = frames.firstIndex(where: { $0.isCommit && $0.sequence == sequence }), index + 1 < frames.count,
      hasHeader[index + 1]
    else { return nil }
    return sequence
  }
}
