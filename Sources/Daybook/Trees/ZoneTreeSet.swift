/// Some of a zone's trees: a number with a bit for each. A walk over it is in the order of the list.
struct ZoneTreeSet: Equatable, Sequence, IteratorProtocol {
  private var bits: UInt32

  @inline(__always)
  init() { bits = 0 }

  @inline(__always)
  init(_ tree: ZoneTree) { bits = 1 &<< UInt32(truncatingIfNeeded: tree.rawValue) }

  /// The first trees of the list.
  @inline(__always)
  init(first count: Int) { bits = (1 &<< UInt32(truncatingIfNeeded: count)) &- 1 }

  private init(bits: UInt32) { self.bits = bits }

  var isEmpty: Bool { @inline(__always) get { bits == 0 } }

  @inline(__always)
  func contains(_ tree: ZoneTree) -> Bool { bits & ZoneTreeSet(tree).bits != 0 }

  @inline(__always)
  func intersection(_ other: ZoneTreeSet) -> ZoneTreeSet { ZoneTreeSet(bits: bits & other.bits) }

  @inline(__always)
  mutating func insert(_ tree: ZoneTree) { bits |= ZoneTreeSet(tree).bits }

  /// Takes the first tree out.
  @inline(__always)
  mutating func next() -> ZoneTree? {
    if bits == 0 { return nil }
    defer { bits &= bits &- 1 }
    return ZoneTree(rawValue: bits.trailingZeroBitCount)
  }
}
