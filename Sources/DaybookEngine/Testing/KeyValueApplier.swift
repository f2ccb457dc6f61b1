/// Raw keys and values on the engine: one tree, one applier, no records.
///
/// The smallest complete user of `Store`. Tests and benchmarks of the engine use it, and it shows what a layer above must
/// provide. The payload of a put is {u16 key length, key, value}; that of a delete is the key.
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
    place.append(to: placeBuffer)
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

  /// The key of a put or delete; nil for what `apply` would refuse.
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

  /// Applies the last operation of each key; earlier ones have no effect.
  private func applyRun(_ changes: StoreTransaction) throws(LogFault) {
    if run.count == 0 { return }
    run.sort()
    let ranks = run.ranks()
    var rank = 0
    // If most leaves get several operations, as in a replay, the first one loads the leaf anyway.
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

  /// So many leaves are loaded at a time, so that the cache misses overlap (row: kv-delete-half-unsynced, 0.97 to 0.80 µs).
  private static let touchedAheadCount = 8
  private static let keysPerLeaf: UInt64 = 64

  private var oldByteCount: Int {
    Place(old.view).map { Int($0.byteCount) } ?? 0
  }

  package func flush(_ changes: StoreTransaction) throws(LogFault) {
    try applyRun(changes)
    reset()
  }

  package func flushPart(_ changes: StoreTransaction) throws(LogFault) -> Bool { false }
  package func letGo(_ changes: StoreTransaction) throws(LogFault) {}
  /// Releases memory of the size that a replay needs.
  package func reset() { run.removeAll(keepingCapacity: run.capacity <= 2 * StoreTransaction.maximumWaitingCount) }

  static func key(ofPut payload: ByteView) -> ByteView? {
    guard payload.count >= 2 else { return nil }
    let count = Int(payload.uint16(at: 0))
    return payload.count >= 2 + count ? payload.slice(2..<2 + count) : nil
  }
}
