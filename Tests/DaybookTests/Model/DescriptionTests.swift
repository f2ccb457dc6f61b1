import DaybookTesting
import Foundation
import Testing

@testable import Daybook

/// What `print`, `dump`, `po` and `localizedDescription` show.
@Suite("descriptions")
struct DescriptionTests {
  private static let secret = "the words that nobody else may read"

  private static func book() throws -> Record {
    var record = try Record(type: "Book", id: Record.ID("dune", in: Zone.ID("Library")))
    record["title"] = "Dune"
    record["pages"] = 412
    record["read"] = [true, false].map { $0 ? 1 : 0 } as [Int]
    try record.encryptedValues.set(.string(secret), forKey: "note")
    return record
  }

  private static func dumped(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
  }

  @Test("a printed record shows type, zone, name, keys and values in one line, and hides what is encrypted")
  func printedRecord() throws {
    let record = try Self.book()
    #expect("\(record)" == #"Book Library/dune (pages: 412, read: [1, 0], title: "Dune", note: encrypted)"#)
    for text in ["\(record)", record.debugDescription, Self.dumped(record), Self.dumped(record.encryptedValues)] {
      #expect(!text.contains("nobody else") && text.contains("note"))
    }
    #expect(Self.dumped(record).contains("412") && Self.dumped(record).contains("Dune"))
  }

  @Test("in a debugger a record is a tree with its tag, and says what was changed and removed")
  func debuggedRecord() throws {
    let database = try Database.inMemory()
    let zone = try Zone.ID("Library")
    var stored = try database.write { transaction in
      try transaction.save(Zone(zone))
      return try transaction.save(Self.book())
    }
    let tag = try #require(stored.metadata?.changeTag)
    stored["pages"] = 500
    stored["title"] = nil as String?
    let lines = stored.debugDescription.split(separator: "\n").map(String.init)
    #expect(lines.first == "Book Library/dune")
    #expect(lines[1].contains("tag \(tag)") && lines[1].contains("modified 20"))
    #expect(lines.contains("  pages: 500 (changed)"))
    #expect(lines.contains("  title removed"))
    #expect(lines.contains("  note: encrypted"))
    try database.close()
  }

  @Test("long texts, bytes, lists and records of many keys are cut, and say how much there is")
  func longValues() throws {
    #expect(Record.Value.string(String(repeating: "a", count: 1 << 20)).description.count < 120)
    #expect(Record.Value.string(String(repeating: "a", count: 1 << 20)).description.contains("1048576 bytes"))
    // One character of a million scalars.
    #expect(Record.Value.string("e" + String(repeating: "\u{301}", count: 1 << 20)).description.utf8.count < 2000)
    let digits = String(repeating: "ab", count: 16)
    #expect(Record.Value.bytes(Data(repeating: 0xAB, count: 100)).description == "<100 bytes: \(digits)…>")
    #expect(Record.Value.ints(Array(1...1000)).description == "[1, 2, 3, 4, 5, 6, 7, 8, … (1000 elements)]")
    var record = try Self.book()
    for number in 0..<1000 { record["k\(number)"] = number }
    #expect("\(record)".count < 1000 && "\(record)".contains("more"))
    #expect(record.debugDescription.split(separator: "\n").count < 40)
  }

  @Test("every kind of value is shown, also moments beyond calendars and numbers without end")
  func allKinds() throws {
    let place = Location(latitude: 52.5, longitude: 13.4, altitude: 34)
    let reference = Record.Reference(try Record.ID("a", in: Zone.ID("Z")), action: .deleteSelf)
    let date = Date(timeIntervalSinceReferenceDate: 0)
    let shown: [(Record.Value, String)] = [
      (.double(.infinity), "inf"), (.date(date), "2001-01-01T00:00:00.000Z"),
      (.date(Date(timeIntervalSinceReferenceDate: .infinity)), "inf s since 2001"),
      (.date(Date(timeIntervalSinceReferenceDate: -1e300)), "-1e+300 s since 2001"),
      (.date(Date(timeIntervalSinceReferenceDate: .nan)), "nan s since 2001"),
      (.location(place), "(52.5, 13.4, altitude 34.0)"), (.reference(reference), "→ Z/a (deleteSelf)"),
      (.asset(Asset(data: Data([1, 2]))), "asset of 2 bytes, not stored yet"),
      (.strings(["a", "b"]), #"["a", "b"]"#), (.doubles([0.5]), "[0.5]"), (.bytesList([Data([1])]), "[<1 bytes: 01>]"),
      (.dates([date]), "[2001-01-01T00:00:00.000Z]"), (.locations([place]), "[(52.5, 13.4, altitude 34.0)]"),
      (.assets([]), "[]"), (.references([reference]), "[→ Z/a (deleteSelf)]"),
    ]
    for (value, text) in shown { #expect(value.description == text) }
  }

  @Test("nothing that is shown moves a cursor or turns the text around")
  func activeScalars() throws {
    var record = try Record(type: "Book", id: Record.ID("a", in: Zone.ID("Li\u{1B}[2J\u{202E}b")))
    record["title"] = "x\n\u{9B}31m\u{202E}"
    let title = try #require(record["title"] as Record.Value?)
    for text in ["\(record)", record.debugDescription, title.description] {
      for scalar in text.unicodeScalars where scalar != "\n" { #expect(!ShownText.isActive(scalar), "\(scalar.value)") }
    }
    #expect(!"\(record)".contains("\n"))
  }

  @Test("zones, tokens, changes, notices, results, snapshots and statistics are a line or a few")
  func otherTypes() throws {
    let database = try Database.inMemory()
    let zone = try Zone.ID("Library")
    try database.write { transaction in
      try transaction.save(Zone(zone))
      try transaction.save(Self.book())
    }
    #expect("\(Zone(zone))" == "Library")
    #expect("\(Zone(zone).capabilities)" == "[fetchChanges, atomic, sharing, zoneWideSharing]")
    let changes = try database.changes(in: zone, since: nil)
    #expect("\(changes)".hasPrefix("1 saved, 0 deleted, token of Library at 1"))
    #expect("\(try database.databaseChanges(since: nil))".hasPrefix("changed [Library], 0 deleted, token of the database at 1"))
    #expect("\(ChangeToken(wrapping: Data([1, 2, 3])))" == "token of 3 foreign bytes")
    #expect(!Self.dumped(changes.token).contains("lineage"))
    #expect("\(CommitNotice.missed(from: 2, to: 5))" == "missed commits 2 to 5")
    let saved = [try Record.ID("a", in: zone)]
    let notice = CommitNotice.commit(.init(sequence: 7, origin: "sync", zones: [zone], saved: saved))
    #expect("\(notice)" == "commit 7 by sync: 1 saved, 0 deleted in [Library]")
    let missing = try Record.ID("none", in: zone)
    let result = try database.modify(deleting: [missing, try Record.ID("dune", in: zone)], atomically: false)
    #expect("\(result)".hasPrefix("0 saved, "))
    let version = try #require(try database.history(of: Record.ID("dune", in: zone)).first)
    #expect("\(version)".contains("Book Library/dune"))
    #expect(try database.statistics().description.contains("records: 0 in "))
    let snapshot = try database.snapshot()
    #expect(snapshot.description.hasPrefix("snapshot of database") && snapshot.description.hasSuffix("at 2"))
    try database.close()
  }

  @Test("neither a database nor its options show the cipher, which has the key")
  func hiddenCipher() throws {
    var options = Database.Options()
    options.cipher = TestCipher(key: "the key of all")
    let database = try Database.inMemory(options: options)
    for text in [Self.dumped(options), "\(options)", Self.dumped(database), "\(database)"] {
      #expect(!text.contains("the key of all") && !text.contains("TestCipher"))
    }
    #expect(Self.dumped(options).contains("durability") && Self.dumped(database).contains("hidden"))
    try database.close()
  }

  @Test("the localized description of an error is its sentence with path, name and sizes, and no number of an enumeration")
  func localizedErrors() throws {
    let error: any Error = DatabaseError(
      .limitExceeded, "The value is too long.", facts: .init(name: "dune", key: "title", size: 12, limit: 10))
    #expect(error.localizedDescription == "The value is too long. (name: dune, key: title, size: 12, limit: 10)")
    for code in DatabaseError.Code.allCases {
      let error = DatabaseError(code)
      #expect(error.localizedDescription == code.sentence)
      #expect(error.failureReason == nil)
      #expect(error.recoverySuggestion?.isEmpty != true)
    }
    let busy = DatabaseError(.zoneBusy, retryAfter: .milliseconds(1500))
    #expect(busy.recoverySuggestion == "Try again after 1.5 seconds.")
    #expect(busy.userInfo["CKErrorRetryAfterKey"] as? Double == 1.5)
    let partial = DatabaseError(.partialFailure, partialErrors: [try Record.ID("a"): busy])
    #expect((partial.userInfo["CKPartialErrorsByItemID"] as? [Record.ID: DatabaseError])?.count == 1)
  }
}
