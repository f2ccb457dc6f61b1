/// Reading: pin the newest version, look into its trees, copy what is wanted, let go.
extension Store {
  /// A pinned version. Whoever took it gives it back with `endRead`.
  @safe package struct Pin: Sendable {
    let slot: Int
    let state: StateReference
    let source: PageSource

    package var sequence: UInt64 { state.record.sequence }
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

  /// The last commit that readers see.
  package var lastSequence: UInt64 { slots.newest.record.sequence }

  /// Pins the newest version: about 6 ns.
  @inline(__always)
  package func beginRead() throws(StoreError) -> Pin {
    guard let (slot, state) = slots.claim() else { throw .tooManySnapshots(limit: SnapshotSlots.limit) }
    // In this order: `close` says that it closes, then looks whether a slot is taken.
    if isClosed.load(ordering: .sequentiallyConsistent) {
      slots.release(slot)
      throw closedError
    }
    return Pin(slot: slot, state: state, source: source)
  }

  @inline(__always)
  package func endRead(_ pin: Pin) {
    slots.release(pin.slot)
    if isSuperseded.load(ordering: .relaxed) { releaseIfUnused() }
  }

  /// A long-lived snapshot pauses; from here on it may be revoked.
  package func rest(_ pin: Pin) { slots.rest(pin.slot, pin.state) }

  /// It goes on reading; throws when it was revoked, and then must only be ended.
  package func resume(_ pin: Pin) throws(StoreError) {
    if !slots.resume(pin.slot, pin.state) { throw .snapshotTooOld }
    if isOverwritten.load(ordering: .acquiring) {
      rest(pin)
      throw .snapshotTooOld
    }
    if isClosed.load(ordering: .sequentiallyConsistent), closesSnapshots {
      rest(pin)
      throw .closed
    }
  }

  private var closesSnapshots: Bool {
    !isSuperseded.load(ordering: .acquiring) || isFinished.load(ordering: .acquiring)
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
