import DaybookEngine

/// The trees of a zone: one closed list, which everything that walks over trees asks.
///
/// What a derived tree keeps to, so that saves, deletes, replay in whatever order, compaction, check and rebuild come to the same:
///
/// - *Pure.* What a version contributes follows from its body, from the sequence and ordinal of the operation that made it, and from
///   the date at which its record was made; from no clock, locale, table of the system, place in the file, other record or tree. In the
///   tree of indexes also from their definitions, which are operations of the log.
/// - *One encoding.* The same entry has the same bytes. A key ends with its record's name or has it where `recordName` finds it,
///   so that no other record has a say in the entry. Where a tree counts what several records contribute, it is one of sums: its value
///   is the sum (u64), a key without any is not there, and additions may come in any order.
/// - *Ascending.* Entries of a version come tree by tree in the order of this list, within a tree by their bytes, each key once;
///   `ContributionList` sees to it.
/// - *Announced.* `mayContribute` is true of the flags of every body that contributes. A record's entry by name says by one bit whether
///   its body may contribute to any tree of its zone, and what an older body contributed is looked up only then. Flags are asked, not
///   bodies, because saves and replay ask before a packed body is spelled out; `contribute` gets it spelled out. What else decides, as
///   which indexes there are, must not be in it: building an index would rewrite the tree by name. So a version is looked at, too, if
///   its type has indexes.
///
/// The numbers are on disk: they are the order of the roots in the zone's catalog cell. A new tree comes last. A cell says how many
/// trees its zone has. One with fewer than this list opens, and its zone keeps those until a compaction or a rebuild makes it anew; one
/// with more was written by a newer version of the library, and is refused.
enum ZoneTree: Int, CaseIterable {
  case byName = 0
  case changeJournal = 1
  case tombstones = 2
  case references = 3
  case assets = 4
  case indexes = 5
  #if TOY_INDEX
    case byFirstLetter = 6
  #endif

  /// As many as there are roots for.
  static var count: Int { @inline(__always) get { MemoryLayout<ZoneRoots>.stride / MemoryLayout<TreeRoot>.stride } }
  static var all: ZoneTreeSet { @inline(__always) get { ZoneTreeSet(first: count) } }
  /// The trees that every file of format 1 has: nobody has to ask whether a zone has them.
  static let leastCount = 5
  /// With the tree of indexes, which every zone has, too: one without entries needs no root in a cell.
  static let leastCountInMemory = 6
  /// As many roots as the cell of a new zone has.
  static var storedCount: Int { count == leastCountInMemory ? leastCount : count }

  /// As check, inspection and documents call it.
  var name: String {
    switch self {
    case .byName: "by name"
    case .changeJournal: "change journal"
    case .tombstones: "tombstones"
    case .references: "by target"
    case .assets: "assets"
    case .indexes: "indexes"
    #if TOY_INDEX
      case .byFirstLetter: "by first letter"
    #endif
    }
  }

  /// How a tree comes to its entries.
  enum Basis {
    /// Kept by the applier, operation by operation: where records, changes and deletions are.
    case places
    /// What the records' bodies contribute; each entry is one record's.
    case entries
    /// What the records' bodies contribute, added up.
    case sums
  }

  var basis: Basis {
    switch self {
    case .byName, .changeJournal, .tombstones: .places
    case .references: .entries
    case .assets: .sums
    case .indexes: .entries
    #if TOY_INDEX
      case .byFirstLetter: .entries
    #endif
    }
  }

  var isSum: Bool { @inline(__always) get { basis == .sums } }
  var isOfBodies: Bool { @inline(__always) get { basis == .entries || basis == .sums } }

  // MARK: what records contribute

  /// The trees that a body may contribute to, packed or spelled out.
  @inline(__always)
  static func contributed(by body: ByteView) -> ZoneTreeSet {
    let flags = RecordBody.flags(of: body)
    var trees = ZoneTreeSet()
    if ReferenceTree.mayContribute(flags: flags) { trees.insert(.references) }
    if AssetTree.mayContribute(flags: flags) { trees.insert(.assets) }
    #if TOY_INDEX
      if FirstLetterTree.mayContribute(flags: flags) { trees.insert(.byFirstLetter) }
    #endif
    return trees
  }

  /// Adds what a version contributes.
  func contribute(_ version: RecordVersion, to entries: ContributionList) {
    switch self {
    case .byName, .changeJournal, .tombstones: break
    case .references: ReferenceTree.contribute(version, to: entries)
    case .assets: AssetTree.contribute(version, to: entries)
    case .indexes: IndexTree.contribute(version, to: entries)
    #if TOY_INDEX
      case .byFirstLetter: FirstLetterTree.contribute(version, to: entries)
    #endif
    }
  }

  /// Calls `body` with the key by name of the record whose entry a key is; nil where that cannot be said.
  func withRecord<R>(of key: ByteView, _ body: (ByteView) -> R) -> R? {
    switch self {
    case .byName, .changeJournal, .tombstones: nil
    case .indexes: IndexTree.recordName(in: key).map(body)
    case .references: ReferenceTree.recordName(in: key).map { NameKey.withView(of: $0) { (key) throws(Never) in body(key) } }
    case .assets: AssetTree.recordName(in: key).map { NameKey.withView(of: $0) { (key) throws(Never) in body(key) } }
    #if TOY_INDEX
      case .byFirstLetter:
        FirstLetterTree.recordName(in: key).map { NameKey.withView(of: $0) { (key) throws(Never) in body(key) } }
    #endif
    }
  }

  /// The value of a sum; nil when the bytes are none.
  static func sum(_ value: ByteView) -> Int64? {
    guard value.count == 8, value.uint64(at: 0) > 0, value.uint64(at: 0) < sumLimit else { return nil }
    return Int64(value.uint64(at: 0))
  }

  static let sumLimit: UInt64 = 1 << 60
}

/// The roots of a zone's trees, side by side: an array of fixed size needs a newer system than the package does. By their names they are
/// found without a look at the list, which counts for every save.
struct ZoneRoots {
  var byName = TreeRoot.empty
  var changeJournal = TreeRoot.empty
  var tombstones = TreeRoot.empty
  var references = TreeRoot.empty
  var assets = TreeRoot.empty
  var indexes = TreeRoot.empty
  #if TOY_INDEX
    var byFirstLetter = TreeRoot.empty
  #endif

  @inline(__always)
  init() {}

  /// Of a cell with so many: as many as every file has, and no more than there are trees.
  @inline(__always)
  init(_ value: CatalogValue, count: Int) {
    byName = value.root(0)
    changeJournal = value.root(1)
    tombstones = value.root(2)
    references = value.root(3)
    assets = value.root(4)
    var number = ZoneTree.leastCount
    while number < count, let tree = ZoneTree(rawValue: number) {
      self[tree] = value.root(number)
      number += 1
    }
  }

  /// Those of the first trees, as a cell has them.
  func first(_ count: Int) -> [TreeRoot] {
    var list = [byName, changeJournal, tombstones, references, assets]
    while list.count < count, let tree = ZoneTree(rawValue: list.count) { list.append(self[tree]) }
    return list
  }

  subscript(tree: ZoneTree) -> TreeRoot {
    get {
      switch tree {
      case .byName: byName
      case .changeJournal: changeJournal
      case .tombstones: tombstones
      case .references: references
      case .assets: assets
      case .indexes: indexes
      #if TOY_INDEX
        case .byFirstLetter: byFirstLetter
      #endif
      }
    }
    _modify {
      switch tree {
      case .byName: yield &byName
      case .changeJournal: yield &changeJournal
      case .tombstones: yield &tombstones
      case .references: yield &references
      case .assets: yield &assets
      case .indexes: yield &indexes
      #if TOY_INDEX
        case .byFirstLetter: yield &byFirstLetter
      #endif
      }
    }
  }
}
