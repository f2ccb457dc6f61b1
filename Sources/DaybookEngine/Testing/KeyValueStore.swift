/// A database of raw keys and values: `open`, `write`, `get`, `scan`.
package final class KeyValueStore: Sendable {
  package let stores: StoreSwitch
  package var store: Store {
    @inline(__always) get { stores.store }
  }

  private let compactor: Compactor

  /// - Parameter compactsItself: whether it compacts in the background when the file is much larger than its live bytes.
  package init(
    _ path: String, disk: any Disk, options: StoreOptions = StoreOptions(), compactsItself: Bool = false
  ) throws(StoreError) {
    let signal = CompactionSignal()
    var options = options
    if compactsItself { options.onCompactionDue = { signal.send() } }
    do { try KeyValueStore.createIfMissing(path, disk: disk, options: options) } catch .disk(let failure)
      where failure.kind == .exists && failure.operation != .remove
    {
      // Someone else was faster; that file is as good.
    }
    stores = StoreSwitch(try Store.open(path, disk: disk, options: options, applier: KeyValueApplier())) {
      KeyValueApplier()
    }
    compactor = Compactor(stores, bytesPerSecond: nil, signal: signal) { KeyValueRewriter() }
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

  /// Runs a transaction: what `body` puts and deletes becomes durable together, or not at all.
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

  /// Copies a value into `target`, verified; nil when there is none. Reads the newest version.
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
    guard let place = Place(value) else { throw .page(PageFault(reason: .value)) }
    return place
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
    while try cursor.next() {
      cursor.touchAhead(isPacked: false)
      cursor.key(into: key)
      let value = try KeyValueStore.copyValue(at: cursor.value, store, end: pin.end, keyByteCount: key.count, into: buffer)
      try body(key.view, value)
    }
  }
}

extension KeyValueStore {
  /// Compacts the file while reads and writes go on.
  package func compact(bytesPerSecond: Int? = nil, shouldGoOn: @escaping () -> Bool = { true }) throws(StoreError) {
    try stores.compact(KeyValueRewriter(), pace: Pace(bytesPerSecond: bytesPerSecond, shouldGoOn: shouldGoOn))
  }
}

extension KeyValueStore {
  /// Refreshes a read-only store; see `StoreSwitch.refresh`.
  @discardableResult
  package func refresh() throws(StoreError) -> Bool { try stores.refresh() }
}
