/// Where the file of a log has no blocks: such a hole reads as zeros, and searches need not read it.
///
///     frames │ hole, as long as somebody has claimed ┊ maybe a page of something │ hole
///            └──── read so far ────┘┄┄ passed over ┄┄┘
///
/// A file may claim to be terabytes long and take a page of the disk. What looks for something in it (a header, the end of
/// the log) asks here when it has read nothing but misses for a while: a file that a writer has left has no holes, and is
/// never asked about. One that turns out to have any is asked about more often.
///
/// Some file systems have called bytes a hole that had been written and not synced yet (OpenZFS before 2.2.2, APFS). So the file
/// is synced before such an answer counts; and whether the next frame stands where the last one ends, and what is in it, is
/// always read, never concluded from here.
///
/// Always true: what is passed over would have been read as zeros. So every search finds what it would have found without.
final class LogHoles {
  /// How much is searched before the first question: four times the zeros that a writer prepares.
  static let usualByteCount = 4 * Int(LogTail.mostZeros)
  /// How much is searched before further ones, once there was a hole; shorter holes are read.
  static let shortByteCount = 64 << 10

  private let file: any DiskFile
  /// How much is searched between questions now, and the shortest hole that is passed over.
  private(set) var stepByteCount: Int
  private let shortStepByteCount: Int
  private var isSynced = false

  /// Nil for a file in which nothing is worth a question.
  /// - Parameter stepByteCount: a multiple of eight.
  static func ofLog(_ file: any DiskFile, byteCount: Int, stepByteCount: Int = usualByteCount) -> LogHoles? {
    byteCount > stepByteCount && !isMutant("read-holes") ? LogHoles(file, stepByteCount: stepByteCount) : nil
  }

  private init(_ file: any DiskFile, stepByteCount: Int) {
    self.file = file
    self.stepByteCount = stepByteCount
    shortStepByteCount = min(stepByteCount, LogHoles.shortByteCount)
  }

  /// The file may have been written to since.
  func forget() { isSynced = false }

  /// The end of the hole that begins at `position` or before; `position` where there is none, or a short one.
  func end(ofHoleFrom position: Int, limit: Int) -> Int {
    func end() -> Int { max(position, min(file.contentStart(from: position), limit)) }
    guard end() - position >= shortStepByteCount, sync() else { return position }
    return end()
  }

  /// Where the hole begins that ends at `upper` or behind, to a page; `upper` where there is none, or a short one.
  ///
  /// File systems tell of holes forwards only: the place is found by halving, with some forty questions in a file of terabytes.
  func start(ofHoleBefore upper: Int, limit lower: Int) -> Int {
    func isHole(from position: Int) -> Bool { file.contentStart(from: position) >= upper }
    var start = upper - shortStepByteCount
    guard start >= lower, isHole(from: start), sync(), isHole(from: start) else { return upper }
    if isHole(from: lower) { return lower }
    // Content lies behind `content`, none behind `start`.
    var content = lower
    while start - content > Page.byteCount {
      let middle = content + (start - content) / 2
      if isHole(from: middle) { start = middle } else { content = middle }
    }
    return start
  }

  /// There is a hole, if what was written and not synced does not hide it.
  private func sync() -> Bool {
    if !isSynced {
      do { try file.sync(.full) } catch { return false }
      isSynced = true
    }
    stepByteCount = shortStepByteCount
    return true
  }

  /// One search, which asks now and then.
  struct Search {
    private let holes: LogHoles?
    /// Where the next question is due.
    private var next: Int

    init(_ holes: LogHoles?, from position: Int) {
      self.holes = holes
      next = holes.map { position &+ $0.stepByteCount } ?? .max
    }

    init(_ holes: LogHoles?, before position: Int) {
      self.holes = holes
      next = holes.map { position &- $0.stepByteCount } ?? .min
    }

    /// How much is looked at before the search comes by again: a multiple of eight.
    var pieceByteCount: Int { holes?.stepByteCount ?? .max }

    /// How far a search that has come to `position` may go on without reading.
    mutating func end(ofHoleFrom position: Int, limit: Int) -> Int {
      guard let holes, position >= next, position < limit else { return position }
      let end = holes.end(ofHoleFrom: position, limit: limit)
      next = end &+ holes.stepByteCount
      return end
    }

    /// The same backwards.
    mutating func start(ofHoleBefore position: Int, limit: Int) -> Int {
      guard let holes, position <= next, position > limit else { return position }
      let start = holes.start(ofHoleBefore: position, limit: limit)
      next = start &- holes.stepByteCount
      return start
    }
  }
}
