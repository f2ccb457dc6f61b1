/// The bytes of a file in memory.
///
///     base
///     ┌─────────────────────────────┐   ┌─────────┐  ┌─────────┐
///     │ in place, reserved at first │   │ a piece │  │ a piece │  reserved one by one as the file grows
///     └─────────────────────────────┘   └─────────┘  └─────────┘
///
/// Where address space is ample, what is in place suffices for any file. Where it is not, a file that were reserved as a whole
/// would take from others what it may never use; what is in pieces is copied, as a file is that is not mapped.
///
/// Always true: what follows `byteCount` is zero. Guarded by the lock of its disk, except for reads through `base`, which
/// never moves.
@safe final class MemoryContent: @unchecked Sendable {
  let identity: FileIdentity
  let base: UnsafeMutableRawPointer
  let inPlaceByteCount: Int
  private let pieceByteCount: Int
  private var pieces = unsafe [UnsafeMutableRawPointer]()
  private var reservedEnd: Int { unsafe inPlaceByteCount + pieces.count * pieceByteCount }
  private(set) var byteCount = 0
  var attributes = FileAttributes.ofNewFile
  var locks = LockTable()

  /// - Parameter base: what `AddressSpace.take` has granted; released with this object.
  init(identity: FileIdentity, base: UnsafeMutableRawPointer, inPlaceByteCount: Int, pieceByteCount: Int) {
    self.identity = identity
    unsafe self.base = base
    self.inPlaceByteCount = inPlaceByteCount
    self.pieceByteCount = pieceByteCount
  }

  // Safe: the last description and the last name are gone, so there is no reader.
  deinit {
    unsafe AddressSpace.giveBack(base, byteCount: inPlaceByteCount)
    releasePieces(keeping: 0)
  }

  private func releasePieces(keeping count: Int) {
    // Safe: an address in a piece is used with the disk's lock only.
    while unsafe pieces.count > count { unsafe AddressSpace.giveBack(pieces.removeLast(), byteCount: pieceByteCount) }
  }

  /// Reserves pieces up to a byte; false when the system grants no more.
  private func reserve(upTo end: Int) -> Bool {
    if end <= reservedEnd { return true }
    // Asked for as a whole first, so that a length near the largest number is refused at once.
    guard AddressSpace.leavesEnough(after: end - reservedEnd) else { return false }
    while end > reservedEnd {
      let piece = unsafe AddressSpace.take(upTo: pieceByteCount, least: pieceByteCount, unit: pieceByteCount) {
        unsafe RawMemory.reserveZeroed(byteCount: $0)
      }
      guard let piece = unsafe piece else { return false }
      unsafe pieces.append(piece.base)
    }
    return true
  }

  /// Calls `body` for each stretch of a range that is reserved: where the stretch is, and which part of the range.
  private func forEachStretch(
    of range: Range<Int>, _ body: (_ memory: UnsafeMutableRawPointer, _ limit: Range<Int>, _ start: Int) -> Void
  ) {
    var position = range.lowerBound
    while position < range.upperBound {
      // Safe: everything up to the range's end is reserved, so both places lie inside a reservation.
      if position < inPlaceByteCount {
        let end = min(range.upperBound, inPlaceByteCount)
        unsafe body(base, position..<end, position - range.lowerBound)
        position = end
      } else {
        let (piece, within) = (position - inPlaceByteCount).quotientAndRemainder(dividingBy: pieceByteCount)
        let count = min(range.upperBound - position, pieceByteCount - within)
        unsafe body(pieces[piece], within..<within + count, position - range.lowerBound)
        position += count
      }
    }
  }

  /// False, and nothing is written, when there is no room.
  func write(_ bytes: ByteView, at offset: Int) -> Bool {
    if bytes.count == 0 { return true }
    let (end, isTooMuch) = offset.addingReportingOverflow(bytes.count)
    guard !isTooMuch, reserve(upTo: end) else { return false }
    unsafe forEachStretch(of: offset..<end) { memory, part, start in
      // Safe: the parts of the range make up the bytes.
      unsafe (memory + part.lowerBound).copyMemory(from: bytes.base + start, byteCount: part.count)
    }
    byteCount = max(byteCount, end)
    return true
  }

  /// How many bytes there were: fewer than asked for at the end of the file only.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) -> Int {
    let received = min(count, max(0, byteCount - offset))
    guard received > 0 else { return 0 }
    unsafe forEachStretch(of: offset..<offset + received) { memory, part, start in
      // Safe: the caller owns `count` bytes at `target`.
      unsafe (target + start).copyMemory(from: memory + part.lowerBound, byteCount: part.count)
    }
    return received
  }

  /// False when the file cannot become so long.
  func truncate(to byteCount: Int) -> Bool {
    if byteCount >= self.byteCount {
      guard reserve(upTo: byteCount) else { return false }
    } else {
      unsafe forEachStretch(of: byteCount..<self.byteCount) { memory, part, _ in
        // Safe: the part lies inside the memory.
        unsafe RawMemory.clear(memory, part)
      }
      releasePieces(keeping: max(0, byteCount - inPlaceByteCount + pieceByteCount - 1) / pieceByteCount)
    }
    self.byteCount = byteCount
    return true
  }
}
