import DaybookEngine

/// Bodies that are read out of the log into few allocations, one after the other.
///
///     ┌────────────┬──────────────┬─────┬────────────┬──────────────┬─────┐
///     │ 16  layout │ bytes        │ pad │ 16  layout │ bytes        │ pad │
///     └────────────┴──────────────┴─────┴────────────┴──────────────┴─────┘
///
/// An operation is copied as it lies in the log into memory of the thread's own, and verified in the copy; then its body is spelled out
/// here. So a record costs no allocation of its own where many are read at once (row: record-changes-since-1000). A record keeps its
/// allocation alive; that is why they are small. A long operation gets an allocation of its own and is copied there at once; if its body
/// is spelled out already, as most long ones are, that is the only copy: the layout takes the place of the operation's header.
///
/// Always true: a body that was handed out lies within its storage, and its bytes never change again; a scan that looks at a
/// body and drops it takes its room back.
@safe struct RecordBodyBatch {
  /// How many bytes of bodies share an allocation, unless one alone is longer.
  static let usualByteCount = 8192
  /// The log has no packed bodies in longer operations, but for those of files from elsewhere.
  private static let largestCopy = BodyPacking.largestByteCount
  /// Two of these, a body and its value, are what the C library's allocator returns to the system when they are freed.
  private static let largeByteCount = 32 << 10

  private let shapes: ShapeTable
  private let services: RecordServices?
  private var storage: RecordBody.Storage?
  private var offset = 0
  private var byteCount = 0
  /// Of the body that was read last, where it may be taken back.
  private var lastByteCount = 0
  /// How many are still to be read, as far as room is made for them.
  private var rest: Int

  /// The room for a body that is no longer here than in the log, rounded up so that the next body begins at a whole word.
  @inline(__always)
  static func room(for place: Place) -> Int { (start(of: place) &+ Int(place.byteCount) &+ 7) & ~7 }

  /// Where an operation is read to, so that a layout ends where its payload begins.
  @inline(__always)
  private static func start(of place: Place) -> Int {
    RecordBody.Layout.byteCount &- Operation.headerByteCount(ofOperation: Int(place.byteCount))
  }

  /// - Parameters:
  ///   - count: how many bodies will be read; nil when that is unknown.
  ///   - shapes: of the store that is read.
  @inline(__always)
  init(count: Int?, _ shapes: ShapeTable, services: RecordServices?) {
    rest = min(count ?? Self.usualByteCount, Self.usualByteCount)
    self.shapes = shapes
    self.services = services
  }

  /// The body at a place of the log.
  @inline(__always)
  mutating func read(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy { return try readLong(place, from: store, end: end) }
    return try body(in: try store.verifiedOperation(at: place, end: end), at: place)
  }

  /// A body that a filter has looked at, if it could.
  enum Judged {
    case passed(RecordBody)
    case failed
    /// The filter could not tell.
    case unknown(RecordBody)
  }

  /// The body at a place of the log, unless it does not pass a filter: then it is not spelled out.
  @inline(__always)
  mutating func read(
    _ place: Place, from store: Store, end: UInt64, passing filter: inout PackedFilter
  ) throws(StoreError) -> Judged {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy { return .unknown(try readLong(place, from: store, end: end)) }
    let operation = try store.verifiedOperation(at: place, end: end)
    let stored = Operation.payload(operation)
    guard Operation.isOf(.saveRecord, operation), PackedBody.isPacked(stored) else {
      return .unknown(try body(in: operation, at: place))
    }
    do throws(BodyFault) {
      let packed = try PackedBody(stored, in: shapes)
      let plan = try packed.plan(in: shapes)
      switch filter.answer(packed, plan) {
      case .passes: return .passed(body(packed, plan))
      case .fails: return .failed
      case .unknown: return .unknown(body(packed, plan))
      }
    } catch { throw .operation(offset: place.offset) }
  }

  /// The body at a place of a transaction, which may not be in the file yet.
  mutating func read(_ place: Place, from transaction: StoreTransaction) throws(StoreError) -> RecordBody {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy {
      try transaction.checkPlace(place)
      // Safe: it has room for the operation.
      return unsafe try readLong(place) { (target) throws(StoreError) in
        unsafe try transaction.copyOperation(at: place, to: target)
      }
    }
    return try body(in: try transaction.operation(at: place), at: place)
  }

  /// The body at a place of the log; nil where a short operation is no save.
  mutating func readSaved(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody? {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy { return try readLong(place, from: store, end: end) }
    let operation = try store.verifiedOperation(at: place, end: end)
    return Operation.isOf(.saveRecord, operation) ? try body(in: operation, at: place) : nil
  }

  /// The same at a place of a transaction.
  mutating func readSaved(_ place: Place, from transaction: StoreTransaction) throws(StoreError) -> RecordBody? {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy { return try read(place, from: transaction) }
    let operation = try transaction.operation(at: place)
    return Operation.isOf(.saveRecord, operation) ? try body(in: operation, at: place) : nil
  }

  /// The body of a verified operation in memory of this thread.
  @inline(__always)
  private mutating func body(in operation: ByteView, at place: Place) throws(StoreError) -> RecordBody {
    guard Operation.isOf(.saveRecord, operation) else { throw .operation(offset: place.offset) }
    let stored = Operation.payload(operation)
    do throws(BodyFault) {
      if PackedBody.isPacked(stored) {
        let packed = try PackedBody(stored, in: shapes)
        return body(packed, try packed.plan(in: shapes))
      }
      let layout = try RecordBody.layout(of: stored)
      if layout.fieldCount >= FieldIndex.leastSpelledFieldCount {
        lastByteCount = 0
        return RecordBody(copying: stored, layout: layout, services: services)
      }
      let target = unsafe room(for: layout)
      // Safe: the layout has the count of these bytes.
      unsafe (target + RecordBody.Layout.byteCount).copyMemory(from: stored.base, byteCount: stored.count)
      return unsafe taken(layout, target)
    } catch { throw .operation(offset: place.offset) }
  }

  /// A packed body spelled out.
  @inline(__always)
  private mutating func body(_ packed: PackedBody, _ plan: PackedBody.Plan) -> RecordBody {
    if plan.hasIndex { return wideBody(packed, plan) }
    let target = unsafe room(for: plan.layout)
    // Safe: there is room for as many bytes as the plan says.
    unsafe packed.spell(plan, to: target + RecordBody.Layout.byteCount)
    return unsafe taken(plan.layout, target)
  }

  /// A body of many fields, in an allocation of its own.
  @inline(never)
  private mutating func wideBody(_ packed: PackedBody, _ plan: PackedBody.Plan) -> RecordBody {
    lastByteCount = 0
    return RecordBody(spelling: packed, plan, services: services)
  }

  /// Where the next body goes.
  @inline(__always)
  private mutating func room(for layout: RecordBody.Layout) -> UnsafeMutableRawPointer {
    let needed = (RecordBody.Layout.byteCount &+ layout.byteCount &+ 7) & ~7
    if needed > byteCount &- offset {
      byteCount = max(needed, min(needed &* rest, RecordBodyBatch.usualByteCount))
      storage = RecordBody.makeStorage(byteCount: byteCount, services: services)
      offset = 0
    }
    guard let storage else { preconditionFailure("no body is as short as nothing") }
    lastByteCount = needed
    // Safe: the room is there; the address lives as long as the storage, which the body keeps.
    return unsafe storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) } + offset
  }

  /// The body that was written at `target`, after its layout.
  @inline(__always)
  private mutating func taken(_ layout: RecordBody.Layout, _ target: UnsafeMutableRawPointer) -> RecordBody {
    guard let storage else { preconditionFailure("room was made") }
    // Safe: the room begins with that of a layout.
    unsafe target.storeBytes(of: layout, as: RecordBody.Layout.self)
    offset &+= lastByteCount
    rest &-= 1
    return unsafe RecordBody(storage: storage, base: UnsafeRawPointer(target))
  }

  @inline(never)
  private mutating func readLong(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody {
    try Store.checkPlace(place, end: end)
    // Safe: it has room for the operation.
    return unsafe try readLong(place) { (target) throws(StoreError) in
      unsafe try store.copyOperation(at: place, end: end, to: target)
    }
  }

  /// A long body into an allocation of its own, with one copy.
  /// - Parameters:
  ///   - place: has been checked.
  ///   - copy: puts the operation, verified, where it is told.
  @inline(never)
  private mutating func readLong(
    _ place: Place, _ copy: (UnsafeMutableRawPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> RecordBody {
    let start = RecordBodyBatch.start(of: place)
    if place.byteCount >= RecordBodyBatch.largeByteCount { RawMemory.expectLargeValues() }
    // The address of an index is in front of the layout, where there is one.
    let storage = RecordBody.makeStorage(
      byteCount: RecordBody.indexByteCount &+ RecordBodyBatch.room(for: place), services: services)
    // Safe: made for the operation and what is before it.
    let elements = unsafe storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    let target = unsafe elements + RecordBody.indexByteCount
    unsafe try copy(target + start)
    let operation = unsafe ByteView(UnsafeRawPointer(target + start), count: Int(place.byteCount))
    guard Operation.isOf(.saveRecord, operation) else { throw .operation(offset: place.offset) }
    let stored = Operation.payload(operation)
    lastByteCount = 0
    do throws(BodyFault) {
      if PackedBody.isPacked(stored) { return try RecordBody(stored: stored, shapes, services: services) }
      var layout = try RecordBody.layout(of: stored)
      if let index = RecordBody.lateIndex(layout) {
        layout.hasIndex = true
        storage.header = RecordBody.Needs(services: services, index: index)
        // Safe: the room of an address is there, and the storage keeps the index.
        unsafe RecordBody.store(index, at: elements)
      }
      // Safe: the payload begins where the room of a layout ends.
      unsafe target.storeBytes(of: layout, as: RecordBody.Layout.self)
      return unsafe RecordBody(storage: storage, base: UnsafeRawPointer(target))
    } catch { throw .operation(offset: place.offset) }
  }

  /// Takes back the room of the body that was read last. It must not have been handed out: the next one is read there.
  @inline(__always)
  mutating func takeBack() {
    offset &-= lastByteCount
    lastByteCount = 0
  }
}
