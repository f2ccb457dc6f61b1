import Daybook
import DaybookEngine

extension Commands {
  static let pages = Command(
    name: "pages", summary: "Tell how many pages the trees have, and how full they are.", positionals: ["FILE"],
    options: [
      .flag("--tree", "Tell it for each level of each tree."),
      .value("-o", "OUT.svg", "Draw the trees into a file as SVG."), .json,
    ],
    details: """
      A page has 4,096 bytes. FILL is the used part of all pages of a tree or level. Level 0 are the leaves.
      OUT.svg is written as the OUT of `daybook export --force`: it replaces a file of that name, but no database. - is standard output;
      nothing else is printed then.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let trees = try database.trees().map { TreeFacts($0) }
      if try invocation.draws(
        Wording.count(trees.count, "tree"), of: database, { TreeDrawing.svg(trees, title: database.path) })
      {
        return .done
      }
      if invocation.arguments.has("--json") {
        try invocation.printArray(trees.map(\.json))
      } else if invocation.arguments.has("--tree") {
        try printLevels(trees, invocation)
      } else {
        try invocation.printTable(
          ["TREE", "KEYS", "LEVELS", "PAGES", "FILL"],
          trees.map {
            [
              $0.title, Wording.count($0.tree.count), String($0.tree.levels.count), Wording.count($0.pageCount),
              $0.isInCatalog ? "in catalog" : percent($0.fill),
            ]
          }, numeric: [1, 2, 3, 4])
      }
      return .done
    }
  }

  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

  private static func printLevels(_ trees: [TreeFacts], _ invocation: Invocation) throws {
    var rows: [[String]] = []
    for tree in trees {
      if tree.isInCatalog { rows.append([tree.title, "0", "in catalog", Wording.count(tree.tree.count), ""]) }
      for level in tree.tree.levels {
        rows.append([
          rows.last?.first == tree.title ? "" : tree.title, String(level.level), Wording.count(level.pageCount),
          Wording.count(level.cellCount), percent(TreeFacts.fill(level)),
        ])
      }
    }
    // A tree's name stands at its first level only.
    var previous = ""
    for index in rows.indices where !rows[index][0].isEmpty {
      if rows[index][0] == previous { rows[index][0] = "" } else { previous = rows[index][0] }
    }
    try invocation.printTable(["TREE", "LEVEL", "PAGES", "CELLS", "FILL"], rows, numeric: [1, 2, 3, 4])
  }
}

/// A tree with what is computed from its levels.
struct TreeFacts {
  static let pageByteCount = 4096
  let tree: Database.TreeInfo

  init(_ tree: Database.TreeInfo) { self.tree = tree }

  var title: String { tree.zone.map { "\($0): \(tree.name)" } ?? tree.name }
  /// A small tree stands in its zone's cell of the catalog, and has no page.
  var isInCatalog: Bool { tree.levels.isEmpty && tree.count > 0 }
  var pageCount: Int { tree.levels.reduce(0) { $0 + $1.pageCount } }
  var usedByteCount: Int { tree.levels.reduce(0) { $0 + $1.usedByteCount } }
  var fill: Double { pageCount > 0 ? Double(usedByteCount) / Double(pageCount * Self.pageByteCount) : 0 }

  static func fill(_ level: Store.LevelCount) -> Double {
    level.pageCount > 0 ? Double(level.usedByteCount) / Double(level.pageCount * pageByteCount) : 0
  }

  var json: JSONValue {
    [
      "tree": .string(tree.name), "zone": tree.zone.map { .string($0.name) } ?? .null,
      "keyCount": .count(tree.count), "pageCount": .count(pageCount), "usedByteCount": .count(usedByteCount),
      "levels": .array(
        tree.levels.map {
          [
            "level": .count($0.level), "pageCount": .count($0.pageCount), "cellCount": .count($0.cellCount),
            "usedByteCount": .count($0.usedByteCount),
          ]
        }),
    ]
  }
}
