import Synchronization

/// What readers see of a dictionary of shapes: two addresses, so that a read counts no reference. Nothing that it finds is ever changed.
///
/// Valid as long as the dictionary, which its store keeps.
@safe struct ShapeTable: Sendable {
  static let slotCount = 8192
  static let removed: UInt64 = 1

  nonisolated(unsafe) let slots: UnsafeMutablePointer<Atomic<UInt64>>
  nonisolated(unsafe) let blocks: UnsafeMutablePointer<UInt>

  /// The declaration with a number; nil when there is none.
  @inline(__always)
  func find(_ number: UInt32) -> Declared? {
    var slot = Int(number) & (ShapeTable.slotCount - 1)
    for _ in 0..<ShapeTable.slotCount {
      // Safe: the slot is below their number.
      let word = unsafe slots[slot].load(ordering: .acquiring)
      if word == 0 { return nil }
      if UInt32(truncatingIfNeeded: word &>> 32) == number, word != ShapeTable.removed {
        // Safe: a slot has the number of a block that was filled before, and is neither changed nor freed while the dictionary lives.
        return unsafe Declared(address: blocks[Int(UInt32(truncatingIfNeeded: word)) &- 2])
      }
      slot = (slot &+ 1) & (ShapeTable.slotCount - 1)
    }
    return nil
  }

  @inline(__always)
  func find(_ number: UInt32, _ kind: Declaration.Kind) -> Declared? {
    guard let found = find(number), found.kind == kind.rawValue else { return nil }
    return found
  }
}
