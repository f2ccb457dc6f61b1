/// Reading: pin the newest version, search its trees, copy what is needed, release the pin.
extension Store {
  /// A pinned version; `endRead` releases it.
  @safe package struct Pin: Sendable {
    let slot: Int
    let state: VersionReference
    let source: PageSource

    package var sequence: UInt64 { state.fields.sequence }
    var version: UInt64 { state.fields.number }
    package var end: UInt64 { state.fields.end }
    @inline(__always) package func root(_ index: Int) -> TreeRoot { state.fields.roots[index] }
    package var reader: TreeReader {
      @inline(__always) get { TreeReader(source: source, end: state.fields.end) }
    }
    package var pageCount: UInt64 { state.fields.pageCount }
    /// The live bytes of the file: the header, the pages of the trees, and the operations that they name.
    package var liveByteCount: Int {
      FileHeader.byteCount + Int(clamping: state.fields.pageCount) * Page.byteCount + operationByteCount
    }
    /// Bytes of the operations that the trees name.
    package var operationByteCount: Int { state.fields.liveByteCount }
  }

  /// What the applier knows of a pinned version's trees; nil where it has not looked at them. The caller owns it, also when the pin is
  /// released.
  package func facts(of pin: Pin) -> (any RootFacts)? { versions.facts.facts(of: pin.version) }

  /// What a snapshot keeps between two reads. Its version is read only within `beginRead(via:)` and `endRead(via:)`:
  /// between reads it may be revoked, and its memory reused.
  package struct SnapshotPin: Sendable {
    let index: Int
    fileprivate let state: VersionReference
    /// The last commit in it, by value.
    package let sequence: UInt64
  }

  /// The last commit that readers see.
  package var lastSequence: UInt64 { versions.publishedSequence.load(ordering: .acquiring) }

  /// Pins the newest version: about 6 ns.
  @inline(__always)
  package func beginRead() throws(StoreError) -> Pin {
    guard let (slot, state) = versions.slots.claim(versions.publishedWord) else {
      throw .tooManySnapshots(limit: slots.limit)
    }
    // In this order: `close` sets its flag first and then looks for slots in use.
    if life.isClosed.load(ordering: .sequentiallyConsistent) { throw releaseRefused(slot) }
    return Pin(slot: slot, state: state, source: source)
  }

  /// Releases a slot after its claimer has found the store closed. Returns why it is.
  @inline(never)
  func releaseRefused(_ slot: Int) -> StoreError {
    let error = closedError
    slots.endRead(slot, ofStore: number)
    return error
  }

  @inline(__always)
  package func endRead(_ pin: Pin) {
    // Safe: the database keeps the slots. Without this, a reference is counted, on a count that all readers share.
    unsafe Unmanaged.passUnretained(slots)._withUnsafeGuaranteedRef { $0.endRead(pin.slot, ofStore: number) }
  }

  /// A snapshot of the newest version; `endSnapshot` ends it.
  package func beginSnapshot() throws(StoreError) -> SnapshotPin {
    guard let (index, state) = slots.snapshots.begin(versions.publishedWord) else {
      throw .tooManySnapshots(limit: slots.snapshots.limit)
    }
    return try begun(index, state)
  }

  /// Completes a snapshot for which a place in the table was taken.
  func begun(_ index: Int, _ state: VersionReference) throws(StoreError) -> SnapshotPin {
    // Safe: the place keeps the version, and nobody revokes it before the present read ends.
    let pin = unsafe SnapshotPin(index: index, state: state, sequence: state.pointer.pointee.sequence)
    if life.isClosed.load(ordering: .sequentiallyConsistent) {
      let error = closedError
      endSnapshot(pin)
      throw error
    }
    slots.snapshots.endReading(index)
    return pin
  }

  /// Begins a read through a snapshot; any number may run at once. Throws when it was revoked. `endRead(via:)` ends the
  /// read, and the pin with it.
  package func beginRead(via snapshot: SnapshotPin) throws(StoreError) -> Pin {
    guard slots.snapshots.beginReading(snapshot.index) else { throw .snapshotTooOld }
    if life.isOverwritten.load(ordering: .acquiring) {
      endRead(via: snapshot)
      throw .snapshotTooOld
    }
    if life.isClosed.load(ordering: .sequentiallyConsistent), closesSnapshots {
      let error = closesAsForked
      endRead(via: snapshot)
      throw error
    }
    return Pin(slot: -1, state: snapshot.state, source: source)
  }

  /// Ends a read through a snapshot. While it has no reads, it may be revoked.
  package func endRead(via snapshot: SnapshotPin) {
    slots.endReading(snapshot: snapshot.index)
  }

  package func endSnapshot(_ snapshot: SnapshotPin) {
    slots.endSnapshot(snapshot.index, ofStore: number)
  }

  private var closesAsForked: StoreError { life.isForked.load(ordering: .acquiring) ? .forked : .closed }

  private var closesSnapshots: Bool {
    !life.isSuperseded.load(ordering: .acquiring) || life.hasEndedSnapshots.load(ordering: .acquiring)
      || life.isForked.load(ordering: .acquiring)
  }

  /// Throws when no operation can lie at a place. Trees of a forged file may name places beyond its end; no memory must be
  /// allocated for them.
  @inline(__always)
  package static func checkPlace(_ place: Place, end: UInt64) throws(StoreError) {
    guard place.offset &+ UInt64(place.byteCount) <= end, place.offset < end,
      place.byteCount >= UInt32(Operation.headerByteCount)
    else { throw .operation(offset: place.offset) }
  }

  /// Copies an operation out of the file and checks the copy, so that it is valid whatever the disk did.
  /// - Parameter target: room for `place.byteCount` bytes.
  @inline(__always)
  package func copyOperation(at place: Place, end: UInt64, to target: UnsafeMutableRawPointer) throws(StoreError) {
    try Store.checkPlace(place, end: end)
    // Safe: the caller has room for it.
    if source.isBuffered { return unsafe try readOperation(at: place, end: end, to: target) }
    // Safe: the range lies below the verified end, which is mapped; the caller vouches for the target.
    unsafe target.copyMemory(from: source.base + Int(place.offset), byteCount: Int(place.byteCount))
    let copy = unsafe ByteView(UnsafeRawPointer(target), count: Int(place.byteCount))
    guard Operation.isSound(copy, salt: header.salt, offset: place.offset) else { throw .operation(offset: place.offset) }
  }

  /// A copy of an operation, verified, in memory of this thread: for work that reads it once, right away. After the thread has
  /// asked for a few more, it is overwritten.
  @inline(__always)
  package func verifiedOperation(at place: Place, end: UInt64) throws(StoreError) -> ByteView {
    if Int(place.byteCount) > ThreadScratch.shortOperationByteCount {
      return try copyOperation(at: place, end: end, into: ThreadScratch.current.nextOperation())
    }
    let target = unsafe ThreadScratch.nextShortOperation()
    // Safe: there is room for a short one.
    unsafe try copyOperation(at: place, end: end, to: target)
    return unsafe ByteView(UnsafeRawPointer(target), count: Int(place.byteCount))
  }
}
