import Synchronization

/// The operations of one commit in the log, by their places, for replay, copies and checks.
///
/// A commit may be larger than memory where the log is not mapped, so its bytes are read one operation at a time.
@safe struct LoggedOperations {
  let places: [Place]
  let log: LogReader

  var count: Int { places.count }

  /// A verified operation, in memory of the reader's own; valid until the next call. Its frame was verified before, but
  /// bytes may have changed since.
  func bytes(_ index: Int) throws(LogFault) -> ByteView { try log.operation(at: places[index]) }
}

extension LogReader {
  /// A verified operation, in memory of the reader's own; valid until the next call.
  /// - Parameter place: of `forEachOperation`.
  func operation(at place: Place) throws(LogFault) -> ByteView {
    guard let found = view(Int(place.offset)..<Int(place.offset) + Int(place.byteCount)) else { throw unreadable() }
    let copy = ownCopy(of: found)
    guard Operation.isSound(copy, salt: salt, offset: place.offset) else { throw .operation }
    return copy
  }

  /// Why bytes could not be read.
  private func unreadable() -> LogFault {
    do { try checkRead() } catch { return .page(PageFault(error, offset: UInt64(error.offset ?? 0))) }
    return .operation
  }

  /// Calls `body` with place and kind of each operation in a frame's payload, in order; false ends the walk.
  func forEachOperation(of frame: FrameHeader, _ body: (Place, UInt8) throws(LogFault) -> Bool) throws(LogFault) {
    guard frame.payloadByteCount <= end, frame.end <= end else { throw .operation }
    var position = frame.payloadOffset + (frame.hasParts ? UInt64(PartList.encodedByteCount) : 0)
    if position > frame.end { throw .operation }
    var ahead = LogAhead()
    while position < frame.end {
      ahead.ask(bytes, position, end: frame.end)
      let headEnd = min(position + UInt64(Operation.longHeaderByteCount), frame.end)
      guard let bytes = view(Int(position)..<Int(headEnd)) else { throw unreadable() }
      guard let head = Operation.Head(bytes), UInt64(head.byteCount) <= frame.end - position,
        let length = UInt32(exactly: head.byteCount)
      else { throw .operation }
      if try !body(Place(offset: position, byteCount: length), head.kind) { return }
      position += UInt64(length)
    }
  }

  /// Loads the next cache lines of a walk over small operations, all at once. Each length leads to the next operation, so
  /// without this each line is a cache miss: a seventh of an open.
  private struct LogAhead {
    private static let byteCount: UInt64 = 4096
    private var end: UInt64 = 0

    /// Loads at most so many bytes behind the operation at `position`; nothing where the log is not mapped.
    @inline(__always)
    mutating func ask(_ bytes: ByteView, _ position: UInt64, end frameEnd: UInt64) {
      if position < end { return }
      end = min(position + LogAhead.byteCount, frameEnd, UInt64(bytes.count))
      var line = position
      while line < end {
        // Safe: below the end of the bytes. Atomic, because the compiler would remove a plain load whose result is not used.
        _ = unsafe (bytes.base + Int(line)).assumingMemoryBound(to: Atomic<UInt8>.self).pointee.load(ordering: .relaxed)
        line += 64
      }
    }
  }

  /// The operations of one commit's frames, in order, without those that a rollback to a savepoint took back.
  func operations(of frames: [FrameHeader]) throws(LogFault) -> LoggedOperations {
    var places: [Place] = []
    for frame in frames {
      try forEachOperation(of: frame) { (place, kind) throws(LogFault) in
        if kind == Operation.rollbackKind {
          let body = Operation.payload(try operation(at: place))
          guard body.count == 4, Int(body.uint32(at: 0)) <= places.count else { throw .operation }
          places.removeSubrange(Int(body.uint32(at: 0))...)
        } else {
          places.append(place)
        }
        return true
      }
    }
    return LoggedOperations(places: places, log: self)
  }
}
