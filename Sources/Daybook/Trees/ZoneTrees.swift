import DaybookEngine

/// One zone's trees and state: the value of its catalog cell.
///
/// After the roots, one for each tree of `ZoneTree` that the zone has, stand: u64 epoch, u32 capabilities, u8 1 if deleted, u8 reason, u16 zero, u64 last sequence, u64 bytes
/// of the bodies and tombstones that the trees name.
/// A deleted zone keeps its cell, without roots, so that the database feed can tell of it.
struct ZoneTrees {
  static let ownerByteCount = 32
  /// No zone has more; what is computed with a count out of a forged file does not overflow.
  private static let maximumLiveByteCount: UInt64 = 1 << 50

  private var roots = ZoneRoots()
  /// How many of the list's trees the zone has: all of them, unless an older version of the library wrote its cell.
  var treeCount: Int { @inline(__always) get { Int(treeNumber) } }
  /// Which life of the zone this is: a new one when it is created again.
  var epoch: UInt64 = 0
  var capabilities: UInt32 = 0
  var isDeleted = false
  var deletionReason: UInt8 = 0
  private var treeNumber = UInt8(truncatingIfNeeded: ZoneTree.count)
  /// As many roots as its cell has: a tree of indexes without entries has none, if it is the last.
  private var rootCount: Int {
    treeCount == ZoneTree.leastCountInMemory && roots.indexes.isEmpty ? ZoneTree.leastCount : treeCount
  }
  /// The commit that changed the zone last.
  var lastSequence: UInt64 = 0
  /// Bytes of the bodies and tombstones that the trees name.
  var liveByteCount = 0

  init() {}

  /// A new zone with so many trees.
  init(treeCount: Int) { treeNumber = UInt8(truncatingIfNeeded: treeCount) }

  /// Nil when the cell holds no zone that this version knows; `fault(of:)` says why.
  @inline(__always)
  init?(_ value: CatalogValue) {
    let count = value.rootCount
    guard count <= ZoneTree.count, count >= ZoneTree.leastCount, value.ownerBytes.count == ZoneTrees.ownerByteCount else {
      return nil
    }
    treeNumber = UInt8(truncatingIfNeeded: max(count, ZoneTree.leastCountInMemory))
    roots = ZoneRoots(value, count: count)
    let ownerBytes = value.ownerBytes
    epoch = ownerBytes.uint64(at: 0)
    capabilities = ownerBytes.uint32(at: 8)
    isDeleted = ownerBytes[12] != 0
    deletionReason = ownerBytes[13]
    lastSequence = ownerBytes.uint64(at: 16)
    liveByteCount = Int(clamping: min(ownerBytes.uint64(at: 24), ZoneTrees.maximumLiveByteCount))
  }

  /// What a zone that exists can do, without its trees; nil where `init` would give nil, or a deleted zone.
  static func capabilities(of value: CatalogValue) -> UInt32? {
    let (count, ownerBytes) = (value.rootCount, value.ownerBytes)
    guard count <= ZoneTree.count, count >= ZoneTree.leastCount, ownerBytes.count == ZoneTrees.ownerByteCount,
      ownerBytes[12] == 0
    else { return nil }
    return ownerBytes.uint32(at: 8)
  }

  /// What is wrong with a cell that is none of a zone.
  static func fault(of value: CatalogValue) -> LogFault {
    value.rootCount > ZoneTree.count ? .unknownTrees(count: value.rootCount) : .inconsistent
  }

  // MARK: trees

  subscript(tree: ZoneTree) -> TreeRoot {
    @inline(__always) get { roots[tree] }
    @inline(__always) _modify { yield &roots[tree] }
  }

  /// The trees that the zone has.
  var trees: ZoneTreeSet { @inline(__always) get { ZoneTreeSet(first: treeCount) } }

  /// Whether a body may contribute to trees of the zone: the flag of its record's entry by name.
  @inline(__always)
  func takes(_ contributed: ZoneTreeSet) -> Bool { !contributed.intersection(trees).isEmpty }

  /// Whether any body contributes to any tree now. If none does, nobody need look what an older one did.
  var holdsContributions: Bool {
    for tree in trees where tree.isOfBodies && roots[tree].reference != 0 { return true }
    return false
  }

  /// Whether the zone has the tree. One that it does not have is kept by nobody, and its root is empty.
  @inline(__always)
  func has(_ tree: ZoneTree) -> Bool { tree.rawValue < treeCount }

  var byName: TreeRoot {
    @inline(__always) get { roots.byName }
    @inline(__always) _modify { yield &roots.byName }
  }
  var changeJournal: TreeRoot {
    @inline(__always) get { roots.changeJournal }
    @inline(__always) _modify { yield &roots.changeJournal }
  }
  var tombstones: TreeRoot {
    @inline(__always) get { roots.tombstones }
    @inline(__always) _modify { yield &roots.tombstones }
  }
  var references: TreeRoot {
    @inline(__always) get { roots.references }
    @inline(__always) _modify { yield &roots.references }
  }
  var assets: TreeRoot {
    @inline(__always) get { roots.assets }
    @inline(__always) _modify { yield &roots.assets }
  }
  var indexes: TreeRoot {
    @inline(__always) get { roots.indexes }
    @inline(__always) _modify { yield &roots.indexes }
  }

  /// Writes the cell, with the trees that are small enough inside it.
  /// - Returns: whether there are any; then the zone has to be read again.
  func encode(
    into buffer: ByteBuffer, ownerBytes: ByteBuffer, keyByteCount: Int, _ changes: StoreTransaction
  ) throws(LogFault) -> Bool {
    ownerBytes.truncate(to: 0)
    ownerBytes.append(uint64: epoch)
    ownerBytes.append(uint32: capabilities)
    ownerBytes.append(isDeleted ? 1 : 0)
    ownerBytes.append(deletionReason)
    ownerBytes.append(uint16: 0)
    ownerBytes.append(uint64: lastSequence)
    ownerBytes.append(uint64: UInt64(max(0, liveByteCount)))
    do {
      return try changes.editor.encodeCatalogValue(
        roots: roots.first(rootCount), ownerBytes: ownerBytes.view, keyByteCount: keyByteCount,
        into: buffer)
    } catch { throw .page(error) }
  }
}
