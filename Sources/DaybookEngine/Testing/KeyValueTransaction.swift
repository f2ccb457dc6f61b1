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

  /// The value that this transaction sees; nil when there is none.
  package func get(_ key: ByteView) throws(StoreError) -> [UInt8]? {
    let value: ByteView?
    try transaction.flush()
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
    transaction.release(savepoint)
  }
}
