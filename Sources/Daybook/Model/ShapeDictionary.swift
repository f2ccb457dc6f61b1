import DaybookEngine
import Synchronization

/// The declarations of one store, by their numbers: read by any thread without a lock, changed by the holder of the turn.
///
///     slots    8,192 × {u32 number, u32 block + 2}, searched from the number on; 0 empty, 1 removed
///     blocks   address of each declaration, in the order in which they were first made; each is written once
///     made     the blocks of those that count, in the order in which they were made
///
/// It is what the tree of declarations has, and never loses what a commit has made. What a transaction declares is here at once, and
/// is rolled back with it: no other thread knows a number before the commit that declares it is published, so none misses it. But the
/// bytes of a forged file may name any number at any time. So a block that was rolled back is kept until the dictionary goes, and
/// serves again when the same is declared again. When many are kept, no more declarations are made.
///
/// Always true: one number is for one declaration at a time, and a block has the same bytes as long as the dictionary lives.
@safe final class ShapeDictionary: @unchecked Sendable {
  static let countLimit = 4096
  /// All of them together fit into one frame.
  static let byteCountLimit = 1 << 20 - 128 << 10
  /// Beyond so many that were rolled back nothing more is declared: bodies that need it say themselves what they are.
  static let retiredCountLimit = 4096
  static let retiredByteCountLimit = 1 << 20
  /// Room for all that count, and for what the last transaction before the limit rolls back.
  private static let blockLimit = countLimit + retiredCountLimit + countLimit

  /// For reading.
  let table: ShapeTable
  /// Slots and blocks. The system provides such pages when they are touched, so that an open pays for what it has.
  private let memory: UnsafeMutableRawPointer
  private let isReserved: Bool
  private static let tableByteCount = 8 * (ShapeTable.slotCount + blockLimit)
  private var blockCount = 0
  private var made: [UInt32] = []
  /// Blocks that were rolled back, by their numbers: with few bits several have one.
  private var retired: [UInt32: [UInt32]] = [:]
  private(set) var retiredCount = 0
  private(set) var retiredByteCount = 0
  /// Bits of numbers that count: fewer in tests, so that numbers meet.
  let mask: UInt32
  var count: Int { made.count }
  private(set) var byteCount = 0
  /// Pieces that the tree has of them.
  private(set) var pieceCount = 0
  /// Shapes of each type, by index.
  private var shapes: [[UInt8]: [Int]] = [:]

  init(mask: UInt32 = .max) {
    self.mask = mask
    let byteCount = ShapeDictionary.tableByteCount
    if let reserved = unsafe RawMemory.reserveZeroed(byteCount: byteCount) {
      unsafe memory = reserved
      isReserved = true
    } else {
      unsafe memory = .allocate(byteCount: byteCount, alignment: 16)
      isReserved = false
      unsafe RawMemory.zero(memory, byteCount: byteCount)
    }
    // Safe: the memory has room for both. Zero is an empty slot, and all that an atomic number is made of.
    let slots = unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: ShapeTable.slotCount)
    let blocks = unsafe (memory + ShapeTable.slotCount * 8).bindMemory(to: UInt.self, capacity: ShapeDictionary.blockLimit)
    table = unsafe ShapeTable(slots: slots, blocks: blocks)
  }

  deinit {
    // Safe: so many blocks have been filled, and no one has the dictionary any more.
    for block in 0..<blockCount { unsafe Declared(address: table.blocks[block])?.free() }
    if isReserved {
      unsafe RawMemory.release(memory, byteCount: ShapeDictionary.tableByteCount)
    } else {
      unsafe memory.deallocate()
    }
  }

  /// The declaration with a number; nil when there is none. For any thread.
  func find(_ number: UInt32) -> Declared? { table.find(number) }

  func find(_ number: UInt32, _ kind: Declaration.Kind) -> Declared? { table.find(number, kind) }

  // MARK: the holder of the turn

  func number(of declaration: ByteView) -> UInt32 { Declaration.number(of: declaration) & mask }

  /// The entry of a declaration, if it was made.
  func find(_ declaration: ByteView) -> Declared? {
    guard let found = find(number(of: declaration)), UTF8Order.equal(found.bytes, declaration) else { return nil }
    return found
  }

  subscript(index: Int) -> Declared {
    precondition(index >= 0 && index < count, "a declaration that was made")
    return block(made[index])
  }

  private func block(_ number: UInt32) -> Declared {
    // Safe: numbers of blocks are those of blocks that were filled.
    let address = unsafe table.blocks[Int(number)]
    guard let declared = Declared(address: address) else { preconditionFailure("a block has an address") }
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
      && retiredCount < ShapeDictionary.retiredCountLimit && retiredByteCount < ShapeDictionary.retiredByteCountLimit
      && find(number(of: declaration)) == nil
  }

  private func hasRoom(for declarationByteCount: Int) -> Bool {
    count < ShapeDictionary.countLimit && byteCount + declarationByteCount <= ShapeDictionary.byteCountLimit
  }

  /// Takes a sound declaration. False when its number is for another one, or there is no room: then no writer has made it.
  func add(_ declaration: ByteView) -> Bool {
    let number = number(of: declaration)
    if let known = find(number) { return UTF8Order.equal(known.bytes, declaration) || isMutant("number-for-two") }
    guard hasRoom(for: declaration.count), let block = block(of: declaration, number) else { return false }
    var slot = Int(number) & (ShapeTable.slotCount - 1)
    while unsafe table.slots[slot].load(ordering: .relaxed) > ShapeTable.removed {
      slot = (slot + 1) & (ShapeTable.slotCount - 1)
    }
    let declared = self.block(block)
    if declared.kind == Declaration.Kind.shape.rawValue { shapes[declared.type.array, default: []].append(count) }
    // Safe: half of the slots are free, so the search above has ended at one.
    unsafe table.slots[slot].store(UInt64(number) << 32 | UInt64(block) + 2, ordering: .releasing)
    made.append(block)
    byteCount += declaration.count
    pieceCount += Declaration.pieceCount(of: declaration.count)
    return true
  }

  /// A block with a declaration: one that was rolled back, or a new one. Nil when so many were rolled back that there is no room.
  private func block(of declaration: ByteView, _ number: UInt32) -> UInt32? {
    if let index = retired[number]?.firstIndex(where: { UTF8Order.equal(block($0).bytes, declaration) }),
      let known = retired[number]?.remove(at: index)
    {
      retiredCount -= 1
      retiredByteCount -= declaration.count
      return known
    }
    guard blockCount < ShapeDictionary.blockLimit else { return nil }
    // Safe: the count is below the limit. No slot leads here yet.
    unsafe table.blocks[blockCount] = Declared(copying: declaration, number: number).address
    blockCount += 1
    return UInt32(blockCount - 1)
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
    while count > newCount, let block = made.popLast() {
      let last = self.block(block)
      remove(last.number)
      if last.kind == Declaration.Kind.shape.rawValue { shapes[last.type.array]?.removeLast() }
      byteCount -= last.bytes.count
      pieceCount -= Declaration.pieceCount(of: last.bytes.count)
      retired[last.number, default: []].append(block)
      retiredCount += 1
      retiredByteCount += last.bytes.count
    }
  }

  private func remove(_ number: UInt32) {
    var slot = Int(number) & (ShapeTable.slotCount - 1)
    for _ in 0..<ShapeTable.slotCount {
      let word = unsafe table.slots[slot].load(ordering: .relaxed)
      if UInt32(truncatingIfNeeded: word >> 32) == number, word > ShapeTable.removed {
        unsafe table.slots[slot].store(ShapeTable.removed, ordering: .releasing)
        return
      }
      slot = (slot + 1) & (ShapeTable.slotCount - 1)
    }
  }

  /// The shapes of a type, oldest first.
  func shapes(ofType type: ByteView) -> [Declared] { (shapes[type.array] ?? []).map { self[$0] } }
}
