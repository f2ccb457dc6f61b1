/// Raw keys and values on the engine: one tree, one applier, no records.
///
/// The smallest complete user of `Store`: tests and benchmarks of the engine go through it, and it shows what a layer
/// above has to bring. A put's payload is {u16 key length, key, value}; a delete's is the key.
package final class KeyValueApplier: Applier {
  package enum Kind { package static let put: UInt8 = 1, delete: UInt8 = 2 }
  private let placeBuffer = ByteBuffer(capacity: 64)
  private let old = ByteBuffer(capacity: 64)
  let run = ReplayRun()

  package init() {}

  package func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    let payload = Operation.payload(operation)
    switch Operation.kind(operation) {
    case Kind.put:
      guard let key = KeyValueApplier.key(ofPut: payload), key.count <= TreeLimits.maximumKeyByteCount else {
        throw .operation
      }
      try put(key, place, changes)
    case Kind.delete:
      guard payload.count <= TreeLimits.maximumKeyByteCount else { throw .operation }
      try delete(payload, changes)
    default:
      throw .unknownOperation(kind: Operation.kind(operation))
    }
  }

  private func put(_ key: ByteView, _ place: Place, _ changes: StoreTransaction) throws(LogFault) {
    placeBuffer.truncate(to: 0)
    placeBuffer.append(uint64: place.offset)
    placeBuffer.append(uint32: place.byteCount)
    old.truncate(to: 0)
    try changes.put(key, placeBuffer.view, in: &changes.roots[0], old: old)
    changes.liveByteCount &+= Int(place.byteCount) &- oldByteCount
  }

  private func delete(_ key: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    old.truncate(to: 0)
    try changes.remove(key, from: &changes.roots[0], old: old)
    changes.liveByteCount &-= oldByteCount
  }

  // MARK: replay

  package func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    guard let key = KeyValueApplier.key(of: operation) else {
      try applyRun(changes)
      return try apply(operation, place: place, sequence: sequence, ordinal: ordinal, to: changes)
    }
    run.append(
      kind: Operation.kind(operation), key: key, rest: key.prefix(0), place: place, sequence: sequence, ordinal: ordinal)
    if run.byteCount >= changes.replayByteCount { try applyRun(changes) }
  }

  /// Of a put or a delete that `apply` would take.
  private static func key(of operation: ByteView) -> ByteView? {
    let payload = Operation.payload(operation)
    let key: ByteView?
    switch Operation.kind(operation) {
    case Kind.put: key = self.key(ofPut: payload)
    case Kind.delete: key = payload
    default: key = nil
    }
    return key.flatMap { $0.count <= TreeLimits.maximumKeyByteCount ? $0 : nil }
  }

  /// The last operation of a key decides; what came before it leaves nothing behind.
  private func applyRun(_ changes: StoreTransaction) throws(LogFault) {
    if run.count == 0 { return }
    run.sort()
    let ranks = run.ranks()
    var rank = 0
    // Where most leaves take several operations, as in a replay, the first of them does it.
    let touchesAhead = UInt64(run.count) * KeyValueApplier.keysPerLeaf < changes.roots[0].count
    var touched = 0
    while rank < ranks.upperBound {
      if touchesAhead, rank >= touched {
        touched = min(rank + KeyValueApplier.touchedAheadCount, ranks.upperBound)
        for ahead in rank..<touched {
          changes.editor.touchLeaf(of: run.key(run.position(atRank: ahead)), in: changes.roots[0])
        }
      }
      let end = run.endOfKey(atRank: rank, in: ranks)
      let position = run.position(atRank: isMutant("replay-first-of-key") ? rank : end - 1)
      let last = run.operation(position)
      if last.kind == Kind.put {
        try put(run.key(position), last.place, changes)
      } else {
        try delete(run.key(position), changes)
      }
      rank = end
    }
    run.removeAll(keepingCapacity: true)
  }

  /// Leaves are asked for so many at a time, so that the misses overlap (row: kv-delete-half-unsynced, 0.97 to 0.80 µs).
  private static let touchedAheadCount = 8
  private static let keysPerLeaf: UInt64 = 64

  private var oldByteCount: Int {
    old.count == Place.encodedByteCount ? Int(old.view.uint32(at: 8)) : 0
  }

  package func flush(_ changes: StoreTransaction) throws(LogFault) {
    try applyRun(changes)
    forget()
  }

  package func settlePart(_ changes: StoreTransaction) throws(LogFault) -> Bool { false }
  package func letGo(_ changes: StoreTransaction) throws(LogFault) {}
  /// Memory of a replay's size goes back.
  package func forget() { run.removeAll(keepingCapacity: run.capacity <= 2 * StoreTransaction.maximumWaitingCount) }

  static func key(ofPut payload: ByteView) -> ByteView? {
    guard payload.count >= 2 else { return nil }
    let count = Int(payload.uint16(at: 0))
    return payload.count >= 2 + count ? payload.slice(2..<2 + count) : nil
  }
}

/// A database of raw keys and values: `open`, `write`, `get`, `scan`.
package final class KeyValueStore: Sendable {
  package let stores: StoreSwitch
  package var store: Store {
    @inline(__always) get { stores.store }
  }

  private let compactor: Compactor

  /// - Parameter compactsItself: in the background, when the file is much larger than what lives in it.
  package init(
    _ path: String, disk: any Disk, options: StoreOptions = StoreOptions(), compactsItself: Bool = false
  ) throws(StoreError) {
    let signal = CompactionSignal()
    var options = options
    if compactsItself { options.onCompactionDue = { signal.send() } }
    do { try KeyValueStore.createIfMissing(path, disk: disk, options: options) } catch .disk(let failure)
      where failure.kind == .exists
    {
      // Somebody else was faster; theirs is as good.
    }
    stores = StoreSwitch(try Store.open(path, disk: disk, options: options, applier: KeyValueApplier())) {
      KeyValueApplier()
    }
    compactor = Compactor(stores, bytesPerSecond: nil, signal: signal) { KeyValueImager() }
  }

  private static func createIfMissing(_ path: String, disk: any Disk, options: StoreOptions) throws(StoreError) {
    if options.isReadOnly { return }
    do { if try disk.exists(path) { return } } catch { throw .disk(error) }
    try Store.create(path, disk: disk, options: options)
  }

  deinit { compactor.stop() }

  package func close() throws(StoreError) {
    compactor.stop()
    try stores.close()
  }

  /// A transaction: what `body` puts and deletes becomes durable together, or not at all.
  @discardableResult
  package func write(_ body: (borrowing KeyValueTransaction) throws -> Void) throws -> UInt64 {
    let transaction = try stores.beginTransaction()
    // The store of this transaction; another may be current before its sync returns.
    let store = transaction.store
    do { try body(KeyValueTransaction(transaction)) } catch {
      let ticket = store.abort(transaction)
      try store.wait(ticket)
      throw error
    }
    let ticket = try store.commit(transaction)
    try store.wait(ticket)
    return ticket.sequence
  }

  /// Copies a value into `target`, verified; nil when there is none. Own snapshot.
  @inline(__always)
  package func get(_ key: ByteView, into target: ByteBuffer) throws(StoreError) -> ByteView? {
    let (store, pin) = try stores.beginRead()
    defer { store.endRead(pin) }
    return try KeyValueStore.get(key, store, pin, into: target)
  }

  @inline(__always)
  package static func get(
    _ key: ByteView, _ store: Store, _ pin: Store.Pin, into target: ByteBuffer
  ) throws(StoreError) -> ByteView? {
    let value: ByteView?
    do { value = try pin.reader.value(key, in: pin.root(0)) } catch { throw StoreError(error) }
    guard let value else { return nil }
    return try copyValue(at: value, store, end: pin.end, keyByteCount: key.count, into: target)
  }

  @inline(__always)
  static func copyValue(
    at value: ByteView, _ store: Store, end: UInt64, keyByteCount: Int, into target: ByteBuffer
  ) throws(StoreError) -> ByteView {
    let place = try KeyValueStore.place(value)
    target.truncate(to: 0)
    try Store.checkPlace(place, end: end)
    target.reserve(Int(place.byteCount))
    // Safe: the line above made room for the operation.
    unsafe try store.copyOperation(at: place, end: end, to: target.base)
    target.count = Int(place.byteCount)
    let payload = Operation.payload(target.view)
    guard payload.count >= 2 + keyByteCount else { throw .operation(offset: place.offset) }
    return payload.dropFirst(2 + keyByteCount)
  }

  static func place(_ value: ByteView) throws(StoreError) -> Place {
    guard value.count == Place.encodedByteCount else { throw .page(PageFault(offset: 0, reason: .value)) }
    return Place(offset: value.uint64(at: 0), byteCount: value.uint32(at: 8))
  }

  package var count: UInt64 {
    get throws(StoreError) {
      let (store, pin) = try stores.beginRead()
      defer { store.endRead(pin) }
      return pin.root(0).count
    }
  }

  /// Calls `body` with each key and value in key order; the views are valid during the call.
  package func scan(_ body: (ByteView, ByteView) throws -> Void) throws {
    let (store, pin) = try stores.beginRead()
    defer { store.endRead(pin) }
    var cursor = pin.reader.cursor(in: pin.root(0))
    let buffer = ByteBuffer()
    let key = ByteBuffer()
    var isValid = try cursor.first()
    while isValid {
      cursor.touchAhead(placeAt: 0)
      cursor.key(into: key)
      let value = try KeyValueStore.copyValue(at: cursor.value, store, end: pin.end, keyByteCount: key.count, into: buffer)
      try body(key.view, value)
      isValid = try cursor.next()
    }
  }
}

extension KeyValueStore {
  /// Puts a file with only what lives in this one's place, while reads and writes go on.
  package func compact(bytesPerSecond: Int? = nil, shouldGoOn: @escaping () -> Bool = { true }) throws(StoreError) {
    try stores.compact(KeyValueImager(), pace: Pace(bytesPerSecond: bytesPerSecond, shouldGoOn: shouldGoOn))
  }
}

extension KeyValueStore {
  /// Moves a read-only store on; see `StoreSwitch.refresh`.
  @discardableResult
  package func refresh() throws(StoreError) -> Bool { try stores.refresh() }
}

struct KeyValueImager: Imager {
  func makeApplier() -> any Applier { KeyValueApplier() }

  func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
    let buffer = ByteBuffer()
    var cursor = pin.reader.cursor(in: pin.root(0))
    var isValid = try moved { () throws(PageFault) in try cursor.first() }
    while isValid {
      cursor.touchAhead(placeAt: 0)
      let place = try KeyValueStore.place(cursor.value)
      let operation = try source.copyOperation(at: place, end: pin.end, into: buffer)
      try writer.append(Operation.payload(operation), kind: KeyValueApplier.Kind.put)
      try writer.rest()
      isValid = try moved { () throws(PageFault) in try cursor.next() }
    }
  }

  private func moved(_ body: () throws(PageFault) -> Bool) throws(StoreError) -> Bool {
    do { return try body() } catch { throw StoreError(error) }
  }

  func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 { try batch.append(commit) }
}

package struct KeyValueTransaction: ~Copyable {
  package let transaction: StoreTransaction
  package init(_ transaction: StoreTransaction) { self.transaction = transaction }

  package func put(_ key: ByteView, _ value: ByteView) throws(StoreError) {
    guard key.count <= TreeLimits.maximumKeyByteCount else {
      throw .tooLarge(byteCount: key.count, limit: TreeLimits.maximumKeyByteCount)
    }
    let start = transaction.beginOperation()
    transaction.payload.append(uint16: UInt16(key.count))
    transaction.payload.append(key)
    transaction.payload.append(value)
    transaction.addsData = true
    try transaction.endOperation(start, kind: KeyValueApplier.Kind.put)
  }

  /// Deletes are put into the tree together, in the order of keys, before anything is read or committed.
  package func delete(_ key: ByteView) throws(StoreError) {
    guard key.count <= TreeLimits.maximumKeyByteCount else {
      throw .tooLarge(byteCount: key.count, limit: TreeLimits.maximumKeyByteCount)
    }
    let start = transaction.beginOperation()
    transaction.payload.append(key)
    try transaction.endOperation(start, kind: KeyValueApplier.Kind.delete, mayWait: true)
  }

  /// What this transaction would read; nil when there is nothing under the key.
  package func get(_ key: ByteView) throws(StoreError) -> [UInt8]? {
    let value: ByteView?
    try transaction.settle()
    do { value = try transaction.reader.value(key, in: transaction.roots[0]) } catch { throw StoreError(error) }
    guard let value else { return nil }
    let operation = try transaction.operation(at: try KeyValueStore.place(value))
    return Operation.payload(operation).dropFirst(2 + key.count).array
  }

  package func savepoint(_ body: () throws -> Void) throws {
    let savepoint = try transaction.savepoint()
    do { try body() } catch {
      try transaction.rollBack(to: savepoint)
      throw error
    }
  }
}
