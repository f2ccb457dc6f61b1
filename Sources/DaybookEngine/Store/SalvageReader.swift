/// Reads what still holds of a damaged file, without its trees and, if need be, without its first page.
///
/// `RecoveryPlan` stops at the first acknowledged commit that is damaged, because a log with a hole is no prefix. Salvage
/// goes on behind it: it visits every commit that holds, in order, and of a damaged one the operations that still match
/// their own checksums. What no later frame proves durable is treated as in recovery: behind a torn write nothing counts.
///
///     file ─► header, or its copy in a checkpoint ─► every frame that holds ─► commits, whole or in pieces
///
/// Only reads. Any content is allowed; nothing is allocated by a length that the file claims.
@safe package final class SalvageReader {
  /// What could not be read.
  package struct Losses: Sendable, Equatable {
    /// The first page was damaged, and a checkpoint's copy of it served.
    package var usedHeaderCopy = false
    /// Commits of which something is missing, ascending.
    package var sequences: [ClosedRange<UInt64>] = []
    /// Those of them of which some operations were read.
    package var partialSequences: [UInt64] = []
    /// Bytes between frames that hold, where something else than zeros stands.
    package var damagedByteCount: UInt64 = 0
    /// An unfinished write at the end was left out, as recovery would.
    package var hasTornTail = false

    fileprivate mutating func add(_ range: ClosedRange<UInt64>) {
      if let last = sequences.last, last.upperBound + 1 >= range.lowerBound {
        sequences[sequences.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        sequences.append(range)
      }
    }
  }

  /// One commit, or what is left of it.
  package struct Commit {
    package let sequence: UInt64
    /// Valid during the visit.
    package let operations: [ByteView]
    package let isWhole: Bool

    package init(sequence: UInt64, operations: [ByteView], isWhole: Bool) {
      self.sequence = sequence
      self.operations = operations
      self.isWhole = isWhole
    }
  }

  private let file: any DiskFile
  private let log: LogReader
  package private(set) var losses = Losses()
  package var byteCount: UInt64 { log.end }

  /// - Throws: `.locked` while a writer has the file; `.header` when neither the first page nor any checkpoint names the
  ///   file's salt.
  package init(_ path: String, disk: any Disk) throws(StoreError) {
    do {
      file = try disk.open(path, .readOnly)
      guard try file.tryLock(.readers, .shared), try file.tryLock(.writer, .shared) else {
        file.close()
        throw StoreError.locked(path: path)
      }
      let byteCount = try file.byteCount()
      try file.map(through: byteCount)
      // Safe: mapped on the line above, and the file stays open as long as this object.
      let bytes = unsafe ByteView(file.base, count: byteCount)
      do { log = LogReader(bytes, salt: try FileHeader(bytes).salt) } catch {
        if case .formatTooNew = error { throw StoreError.header(error) }
        guard let salt = SalvageReader.saltOfCheckpoint(in: bytes) else { throw StoreError.header(error) }
        log = LogReader(bytes, salt: salt)
        losses.usedHeaderCopy = true
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw .disk(error as! DiskFailure)
    }
  }

  deinit { file.close() }

  /// The salt in the first copy of the header whose checkpoint frame holds with it.
  private static func saltOfCheckpoint(in bytes: ByteView) -> UInt64? {
    var offset = FileHeader.byteCount
    while offset + FrameHeader.byteCount + FileHeader.meaningfulByteCount <= bytes.count {
      defer { offset += 8 }
      guard bytes.uint32(at: offset) == FrameHeader.magic, bytes[offset + 4] == FrameHeader.Kind.checkpoint.rawValue
      else { continue }
      let copy = bytes.slice(offset + FrameHeader.byteCount..<offset + FrameHeader.byteCount + FileHeader.meaningfulByteCount)
      guard let salt = try? FileHeader(meaningful: copy).salt else { continue }
      let log = LogReader(bytes, salt: salt)
      if let header = log.header(at: UInt64(offset)), log.payloadHolds(header) { return salt }
    }
    return nil
  }

  // MARK: the walk

  /// Visits every commit of which something holds, in order.
  /// - Parameter progress: called with the bytes that were walked; false ends the walk with `.refused`.
  package func forEachCommit(
    progress: (UInt64) -> Bool, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    let provenThrough = highestProof()
    var walk = Walk()
    var offset = UInt64(FileHeader.byteCount)
    while let header = nextFrame(from: offset, after: walk.number) {
      guard progress(header.offset) else { throw .refused(reason: "the salvage was cancelled") }
      let gap = offset..<header.offset
      offset = header.end <= log.end ? header.next : header.offset + 8
      let hasGap = header.number != walk.number + 1
      if hasGap || gap.lowerBound < gap.upperBound && log.hasContent(in: gap) {
        losses.damagedByteCount += UInt64(gap.count)
      }
      if hasGap {
        // A frame that nothing proves durable, and that is missing, was being written when the power failed.
        if walk.number + 1 > provenThrough {
          losses.hasTornTail = true
          return
        }
        try visitGap(gap, before: header, &walk, visit)
      }
      walk.number = header.number
      switch header.kind {
      case .part: walk.parts.append(header)
      case .commit:
        if holds(header, walk.parts) {
          noteLost(through: header.sequence - 1, &walk)
          try visitWhole(header, walk.parts, visit)
        } else if header.number > provenThrough {
          losses.hasTornTail = true
          return
        } else {
          noteLost(through: header.sequence, &walk)
          let range = Int(header.payloadOffset)..<Int(min(header.end, log.end))
          // The parts of a commit whose list of parts is gone may be those of a transaction that never ended.
          try visitPieces(range, startsWithParts: header.hasParts, header.sequence, visit)
        }
        walk.sequence = max(walk.sequence, header.sequence)
        walk.parts.removeAll()
      case .pages, .checkpoint, .closed, .note:
        noteLost(through: header.sequence, &walk)
      }
    }
    let rest = min(offset, log.end)..<log.end
    if log.hasContent(in: rest) {
      losses.damagedByteCount += log.contentEnd(from: rest.lowerBound) - rest.lowerBound
      losses.hasTornTail = true
    }
  }

  private struct Walk {
    var number: UInt64 = 0
    var sequence: UInt64 = 0
    var parts: [FrameHeader] = []
  }

  /// The next frame that holds and was written after frame `number`.
  private func nextFrame(from start: UInt64, after number: UInt64) -> FrameHeader? {
    var offset = start
    while let header = log.header(at: offset) ?? log.nextHeader(from: offset) {
      if header.number > number { return header }
      offset = header.offset + 8
    }
    return nil
  }

  /// The highest frame number that some frame says is durable.
  private func highestProof() -> UInt64 {
    var proven: UInt64 = 0
    var number: UInt64 = 0
    var offset = UInt64(FileHeader.byteCount)
    while let header = nextFrame(from: offset, after: number) {
      // A frame can only speak of those before it.
      proven = max(proven, min(header.durableThrough, header.number - 1))
      number = header.number
      offset = header.end <= log.end ? header.next : header.offset + 8
    }
    return proven
  }

  private func noteLost(through sequence: UInt64, _ walk: inout Walk) {
    if sequence > walk.sequence {
      losses.add(walk.sequence + 1...sequence)
      walk.sequence = sequence
    }
  }

  private func holds(_ commit: FrameHeader, _ parts: [FrameHeader]) -> Bool {
    guard log.payloadHolds(commit) else { return false }
    if !commit.hasParts { return true }
    return named(by: commit, parts) != nil
  }

  /// The parts that a commit names, when all of them are there and hold.
  private func named(by commit: FrameHeader, _ parts: [FrameHeader]) -> ArraySlice<FrameHeader>? {
    guard let payload = log.payload(of: commit), let list = PartList(payload),
      let first = parts.firstIndex(where: { $0.number == list.firstNumber && $0.offset == list.firstOffset }),
      parts.count - first == Int(clamping: list.count), parts[first...].allSatisfy({ log.payloadHolds($0) }),
      PartList.checksum(parts[first...].map(\.payloadChecksum)) == list.checksum
    else { return nil }
    return parts[first...]
  }

  private func visitWhole(
    _ commit: FrameHeader, _ parts: [FrameHeader], _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    let frames = commit.hasParts ? Array(named(by: commit, parts) ?? []) + [commit] : [commit]
    let operations: [(Place, ByteView)]
    do { operations = try log.operations(of: frames) } catch {
      // Sound checksums around absurd lengths: nobody's commit.
      losses.add(commit.sequence...commit.sequence)
      return
    }
    try visit(Commit(sequence: commit.sequence, operations: operations.map { $0.1 }, isWhole: true))
  }

  // MARK: pieces

  /// A gap in the frame numbers. Where exactly one frame is missing and the sequences say that it was a commit, its
  /// operations are looked for.
  private func visitGap(
    _ gap: Range<UInt64>, before next: FrameHeader, _ walk: inout Walk, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    defer { walk.parts.removeAll() }
    let lost = next.kind == .commit ? next.sequence - 1 : next.sequence
    let isOneCommit = next.number == walk.number + 2 && lost == walk.sequence + 1
    noteLost(through: lost, &walk)
    let start = gap.lowerBound + UInt64(FrameHeader.byteCount)
    guard isOneCommit, start < gap.upperBound else { return }
    try visitPieces(Int(start)..<Int(gap.upperBound), startsWithParts: !walk.parts.isEmpty, lost, visit)
  }

  private func visitPieces(
    _ range: Range<Int>, startsWithParts: Bool, _ sequence: UInt64, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    let operations = operationsThatHold(in: startsWithParts ? range.dropFirst(PartList.encodedByteCount) : range)
    if operations.isEmpty { return }
    losses.partialSequences.append(sequence)
    try visit(Commit(sequence: sequence, operations: operations, isWhole: false))
  }

  /// Operations that match their own checksums, wherever they begin. A checksum knows its place, so nothing but an
  /// operation of this file at this very offset passes.
  private func operationsThatHold(in range: Range<Int>) -> [ByteView] {
    var result: [ByteView] = []
    var position = range.lowerBound
    // Content made to look like long operations at every byte must not cost its square.
    var budget = 64 * range.count + (1 << 20)
    while position + Operation.headerByteCount <= range.upperBound, budget > 0 {
      guard let operation = candidate(at: position, before: range.upperBound) else {
        position += 1
        continue
      }
      budget -= operation.count
      guard Operation.checksum(operation, salt: log.salt, offset: UInt64(position)) == operation.uint64(at: 0) else {
        position += 1
        continue
      }
      if Operation.kind(operation) == Operation.forgetKind {
        // Which operations a savepoint took back cannot be told when some before it are missing: keep none of them.
        result.removeAll()
      } else {
        result.append(operation)
      }
      position += operation.count
    }
    return result
  }

  private func candidate(at position: Int, before end: Int) -> ByteView? {
    let kind = log.bytes.uint32(at: position + 12)
    guard kind > 0, kind <= 255 else { return nil }
    let count = Operation.headerByteCount + Int(log.bytes.uint32(at: position + 8))
    return count <= end - position ? log.bytes.slice(position..<position + count) : nil
  }
}
