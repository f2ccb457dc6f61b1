import DaybookEngine

/// Compares what the records of a zone contribute to its derived trees with what these hold: each entry of a record is looked up, and
/// their numbers say whether a tree holds anything else; sums are added up and compared one by one.
struct ContributionCheck {
  private let trees: ZoneTrees
  private let reader: TreeReader
  private let zoneName: String
  private let entries: ContributionList
  private let key = ByteBuffer(capacity: 512)
  /// How many entries the records have in each tree.
  private var counts = [UInt64](repeating: 0, count: ZoneTree.count)
  /// What the records add to each sum, by its key; for each tree.
  private(set) var sums = [[[UInt8]: Int64]](repeating: [:], count: ZoneTree.count)

  init(of trees: ZoneTrees, _ reader: TreeReader, _ indexes: IndexList, zoneName: String) {
    entries = ContributionList(indexes)
    self.trees = trees
    self.reader = reader
    self.zoneName = zoneName
  }

  /// Takes a record that lives, and looks for its entries.
  mutating func add(
    _ body: ByteView, _ identity: BodyIdentity, _ entry: RecordEntry, _ report: inout Database.CheckReport
  ) throws(PageFault) {
    if entry.contributes != trees.takes(ZoneTree.contributed(by: body)) {
      report.add("zone \(zoneName): a record's entry is wrong about what its body contributes", at: entry.place.offset)
    }
    entries.removeAll()
    // All trees are asked: one that contributes more than it announces would lack it.
    for index in entries.collect(RecordVersion(body, identity, entry), to: trees.trees) {
      let tree = entries.tree(index)
      if tree.isSum {
        sums[tree.rawValue][entries.key(index).array, default: 0] += entries.amount(index)
      } else {
        counts[tree.rawValue] += 1
        try look(for: entries.key(index), entries.value(index), in: tree, of: entry, &report)
      }
    }
  }

  private func look(
    for key: ByteView, _ value: ByteView, in tree: ZoneTree, of entry: RecordEntry, _ report: inout Database.CheckReport
  ) throws(PageFault) {
    if let found = try reader.value(key, in: trees[tree]) {
      if compareKeys(found, value) != 0 {
        report.add("zone \(zoneName): an entry of a record in the tree \(tree.name) is another one", at: entry.place.offset)
      }
    } else {
      report.add("zone \(zoneName): an entry of a record is missing in the tree \(tree.name)", at: entry.place.offset)
    }
  }

  /// When all records have been taken.
  func finish(_ report: inout Database.CheckReport) throws(PageFault) {
    for tree in trees.trees {
      switch tree.basis {
      case .places: break
      case .entries:
        let unknown = tree == .indexes ? try unknownCount() : 0
        let held = trees[tree].count - min(unknown, trees[tree].count)
        if held != counts[tree.rawValue] {
          report.add(
            "zone \(zoneName): records have \(counts[tree.rawValue]) entries in the tree \(tree.name), "
              + "which holds \(held)")
        }
      case .sums: try compare(sums[tree.rawValue], with: tree, &report)
      }
    }
  }

  /// Entries of indexes that a later version of the library made: what they are to be is not known here.
  private func unknownCount() throws(PageFault) -> UInt64 {
    var count: UInt64 = 0
    for index in entries.indexes.all where index.kind == nil {
      count += try IndexRange(number: index.number).count(in: trees.indexes, reader)
    }
    return count
  }

  /// Compares sums with those of the tree.
  func compare(
    _ sums: [[UInt8]: Int64], with tree: ZoneTree, _ report: inout Database.CheckReport
  ) throws(PageFault) {
    if sums.isEmpty, trees[tree].count == 0 { return }
    var rest = sums
    var cursor = reader.cursor(in: trees[tree])
    while try cursor.next() {
      cursor.key(into: key)
      let expected = rest.removeValue(forKey: key.view.array) ?? 0
      if let sum = ZoneTree.sum(cursor.value) {
        if sum != expected {
          report.add("zone \(zoneName), \(tree.name): \(shown(key.view)) is \(expected) in the records, and \(sum) in the tree")
        }
      } else {
        report.add("zone \(zoneName), \(tree.name): the sum of \(shown(key.view)) is malformed")
      }
    }
    for (key, expected) in rest.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let name = key.withView { shown($0) }
      report.add("zone \(zoneName), \(tree.name): \(name) is \(expected) in the records, and not in the tree")
    }
  }

  /// A key as hexadecimal digits: the first 32 bytes, which are the whole name of a content.
  private func shown(_ key: ByteView) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let bytes = key.prefix(min(key.count, 32)).array
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
