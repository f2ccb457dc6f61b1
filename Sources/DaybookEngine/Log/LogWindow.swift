/// A stretch of a file in memory, for reading a log that is not mapped: it moves along with the reader.
///
///     ┌───────────────┬═══════════════┬──────────────────────┐
///     │  was read     │    window     │  will be read        │
///     └───────────────┴═══════════════┴──────────────────────┘
///
/// Views into it are valid until the next call. What is longer than the window (an operation may be) gets a window of its
/// length for as long as it is looked at; lengths have been held against the file by then.
///
/// For a salvage, what the disk does not give stands as zeros, which are nothing, and is counted. Otherwise a read that
/// fails makes every further view nil until somebody has taken the failure: the walks of a log go on in their
/// own way when bytes make no sense, and whoever started them asks before using what they found.
@safe final class LogWindow {
  static let usualByteCount = TestSetting.isBuffered ? 8 << 10 : 256 << 10

  let byteCount: Int
  let holes: LogHoles?
  private let file: any DiskFile
  /// How many bytes of zeros at the end need not be in the file: the gap behind its last frame.
  private let gapByteCount: Int
  private let buffer = ByteBuffer(capacity: LogWindow.usualByteCount)
  private var start = 0
  private(set) var failure: DiskFailure?
  private let passesOverFailures: Bool
  /// The blocks that the disk did not give.
  private var unreadable: Set<Int> = []
  var unreadableByteCount: Int { unreadable.count * Page.byteCount }

  /// - Parameter byteCount: where the file ends, for this reader.
  init(
    _ file: any DiskFile, byteCount: Int, gapByteCount: Int = 0, passesOverFailures: Bool = false,
    holeStepByteCount: Int = LogHoles.usualByteCount
  ) {
    holes = LogHoles.ofLog(file, byteCount: byteCount, stepByteCount: holeStepByteCount)
    self.file = file
    self.passesOverFailures = passesOverFailures
    self.gapByteCount = gapByteCount
    self.byteCount = byteCount
  }

  /// The bytes of a range of the file.
  func view(_ range: Range<Int>) -> ByteView? {
    guard isInside(range) || fill(from: range.lowerBound, atLeast: range.count) else { return nil }
    return buffer.view.slice(range.lowerBound - start..<range.upperBound - start)
  }

  /// As many bytes from `lower` on as are there, at least some.
  func view(from lower: Int, atLeast count: Int) -> ByteView? {
    guard isInside(lower..<lower + count) || fill(from: lower, atLeast: count) else { return nil }
    return buffer.view.dropFirst(lower - start)
  }

  /// As many bytes before `upper` as are there, at least some.
  func view(before upper: Int, atLeast count: Int) -> ByteView? {
    if !isInside(upper - count..<upper) {
      // Some more behind it, because headers are read from where they begin.
      let wanted = max(count, LogWindow.usualByteCount - FrameHeader.byteCount)
      guard fill(from: max(0, upper - wanted), atLeast: upper - max(0, upper - wanted)) else { return nil }
    }
    return buffer.view.prefix(upper - start)
  }

  private func isInside(_ range: Range<Int>) -> Bool {
    failure == nil && range.lowerBound >= start && range.upperBound <= start + buffer.count
  }

  private func fill(from lower: Int, atLeast count: Int) -> Bool {
    precondition(lower >= 0 && count >= 0 && lower + count <= byteCount, "a log is read inside its file")
    if failure != nil { return false }
    let wanted = min(max(count, LogWindow.usualByteCount), byteCount - lower)
    buffer.removeAll(keeping: LogWindow.usualByteCount)
    buffer.reserve(wanted)
    start = lower
    do throws(DiskFailure) {
      // Safe: the buffer has room for them.
      buffer.count = unsafe try file.read(into: buffer.base, count: wanted, at: lower)
      if buffer.count < wanted, lower + buffer.count + gapByteCount >= byteCount {
        buffer.append(zeros: wanted - buffer.count)
      }
      let received = buffer.count
      if received >= count { return true }
      buffer.count = 0
      throw DiskFailure.endOfFile(file.path, at: lower + received, missing: count - received)
    } catch {
      buffer.count = 0
      if passesOverFailures {
        fillBlockwise(from: lower, count: wanted)
        return true
      }
      failure = error
      return false
    }
  }

  private func fillBlockwise(from lower: Int, count: Int) {
    var position = lower
    while position < lower + count {
      let block = position / Page.byteCount
      let piece = min((block + 1) * Page.byteCount, lower + count) - position
      // Safe: room for all of it was reserved.
      let received = unsafe try? file.read(into: buffer.base + buffer.count, count: piece, at: position)
      if received == piece {
        buffer.count += piece
      } else {
        unreadable.insert(block)
        buffer.append(zeros: piece)
      }
      position += piece
    }
  }

  /// What is in memory may have changed in the file meanwhile.
  func forget() { buffer.count = 0 }

  /// The failure since the last time, which is over with that.
  func takeFailure() -> DiskFailure? {
    defer { failure = nil }
    return failure
  }
}
