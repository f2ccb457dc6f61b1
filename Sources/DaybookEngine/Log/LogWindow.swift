/// A part of a file in memory, for reading a log that is not mapped. It moves along with the reader.
///
///     ┌───────────────┬═══════════════┬──────────────────────┐
///     │  was read     │    window     │  will be read        │
///     └───────────────┴═══════════════┴──────────────────────┘
///
/// Views into it are valid until the next call. For something longer than the window, such as a long operation, the window
/// grows for that read; its length was compared with the file before.
///
/// For a salvage, bytes that the disk cannot read count as zeros, which mean nothing, and are counted. Otherwise a failed read
/// makes every further view nil until the failure is taken: walks of a log end by themselves when bytes make no sense, and
/// their caller asks for the failure before it uses what they found.
@safe final class LogWindow {
  static let usualByteCount = TestSetting.keepsLittle ? 8 << 10 : 256 << 10

  let byteCount: Int
  let holes: LogHoles?
  private let file: any DiskFile
  /// How many zeros at the end may be missing from the file: the gap behind its last frame.
  private let gapByteCount: Int
  private let buffer = ByteBuffer(capacity: LogWindow.usualByteCount)
  private var start = 0
  private(set) var failure: DiskFailure?
  private let passesOverFailures: Bool
  /// The blocks that the disk could not read.
  private var unreadable: Set<Int> = []
  var unreadableByteCount: Int { unreadable.count * Page.byteCount }

  /// - Parameter byteCount: the end of the file for this reader.
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

  /// As many bytes from `lower` on as there are, but at least `count`.
  func view(from lower: Int, atLeast count: Int) -> ByteView? {
    guard isInside(lower..<lower + count) || fill(from: lower, atLeast: count) else { return nil }
    return buffer.view.dropFirst(lower - start)
  }

  /// As many bytes before `upper` as there are, but at least `count`.
  func view(before upper: Int, atLeast count: Int) -> ByteView? {
    if !isInside(upper - count..<upper) {
      // Some more bytes behind it, because headers are read from their first byte on.
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

  /// Drops what is in memory: the file may have changed in the meantime.
  func forget() { buffer.count = 0 }

  /// Returns and clears the failure, if a read has failed.
  func takeFailure() -> DiskFailure? {
    defer { failure = nil }
    return failure
  }
}
