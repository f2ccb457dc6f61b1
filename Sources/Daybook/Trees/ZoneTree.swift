import DaybookEngine

/// The trees of a zone: one closed list, which everything that walks over trees asks.
///
/// The numbers are on disk: they are the order of the roots in the zone's catalog cell. A new tree comes last. A cell says how many
/// trees its zone has. One with fewer than this list opens, and its zone keeps those until a compaction or a rebuild makes it anew; one
/// with more was written by a newer version of the library, and is refused.
enum ZoneTree: Int, CaseIterable {
  case byName = 0
  case journal = 1
  case byType = 2
  case tombstones = 3
  case references = 4
  case assets = 5

  static let count = allCases.count
  /// The trees that every file of format 1 has: nobody has to ask whether a zone has them.
  static let leastCount = 6

  /// As check, inspection and documents call it.
  var name: String {
    switch self {
    case .byName: "by name"
    case .journal: "journal"
    case .byType: "by type"
    case .tombstones: "tombstones"
    case .references: "by target"
    case .assets: "assets"
    }
  }
}

/// The roots of a zone's trees. A tuple: an array of fixed size needs a newer system than the package does.
struct ZoneRoots {
  private var roots: (TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot) = (
    .empty, .empty, .empty, .empty, .empty, .empty
  )

  @inline(__always)
  init() {}

  /// Of a cell with so many, no more than there are trees.
  @inline(__always)
  init(_ value: CatalogValue, count: Int) {
    if count == ZoneTree.count {
      roots = (value.root(0), value.root(1), value.root(2), value.root(3), value.root(4), value.root(5))
    } else {
      for tree in ZoneTree.allCases.prefix(count) { self[tree] = value.root(tree.rawValue) }
    }
  }

  subscript(tree: ZoneTree) -> TreeRoot {
    @inline(__always) get {
      switch tree {
      case .byName: roots.0
      case .journal: roots.1
      case .byType: roots.2
      case .tombstones: roots.3
      case .references: roots.4
      case .assets: roots.5
      }
    }
    @inline(__always) _modify {
      switch tree {
      case .byName: yield &roots.0
      case .journal: yield &roots.1
      case .byType: yield &roots.2
      case .tombstones: yield &roots.3
      case .references: yield &roots.4
      case .assets: yield &roots.5
      }
    }
  }
}
