/// Reading: pin the newest version, look into its trees, copy what is wanted, let go.
extension Store {
  /// A pinned version. Whoever took it gives it back with `endRead`.
  @safe package struct Pin: Sendable {
    let slot: Int
    let state: StateReference
    let source: PageSource

    package var sequence: UInt64 { state.record.sequence }
    var version: UInt64 { state.record.version }
    package var end: UInt64 { state.record.end }
    @inline(__always) package func root(_ index: Int) -> TreeRoot { state.record.roots[index] }
    package var reader: TreeReader {
      @inline(__always) get { TreeReader(source: source, end: state.record.end) }
    }
    package var pageCount: UInt64 { state.record.pageCount }
    /// Bytes of the file that are needed: the header, the pages of the trees, and the operations that they name.
    package var liveByteCount: Int {
      FileHeader.byteCount + Int(clamping: state.record.pageCount) * Page.byteCount + operationByteCount
    }
    /// Bytes of the operations that the trees name.
    package var operationByteCount: Int { state.record.liveByteCount }
  }

  /// What a snapshot has between two reads: no look at its version is possible without `resume`, because it may be revoked
  /// meanwhile and its memory belong to something else.
  package struct SnapshotPin: Sendable {
    let index: Int
    fileprivate let state: StateReference
    /// The last commit in it, by value.
    package let sequence: UInt64
  }

  /// The last commit that readers see.
  package var lastSequence: UInt64 { versions.shownSequence.load(ordering: .acquiring) }

  /// Pins the newest version: about 6 ns.
  @inline(__always)
  package func beginRead() throws(StoreError) -> Pin {
    guard let (slot, state) = versions.slots.claim(versions.newestWord) else {
      throw .tooManySnapshots(limit: slots.limit)
    }
    // In this order: `close` says that it closes, then looks whether a slot is taken.
    if life.isClosed.load(ordering: .sequentiallyConsistent) {
      releaseRefused(slot)
      throw closedError
    }
    return Pin(slot: slot, state: state, source: source)
  }

  /// Gives a slot back whose claimer has found the store closed.
  @inline(never)
  func releaseRefused(_ slot: Int) {
    slots.release(slot)
    if life.isSuperseded.load(ordering: .acquiring) { releaseIfUnused() }
  }

  @inline(__always)
  package func endRead(_ pin: Pin) {
    slots.release(pin.slot)
    if life.isSuperseded.load(ordering: .relaxed) { releaseIfUnused() }
  }

  /// A snapshot of the newest version. Ends with `end`.
  package func beginSnapshot() throws(StoreError) -> SnapshotPin {
    guard let (index, state) = slots.snapshots.begin(versions.newestWord) else {
      throw .tooManySnapshots(limit: slots.snapshots.limit)
    }
    return try begun(index, state)
  }

  /// A place in the table of snapshots was taken for a version of this store.
  func begun(_ index: Int, _ state: StateReference) throws(StoreError) -> SnapshotPin {
    // Safe: the place keeps the version, and nobody revokes it before the read that has begun ends.
    let pin = unsafe SnapshotPin(index: index, state: state, sequence: state.pointer.pointee.sequence)
    if life.isClosed.load(ordering: .sequentiallyConsistent) {
      end(pin)
      throw closedError
    }
    slots.snapshots.endReading(index)
    return pin
  }

  /// A read through a snapshot begins; any number may go on at once. Throws when it was revoked. Ends with `rest`, the pin
  /// with it.
  package func resume(_ snapshot: SnapshotPin) throws(StoreError) -> Pin {
    guard slots.snapshots.beginReading(snapshot.index) else { throw .snapshotTooOld }
    if life.isOverwritten.load(ordering: .acquiring) {
      endRead(through: snapshot)
      throw .snapshotTooOld
    }
    if life.isClosed.load(ordering: .sequentiallyConsistent), closesSnapshots {
      endRead(through: snapshot)
      throw closesAsForked
    }
    return Pin(slot: -1, state: snapshot.state, source: source)
  }

  /// A read through a snapshot ends. While none goes on, it may be revoked.
  package func endRead(through snapshot: SnapshotPin) {
    slots.snapshots.endReading(snapshot.index)
    // A store that ends its snapshots waits only for those that read.
    if life.isFinished.load(ordering: .relaxed) { releaseIfUnused() }
  }

  package func end(_ snapshot: SnapshotPin) {
    slots.snapshots.end(snapshot.index)
    if life.isSuperseded.load(ordering: .relaxed) { releaseIfUnused() }
  }

  private var closesAsForked: StoreError { life.isForked.load(ordering: .acquiring) ? .forked : .closed }

  private var closesSnapshots: Bool {
    !life.isSuperseded.load(ordering: .acquiring) || life.isFinished.load(ordering: .acquiring)
      || life.isForked.load(ordering: .acquiring)
  }

  /// Throws when no operation can lie at a place. Trees of a forged file name places beyond its end: nothing is allocated for
  /// them.
  @inline(__always)
  package static func checkPlace(_ place: Place, end: UInt64) throws(StoreError) {
    guard place.offset &+ UInt64(place.byteCount) <= end, place.offset < end,
      place.byteCount >= UInt32(Operation.headerByteCount)
    else { throw .operation(offset: place.offset) }
  }

  /// Copies an operation out of the file and checks the copy: what is returned was whole, whatever the disk did.
  /// - Parameter target: room for `place.byteCount` bytes.
  @inline(__always)
  package func copyOperation(at place: Place, end: UInt64, to target: UnsafeMutableRawPointer) throws(StoreError) {
    try Store.checkPlace(place, end: end)
    // Safe: the caller has room for it.
    if source.isBuffered { return unsafe try readOperation(at: place, end: end, to: target) }
    // Safe: the range lies below the verified end, which is mapped; the target is the caller's word.
    unsafe target.copyMemory(from: source.base + Int(place.offset), byteCount: Int(place.byteCount))
    let copy = unsafe ByteView(UnsafeRawPointer(target), count: Int(place.byteCount))
    if Operation.checksum(copy, salt: header.salt, offset: place.offset) != copy.uint64(at: 0),
      !isMutant("accept-body-checksum")
    {
      throw .operation(offset: place.offset)
    }
  }

  /// An operation in place, checked. For work that looks at it once and at leisure: a few operations further it may be gone.
  package func verifiedOperation(at place: Place, end: UInt64) throws(StoreError) -> ByteView {
    try Store.checkPlace(place, end: end)
    if source.isBuffered { return try scratchOperation(at: place, end: end) }
    // Safe: as above.
    let bytes = unsafe ByteView(source.base + Int(place.offset), count: Int(place.byteCount))
    if Operation.checksum(bytes, salt: header.salt, offset: place.offset) != bytes.uint64(at: 0),
      !isMutant("accept-body-checksum")
    {
      throw .operation(offset: place.offset)
    }
    return bytes
  }
}
