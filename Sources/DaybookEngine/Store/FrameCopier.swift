/// Copies the log of a sound file frame by frame into a new file, each to its own offset, and the trees with it: what a backup does
/// where nothing has to change.
///
///     source   header │ commit │ pages │ checkpoint │ commit │ closed │ commit │     and changed pages in memory
///     copy     header │ commit │ pages │ checkpoint │ commit │ note   │ commit │ pages │ checkpoint
///                     └────────── the same bytes at the same offsets ──────────┘ └─ of the version that is copied
///
/// Places of operations, references between pages and links between versions are offsets, so they stay right, and no tree is built
/// again. What changes in a frame are the checksums, which know the salt of their file, and what repeats such a checksum: the
/// chain of headers, the list of a commit's parts, and where the replay of a checkpoint starts. A `closed` frame becomes a note, which
/// says the same of the frames before it: the first `closed` frame of a copy says that all of it is there (`UnfinishedMark`).
///
/// Always true: bytes get a new checksum only in memory of our own, after they have matched their old one there. What is not the
/// log of a sound file ends the copy without an error, because who copies the commits one by one knows what it is.
final class FrameCopier {
  /// Longer frames have an operation that is as long; they are left to a copy that needs no memory for all of it.
  private static let longestPayload: UInt64 = 64 << 20
  private static let writtenByteCount = 256 << 10
  /// The disk is given so much at a time while the copy goes on, so that the sync at its end has less to wait for.
  private static let sentByteCount: UInt64 = 2 << 20
  private static let pagesPerFrame = 62

  private let store: Store
  private let log: LogReader
  private let version: Version
  private let target: any DiskFile
  private let header: FileHeader
  /// Whether an operation of a kind may be copied as it is.
  private let isCopied: [Bool]

  /// What is not written yet, and where it goes.
  private let output = ByteBuffer(capacity: 2 * writtenByteCount)
  private var outputOffset = LogPosition.start.offset
  private var sentOffset: UInt64 = 0
  /// After the same frame in the source and in the copy: they differ in the checksum to chain to.
  private var sourceEnd = LogPosition.start
  private var end = LogPosition.start
  /// The last frame of the copy.
  private var last: FrameHeader?
  /// The parts since the last commit: as they were, and the checksums of their payloads now.
  private var parts: [(source: FrameHeader, payloadChecksum: UInt64)] = []
  private var pageFrameByteCount: UInt64 = 0
  private var hasMetPosition = false

  /// Where the changed pages are in the copy.
  private var places: [UInt64: UInt64] = [:]
  /// Where the frame begins in `output` to which pages are being added, and how many it has.
  private var pageFrame: (start: Int, pageCount: Int)?
  private let scratch = ByteBuffer(capacity: Page.byteCount)

  /// - Parameters:
  ///   - version: pinned as long as this lives.
  ///   - target: has its first page, and nothing after it.
  init(_ store: Store, _ version: Version, to target: any DiskFile, copies: (_ kind: UInt8) -> Bool) throws(StoreError) {
    self.store = store
    self.version = version
    self.target = target
    log = store.logReader(upTo: version.end)
    let page = try Store.onDisk(call: try Store.firstPage(of: target))
    do throws(FileHeader.Fault) { header = try FileHeader(page.view) } catch { throw .header(error) }
    isCopied = (0...255).map { $0 == Operation.rollbackKind || copies($0) }
  }

  /// Copies all of a version. The last frame, a checkpoint, is not synced.
  /// - Parameter progress: called before each commit, and before each part of one, with its sequence; an error that it throws ends the
  ///   copy.
  /// - Returns: false where the log is not copied in this way.
  func copy(_ progress: (UInt64) throws(StoreError) -> Void) throws(StoreError) -> Bool {
    // The pages of a reader's trees may be after its last commit, in frames that change nothing else.
    while sourceEnd.offset < version.end {
      guard isPinnedLog, try copyFrame(progress), !isMostlyOldPages else { return false }
      if output.count >= FrameCopier.writtenByteCount { try write() }
    }
    guard isPinnedLog, sourceEnd.sequence == version.sequence else { return false }
    do throws(StoreError) { try appendCheckpoint() } catch .page { return false }
    return true
  }

  /// Whether the version's position is where it was, as far as the copy has come.
  private var isPinnedLog: Bool {
    let position = version.position
    if sourceEnd.offset > position.offset { return hasMetPosition }
    guard sourceEnd.offset == position.offset else { return true }
    hasMetPosition = sourceEnd.number == position.number && sourceEnd.previous == position.previous
    return hasMetPosition
  }

  /// A copy of the commits alone would be less than half as long.
  private var isMostlyOldPages: Bool {
    let used = version.pageCount &* UInt64(Page.byteCount)
    return pageFrameByteCount > used && pageFrameByteCount - used > version.end / 2
  }

  private func write() throws(StoreError) {
    try Store.onDisk { () throws(DiskFailure) in try target.write(output.view, at: Int(outputOffset)) }
    outputOffset += UInt64(output.count)
    if outputOffset - sentOffset >= FrameCopier.sentByteCount {
      target.beginWriteBack(Int(sentOffset)..<Int(outputOffset))
      sentOffset = outputOffset
    }
    output.removeAll(keeping: 2 * FrameCopier.writtenByteCount)
  }

  // MARK: frames

  private func read(_ range: Range<UInt64>) throws(StoreError) {
    try Store.onDisk { () throws(DiskFailure) in
      try log.forEachPiece(of: range) { (piece) throws(DiskFailure) in output.append(piece) }
    }
  }

  /// Copies the next frame; false where it is not sound, or of a kind that is not copied.
  private func copyFrame(_ progress: (UInt64) throws(StoreError) -> Void) throws(StoreError) -> Bool {
    let start = output.count
    let limit = version.end
    guard limit - sourceEnd.offset >= UInt64(FrameHeader.byteCount) else { return false }
    try read(sourceEnd.offset..<sourceEnd.offset + UInt64(FrameHeader.byteCount))
    guard let source = FrameHeader(output.view.dropFirst(start), salt: log.salt, offset: sourceEnd.offset),
      source.number == sourceEnd.number, source.previous == sourceEnd.previous,
      source.payloadByteCount <= FrameCopier.longestPayload, source.next <= limit
    else { return false }
    if source.kind == .commit {
      guard source.sequence == sourceEnd.sequence + 1 || source.isImage && sourceEnd.sequence == 0 else { return false }
      try progress(source.sequence)
    } else if source.sequence != sourceEnd.sequence {
      return false
    } else if source.kind == .part || source.kind == .pages {
      // An image is one commit, and may be most of the file.
      try progress(sourceEnd.sequence + 1)
    }
    // All of the frame at once: growing to it step by step would copy what is there, and take twice the memory.
    output.reserve(Int(source.next - source.payloadOffset))
    try read(source.payloadOffset..<source.end)
    guard try reseal(source, from: start) else { return false }
    var copy = source
    if source.kind == .closed, !isMutant("copy-closed-frames") { copy.kind = .note }
    append(&copy, from: start)
    if source.kind == .pages { pageFrameByteCount += source.next - source.offset }
    if source.kind == .part { parts.append((source, copy.payloadChecksum)) }
    if source.kind == .commit { parts.removeAll() }
    sourceEnd.move(over: source)
    return true
  }

  /// Completes a frame at the end of the copy.
  private func append(_ frame: inout FrameHeader, from start: Int) {
    frame.previous = end.previous
    frame.seal(into: output, from: start, salt: header.salt)
    output.append(zeros: Int(frame.next - frame.end))
    end.move(over: frame)
    last = frame
  }

  /// Checks what is in a frame, and gives it the checksums of the copy. The frame's own come afterwards.
  private func reseal(_ frame: FrameHeader, from start: Int) throws(StoreError) -> Bool {
    let payload = start + FrameHeader.byteCount
    // Each page has its own checksum.
    if frame.kind != .pages, !isMutant("copy-frames-unverified") {
      let seed = FrameHeader.seed(salt: log.salt, offset: frame.offset)
      guard XXH3.hash(output.view.dropFirst(payload), seed: seed) == frame.payloadChecksum else { return false }
    }
    switch frame.kind {
    case .commit, .part, .declarations:
      var first = payload
      if frame.hasParts {
        first += PartList.encodedByteCount
        guard first <= output.count else { return false }
        if frame.kind == .commit {
          guard replacePartList(at: payload) else { return false }
        }
      }
      return resealOperations(first..<output.count, offset: frame.payloadOffset + UInt64(first - payload))
    case .pages:
      return resealPages(frame, payload)
    case .checkpoint:
      return try replaceCheckpoint(frame, payload)
    case .closed, .note, .superseded:
      return true
    case .later:
      // What it means in a copy only a later version knows.
      return false
    }
  }

  private func replacePartList(at payload: Int) -> Bool {
    guard let list = PartList(output.view.dropFirst(payload)),
      let first = parts.firstIndex(where: { $0.source.number == list.firstNumber && $0.source.offset == list.firstOffset }),
      parts.count - first == Int(clamping: list.count),
      PartList.checksum(parts[first...].map(\.source.payloadChecksum)) == list.checksum
    else { return false }
    output.set(uint64: PartList.checksum(parts[first...].map(\.payloadChecksum)), at: payload + 24)
    return true
  }

  private func resealOperations(_ range: Range<Int>, offset: UInt64) -> Bool {
    let bytes = output.view
    var position = range.lowerBound
    while position < range.upperBound {
      let headEnd = min(position + Operation.longHeaderByteCount, range.upperBound)
      guard let head = Operation.Head(bytes.slice(position..<headEnd)), head.byteCount <= range.upperBound - position,
        isCopied[Int(head.kind)]
      else { return false }
      let operation = bytes.slice(position..<position + head.byteCount)
      let place = offset + UInt64(position - range.lowerBound)
      guard Operation.isSound(operation, salt: log.salt, offset: place) || isMutant("copy-frames-unverified") else {
        return false
      }
      output.set(uint64: Operation.checksum(operation, salt: header.salt, offset: place), at: position)
      position += head.byteCount
    }
    return true
  }

  private func resealPages(_ frame: FrameHeader, _ payload: Int) -> Bool {
    let first = (frame.payloadOffset + UInt64(Page.byteCount - 1)) & ~UInt64(Page.byteCount - 1)
    guard first <= frame.end, (frame.end - first) % UInt64(Page.byteCount) == 0 else { return false }
    var position = payload
    while position < payload + Int(first - frame.payloadOffset) {
      output.set(uint64: 0, at: position)
      position += 8
    }
    var offset = first
    while offset < frame.end {
      // Safe: the frame has a whole page from here on.
      let page = unsafe Page(output.base + position)
      guard page.verify(salt: log.salt, offset: offset) == nil || isMutant("copy-frames-unverified") else { return false }
      page.sealChecksum(salt: header.salt, offset: offset)
      position += Page.byteCount
      offset += UInt64(Page.byteCount)
    }
    return true
  }

  // MARK: checkpoints

  private func replaceCheckpoint(_ frame: FrameHeader, _ payload: Int) throws(StoreError) -> Bool {
    guard CheckpointContents.mayStand(after: frame),
      var contents = CheckpointContents(output.view.dropFirst(payload), at: frame.offset),
      let start = try copied(contents.replayStart)
    else { return false }
    contents.replayStart = start
    output.truncate(to: payload)
    contents.append(to: output, header: header)
    return output.count - payload == Int(frame.payloadByteCount)
  }

  /// The same position in the copy; nil where the frame before it is not found.
  private func copied(_ position: LogPosition) throws(StoreError) -> LogPosition? {
    if position.offset == end.offset { return position.number == end.number ? end : nil }
    if position.offset == LogPosition.start.offset { return .start }
    guard position.offset < end.offset, let before = store.logReader(upTo: position.offset).lastHeader() else { return nil }
    let bytes = ByteBuffer(capacity: FrameHeader.byteCount)
    if before.offset >= outputOffset {
      let start = Int(before.offset - outputOffset)
      bytes.append(output.view.slice(start..<start + FrameHeader.byteCount))
    } else {
      try Store.onDisk { () throws(DiskFailure) in
        // Safe: the buffer has room for a header.
        bytes.count = unsafe try target.read(into: bytes.base, count: FrameHeader.byteCount, at: Int(before.offset))
      }
    }
    return FrameHeader(bytes.view, salt: header.salt, offset: before.offset).flatMap { position.following($0) }
  }

  /// Writes the pages that the version has in memory, and a checkpoint that names its trees: replay starts after all commits.
  private func appendCheckpoint() throws(StoreError) {
    var roots = version.roots.array
    for index in roots.indices { roots[index].reference = try place(of: roots[index].reference) }
    finishPages()
    try write()
    // A checkpoint is in a file only after what it names, and says that this is durable.
    try Store.onDisk { () throws(DiskFailure) in try target.sync(.full) }
    let contents = CheckpointContents(
      replayStart: end, pageCount: version.pageCount, liveByteCount: version.liveByteCount, roots: roots)
    var checkpoint = nextFrame(.checkpoint)
    checkpoint.durableThrough = end.number - 1
    (checkpoint.newestCheckpoint, checkpoint.olderCheckpoint) = (end.offset, last?.newestCheckpoint ?? 0)
    output.append(zeros: FrameHeader.byteCount)
    contents.append(to: output, header: header)
    append(&checkpoint, from: 0)
    try write()
  }

  private func nextFrame(_ kind: FrameHeader.Kind) -> FrameHeader {
    var frame = FrameHeader(
      kind: kind, offset: end.offset, number: end.number, sequence: end.sequence, previous: end.previous,
      durableThrough: last?.durableThrough ?? 0, newestCheckpoint: last?.newestCheckpoint ?? 0,
      olderCheckpoint: last?.olderCheckpoint ?? 0)
    frame.fillsSectors = store.options.startsBatchesOnFreshSector
    return frame
  }

  // MARK: pages in memory

  /// Where a page is in the copy. One that is only in memory is written, children before parents. What a checkpoint of the source
  /// knows of it does not matter here: that one may have written it after the end of the copy.
  private func place(of reference: UInt64) throws(StoreError) -> UInt64 {
    guard reference & PageSource.memoryTag != 0 else { return reference }
    if let known = places[reference] { return known }
    if !LeafDelta.isDelta(reference) {
      var children: [UInt64] = []
      DirtyPage(reference).page.replaceReferences { child in
        children.append(child)
        return child
      }
      for child in children { _ = try place(of: child) }
    }
    let start = beginPage()
    let offset = outputOffset + UInt64(start)
    // Safe: room for a page; and the buffer has the page's bytes, and does not grow before they are written.
    let (work, page) = unsafe (Page(scratch.base), Page(output.base + start))
    do throws(PageFault) {
      try store.source.encode(
        reference, into: page, end: version.end, scratch: work, salt: header.salt, offset: offset
      ) { places[$0] ?? $0 }
    } catch { throw StoreError(error) }
    places[reference] = offset
    if let frame = pageFrame, frame.pageCount == FrameCopier.pagesPerFrame {
      finishPages()
      try write()
    }
    return offset
  }

  /// Room for one more page in a frame of pages.
  /// - Returns: where it is in `output`.
  private func beginPage() -> Int {
    if pageFrame == nil {
      pageFrame = (output.count, 0)
      let payload = end.offset + UInt64(FrameHeader.byteCount)
      let first = (payload + UInt64(Page.byteCount - 1)) & ~UInt64(Page.byteCount - 1)
      output.append(zeros: Int(first - end.offset))
    }
    pageFrame?.pageCount += 1
    output.append(zeros: Page.byteCount)
    return output.count - Page.byteCount
  }

  private func finishPages() {
    guard let frame = pageFrame else { return }
    pageFrame = nil
    var header = nextFrame(.pages)
    append(&header, from: frame.start)
  }
}
