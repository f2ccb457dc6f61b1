/// An engine from elsewhere that keeps keys and values: what `PeerKeys` needs of it to run the same loops over each of them.
///
/// The loops are generic and in this module, so they are compiled anew for each peer: a call to a session costs what the call
/// into the peer's C library costs.
protocol Peer: AnyObject, SendableMetatype {
  associatedtype Session: PeerSession
  /// What one thread works with; `end` gives it back.
  func session(_ use: SessionUse) throws -> Session
  /// Makes the file hold only what lives, in key order, by the means that the engine has for it.
  func compact() throws
  /// Makes the log as long as it gets, of an engine that then writes over it.
  func fillLog() throws
  func close() throws
}

extension Peer {
  func fillLog() throws {}
}

/// How many threads are at work at the same time.
enum SessionUse { case alone, oneOfSeveralWriters, oneOfSeveralReaders }

/// One thread's view of a peer.
///
/// Keys and values lie in memory that stays where it is until the call has returned. What `get` and the cursor return lies in
/// the engine's own memory and is valid until the next call.
protocol PeerSession: AnyObject, SendableMetatype {
  // A transaction.
  /// - Parameter isAscending: only keys above all that are there will be put, in their order.
  func begin(isAscending: Bool) throws
  func put(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int) throws
  func delete(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws
  func commit() throws
  /// A commit of its own.
  func putAlone(
    _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int) throws

  // Gets: each from the newest snapshot, or all from the one that `beginReading` takes.
  func beginReading(ownSnapshots: Bool) throws
  func get(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> UnsafeRawBufferPointer?
  func endReading() throws

  // A cursor in one snapshot. Each move returns nil when there is nothing there.
  func openCursor() throws
  func first() throws -> CursorPlace?
  func seek(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> CursorPlace?
  func next() throws -> CursorPlace?
  func closeCursor() throws

  func end()
}

/// Where a cursor stands.
struct CursorPlace {
  let keyByteCount: Int
  let value: UnsafeRawBufferPointer
}

extension PeerSession {
  func putAlone(
    _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
  ) throws {
    try begin(isAscending: false)
    try put(key, keyByteCount, value, valueByteCount)
    try commit()
  }
}
