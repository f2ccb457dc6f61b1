import DaybookEngine

/// Bodies that are read out of the log into one allocation, one after the other.
///
///     ┌────────────┬──────────────┬─────┬────────────┬──────────────┬─────┐
///     │ 16  layout │ bytes        │ pad │ 16  layout │ bytes        │ pad │
///     └────────────┴──────────────┴─────┴────────────┴──────────────┴─────┘
///
/// An operation is copied as it lies in the log and verified in the copy; then the body's layout takes the place of the
/// operation's header, which has as many bytes. So a record costs one copy, and no allocation of its own where many are
/// read at once (row: record-changes-since-1000). A record keeps the whole allocation alive; that is why batches are
/// small.
///
/// Always true: a body that was handed out lies within the storage, and its bytes never change again; a scan that looks at a
/// body and drops it takes its room back.
@safe struct RecordBodyBatch {
  /// How many bytes of operations share an allocation, unless one alone is longer.
  static let usualByteCount = 8192

  private let storage: RecordBody.Storage
  private var offset = 0
  private let byteCount: Int

  /// What an operation takes; the next one begins at a whole word.
  @inline(__always)
  static func room(for place: Place) -> Int { (Int(place.byteCount) &+ 7) & ~7 }

  @inline(__always)
  init(byteCount: Int, services: RecordServices?) {
    self.byteCount = byteCount
    storage = RecordBody.makeStorage(byteCount: byteCount, services: services)
  }

  /// The body at a place of the log, which is not longer than the room that is left.
  @inline(__always)
  mutating func read(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody {
    let target = unsafe target(for: place)
    unsafe try store.copyOperation(at: place, end: end, to: target)
    return unsafe try body(at: place, target)
  }

  /// The body at a place of a transaction, which may not be in the file yet; not longer than the room that is left.
  @inline(__always)
  mutating func read(_ place: Place, from transaction: StoreTransaction) throws(StoreError) -> RecordBody {
    let target = unsafe target(for: place)
    unsafe try transaction.copyOperation(at: place, to: target)
    return unsafe try body(at: place, target)
  }

  @inline(__always)
  private func target(for place: Place) -> UnsafeMutableRawPointer {
    precondition(Self.room(for: place) <= byteCount &- offset, "a batch is made for what is read into it")
    // Safe: the line above; the address lives as long as the storage, which the body keeps.
    return unsafe storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) } + offset
  }

  /// The body in the operation that was copied to `target`.
  @inline(__always)
  private mutating func body(at place: Place, _ target: UnsafeMutableRawPointer) throws(StoreError) -> RecordBody {
    let operation = unsafe ByteView(UnsafeRawPointer(target), count: Int(place.byteCount))
    guard Operation.isOf(.saveRecord, operation) else { throw .operation(offset: place.offset) }
    let layout: RecordBody.Layout
    do { layout = try RecordBody.layout(of: Operation.payload(operation)) } catch {
      throw .operation(offset: place.offset)
    }
    // Safe: an operation has a header, and a layout is not longer.
    unsafe target.storeBytes(of: layout, as: RecordBody.Layout.self)
    offset &+= Self.room(for: place)
    return unsafe RecordBody(storage: storage, base: UnsafeRawPointer(target))
  }
  /// Whether another operation fits.
  @inline(__always)
  func hasRoom(for place: Place) -> Bool { Self.room(for: place) <= byteCount &- offset }

  /// Takes back the room of the body that was read last. It must not have been handed out: the next one is read there.
  @inline(__always)
  mutating func takeBack(_ place: Place) {
    precondition(Self.room(for: place) <= offset, "only what was read is taken back")
    offset &-= Self.room(for: place)
  }
}
