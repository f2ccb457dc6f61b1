/// Reads what is still valid of a damaged file, without its trees and, if necessary, without its first page.
///
/// `RecoveryPlan` stops at the first damaged acknowledged commit, because a log with a hole is not a prefix. Salvage continues
/// behind it: it visits every valid commit, in order, and in a damaged one the operations that still match their checksums.
/// What no later frame proves durable is treated as in recovery: behind a torn write nothing counts. In a file that was cut
/// short, everything before the length that it names was durable; the parts of a last transaction without their commit are read
/// as far as they are valid (`SalvageReader+CutFile`).
///
///     file ─► header, or its copy in a checkpoint ─► every frame that holds ─► commits, whole or in pieces
///
/// It only reads, with `pread`, because it is also meant for dying disks: bytes that cannot be read count as damaged. Any
/// content is allowed; a length in the file is compared with the file's size before memory is allocated.
@safe package final class SalvageReader {
  /// What could not be read.
  package struct Losses: Sendable, Equatable {
    /// Whether the first page was damaged and a checkpoint's copy of it was used.
    package var usedHeaderCopy = false
    /// Commits of which something is missing, ascending.
    package var sequences: [ClosedRange<UInt64>] = []
    /// Those of which some operations were read.
    package var partialSequences: [UInt64] = []
    /// Bytes other than zeros between valid frames.
    package var damagedByteCount: UInt64 = 0
    /// Whether an unfinished write at the end was left out, as in recovery.
    package var hasTornTail = false
    /// Bytes that are missing at the end of a file that was cut short.
    package var missingByteCount: UInt64 = 0
    /// Bytes that the disk could not read.
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
    /// Whether it is an image; its tombstones belong to records that are nowhere in the file.
    package let isImage: Bool

    init(sequence: UInt64, operations: LoggedOperations, isWhole: Bool, isImage: Bool = false) {
      self.sequence = sequence
      self.operations = operations
      self.isWhole = isWhole
      self.isImage = isImage
    }

    package var count: Int { operations.count }

    /// Where an operation is in the damaged file.
    package func place(_ index: Int) -> Place { operations.places[index] }

    /// An operation, valid during the visit until the next call. Nil when it cannot be read a second time.
    package func operation(_ index: Int) -> ByteView? {
      try? operations.bytes(index)
    }
  }

  private let file: any DiskFile

  /// The rights and owners of the file that is read, even if its name leads elsewhere by now.
  package func fileAttributes() throws(DiskFailure) -> FileAttributes { try file.attributes() }

  let log: LogReader
  private let window: LogWindow
  /// The generation in the header: a compacted file begins with an image.
  let generation: UInt64
  /// Everything before this offset was durable.
  private let leastEnd: UInt64
  /// For each number whether a search takes it for a kind of operation.
  let isKind: [Bool]
  package internal(set) var losses = Losses()
  package var byteCount: UInt64 { log.end }

  /// - Parameters:
  ///   - path: resolved; a link that has taken the last name since then is not followed.
  ///   - kinds: what a search takes for an operation of the layer above. The fewer, the farther it comes.
  /// - Throws: `.locked` while a writer has the file open; `.header` when neither the first page nor a frame gives the file's salt.
  package convenience init(_ path: String, disk: any Disk, kinds: [UInt8] = Array(1...127)) throws(StoreError) {
    try self.init(path, disk: disk, kinds: kinds, holeStepByteCount: LogHoles.usualByteCount)
  }

  /// - Parameter holeStepByteCount: how much is searched before the file is asked for its holes.
  init(_ path: String, disk: any Disk, kinds: [UInt8] = Array(1...127), holeStepByteCount: Int) throws(StoreError) {
    isKind = (0...UInt8.max).map { $0 == Operation.rollbackKind || kinds.contains($0) }
    do {
      file = try Store.openFile(path, .readOnly, disk: disk)
      guard try file.tryLock(.readers, .shared), try file.tryLock(.writer, .shared) else {
        file.close()
        throw StoreError.locked(path: path)
      }
      window = LogWindow(
        file, byteCount: try file.byteCount(), passesOverFailures: true, holeStepByteCount: holeStepByteCount)
      let firstPage = 0..<min(FileHeader.byteCount, window.byteCount)
      var basis: Basis
      do throws(FileHeader.Fault) {
        guard let page = window.view(firstPage) else { throw .notADatabase }
        basis = Basis(try FileHeader(page))
      } catch {
        if case .formatTooNew = error { throw StoreError.header(error) }
        guard let found = try Basis.ofLog(in: window) else { throw StoreError.header(error) }
        basis = found
        // The closed length has a checksum of its own.
        basis.leastByteCount = window.view(firstPage).flatMap { ClosedLength.read($0, salt: found.salt) } ?? 0
        losses.usedHeaderCopy = true
      }
      leastEnd = basis.leastByteCount
      log = LogReader(window, salt: basis.salt)
      generation = basis.generation
    } catch let error as StoreError {
      throw error
    } catch {
      throw .disk(error as! DiskFailure)
    }
  }

  deinit { file.close() }

  // MARK: the walk

  /// Visits every commit of which something is valid, in order.
  /// - Parameter progress: called with the number of bytes walked; false ends the walk with `.refused`.
  package func forEachCommit(
    progress: (UInt64) -> Bool, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    defer { losses.unreadableByteCount = window.unreadableByteCount }
    let provenThrough = log.highestProof(from: UInt64(FileHeader.byteCount), after: 0)
    var walk = Walk()
    var offset = UInt64(FileHeader.byteCount)
    var last: FrameHeader?
    while let header = log.nextFrame(from: offset, after: walk.number) {
      last = header
      guard progress(header.offset) else { throw .refused(reason: "the salvage was cancelled") }
      let gap = offset..<header.offset
      offset = log.offset(after: header)
      let hasGap = header.number != walk.number + 1
      if hasGap || gap.lowerBound < gap.upperBound && log.hasContent(in: gap) {
        losses.damagedByteCount += UInt64(gap.count)
      }
      if hasGap {
        // A missing frame that nothing proves durable was being written when the power failed.
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
        walk.partsAreOver = false
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
          } else if let parts = partsOfList(header, walk) {
            try visitInOrder(parts.frames + [header], areAll: parts.areAll, header.sequence, visit)
          } else {
            for range in (header.isImage ? walk.imagePieces : []) + [pieces(of: header)] {
              try visitPieces(range, header.sequence, isImage: header.isImage, visit)
            }
          }
        }
        walk.sequence = max(walk.sequence, header.sequence)
        walk.parts.removeAll()
        walk.imagePieces.removeAll()
        walk.missesParts = false
      case .checkpoint, .closed, .note, .superseded, .declarations:
        // A transaction has the turn until its commit, so these end one that was rolled back.
        walk.partsAreOver = !isMutant("salvage-rolled-back-parts")
        noteLost(through: header.sequence, &walk)
      case .pages, .later:
        noteLost(through: header.sequence, &walk)
      }
    }
    let rest = min(offset, log.end)..<log.end
    let hasRest = log.hasContent(in: rest)
    if hasRest { losses.damagedByteCount += log.contentEnd(from: rest.lowerBound) - rest.lowerBound }
    // A copy that broke off may have the header of its last frame, whatever its kind, and zeros where the payload ended. One may be all.
    if let last, last.offset < leastEnd, last.next >= leastEnd, last.end <= log.end, !log.isPayloadValid(last),
      !log.hasContent(in: last.end - min(last.payloadByteCount, 1)..<last.end)
    {
      offset = last.payloadOffset
    }
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
    /// The parts since the last commit.
    var parts: [FrameHeader] = []
    /// Whether a frame follows the parts that no transaction lets come between them and their commit: that there is none.
    var partsAreOver = false
    /// The ranges that belong to the image, if the file has one.
    var imagePieces: [Range<Int>] = []
    /// Whether a frame is missing since the first of the parts; it may have been a part, too.
    var missesParts = false
  }

  /// The range of a frame's operations. One that reaches beyond the file ends in front of the next that holds, which is visited
  /// for itself: in a forged file thousands may lie in one another, and each would give all that lies in it.
  func pieces(of header: FrameHeader) -> Range<Int> {
    var end = Int(min(header.end, log.end))
    if header.end > log.end, !isMutant("salvage-nested-frames"), let next = log.nextHeader(from: header.offset + 8) {
      end = Int(next.offset)
    }
    return min(Int(header.payloadOffset) + (header.hasParts ? PartList.encodedByteCount : 0), end)..<end
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

  /// The parts that a commit names, if all of them are valid.
  func named(by commit: FrameHeader, _ parts: [FrameHeader]) -> ArraySlice<FrameHeader>? {
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
      // Valid checksums around absurd lengths: no writer made this commit.
      losses.add(commit.sequence...commit.sequence)
      return
    }
    try visit(Commit(sequence: commit.sequence, operations: operations, isWhole: true))
  }

  /// An image may be larger than what one transaction can hold, so it is visited frame by frame; the last visit completes it.
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

  /// Visits a gap in the frame numbers. If exactly one frame is missing and the sequences say that it was a commit, searches
  /// for its operations.
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
}
