import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Files of format 1 that are kept. DAYBOOK_WRITE_FIXTURE=1 makes those that are missing; see `KindsFixture`.

@Suite("files of this format that are kept", .serialized)
struct FixtureTests {
  init() throws {
    guard ProcessInfo.processInfo.environment["DAYBOOK_WRITE_FIXTURE"] != nil else { return }
    for fixture in KindsFixture.allCases where fixture.isMissing { try fixture.write() }
  }

  @Test("a file opens to read and to write, says what the text beside it says, and is clean", arguments: KindsFixture.allCases)
  func opens(_ fixture: KindsFixture) throws {
    let expected = try fixture.lines()
    for isReadOnly in [true, false] {
      let disk = try fixture.installed()
      var options = KindsFixture.options()
      options.isReadOnly = isReadOnly
      let database = try Database.open(at: KindsFixture.path, options: options, disk: disk)
      Self.compare(try FixtureContents.lines(of: database), expected, "\(fixture), \(isReadOnly ? "read" : "written")")
      try database.expectClean()
      if !isReadOnly { try write(fixture, database, expected) }
      try database.close()
    }
  }

  private func write(_ fixture: KindsFixture, _ database: Database, _ expected: [String]) throws {
    if fixture == .later {
      #expect(failure { try database.put("new", type: "Later") }?.code == .formatTooNew)
      return
    }
    try database.compact()
    let compacted = try FixtureContents.lines(of: database)
    Self.compare(
      FixtureContents.records(in: compacted), FixtureContents.records(in: expected), "\(fixture), compacted")
    try database.put("new", type: "Later", ["n": 1])
    try database.expectClean()
    #expect(try FixtureContents.lines(of: database).contains { $0.hasPrefix("  record \"_defaultZone\"/\"new\"") })
  }

  @Test(
    "a file without any tree that is valid says the same, and so does what a salvage makes of it",
    arguments: KindsFixture.allCases)
  func salvaged(_ fixture: KindsFixture) throws {
    let expected = try fixture.lines()
    let disk = try fixture.installed()
    let report = try Database.salvage(from: KindsFixture.path, to: "/saved", options: KindsFixture.options(), disk: disk)
    #expect(report.isComplete == (fixture != .later) && report.skippedOperationCount == 0 && report.unreadableRecords.isEmpty)
    let saved = try Database.open(at: "/saved", options: KindsFixture.options(), disk: disk)
    Self.compare(
      Self.live(try FixtureContents.lines(of: saved)), Self.live(expected), "\(fixture), salvaged")
    try saved.expectClean()
  }

  @Test("together the files have every kind of frame, operation, body, value, page and entry")
  func complete() throws {
    var census = FixtureCensus()
    for fixture in KindsFixture.allCases { try census.count(fixture.bytes()) }
    let wanted = try FixtureKinds.all()
    #expect(wanted.subtracting(census.found).sorted() == [], "what no file has: give it a case of KindsFixture")
    #expect(census.found.subtracting(wanted).sorted() == [], "what FixtureKinds does not know")
  }

  @Test("the flags and forms of bodies that the sources have are those that are looked for")
  func constants() throws {
    let flags = try FixtureKinds.constants("enum Flags", in: "Sources/Daybook/Model/RecordBody.swift")
    #expect(Set(flags.values) == Set(FixtureKinds.flagBits.map { Int($0.0) }))
    let forms = try FixtureKinds.constants("enum Form", in: "Sources/Daybook/Model/PackedBody.swift")
    // Besides the bits the zone and the name, of two bits each.
    #expect(
      Set(forms.keys) == ["zone", "zoneNumber", "zoneSpelled", "creation", "link", "name", "nameShift", "numbers", "bitmap"])
    #expect(try FixtureKinds.constants("enum Kind", in: "Sources/DaybookEngine/Pages/Page.swift").count >= 3)
    #expect(try FixtureKinds.constants("enum Roots", in: "Sources/Daybook/Trees/Roots.swift").count >= 7)
    #expect(try FixtureKinds.constants("enum Rank", in: "Sources/Daybook/Trees/IndexKey.swift").count >= 7)
  }

  @Test("what makes the files still makes such files", arguments: KindsFixture.allCases)
  func madeAnew(_ fixture: KindsFixture) throws {
    var kept = FixtureCensus()
    try kept.count(fixture.bytes())
    var new = FixtureCensus()
    try new.count(fixture.made().file)
    // A build with the toy index makes one tree more.
    new.forget("tree of a zone \(ZoneTree.indexes.rawValue + 1)")
    #expect(kept.found.symmetricDifference(new.found).sorted() == [])
  }

  /// Records, in an order of their own: a salvage numbers commits again, and has no deletions from before an image.
  private static func live(_ lines: [String]) -> [String] {
    FixtureContents.records(in: lines).filter { !$0.hasPrefix("  deleted ") && !$0.hasPrefix("deleted zone ") }.sorted()
  }

  private static func compare(_ lines: [String], _ expected: [String], _ what: String) {
    #expect(lines.count == expected.count, "\(what)")
    for (line, wanted) in zip(lines, expected) where line != wanted {
      Issue.record("\(what):\n\(line)\n and not\n\(wanted)")
      return
    }
  }
}
