import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What bodies contribute to derived trees: the list of a version's entries, and the difference of two.

@Suite("contributions")
struct ContributionTests {
  /// A list of invented entries: trees, keys, values, amounts.
  private static func list(_ given: [(ZoneTree, String, String, Int64)]) -> ContributionList {
    let list = ContributionList()
    for (tree, key, value, amount) in given {
      _ = list.begin(tree)
      list.bytes.append(utf8: key)
      list.bytes.append(utf8: value)
      list.add(valueByteCount: value.utf8.count, amount: amount)
    }
    return list
  }

  private static func text(_ bytes: ByteView) -> String { String(decoding: bytes.array, as: UTF8.self) }

  /// What has to be done, as text: "+by target k=v", "-by target k", "assets k 2".
  private static func changes(
    _ former: [(ZoneTree, String, String, Int64)], _ new: [(ZoneTree, String, String, Int64)],
    in trees: ZoneTreeSet = ZoneTree.all
  ) -> [String] {
    let (old, coming) = (list(former), list(new))
    var difference = ContributionDifference(from: old, 0..<old.count, to: coming, 0..<coming.count, in: trees)
    var result: [String] = []
    while let change = difference.next() {
      let entry = "\(change.tree.name) \(text(change.key))"
      result.append(
        change.tree.isSum
          ? "\(entry) \(change.amount)" : change.isComing ? "+\(entry)=\(text(change.value))" : "-\(entry)")
    }
    return result
  }

  @Test("the list of trees has a root for each, in the order of the numbers that are on disk")
  func list() {
    #expect(ZoneTree.allCases.map(\.rawValue) == Array(0..<ZoneTree.count))
    let names = ["by name", "change journal", "tombstones", "by target", "assets"]
    #expect(ZoneTree.allCases.map(\.name).prefix(5) == names[...])
    #expect(Array(ZoneTree.all) == ZoneTree.allCases)
    #expect(ZoneTree.leastCount == 5 && ZoneTree.count >= 5)
    var zone = ZoneTrees()
    for tree in ZoneTree.allCases { zone[tree].count = UInt64(tree.rawValue) + 1 }
    #expect(ZoneTree.allCases.map { zone[$0].count } == (1...UInt64(ZoneTree.count)).map { $0 })
    #expect(zone.byName.count == 1 && zone.changeJournal.count == 2 && zone.tombstones.count == 3)
    #expect(zone.references.count == 4 && zone.assets.count == 5)
    #expect(Array(ZoneTrees(treeCount: 3).trees) == [.byName, .changeJournal, .tombstones])
  }

  @Test("entries of one version come and go one by one, values are replaced, sums change by the difference")
  func difference() {
    #expect(Self.changes([], []).isEmpty)
    #expect(Self.changes([], [(.references, "a", "", 1), (.assets, "x", "", 2)]) == ["+by target a=", "assets x 2"])
    #expect(Self.changes([(.references, "a", "", 1), (.assets, "x", "", 2)], []) == ["-by target a", "assets x -2"])
    #expect(
      Self.changes(
        [(.references, "a", "", 1), (.references, "b", "", 1), (.references, "d", "1", 1)],
        [(.references, "b", "", 1), (.references, "c", "", 1), (.references, "d", "2", 1)])
        == ["-by target a", "+by target c=", "+by target d=2"])
    #expect(
      Self.changes(
        [(.assets, "x", "", 2), (.assets, "y", "", 1), (.assets, "z", "", 1)], [(.assets, "x", "", 5), (.assets, "z", "", 1)])
        == ["assets x 3", "assets y -1"])
    // A key of one tree is not that of another.
    #expect(
      Self.changes([(.references, "k", "", 1)], [(.assets, "k", "", 1)]) == ["-by target k", "assets k 1"])
  }

  @Test("trees that a zone does not have are left out")
  func fewerTrees() {
    let trees = ZoneTrees(treeCount: 4).trees
    let changes = Self.changes([(.assets, "x", "", 1)], [(.references, "a", "", 1), (.assets, "y", "", 1)], in: trees)
    #expect(changes == ["+by target a="])
  }

  @Test("what a body contributes is ascending, each key once, however often and in whatever order the body has it")
  func ascending() throws {
    let database = try Database.scratch { $0.inlineAssetByteCount = 0 }
    var record = try Record.fresh("source")
    let names = ["z", "a", "m", "a", "z", "b"]
    record["list"] = .references(try names.map { Record.Reference(try Record.ID($0), action: .none) })
    record["owner"] = Record.Reference(try Record.ID("m"), action: .deleteSelf)
    record.parent = Record.Reference(try Record.ID("a"))
    let contents = [AssetBench.content(2), AssetBench.content(1), AssetBench.content(2)]
    record["files"] = .assets(contents.map { Asset(data: $0) })
    try database.write { transaction in
      for name in Set(names) { try transaction.save(try Record.fresh(name)) }
      try transaction.save(record)
    }
    let stored = try #require(try database.record(record.id))
    let list = ContributionList()
    let found = stored.body.withBytes { (bytes) -> [String] in
      guard let identity = BodyIdentity.body(bytes) else { return [] }
      let entry = RecordEntry(place: .none, sequence: 1, ordinal: 2)
      // Twice: the second version's entries come after those of the first.
      let version = RecordVersion(bytes, identity, entry)
      let (first, second) = (list.collect(version), list.collect(version))
      #expect(first.upperBound == second.lowerBound && first.count == second.count)
      for (a, b) in zip(first, second) { #expect(compareKeys(list.key(a), list.key(b)) == 0) }
      return second.filter { list.tree($0) == .references }.map { Self.text(list.key($0)) }
    }
    #expect(found == ["a\0\0source", "a\0\u{3}source", "b\0\0source", "m\0\0source", "m\0\u{1}source", "z\0\0source"])
    let sums = (0..<list.count / 2).filter { list.tree($0) == .assets }
    let expected = Set(contents).map { ($0, AssetBench.digest($0)) }.sorted { $0.1 < $1.1 }
    #expect(sums.map { AssetDigest(list.key($0).prefix(32)) } == expected.map(\.1))
    #expect(sums.map { list.amount($0) } == expected.map { $0.0 == contents[0] ? 2 : 1 })
    try database.expectClean()
  }
}
