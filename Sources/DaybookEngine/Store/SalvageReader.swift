/// Reads what still holds of a damaged file, without its trees and, if need be, without its first page.
///
/// `RecoveryPlan` stops at the first acknowledged commit that is damaged, because a log with a hole is no prefix. Salvage
/// goes on behind it: it visits every commit that holds, in order, and of a damaged one the operations that still match
/// their own checksums. What no later frame proves durable is treated as in recovery: behind a torn write nothing counts.
/// Of a file that was cut short, everything before the length that it names was durable; the parts of a last transaction
/// without their commit are read as far as they hold (`SalvageReader+CutFile`).
///
///     file ─► header, or its copy in a checkpoint ─► every frame that holds ─► commits, whole or in pieces
///
/// Only reads, with `pread`, because a dying disk is one of the things that it is for: what the disk does not give counts as
/// damaged. Any content is allowed; a length that the file claims is held against the file before anything is allocated.
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
    /// Bytes that are missing at the end of a file that was cut short.
    package var missingByteCount: UInt64 = 0
    /// Bytes that the disk did not give.
    package var unreadableByteCount = 0

    mutating func add(_ range: ClosedRange<UInt64>) {
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
    private let operations: LoggedOperations
    package let isWhole: Bool
    /// Its tombstones are of records that are nowhere in the file.
    package let isImage: Bool

    init(sequence: UInt64, operations: LoggedOperations, isWhole: Bool, isImage: Bool = false) {
      self.sequence = sequence
      self.operations = operations
      self.isWhole = isWhole
      self.isImage = isImage
    }

    package var count: Int { operations.count }

    /// An operation, valid until the next is asked for, during the visit. Nil when it cannot be read a second time.
    package func operation(_ index: Int) -> ByteView? {
      let place = operations.places[index]
      guard let bytes = try? operations.bytes(index),
        Operation.checksum(bytes, salt: operations.log.salt, offset: place.offset) == bytes.uint64(at: 0)
      else { return nil }
      return bytes
    }
  }

  private let file: any DiskFile

  /// The rights and owners of the file that is read, whatever has its name by now.
  package func fileAttributes() throws(DiskFailure) -> FileAttributes { try file.attributes() }

  let log: LogReader
  private let window: LogWindow
  /// Of the file's header: a compacted file begins with an image.
  let generation: UInt64
  /// All before it was durable once.
  private let leastEnd: UInt64
  package internal(set) var losses = Losses()
  package var byteCount: UInt64 { log.end }

  /// - Parameter path: resolved; a link that has taken the last name since then is not followed.
  /// - Throws: `.locked` while a writer has the file; `.header` when neither the first page nor any checkpoint names the
  ///   file's salt.
  package convenience init(_ path: String, disk: any Disk) throws(StoreError) {
    try self.init(path, disk: disk, holeStepByteCount: LogHoles.usualByteCount)
  }

  /// - Parameter holeStepByteCount: how much is searched before the file is asked for its holes.
  init(_ path: String, disk: any Disk, holeStepByteCount: Int) throws(StoreError) {
    do {
      file = try Store.openFile(path, .readOnly, disk: disk)
      guard try file.tryLock(.readers, .shared), try file.tryLock(.writer, .shared) else {
        file.close()
        throw StoreError.locked(path: path)
      }
      window = LogWindow(
        file, byteCount: try file.byteCount(), passesOverFailures: true, holeStepByteCount: holeStepByteCount)
      let firstPage = 0..<min(FileHeader.byteCount, window.byteCount)
      var header: FileHeader
      do throws(FileHeader.Fault) {
        guard let page = window.view(firstPage) else { throw .notADatabase }
        header = try FileHeader(page)
      } catch {
        if case .formatTooNew = error { throw StoreError.header(error) }
        guard let copy = SalvageReader.headerOfCheckpoint(in: window) else { throw StoreError.header(error) }
        header = copy
        // It has a checksum of its own.
        header.leastByteCount = window.view(firstPage).flatMap { ClosedLength.read($0, salt: copy.salt) } ?? 0
        losses.usedHeaderCopy = true
      }
      leastEnd = header.leastByteCount
      log = LogReader(window, salt: header.salt)
      generation = header.generation
    } catch let error as StoreError {
      throw error
    } catch {
      throw .disk(error as! DiskFailure)
    }
  }

  deinit { file.close() }

  /// The first copy of the header whose checkpoint frame holds with its salt.
  private static func headerOfCheckpoint(in window: LogWindow) -> FileHeader? {
    let byteCount = FrameHeader.byteCount + FileHeader.meaningfulByteCount
    var offset = FileHeader.byteCount
    var search = LogHoles.Search(window.holes, from: offset)
    while offset + byteCount <= window.byteCount {
      defer { offset = search.end(ofHoleFrom: offset + 8, limit: window.byteCount) & ~7 }
      guard let bytes = window.view(offset..<offset + byteCount) else { return nil }
      guard bytes.uint32(at: 0) == FrameHeader.magic, bytes[4] == FrameHeader.Kind.checkpoint.rawValue,
        let found = try? FileHeader(meaningful: bytes.dropFirst(FrameHeader.byteCount))
      else { continue }
      let log = LogReader(window, salt: found.salt)
      guard let header = log.header(at: UInt64(offset)), CheckpointContents.mayStand(after: header) else { continue }
      if log.isPayloadValid(header) { return found }
    }
    return nil
  }

  // MARK: the walk

  /// Visits every commit of which something holds, in order.
  /// - Parameter progress: called with the bytes that were walked; false ends the walk with `.refused`.
  package func forEachCommit(
    progress: (UInt64) -> Bool, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    defer { losses.unreadableByteCount = window.unreadableByteCount }
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
        if walk.number + 1 > provenThrough, gap.lowerBound >= leastEnd {
          losses.hasTornTail = true
          return
        }
        if !walk.parts.isEmpty { walk.missesParts = true }
        try visitGap(gap, before: header, &walk, visit)
      }
      walk.number = header.number
      switch header.kind {
      case .part:
        walk.parts.append(header)
        walk.imagePieces.append(pieces(of: header))
      case .commit:
        if isValid(header, walk.parts) {
          if !header.isImage { noteLost(through: header.sequence - 1, &walk) }
          try visitWhole(header, walk.parts, visit)
        } else if header.number > provenThrough, header.offset >= leastEnd {
          losses.hasTornTail = true
          return
        } else {
          noteLost(through: header.sequence, &walk)
          if let parts = partsWithoutList(of: header, walk) {
            try visitInOrder(parts + [header], header.sequence, visit)
          } else {
            for range in piecesBefore(header, walk) + [pieces(of: header)] {
              try visitPieces(range, header.sequence, isImage: header.isImage, visit)
            }
          }
        }
        walk.sequence = max(walk.sequence, header.sequence)
        walk.parts.removeAll()
        walk.imagePieces.removeAll()
        walk.missesParts = false
      case .pages, .checkpoint, .closed, .note, .superseded:
        noteLost(through: header.sequence, &walk)
      }
    }
    let rest = min(offset, log.end)..<log.end
    let hasRest = log.hasContent(in: rest)
    if hasRest { losses.damagedByteCount += log.contentEnd(from: rest.lowerBound) - rest.lowerBound }
    if offset < leastEnd {
      losses.missingByteCount = leastEnd - (log.end < leastEnd ? log.end : offset)
      try visitUnfinished(walk, visit)
    } else if hasRest {
      losses.hasTornTail = true
    }
  }

  struct Walk {
    var number: UInt64 = 0
    var sequence: UInt64 = 0
    /// Since the last commit.
    var parts: [FrameHeader] = []
    /// Stretches that belong to the image, if this file has one.
    var imagePieces: [Range<Int>] = []
    /// A frame is missing since the first of the parts, which may have been one.
    var missesParts = false
  }

  /// Where the operations of a frame stand. One that reaches beyond the file ends in front of the next that holds, which is
  /// visited for itself: in a forged file thousands may lie in one another, and each would give all that lies in it.
  func pieces(of header: FrameHeader) -> Range<Int> {
    var end = Int(min(header.end, log.end))
    if header.end > log.end, !isMutant("salvage-nested-frames"), let next = log.nextHeader(from: header.offset + 8) {
      end = Int(next.offset)
    }
    return min(Int(header.payloadOffset) + (header.hasParts ? PartList.encodedByteCount : 0), end)..<end
  }

  /// What belongs to a damaged commit besides its own frame: all before an image; of another commit the parts that it
  /// names. Where its list of parts is gone and one of them may be, too, others may be those of a transaction that never ended.
  private func piecesBefore(_ commit: FrameHeader, _ walk: Walk) -> [Range<Int>] {
    if commit.isImage { return walk.imagePieces }
    guard commit.hasParts, log.isPayloadValid(commit),
      let payload = log.payload(of: commit, limit: PartList.encodedByteCount), let list = PartList(payload)
    else { return [] }
    return walk.parts.filter { $0.number >= list.firstNumber }.map { pieces(of: $0) }
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

  private func isValid(_ commit: FrameHeader, _ parts: [FrameHeader]) -> Bool {
    guard log.isPayloadValid(commit) else { return false }
    if !commit.hasParts { return true }
    return named(by: commit, parts) != nil
  }

  /// The parts that a commit names, when all of them are there and hold.
  private func named(by commit: FrameHeader, _ parts: [FrameHeader]) -> ArraySlice<FrameHeader>? {
    guard let payload = log.payload(of: commit, limit: PartList.encodedByteCount), let list = PartList(payload),
      let first = parts.firstIndex(where: { $0.number == list.firstNumber && $0.offset == list.firstOffset }),
      parts.count - first == Int(clamping: list.count), parts[first...].allSatisfy({ log.isPayloadValid($0) }),
      PartList.checksum(parts[first...].map(\.payloadChecksum)) == list.checksum
    else { return nil }
    return parts[first...]
  }

  private func visitWhole(
    _ commit: FrameHeader, _ parts: [FrameHeader], _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    if commit.isImage { return try visitImage(commit, parts, visit) }
    let frames = commit.hasParts ? Array(named(by: commit, parts) ?? []) + [commit] : [commit]
    let operations: LoggedOperations
    do { operations = try log.operations(of: frames) } catch {
      // Sound checksums around absurd lengths: nobody's commit.
      losses.add(commit.sequence...commit.sequence)
      return
    }
    try visit(Commit(sequence: commit.sequence, operations: operations, isWhole: true))
  }

  /// An image may be larger than what one transaction can hold: it comes frame by frame, the last one as the whole.
  private func visitImage(
    _ commit: FrameHeader, _ parts: [FrameHeader], _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    for frame in (commit.hasParts ? Array(named(by: commit, parts) ?? []) : []) + [commit] {
      let operations: LoggedOperations
      do { operations = try log.operations(of: [frame]) } catch {
        losses.add(commit.sequence...commit.sequence)
        return
      }
      let isLast = frame.number == commit.number
      try visit(Commit(sequence: commit.sequence, operations: operations, isWhole: isLast, isImage: true))
    }
  }

  // MARK: pieces

  /// A gap in the frame numbers. Where exactly one frame is missing and the sequences say that it was a commit, its
  /// operations are looked for.
  private func visitGap(
    _ gap: Range<UInt64>, before next: FrameHeader, _ walk: inout Walk, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    let lost = next.kind == .commit ? next.sequence - 1 : next.sequence
    let isOneCommit = next.number == walk.number + 2 && lost == walk.sequence + 1
    let isImage = generation > 1 && walk.sequence == 0
    noteLost(through: lost, &walk)
    let start = gap.lowerBound + UInt64(FrameHeader.byteCount)
    let list = walk.parts.isEmpty ? 0 : PartList.encodedByteCount
    let range = Int(start)..<max(Int(start), Int(gap.upperBound))
    if isImage {
      walk.imagePieces.append(range)
      // The image's own last frame is lost.
      if lost > 0 {
        for range in walk.imagePieces { try visitPieces(range, lost, isImage: true, visit) }
        walk.imagePieces.removeAll()
      }
    } else if isOneCommit {
      try visitPieces(range.dropFirst(list), lost, visit)
    }
  }

  func visitPieces(
    _ range: Range<Int>, _ sequence: UInt64, isImage: Bool = false, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    let operations = LoggedOperations(places: operationsThatHold(in: range).places, log: log)
    if operations.count == 0 { return }
    if losses.partialSequences.last != sequence { losses.partialSequences.append(sequence) }
    try visit(Commit(sequence: sequence, operations: operations, isWhole: false, isImage: isImage))
  }

  /// Operations that match their own checksums, wherever they begin. A checksum knows its place, so nothing but an
  /// operation of this file at this very offset passes.
  func operationsThatHold(in range: Range<Int>) -> (places: [Place], takeBack: Bool) {
    var result: [Place] = []
    var takeBack = false
    var position = range.lowerBound
    // Content made to look like long operations at every byte must not cost its square.
    var budget = 64 * min(range.count, 1 << 30) + max(0, min(range.count, 1 << 62) - 1 << 30) + (1 << 20)
    var search = log.search(from: position)
    while position + Operation.headerByteCount <= range.upperBound, budget > 0 {
      guard let candidate = candidate(at: position, before: range.upperBound) else {
        position += 1
        // The header of an operation may begin in a hole, with zeros.
        let end = search.end(ofHoleFrom: position, limit: range.upperBound)
        position = max(position, end - Operation.headerByteCount + 1)
        continue
      }
      budget -= candidate.byteCount
      let end = UInt64(position + candidate.byteCount)
      let seed = FrameHeader.seed(salt: log.salt, offset: UInt64(position))
      guard log.checksum(of: UInt64(position) + 8..<end, seed: seed) == candidate.checksum else {
        position += 1
        continue
      }
      if candidate.kind == Operation.rollbackKind {
        // Which operations a savepoint took back cannot be told when some before it are missing: keep none of them.
        result.removeAll()
        takeBack = true
      } else {
        result.append(Place(offset: UInt64(position), byteCount: UInt32(candidate.byteCount)))
      }
      position += candidate.byteCount
    }
    return (result, takeBack)
  }

  /// No store writes a longer one, and one that lies in a hole would be taken into memory.
  private static let longestOperation = 1 << 30

  func candidate(at position: Int, before end: Int) -> (byteCount: Int, kind: UInt8, checksum: UInt64)? {
    guard let head = log.view(position..<position + Operation.headerByteCount) else { return nil }
    let kind = head.uint32(at: 12)
    guard kind > 0, kind <= 255 else { return nil }
    let count = Operation.headerByteCount + Int(head.uint32(at: 8))
    guard count <= end - position, count <= SalvageReader.longestOperation else { return nil }
    return (count, UInt8(kind), head.uint64(at: 0))
  }
}
