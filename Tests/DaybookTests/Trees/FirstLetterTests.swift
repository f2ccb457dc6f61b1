#if TOY_INDEX
  import DaybookTesting
  import Foundation
  import Testing

  @_spi(Daybook) @testable import Daybook
  @testable import DaybookEngine

  // The toy index: what is in it, and what becomes of zones that a version without it has written. That it holds everywhere
  // what the records say is shown by the other suites of `Scripts/check.sh toyindex`, whose deep checks compare.

  @Suite("toy index")
  struct FirstLetterTests {
    private let options = Database.Options.simulated(seed: 7, clock: TestClock())

    /// The entries of a zone's tree: letter and name. Nil when the zone has none.
    private func entries(_ database: Database, _ zone: Zone.ID = .default) throws -> [String]? {
      try database.reading { (view) throws(DatabaseError) -> [String]? in
        let trees = try view.existingZone(zone)
        guard trees.has(.byFirstLetter) else { return nil }
        return try view.asDatabaseError { () throws(PageFault) in
          var found: [String] = []
          let key = ByteBuffer(capacity: 256)
          var cursor = view.reader.cursor(in: trees[.byFirstLetter])
          var isValid = try cursor.first()
          while isValid {
            cursor.key(into: key)
            found.append(String(decoding: key.view.array.filter { $0 != 0 }, as: UTF8.self))
            isValid = try cursor.next()
          }
          return found
        }
      }
    }

    @Test("entries follow what is saved, changed and deleted, over a replay and a compaction")
    func follows() throws {
      let disk = SimulatedDisk(seed: 1)
      let database = try Database.open(on: disk)
      try database.put("1", ["b": "Älter", "n": 1])
      try database.put("2", ["a": "", "b": "zwei", "c": "c"])
      try database.put("3", ["n": 3])
      try database.put("4", ["a": "vier"])
      #expect(try entries(database) == ["v4", "z2", "Ä1"])
      try database.put("2", ["b": "other"])
      try database.put("3", ["a": "drei"])
      try database.write { try $0.delete(Record.ID("4")) }
      let expected = ["d3", "o2", "Ä1"]
      #expect(try entries(database) == expected)
      try database.expectClean()
      let again = try Database.open(on: disk.killed())
      #expect(try entries(again) == expected)
      try again.compact()
      #expect(try entries(again) == expected)
      try again.expectClean()
      try again.close()
      try database.close()
    }

    @Test("a zone that an older version wrote is kept without the index, is clean, and has it after a compaction")
    func olderFile() throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      let disk = SimulatedDisk(seed: 1)
      let bytes = try Data(contentsOf: root.appending(path: "Fixtures/format-1.daybook"))
      disk.install([UInt8](bytes), at: "/old.daybook")
      let name = FormatFixture.assetName
      let asset = try Data(contentsOf: root.appending(path: "Fixtures/format-1.daybook.assets/\(name)"))
      disk.install([UInt8](asset), at: "/old.daybook.assets/\(name)")
      let zone = try Zone.ID("Bücher")
      var database = try Database.open(at: "/old.daybook", options: options, disk: disk)
      #expect(try entries(database, zone) == nil)
      try database.put("new", in: zone, type: "Row", ["title": "a new one"])
      try database.put("row-3", in: zone, type: "Row", ["title": "changed again"])
      try database.write { try $0.delete(Record.ID("row-7", in: zone)) }
      // A zone that is made now has it.
      try database.put("n", in: try database.zone("Fresh"), ["a": "x"])
      #expect(try entries(database, zone) == nil)
      #expect(try entries(database, Zone.ID("Fresh")) == ["xn"])
      try database.expectClean()
      try database.close()

      database = try Database.open(at: "/old.daybook", options: options, disk: disk)
      #expect(try entries(database, zone) == nil)
      try database.expectClean()
      try database.compact()
      let found = try #require(try entries(database, zone))
      #expect(found.contains("anew") && found.contains("crow-3") && found.contains("rrow-9") && !found.contains("rrow-7"))
      #expect(try found.count == database.recordCount(in: zone))
      try database.expectClean()
      try database.close()
    }

    @Test("a rebuild from the log gives an old zone the index")
    func rebuild() throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      let disk = SimulatedDisk(seed: 1)
      let bytes = try Data(contentsOf: root.appending(path: "Fixtures/format-1.daybook"))
      disk.install([UInt8](bytes), at: "/old.daybook")
      _ = try Database.rebuild(at: "/old.daybook", options: options, disk: disk)
      let database = try Database.open(at: "/old.daybook", options: options, disk: disk)
      #expect(try entries(database, Zone.ID("Bücher"))?.contains("rrow-9") == true)
      try database.close()
    }
  }
#endif
