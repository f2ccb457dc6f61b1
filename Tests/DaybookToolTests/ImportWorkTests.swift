import Daybook
import DaybookEngine
import Foundation
import Testing

@testable import DaybookTool

/// Whoever wrote an input chose how many keys it has, and which: the work grows with the bytes, not with their square.
@Suite("work of imports")
struct ImportWorkTests {
  private static func expectFew(_ names: [String], sourceLocation: SourceLocation = #_sourceLocation) -> [String] {
    var choice = KeyChoice(taken: [])
    let keys = choice.keys(for: names)
    #expect(keys.count == names.count && Set(keys).count == names.count, sourceLocation: sourceLocation)
    #expect(choice.attemptCount <= 4 * names.count, "\(choice.attemptCount)", sourceLocation: sourceLocation)
    return keys
  }

  @Test("fifty thousand equal headers, which took half a minute, get their keys in as many steps")
  func equalHeaders() {
    let keys = Self.expectFew([String](repeating: "a", count: 50_000))
    #expect(keys.prefix(3) == ["a", "a_2", "a_3"] && keys.last == "a_50000")
  }

  @Test("twenty thousand names that become the same key, which took longer still, get theirs in as many steps")
  func equalAfterMapping() {
    let names = (0..<20_000 as Range<UInt32>).map { String(Unicode.Scalar(0x4E00 + $0) ?? "?") }
    let keys = Self.expectFew(names)
    #expect(keys.prefix(2) == ["key", "key_2"] && keys.last == "key_20000")
  }

  @Test("names that are as long as a key may be, and differ only behind that or just in front, get theirs in as many steps")
  func longNames() {
    let long = String(repeating: "k", count: 251)
    _ = Self.expectFew((0..<3000).map { "\(long)_\($0)" } + (0..<3000).map { "\(long)xx\($0)xx" })
  }

  @Test("names that have the numbers already that others would get are stepped over once")
  func takenNumbers() {
    let names = (2..<10_000).map { "a_\($0)" } + [String](repeating: "a", count: 10_000)
    let keys = Self.expectFew(names)
    #expect(keys.last == "a_19998")
  }

  // MARK: whole rows

  private static let count = 30_000

  private static func row(_ text: String, _ format: InputFile.Format) throws -> Record? {
    let bytes = Array(text.utf8)
    let options = ImportOptions()
    var survey: ImportSurvey
    if format == .csv {
      var reader = CSVReader(ByteSource(bytes))
      try #require(try reader.next())
      survey = ImportSurvey(header: reader, options)
      while try reader.next() { try survey.observe(reader) }
    } else {
      var reader = JSONElementReader(ByteSource(bytes))
      survey = ImportSurvey(options)
      while let (row, line) = try reader.next() { try survey.observe(row, line: line) }
    }
    var rows = try RowReader(ByteSource(bytes), format, .rows(try ImportPlan(survey, options)))
    var report = ImportReport()
    return try rows.next(&report)?.record
  }

  // In the wrong order each field moves half of those before it: a record of this many took a minute a row.
  private static func expectAll(_ record: Record?) throws {
    let record = try #require(record)
    #expect(record.keys.count == count)
  }

  @Test("a row under thirty thousand equal headers becomes a record", .timeLimit(.minutes(15)))
  func wideCSV() throws {
    let header = [String](repeating: "a", count: Self.count).joined(separator: ",")
    let cells = (0..<Self.count).map { "\($0)" }.joined(separator: ",")
    let record = try Self.row("\(header)\n\(cells)\n", .csv)
    try Self.expectAll(record)
    #expect(record?["a"] == 0 && record?["a_2"] == 1 && record?["a_30000"] == 29_999)
  }

  @Test("an object of thirty thousand keys in the worst order becomes a record", .timeLimit(.minutes(15)))
  func wideJSON() throws {
    let members = (10_000..<10_000 + Self.count).reversed().map { "\"k\($0)\":\($0)" }
    let record = try Self.row("{\(members.joined(separator: ","))}\n", .json)
    try Self.expectAll(record)
    #expect(record?["k10000"] == 10_000 && record?["k39999"] == 39_999)
  }

  /// A letter with more marks than any word has. To compare two such texts Swift sorts the marks, in the square of their number.
  private static let marked = "e" + String(repeating: "\u{301}\u{323}", count: 300_000)

  @Test("a header or key of a letter under half a million marks becomes a key", .timeLimit(.minutes(15)))
  func manyMarks() throws {
    for (text, format) in [("\(Self.marked)\n7\n", InputFile.Format.csv), ("{\"\(Self.marked)\":7}\n", .json)] {
      let record = try #require(try Self.row(text, format))
      #expect(record.keys.count == 1 && (record[record.keys[0]] as Int?) == 7)
    }
  }

  @Test("words of a dump's line that are a letter under half a million marks are refused", .timeLimit(.minutes(15)))
  func markedWords() throws {
    func line(_ field: String, _ more: String = "") -> String {
      #"{"zone":"_defaultZone","name":"a","type":"T","fields":{"k":\#(field)}\#(more)}"#
    }
    let marked = Self.marked
    for text in [
      line(#"{"type":"\#(marked)","value":1}"#), line(#"{"type":"int","value":1}"#, #","\#(marked)":1"#),
      line(#"{"type":"double","value":"\#(marked)"}"#), line(#"{"type":"date","value":"\#(marked)"}"#),
      line(#"{"type":"reference","value":{"name":"a","action":"\#(marked)"}}"#),
    ] {
      var sealedCount = 0
      #expect(throws: ToolError.self) { try Importer.record(try json(text), 1, sealedCount: &sealedCount) }
    }
    var options = ImportOptions()
    options.base = try SourceFolder(".")
    #expect(throws: ToolError.self) { try AssetColumn.asset(marked, "file", options, 1) }
  }

  @Test("a line of a dump whose fields are in the worst order is the record that it was", .timeLimit(.minutes(15)))
  func wideLine() throws {
    let fields = (10_000..<10_000 + Self.count).reversed().map { #""k\#($0)":{"type":"int","value":\#($0)}"# }
    let line = #"{"zone":"_defaultZone","name":"a","type":"T","fields":{\#(fields.joined(separator: ","))}}"#
    var sealedCount = 0
    let record = try Importer.record(try json(line), 1, sealedCount: &sealedCount)
    try Self.expectAll(record)
    #expect(record["k10000"] == 10_000)
  }

  @Test("a record of sixty thousand fields is printed, compared and refused in as many steps", .timeLimit(.minutes(15)))
  func widePrint() throws {
    let count = 60_000
    var record = try Record(type: "T", id: Record.ID("wide"))
    for number in 0..<count { record["k\(10_000 + number)"] = number }
    let bench = try Workbench()
    let database = try Database.open(at: bench.path("a.daybook"))
    var line: [UInt8] = []
    try database.save(record)
    let saved = try #require(try database.record(record.id))
    try RecordLine.append(saved, to: &line)
    #expect(line.count > count * 30)
    RecordText.append(saved, withMetadata: false, to: &line)
    CloudKitLine.append(saved, to: &line)
    let csv = CSVExport(keys: saved.keys)
    try csv.append(saved, to: &line)
    #expect(try saved == database.record(record.id))
    var larger = saved
    larger["text"] = String(repeating: "a", count: 900_000)
    do {
      try database.save(larger)
      Issue.record("it was saved")
    } catch { #expect(error.code == .limitExceeded && error.facts.key == "text", "\(error)") }
    try database.close()
  }
}
