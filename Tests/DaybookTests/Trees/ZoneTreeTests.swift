import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// The list of a zone's trees, and cells of the catalog that have more or fewer.

@Suite("trees of a zone")
struct ZoneTreeTests {
  /// Gives a zone's cell so many roots, without the applier.
  static func forge(_ database: Database, _ zone: Zone.ID, rootCount: Int) throws {
    try database.write { transaction in
      let changes = transaction.context.changes
      // A transaction that wrote nothing is not committed.
      try transaction.setMetadata(Data([1]), forKey: "forged")
      let applier = database.store.records
      try applier.flush(changes)
      try zone.key.withView { key in
        let cell = try #require(try changes.reader.catalogValue(key, in: changes.roots[Roots.catalog]))
        let roots = (0..<rootCount).map { $0 < cell.rootCount ? cell.root($0) : .empty }
        let value = ByteBuffer()
        _ = try changes.editor.encodeCatalogValue(
          roots: roots, ownerBytes: cell.ownerBytes, keyByteCount: key.count, into: value)
        try changes.put(key, value.view, in: &changes.roots[Roots.catalog], asCatalog: true)
      }
      applier.reset()
    }
  }

  static func library(
    _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> (database: Database, zone: Zone.ID, disk: SimulatedDisk) {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database.open(on: disk, seed: 1, change)
    let zone = try database.zone("Library")
    try database.put("dune", in: zone, ["title": "Dune"])
    return (database, zone, disk)
  }

  @Test("a zone with more trees than this version knows is refused at every door as the work of a newer one")
  func more() throws {
    let (database, zone, _) = try Self.library()
    try Self.forge(database, zone, rootCount: ZoneTree.count + 1)
    let id = try Record.ID("dune", in: zone)
    let doors: [(String, () throws -> Void)] = [
      ("record", { _ = try database.record(id) }), ("zones", { _ = try database.zones() }),
      ("page", { _ = try database.records(in: zone) }), ("changes", { _ = try database.changes(in: zone, since: nil) }),
      ("feed", { _ = try database.databaseChanges(since: nil) }), ("count", { _ = try database.recordCount(in: zone) }),
      ("statistics", { _ = try database.statistics() }), ("check", { _ = try database.check() }),
      ("compaction", { try database.compact() }), ("deletion", { try database.write { try $0.delete(id) } }),
      ("save", { try database.write { _ = try $0.save(Record(type: "Movie", id: Record.ID("new", in: zone))) } }),
      ("zone", { try database.write { try $0.deleteZone(zone) } }),
      ("horizon", { try database.write { try $0.forgetDeletions(through: 1) } }),
    ]
    for (name, door) in doors {
      let error = failure(of: door)
      #expect(error?.code == .formatTooNew, "\(name): \(String(describing: error))")
      #expect(error?.facts.found == "\(ZoneTree.count + 1) trees", "\(name)")
    }
    // Other zones are as they were.
    try database.put("note", ["text": "kept"])
    #expect(try database.record(Record.ID("note"))?["text"] == "kept")
    try database.close()
  }

  @Test("a zone with fewer trees than every file has is damaged")
  func tooFew() throws {
    let (database, zone, _) = try Self.library()
    try Self.forge(database, zone, rootCount: ZoneTree.leastCount - 1)
    #expect(failure { try database.record(Record.ID("dune", in: zone)) }?.code == .corrupted)
    #expect(try !database.check().isClean)
    try database.close()
  }

  /// Changes the trees of a zone without the applier.
  private static func change(
    _ database: Database, _ zone: Zone.ID, _ body: (inout ZoneTrees, StoreTransaction) throws(LogFault) -> Void
  ) throws {
    try database.write { transaction in
      let changes = transaction.context.changes
      try transaction.setMetadata(Data([1]), forKey: "forged")
      let applier = database.store.records
      try zone.withKeyView { (key) throws(LogFault) in try applier.open(key, changes) }
      var trees = try #require(applier.openZone)
      try body(&trees, changes)
      applier.setOpenZone(trees)
    }
  }

  @Test("an entry that is missing, is another one or is one too many is found in each derived tree")
  func wrongEntries() throws {
    for tree in ZoneTree.allCases where tree.basis != .places {
      for kind in ["missing", "other", "more"] {
        let (database, zone, _) = try Self.library { $0.inlineAssetByteCount = 0 }
        var record = try Record.fresh("all", in: zone, type: "Movie", ["title": "Dune"])
        record["of"] = Record.Reference(try Record.ID("dune", in: zone), action: .none)
        record["file"] = Asset(data: AssetBench.content(1))
        try database.write { transaction in
          try transaction.declare(Schema(types: [.init(name: "Movie", indexes: [.init(key: "title")])]))
          try transaction.save(record)
        }
        try database.expectClean()
        try Self.change(database, zone) { (trees, changes) throws(LogFault) in
          let (key, value) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: 64))
          do throws(PageFault) {
            var cursor = changes.reader.cursor(in: trees[tree])
            guard try cursor.first() else { return }
            cursor.key(into: key)
            value.append(cursor.value)
          } catch { throw .page(error) }
          switch kind {
          case "missing": try changes.remove(key.view, from: &trees[tree])
          case "other":
            // Of a value the last bytes, where there is one; 9 instead of a sum of 1.
            if value.count == 0 { value.append(1) } else { value.set(uint64: 9, at: value.count - 8) }
            try changes.put(key.view, value.view, in: &trees[tree])
          default:
            key.append(UInt8(ascii: "x"))
            try changes.put(key.view, value.view, in: &trees[tree])
          }
        }
        let findings = try database.check().findings
        #expect(findings.contains { $0.message.contains(tree.name) }, "\(tree.name), \(kind): \(findings)")
        try database.close()
      }
    }
  }
}
