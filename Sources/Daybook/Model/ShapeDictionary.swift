import DaybookEngine
import Synchronization

/// The declarations of one store, by their numbers: read by any thread without a lock, changed by the holder of the turn.
///
///     slots    8,192 × {u32 number, u32 index + 2}, searched from the number on; 0 empty, 1 removed
///     blocks   address of each declaration, in the order in which they were made
///
/// It is what the tree of declarations has, and never loses what a commit has made. What a transaction declares is here at once, and
/// is rolled back with it: no other thread knows a number before the commit that declares it is published, so none misses it.
///
/// Always true: one number is for one declaration, as long as the store lives.
@safe final class ShapeDictionary: @unchecked Sendable {
  static let countLimit = 4096
  /// All of them together fit into one frame.
  static let byteCountLimit = 1 << 20 - 128 << 10
  private static let slotCount = 8192
  private static let removed: UInt64 = 1

  private let slots: UnsafeMutablePointer<Atomic<UInt64>>
  private let blocks: UnsafeMutablePointer<UInt>
  /// Bits of numbers that count: fewer in tests, so that numbers meet.
  let mask: UInt32
  private(set) var count = 0
  private(set) var byteCount = 0
  /// Pieces that the tree has of them.
  private(set) var pieceCount = 0
  /// Shapes of each type, by index.
  private var shapes: [[UInt8]: [Int]] = [:]

  init(mask: UInt32 = .max) {
    self.mask = mask
    // Zero is an empty slot. The system gives such memory away when it is first touched.
    unsafe slots = .allocate(capacity: ShapeDictionary.slotCount)
    for index in 0..<ShapeDictionary.slotCount { unsafe (slots + index).initialize(to: Atomic(0)) }
    unsafe blocks = .allocate(capacity: ShapeDictionary.countLimit)
  }

  deinit {
    cut(to: 0)
    unsafe slots.deinitialize(count: ShapeDictionary.slotCount)
    unsafe slots.deallocate()
    unsafe blocks.deallocate()
  }

  // MARK: any thread

  /// The declaration with a number; nil when there is none.
  @inline(__always)
  func find(_ number: UInt32) -> Declared? {
    var slot = Int(number) & (ShapeDictionary.slotCount - 1)
    for _ in 0..<ShapeDictionary.slotCount {
      // Safe: the slot is below their number.
      let word = unsafe slots[slot].load(ordering: .acquiring)
      if word == 0 { return nil }
      if UInt32(truncatingIfNeeded: word &>> 32) == number, word != ShapeDictionary.removed {
        // Safe: a slot has the index of a block that was filled before.
        return unsafe Declared(address: blocks[Int(UInt32(truncatingIfNeeded: word)) &- 2])
      }
      slot = (slot &+ 1) & (ShapeDictionary.slotCount - 1)
    }
    return nil
  }

  @inline(__always)
  func find(_ number: UInt32, _ kind: Declaration.Kind) -> Declared? {
    guard let found = find(number), found.kind == kind.rawValue else { return nil }
    return found
  }

  // MARK: the holder of the turn

  func number(of declaration: ByteView) -> UInt32 { Declaration.number(of: declaration) & mask }

  /// The entry of a declaration, if it was made.
  func find(_ declaration: ByteView) -> Declared? {
    guard let found = find(number(of: declaration)), UTF8Order.equal(found.bytes, declaration) else { return nil }
    return found
  }

  subscript(index: Int) -> Declared {
    precondition(index >= 0 && index < count, "a declaration that was made")
    // Safe: so many blocks have been filled.
    guard let declared = unsafe Declared(address: blocks[index]) else { preconditionFailure("a block has an address") }
    return declared
  }

  /// Whether there is room for a declaration, and its number is free. A quarter of the room is for shapes alone: a file with thousands
  /// of zones or users still packs the bodies of a new type.
  func mayAdd(_ declaration: ByteView) -> Bool {
    let isShape = declaration.count > 0 && declaration[0] == Declaration.Kind.shape.rawValue
    if !isShape {
      guard count < ShapeDictionary.countLimit / 4 * 3, byteCount < ShapeDictionary.byteCountLimit / 4 * 3 else { return false }
    }
    return declaration.count <= Declaration.maximumByteCount && hasRoom(for: declaration.count)
      && find(number(of: declaration)) == nil
  }

  private func hasRoom(for declarationByteCount: Int) -> Bool {
    count < ShapeDictionary.countLimit && byteCount + declarationByteCount <= ShapeDictionary.byteCountLimit
  }

  /// Takes a sound declaration. False when its number is for another one, or there is no room: then no writer has made it.
  func add(_ declaration: ByteView) -> Bool {
    let number = number(of: declaration)
    if let known = find(number) { return UTF8Order.equal(known.bytes, declaration) || isMutant("number-for-two") }
    guard hasRoom(for: declaration.count) else { return false }
    let declared = Declared(copying: declaration, number: number)
    // Safe: the count is below the limit.
    unsafe blocks[count] = declared.address
    var slot = Int(number) & (ShapeDictionary.slotCount - 1)
    while unsafe slots[slot].load(ordering: .relaxed) > ShapeDictionary.removed {
      slot = (slot + 1) & (ShapeDictionary.slotCount - 1)
    }
    if declared.kind == Declaration.Kind.shape.rawValue { shapes[declared.type.array, default: []].append(count) }
    // Safe: half of the slots are free, so the search above has ended at one.
    unsafe slots[slot].store(UInt64(number) << 32 | UInt64(count + 2), ordering: .releasing)
    count += 1
    byteCount += declaration.count
    pieceCount += Declaration.pieceCount(of: declaration.count)
    return true
  }

  /// Forgets the newest ones, down to a number of pieces: the transaction that made them was rolled back.
  func cut(toPieceCount target: Int) {
    var kept = count
    var pieces = pieceCount
    while kept > 0, pieces > target {
      kept -= 1
      pieces -= Declaration.pieceCount(of: self[kept].bytes.count)
    }
    cut(to: kept)
  }

  private func cut(to newCount: Int) {
    while count > newCount {
      let last = self[count - 1]
      remove(last.number)
      if last.kind == Declaration.Kind.shape.rawValue { shapes[last.type.array]?.removeLast() }
      count -= 1
      byteCount -= last.bytes.count
      pieceCount -= Declaration.pieceCount(of: last.bytes.count)
      last.free()
    }
  }

  private func remove(_ number: UInt32) {
    var slot = Int(number) & (ShapeDictionary.slotCount - 1)
    for _ in 0..<ShapeDictionary.slotCount {
      let word = unsafe slots[slot].load(ordering: .relaxed)
      if UInt32(truncatingIfNeeded: word >> 32) == number, word > ShapeDictionary.removed {
        unsafe slots[slot].store(ShapeDictionary.removed, ordering: .releasing)
        return
      }
      slot = (slot + 1) & (ShapeDictionary.slotCount - 1)
    }
  }

  /// The shapes of a type, oldest first.
  func shapes(ofType type: ByteView) -> [Declared] { (shapes[type.array] ?? []).map { self[$0] } }
}
