import DaybookEngine

/// Bodies that are read out of the log into few allocations, one after the other.
///
///     ┌────────────┬──────────────┬─────┬────────────┬──────────────┬─────┐
///     │ 16  layout │ bytes        │ pad │ 16  layout │ bytes        │ pad │
///     └────────────┴──────────────┴─────┴────────────┴──────────────┴─────┘
///
/// An operation is copied as it lies in the log and verified in the copy, which is the thread's own; then its body is spelled out here.
/// A long one is copied here at once: the body's layout takes the place of the operation's header, which is not shorter. So a record
/// costs no allocation of its own where many are read at once (row: record-changes-since-1000). A record keeps its allocation
/// alive; that is why they are small.
///
/// Always true: a body that was handed out lies within its storage, and its bytes never change again.
@safe struct RecordBodyBatch {
  /// How many bytes of bodies share an allocation, unless one alone is longer.
  static let usualByteCount = 8192
  /// Longer operations are not copied twice.
  private static let largestCopy = 128 << 10

  private let shapes: ShapeDictionary
  private let services: RecordServices?
  private var storage: RecordBody.Storage?
  private var offset = 0
  private var byteCount = 0
  /// How many are still to be read.
  private var rest: Int

  /// What an operation takes; the next one begins at a whole word.
  @inline(__always)
  static func room(for place: Place) -> Int { (Int(place.byteCount) &+ 7) & ~7 }

  /// - Parameter count: how many bodies will be read.
  @inline(__always)
  init(count: Int, _ shapes: ShapeDictionary, services: RecordServices?) {
    rest = count
    self.shapes = shapes
    self.services = services
  }

  /// The body at a place of the log.
  @inline(__always)
  mutating func read(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody {
    if Int(place.byteCount) > RecordBodyBatch.largestCopy { return try readLong(place, from: store, end: end) }
    let operation = try store.copiedOperation(at: place, end: end)
    guard Operation.isOf(.saveRecord, operation) else { throw .operation(offset: place.offset) }
    let stored = Operation.payload(operation)
    do throws(BodyFault) {
      if PackedBody.isPacked(stored) {
        let packed = try PackedBody(stored, in: shapes)
        let plan = try packed.plan(in: shapes)
        return unsafe take(plan.layout) { target in unsafe packed.spell(plan, to: target) }
      }
      let layout = try RecordBody.layout(of: stored)
      return unsafe take(layout) { target in
        // Safe: the layout has the count of these bytes.
        unsafe target.copyMemory(from: stored.base, byteCount: stored.count)
      }
    } catch { throw .operation(offset: place.offset) }
  }

  /// Makes room for a body and has it filled.
  @inline(__always)
  private mutating func take(_ layout: RecordBody.Layout, _ fill: (UnsafeMutableRawPointer) -> Void) -> RecordBody {
    let needed = (RecordBody.Layout.byteCount &+ layout.byteCount &+ 7) & ~7
    let storage: RecordBody.Storage
    if let known = self.storage, needed <= byteCount &- offset {
      storage = known
    } else {
      byteCount = max(needed, min(needed &* rest, RecordBodyBatch.usualByteCount))
      storage = RecordBody.makeStorage(byteCount: byteCount, services: services)
      self.storage = storage
      offset = 0
    }
    rest &-= 1
    // Safe: there is room for layout and bytes; the address lives as long as the storage, which the body keeps.
    let target = unsafe storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) } + offset
    unsafe target.storeBytes(of: layout, as: RecordBody.Layout.self)
    unsafe fill(target + RecordBody.Layout.byteCount)
    offset &+= needed
    return unsafe RecordBody(storage: storage, base: UnsafeRawPointer(target))
  }

  /// A long body into an allocation of its own, with one copy.
  @inline(never)
  private mutating func readLong(_ place: Place, from store: Store, end: UInt64) throws(StoreError) -> RecordBody {
    try Store.checkPlace(place, end: end)
    rest &-= 1
    let storage = RecordBody.makeStorage(byteCount: RecordBodyBatch.room(for: place), services: services)
    // Safe: made for the operation.
    let target = unsafe storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    unsafe try store.copyOperation(at: place, end: end, to: target)
    let operation = unsafe ByteView(UnsafeRawPointer(target), count: Int(place.byteCount))
    guard Operation.isOf(.saveRecord, operation) else { throw .operation(offset: place.offset) }
    let stored = Operation.payload(operation)
    do throws(BodyFault) {
      if PackedBody.isPacked(stored) { return try RecordBody(stored: stored, shapes, services: services) }
      let layout = try RecordBody.layout(of: stored)
      // Safe: an operation has a header, and a layout is not longer.
      unsafe target.storeBytes(of: layout, as: RecordBody.Layout.self)
      return unsafe RecordBody(storage: storage, base: UnsafeRawPointer(target))
    } catch { throw .operation(offset: place.offset) }
  }
}
