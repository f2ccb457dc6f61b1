/// One transaction of the engine: operations go into the frame, their effects into the trees.
///
/// There is one object per store, lent to the holder of the turn. Places are known at once: the frame will start where the log
/// ends, and nobody else may append before it. Operations that are not in the file yet are read from the buffer.
///
/// Always true: `frameStart + index in buffer` is where a byte will be in the file.
@safe package final class StoreTransaction {
  package unowned let store: Store
  // Copies of what every operation needs from the store, which avoid access through an unowned reference.
  private let applier: any Applier
  private let salt: UInt64
  private let limits: Limits
  package let editor: TreeEditor
  @safe @exclusivity(unchecked) package var roots = RootSet()
  /// What the applier knew of the trees at the start, or at the savepoint of the last rollback; nil if it has not looked.
  @safe @exclusivity(unchecked) package internal(set) var facts: (any RootFacts)?
  /// Whether the operations are those of commits that are in the log: only the trees at the end count.
  @safe @exclusivity(unchecked) package private(set) var isReplaying = false
  /// Bytes of the operations that the trees name. The applier keeps count: it knows what an operation replaces.
  @safe @exclusivity(unchecked) package var liveByteCount = 0
  /// The sequence that the commit will have.
  @safe @exclusivity(unchecked) package private(set) var sequence: UInt64 = 0
  /// Whether it stands for all commits up to its sequence.
  @safe @exclusivity(unchecked) private var isImage = false
  /// Whether operations are gathered, as in replay, while several commits are written: see `CommitBatch`.
  @safe @exclusivity(unchecked) private var isGathering = false
  /// Operations of this transaction that are not in the trees yet.
  @safe @exclusivity(unchecked) private var waitingCount = 0
  /// Where the log, and the zeros behind it, ended when the transaction began.
  @safe @exclusivity(unchecked) private var start: (tail: LogTail, zerosEnd: UInt64)
  @safe @exclusivity(unchecked) private var hasMetFullDisk = false
  /// With so many bytes, operations are written as a part.
  @safe @exclusivity(unchecked) private var partByteCount = 0
  @safe @exclusivity(unchecked) package private(set) var ordinal: UInt32 = 0
  let buffer: ByteBuffer
  @safe @exclusivity(unchecked) private(set) var frameStart: UInt64 = 0
  @safe @exclusivity(unchecked) private(set) var parts: [FrameHeader] = []
  /// A fault that left the trees half changed, or a failed write: then only a rollback is possible.
  @safe @exclusivity(unchecked) package private(set) var failure: StoreError?
  @safe @exclusivity(unchecked) private var base: TreeEditor.Savepoint
  /// The turn, from `begin` to `end`; nil while an open or a reader uses the transaction for replay.
  @safe @exclusivity(unchecked) private var hold: Turn.Hold?
  /// Whether it repeats a commit of another file, to which the limits of memory do not apply. Set by code that copies.
  @safe @exclusivity(unchecked) package var isCopy = false
  /// Whether it adds data, so that it must leave the reserve to transactions that only delete. Set by the code that writes
  /// operations.
  @safe @exclusivity(unchecked) package var addsData = false
  /// Features of the trees that this version would not keep up to date, as bits; the applier says so.
  @safe @exclusivity(unchecked) package var laterFeatures: UInt64 = 0
  /// An applier that has gathered so much during a replay applies it.
  package let replayByteCount: Int

  private struct Limits {
    let operationByteCount: Int
    let payloadByteCount: Int
    let partByteCount: Int
    /// The limit for pages that one transaction may make.
    let pageByteCount: Int
  }

  init(store: Store) {
    self.store = store
    applier = store.applier
    salt = store.header.salt
    let longest = store.options.maximumOperationByteCount
    limits = Limits(
      operationByteCount: longest, payloadByteCount: longest - Operation.headerByteCount(ofOperation: longest),
      partByteCount: store.options.partByteCount, pageByteCount: store.options.checkpointMemoryByteCount)
    replayByteCount = min(store.options.replayByteCount, ReplayRun.maximumByteCount)
    editor = store.editor
    buffer = store.transactionBuffer
    base = editor.beginEdit()
    start = (store.log.tail, 0)
  }

  /// The version that it began on, durable or not: nobody takes it away before the transaction has ended.
  package var startPin: Store.Pin {
    withTurn { hold in Store.Pin(slot: -1, state: store.versions.head(hold), source: store.source) }
  }

  /// The trees as this transaction has changed them so far.
  package var reader: TreeReader { editor.reader }
  /// Whether there is anything to commit. An image is a commit even if nothing lives.
  package var hasOperations: Bool { ordinal > 0 || isImage }

  /// Starts with the turn and keeps it until `end`.
  func begin(_ hold: consuming Turn.Hold) {
    begin(borrowing: hold)
    self.hold = consume hold
  }

  /// Gives the turn to the caller, who ends the transaction.
  func takeTurn() -> Turn.Hold {
    guard let hold = hold.take() else { preconditionFailure("a transaction ends once") }
    return hold
  }

  /// Lends the turn.
  @inline(__always)
  func withTurn<Result, Failure: Error>(
    _ body: (borrowing Turn.Hold) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch hold {
    case .some(let hold): return try body(hold)
    case .none: preconditionFailure("a transaction that writes has the turn")
    }
  }

  /// Starts within a turn that the caller keeps.
  func begin(borrowing _: borrowing Turn.Hold) {
    // Once: each access through the unowned reference counts it (row: kv-commit-unsynced-1).
    let store = store
    // What the applier kept back may be older than the last checkpoint, which moved the roots of zones into the file.
    applier.reset()
    waitingCount = 0
    roots = store.head.roots
    if facts !== store.facts { facts = store.facts }
    isReplaying = false
    liveByteCount = store.head.liveByteCount
    sequence = store.log.tail.sequence + 1
    isImage = false
    isGathering = false
    partByteCount = limits.partByteCount
    failure = nil
    addsData = false
    isCopy = false
    laterFeatures = store.laterFeatures.load(ordering: .relaxed)
    hasMetFullDisk = false
    start = (store.log.tail, store.log.zerosEnd.load(ordering: .relaxed))
    startFrame()
    editor.version = store.head.number + 1
    base = editor.beginEdit()
  }

  private func startFrame() {
    ordinal = 0
    parts.removeAll()
    moveToTail()
  }

  // MARK: batches

  /// From here on operations are gathered.
  func startGathering() {
    precondition(ordinal == 0 && !isImage, "a batch begins with its transaction")
    isGathering = true
  }

  /// The previous commit was written; what follows belongs to the next.
  func beginNextOfBatch() {
    precondition(isGathering, "only a batch has more than one commit")
    sequence = store.log.tail.sequence + 1
    startFrame()
  }

  /// Puts the operations of all commits of the batch into the trees.
  func applyGathered() throws(StoreError) {
    if let failure { throw failure }
    do { try applier.flush(self) } catch { throw StoreError(error) }
  }

  /// Makes this transaction, the first of its file, stand for all commits up to `sequence`.
  func becomeImage(of sequence: UInt64) {
    precondition(self.sequence == 1 && ordinal == 0, "an image is the first commit of its file")
    self.sequence = sequence
    isImage = true
    // Smaller parts, because commits of another file run at the same time, and their syncs would wait for larger ones.
    partByteCount = min(limits.partByteCount, Int(Pace.syncByteCount))
  }

  /// Of the buffer, whatever the last frame needed.
  private static let leastKeptByteCount = 1 << 20
  private static let mostKeptByteCount = 32 << 20

  private func startBuffer() {
    // What the last frame has needed, the next one often needs, too: growing to it again would copy all of it at each step. It is
    // released when a frame has needed less.
    let needed = min(2 * buffer.count, StoreTransaction.mostKeptByteCount)
    buffer.removeAll(keeping: max(needed, StoreTransaction.leastKeptByteCount))
    buffer.append(zeros: FrameHeader.byteCount)
    if !parts.isEmpty { buffer.append(zeros: PartList.encodedByteCount) }
  }

  // MARK: operations

  /// Starts an operation; the caller appends its payload to `payload` and then calls `endOperation`.
  @inline(__always)
  package func beginOperation() -> Int {
    let start = buffer.count
    buffer.append(zeros: Operation.headerByteCount)
    return start
  }

  // Methods, because the layer above would check each use of the properties for exclusive access (row: record-insert).

  /// This transaction adds data: it leaves the reserve to transactions that only delete.
  package func declareAddition() { addsData = true }

  /// The trees now name so many more bytes of operations.
  package func addLiveBytes(_ byteCount: Int) { liveByteCount &+= byteCount }

  /// How long the operation begun at `start` is so far.
  package func byteCount(from start: Int) -> Int { buffer.count - start }

  /// Where the payload of the operation under construction goes.
  package var payload: ByteBuffer { buffer }

  /// How long the payload of one operation may be.
  package var maximumPayloadByteCount: Int { limits.payloadByteCount }

  /// Discards the operation begun at `start`.
  package func cancelOperation(_ start: Int) { buffer.truncate(to: start) }

  /// Completes an operation and applies it to the trees. Returns its place in the log.
  /// - Parameter mayWait: whether, in a large transaction, it may be applied later, with others, in the order of keys.
  @discardableResult
  package func endOperation(_ start: Int, kind: UInt8, mayWait: Bool = false) throws(StoreError) -> Place {
    let byteCount = buffer.count - start
    guard byteCount &- Operation.headerByteCount <= limits.payloadByteCount else {
      buffer.truncate(to: start)
      throw .tooLarge(byteCount: byteCount, limit: limits.operationByteCount)
    }
    let place = seal(start, kind: kind)
    do {
      let operation = buffer.view.slice(start..<start + Int(place.byteCount))
      if isGathering {
        try applier.replay(operation, place: place, sequence: sequence, ordinal: ordinal, to: self)
      } else if waitingCount > 0 || mayWait && ordinal >= StoreTransaction.directCount {
        try applier.replay(operation, place: place, sequence: sequence, ordinal: ordinal, to: self)
        waitingCount += 1
      } else {
        try applier.apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: self)
      }
    } catch {
      let failed = StoreError(error)
      failure = failed
      throw failed
    }
    ordinal += 1
    if buffer.count >= partByteCount { try writePart() }
    if waitingCount >= StoreTransaction.maximumWaitingCount { try flush() }
    try checkMemory()
    return place
  }

  /// Fewer operations are not worth sorting.
  private static let directCount: UInt32 = 16
  /// Each may make a page, and the limit of pages is only tested when they are in the tree.
  static let maximumWaitingCount = 4096

  /// Puts waiting operations into the trees.
  package func flush() throws(StoreError) {
    if let failure { throw failure }
    let hasWaiting = waitingCount > 0
    waitingCount = 0
    do { try applier.flush(self) } catch {
      let failed = StoreError(error)
      failure = failed
      throw failed
    }
    if hasWaiting { try checkMemory() }
  }

  private func seal(_ start: Int, kind: UInt8) -> Place {
    let offset = frameStart + UInt64(start)
    Operation.seal(buffer, from: start, kind: kind, salt: salt, offset: offset)
    return Place(offset: offset, byteCount: UInt32(buffer.count - start))
  }

  /// Bytes of the pages that it has made so far, and how many they may be.
  package var createdByteCount: Int { editor.createdByteCount }
  package var pageByteLimit: Int { limits.pageByteCount }

  /// Changes trees before the operation that says so is complete: a fault leaves them half changed, as one of an operation does.
  package func ahead<R>(_ body: () throws(LogFault) -> R) throws(StoreError) -> R {
    try flush()
    do { return try body() } catch {
      let failed = StoreError(error)
      failure = failed
      throw failed
    }
  }

  private func checkMemory() throws(StoreError) {
    // Only its own pages: the checkpoint takes care of what snapshots and earlier commits hold.
    if editor.createdByteCount > limits.pageByteCount, !isImage, !isGathering, !isCopy {
      let error = StoreError.tooLarge(byteCount: editor.createdByteCount, limit: limits.pageByteCount)
      failure = error
      throw error
    }
  }

  /// Writes the operations so far to the log as a part. It only counts once a commit names it.
  private func writePart() throws(StoreError) {
    do {
      parts.append(try append(.part, sequence: store.log.tail.sequence))
    } catch {
      failure = error
      throw error
    }
    moveToTail()
  }

  private func moveToTail() {
    frameStart = store.log.tail.offset
    editor.end = store.log.tail.offset
    startBuffer()
  }

  /// Lets the applier put a part of what it has kept back into the trees; true when there is more.
  func flushPart() throws(StoreError) -> Bool {
    do { return try applier.flushPart(self) } catch {
      let failed = StoreError(error)
      failure = failed
      throw failed
    }
  }

  /// Writes the pages made so far into the file and frees their memory; `appendPages` appends a frame of them and returns false
  /// when there are none left. Only if nobody else reads the store, and only a rollback of the whole transaction can follow.
  func spill(
    _ appendPages: (inout CheckpointPages, borrowing Turn.Hold) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if buffer.count > FrameHeader.byteCount + (parts.isEmpty ? 0 : PartList.encodedByteCount) { try writePart() }
    do { try applier.letGo(self) } catch {
      let failed = StoreError(error)
      failure = failed
      throw failed
    }
    var pages = CheckpointPages(own: roots)
    var isMore = true
    while isMore { isMore = try withTurn { (hold) throws(StoreError) in try appendPages(&pages, hold) } }
    for index in 0..<RootSet.count where roots[index].reference & PageSource.memoryTag != 0 {
      roots[index].reference = DirtyPage(roots[index].reference).fileOffset
    }
    pages.exchanged()
    editor.freeCreated()
    moveToTail()
  }

  // MARK: changing trees, for appliers

  @discardableResult
  @inline(__always)
  package func put(
    _ key: ByteView, _ value: ByteView, in root: inout TreeRoot, asCatalog: Bool = false, old: ByteBuffer? = nil
  ) throws(LogFault) -> Bool {
    do { return try editor.put(key, value, in: &root, asCatalog: asCatalog, old: old) } catch { throw .page(error) }
  }

  @discardableResult
  package func remove(
    _ key: ByteView, from root: inout TreeRoot, old: ByteBuffer? = nil
  ) throws(LogFault) -> Bool {
    do { return try editor.remove(key, from: &root, old: old) } catch { throw .page(error) }
  }

  package func value(_ key: ByteView, in root: TreeRoot) throws(LogFault) -> ByteView? {
    do { return try reader.value(key, in: root) } catch { throw .page(error) }
  }

  // MARK: reading what the transaction wrote

  /// Where the log would end if the transaction were written now.
  package var logEnd: UInt64 { frameStart + UInt64(buffer.count) }

  /// The bytes of an operation, wherever it is now; what comes from the file is a verified copy, as of
  /// `Store.verifiedOperation`.
  package func operation(at place: Place) throws(StoreError) -> ByteView {
    if place.offset >= frameStart { return try unwrittenOperation(at: place) }
    return try store.verifiedOperation(at: place, end: editor.end)
  }

  /// Copies an operation from wherever it is now; what comes from the file is verified in the copy.
  /// - Parameter target: room for `place.byteCount` bytes.
  @inline(__always)
  package func copyOperation(at place: Place, to target: UnsafeMutableRawPointer) throws(StoreError) {
    if place.offset >= frameStart {
      let bytes = try unwrittenOperation(at: place)
      // Safe: it has as many bytes as the place says, for which the caller has room.
      unsafe target.copyMemory(from: bytes.base, byteCount: bytes.count)
    } else {
      unsafe try store.copyOperation(at: place, end: editor.end, to: target)
    }
  }

  /// Throws when no operation can lie at a place: before memory is allocated for it.
  @inline(__always)
  package func checkPlace(_ place: Place) throws(StoreError) {
    try Store.checkPlace(place, end: place.offset >= frameStart ? logEnd : editor.end)
  }

  /// An operation that is in the frame under construction.
  private func unwrittenOperation(at place: Place) throws(StoreError) -> ByteView {
    // A forged tree may name any place.
    try Store.checkPlace(place, end: logEnd)
    let start = Int(place.offset - frameStart)
    return buffer.view.slice(start..<start + Int(place.byteCount))
  }

  // MARK: savepoints

  package struct Savepoint {
    let editor: TreeEditor.Savepoint
    let roots: RootSet
    let facts: (any RootFacts)?
    let liveByteCount: Int
    let ordinal: UInt32
    let partCount: Int
    let bufferCount: Int
    let addsData: Bool
  }

  package func savepoint() throws(StoreError) -> Savepoint {
    try flush()
    return Savepoint(
      editor: editor.beginEdit(), roots: roots, facts: applier.facts(self), liveByteCount: liveByteCount, ordinal: ordinal,
      partCount: parts.count, bufferCount: buffer.count, addsData: addsData)
  }

  /// Keeps everything since a savepoint as a part of what is around it, and frees the memory that only a rollback to it
  /// would have needed.
  package func release(_ savepoint: Savepoint) {
    // After a failure the trees are half changed, and a rollback of what is around it follows.
    if failure == nil { editor.release(savepoint.editor) }
  }

  /// Undoes everything since a savepoint. Parts that were written stay in the log, followed by an operation that takes them
  /// back.
  package func rollBack(to savepoint: Savepoint) throws(StoreError) {
    facts = isMutant("keep-facts-of-rollback") ? applier.facts(self) : savepoint.facts
    applier.reset()
    waitingCount = 0
    editor.rollBack(to: savepoint.editor)
    roots = savepoint.roots
    liveByteCount = savepoint.liveByteCount
    if case .disk = failure {} else { failure = nil }
    if parts.count == savepoint.partCount {
      buffer.truncate(to: savepoint.bufferCount)
    } else {
      let start = beginOperation()
      buffer.append(uint32: savepoint.ordinal)
      _ = seal(start, kind: Operation.rollbackKind)
    }
    ordinal = savepoint.ordinal
    // What only deletes now may use the reserve.
    addsData = savepoint.addsData
  }

  // MARK: ending

  /// Undoes everything in the trees. The log may keep parts that no commit names.
  func rollBackAll() {
    applier.reset()
    editor.rollBack(to: base)
  }

  /// Writes the closing frame. Returns its header.
  func writeCommit() throws(StoreError) -> FrameHeader {
    if let failure { throw failure }
    if !isGathering { try flush() }
    if !parts.isEmpty {
      buffer.set(uint64: parts[0].number, at: FrameHeader.byteCount)
      buffer.set(uint64: parts[0].offset, at: FrameHeader.byteCount + 8)
      buffer.set(uint64: UInt64(parts.count), at: FrameHeader.byteCount + 16)
      buffer.set(uint64: PartList.checksum(parts.map(\.payloadChecksum)), at: FrameHeader.byteCount + 24)
    }
    return try append(.commit, sequence: sequence)
  }

  private func append(_ kind: FrameHeader.Kind, sequence: UInt64) throws(StoreError) -> FrameHeader {
    try withTurn { (hold) throws(StoreError) in
      do throws(StoreError) {
        return try store.log.append(
          kind, buffer, sequence: sequence, hasParts: !parts.isEmpty, isImage: kind == .commit && isImage,
          keepsReserve: addsData, hold)
      } catch {
        if case .disk(let failure) = error, failure.kind == .full { hasMetFullDisk = true }
        throw error
      }
    }
  }

  /// Frees the space that its parts have taken; and if a full disk has refused it, all that was added since it began.
  func giveBackRoom() {
    // An unfinished file is discarded as a whole.
    guard hasMetFullDisk || !parts.isEmpty, !isImage, !isGathering, !store.isUnfinished else { return }
    withTurn { hold in store.takeBack(to: start.tail, zerosEnd: start.zerosEnd, isFull: hasMetFullDisk, hold) }
  }

  // MARK: replay

  /// Everything that is replayed is in the file already, and the applier may read what the trees name.
  func readsOnlyFile(upTo end: UInt64) {
    isReplaying = true
    editor.end = end
    frameStart = end
  }

  func startReplay() {
    applier.reset()
    parts.removeAll()
    failure = nil
    laterFeatures = store.laterFeatures.load(ordering: .relaxed)
    base = editor.beginEdit()
  }

  /// Replays operations of a commit that is in the log already.
  func replay(_ operations: LoggedOperations, sequence: UInt64) throws(LogFault) {
    self.sequence = sequence
    for (index, place) in operations.places.enumerated() {
      let bytes = try operations.bytes(index)
      if replayByteCount == 0 {
        try applier.apply(bytes, place: place, sequence: sequence, ordinal: UInt32(index), to: self)
      } else {
        try applier.replay(bytes, place: place, sequence: sequence, ordinal: UInt32(index), to: self)
      }
    }
  }
}
