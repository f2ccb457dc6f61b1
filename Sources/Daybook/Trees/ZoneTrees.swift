import DaybookEngine

/// How records lie in the engine's trees. Written down in FORMAT.md §6.
///
///     root 0  catalog            zone key                      → roots of the zone's trees, state of the zone
///     root 1  zones by sequence  u64 sequence, zone key        → (nothing)
///     root 2  metadata           key of the application        → place of the operation that set it
///     root 3  lineages           u64 first sequence            → u64 lineage
///     root 4  settings           "horizon"                     → u64 sequence
///     root 5  schema             type, 0, key                  → u32 kinds
///
///     zone 0  by name            record name                   → place, u64 sequence, u32 ordinal
///     zone 1  change journal            u64 sequence, u32 ordinal     → u8 1 if deleted, place
///     zone 2  by type            type, 0, record name          → (nothing)
///     zone 3  tombstones         record name                   → u64 sequence, u32 ordinal
///     zone 4  by target          target, 0, u8 kind, source    → (nothing)
///     zone 5  assets             SHA-256, u64 size             → u64 how often live records name it
///
/// Numbers in keys are big-endian, so that they sort; numbers in values little-endian. A record has one entry in the
/// change journal, at its latest sequence. The change journal holds the place of the body rather than the record's name: twelve bytes
/// instead of up to 255, and a page of changes costs no search by name.
enum Roots {
  static let catalog = 0
  static let zonesBySequence = 1
  static let metadata = 2
  static let lineages = 3
  static let settings = 4
  static let schema = 5
}

/// Kinds of operations in the log.
enum OperationKind {
  /// {f64 date, origin}: the first operation of every commit.
  static let commitInfo: UInt8 = 1
  /// {u64 lineage}
  static let lineage: UInt8 = 2
  /// {u64 epoch, u32 capabilities, f64 date, zone key}
  static let saveZone: UInt8 = 3
  /// {u8 reason, f64 date, zone key}
  static let deleteZone: UInt8 = 4
  /// A `RecordBody`.
  static let saveRecord: UInt8 = 5
  /// A `Tombstone`.
  static let deleteRecord: UInt8 = 6
  /// {u16 key length, key, value}
  static let setMetadata: UInt8 = 7
  /// {key}
  static let deleteMetadata: UInt8 = 8
  /// {u64 sequence}: tombstones at or below it are forgotten, and tokens below it expire.
  static let raiseHorizon: UInt8 = 9
  /// n × {u64 sequence, u32 ordinal}: the next n operations stand for those of older commits. Only in an image.
  static let imageStamps: UInt8 = 10
  /// {u64 epoch, u32 capabilities, u8 1 if deleted, u8 reason, u16 zero, u64 last sequence, zone key}: a zone as it was.
  static let imageZone: UInt8 = 11
  /// {u8 type length, type, then {u8 key length, key, u32 kinds} each}: kinds of fields that are new.
  static let declareFields: UInt8 = 14

  /// Whether a transaction with such an operation must leave the reserve to those that only delete.
  @inline(__always)
  static func addsData(_ kind: UInt8) -> Bool {
    kind == saveRecord || kind == saveZone || kind == setMetadata || kind == declareFields
  }
}

/// What the by-name tree says of a record.
struct RecordEntry {
  static let byteCount = Place.encodedByteCount + 12
  /// Ordinals are below it; the bits from here on are flags.
  static let ordinalLimit: UInt32 = 1 << 30
  private static let contributesFlag: UInt32 = 1 << 31
  var place: Place
  var sequence: UInt64
  var ordinal: UInt32
  /// The body may contribute to trees of the zone besides the entries that every record has. It stands here so that saving the next
  /// version need not look at this one.
  var contributes = false

  init(place: Place, sequence: UInt64, ordinal: UInt32) {
    self.place = place
    self.sequence = sequence
    self.ordinal = ordinal
  }

  @inline(__always)
  init?(_ value: ByteView) {
    guard value.count == RecordEntry.byteCount else { return nil }
    place = Place(offset: value.uint64(at: 0), byteCount: value.uint32(at: 8))
    sequence = value.uint64(at: 12)
    let last = value.uint32(at: 20)
    ordinal = last & (RecordEntry.ordinalLimit &- 1)
    contributes = last & RecordEntry.contributesFlag != 0
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(uint64: place.offset)
    buffer.append(uint32: place.byteCount)
    buffer.append(uint64: sequence)
    buffer.append(uint32: contributes ? ordinal | RecordEntry.contributesFlag : ordinal)
  }
}

/// What the change journal says of a record: where its latest body or tombstone is.
struct ChangeEntry {
  static let byteCount = 1 + Place.encodedByteCount
  var isDeleted: Bool
  var place: Place

  init?(_ value: ByteView) {
    guard value.count == ChangeEntry.byteCount, value[0] <= 1 else { return nil }
    isDeleted = value[0] == 1
    place = Place(offset: value.uint64(at: 1), byteCount: value.uint32(at: 9))
  }
}

/// A key of the change journal: a commit sequence and the position of the operation in its commit.
enum ChangeKey {
  static let byteCount = 12

  static func set(_ buffer: ByteBuffer, sequence: UInt64, ordinal: UInt32) {
    buffer.truncate(to: 0)
    buffer.append(uint64: sequence.byteSwapped)
    buffer.append(uint32: ordinal.byteSwapped)
  }

  static func parts(_ key: ByteView) -> (sequence: UInt64, ordinal: UInt32)? {
    key.count == byteCount ? (key.bigEndianUInt64(at: 0), key.bigEndianUInt32(at: 8)) : nil
  }
}

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
    treeNumber = UInt8(truncatingIfNeeded: count)
    roots = ZoneRoots(value, count: count)
    let rest = value.ownerBytes
    epoch = rest.uint64(at: 0)
    capabilities = rest.uint32(at: 8)
    isDeleted = rest[12] != 0
    deletionReason = rest[13]
    lastSequence = rest.uint64(at: 16)
    liveByteCount = Int(clamping: min(rest.uint64(at: 24), ZoneTrees.maximumLiveByteCount))
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
  var byType: TreeRoot {
    @inline(__always) get { roots.byType }
    @inline(__always) _modify { yield &roots.byType }
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

  /// Writes the cell, with the trees that are small enough inside it.
  /// - Returns: whether there are any; then the zone has to be read again.
  func encode(
    into buffer: ByteBuffer, rest: ByteBuffer, keyByteCount: Int, _ changes: StoreTransaction
  ) throws(LogFault) -> Bool {
    rest.truncate(to: 0)
    rest.append(uint64: epoch)
    rest.append(uint32: capabilities)
    rest.append(isDeleted ? 1 : 0)
    rest.append(deletionReason)
    rest.append(uint16: 0)
    rest.append(uint64: lastSequence)
    rest.append(uint64: UInt64(max(0, liveByteCount)))
    do {
      return try changes.editor.encodeCatalogValue(
        roots: roots.first(treeCount), ownerBytes: rest.view, keyByteCount: keyByteCount,
        into: buffer)
    } catch { throw .page(error) }
  }
}

extension Zone.ID {
  /// The key of the default zone in the catalog.
  var isDefault: Bool { self == .default }
}
