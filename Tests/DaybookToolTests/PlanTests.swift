import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("kinds, keys, names and dates of imports")
struct PlanTests {
  @Test(
    "a key gets the kind that holds all its values",
    arguments: [
      (["1", "2"], ColumnKind.int), (["1", "2.5"], .double), (["1", "\"a\""], .string), (["true", "3"], .int),
      (["true", "false", "null"], .int), (["9007199254740993", "0.5"], .string), (["9007199254740993", "1"], .int),
      (["99999999999999999999"], .string), (["[1,2]", "[]"], .ints), (["[1,2.5]"], .doubles), (["[1]", "[2.5]"], .doubles),
      (["[\"a\"]", "[]"], .strings), (["[]"], .strings), (["[\"a\"]", "[1]"], .strings), (["[1,\"a\"]"], .string),
      (["[null]"], .string), (["{}"], .string), (["[[1]]"], .string), (["[1]", "2"], .string), (["[true]", "[2]"], .ints),
    ] as [([String], ColumnKind)])
  func unified(values: [String], kind: ColumnKind) throws {
    let kinds = try values.reduce(into: KindSet()) { $0.formUnion(KindSet(of: try json($1))) }
    #expect(kinds.unified == kind)
  }

  @Test("a key that is always null has no kind") func nothing() { #expect(KindSet(of: .null).unified == nil) }

  @Test(
    "a cell of CSV is a number only as JSON writes one",
    arguments: [
      ("1", KindSet.whole), ("-5", .whole), ("0", .whole), ("1.5", .double), ("-0.25", .double), ("1e5", .double),
      ("9007199254740993", .wideWhole), ("007", .text), ("+1", .text), ("1,5", .text), (" 1", .text), ("1 ", .text),
      ("", []), ("NaN", .text), ("inf", .text), ("0x10", .text), (".5", .text), ("1.", .text), ("1e999", .text),
      ("99999999999999999999", .text), ("NA", .text), ("-", .text), ("1234567890.12345678901", .double),
    ] as [(String, KindSet)])
  func cells(text: String, kind: KindSet) {
    let bytes = Array(text.utf8)
    #expect(KindSet(ofCell: bytes, 0..<bytes.count) == kind)
  }

  @Test(
    "values keep what they were in the kind that holds all",
    arguments: [
      (ColumnKind.string, "1776", Record.Value.string("1776")), (.string, "7.5", .string("7.5")),
      (.string, "true", .string("true")), (.string, "{\"b\":[1, 2]}", .string("{\"b\":[1,2]}")),
      (.double, "7", .double(7)), (.double, "true", .double(1)), (.int, "false", .int(0)), (.ints, "[true,2]", .ints([1, 2])),
      (.doubles, "[1]", .doubles([1])), (.strings, "[\"a\",1]", .strings(["a", "1"])), (.strings, "[]", .strings([])),
    ] as [(ColumnKind, String, Record.Value)])
  func converted(kind: ColumnKind, text: String, value: Record.Value) throws {
    let converted = kind.value(try json(text))
    #expect(converted == value && converted?.kind == value.kind)
  }

  @Test("keys that a record refuses are mapped, and good ones keep their names")
  func keys() {
    #expect(KeyMapping.keys(for: ["US Gross", "Title"]) == ["US_Gross", "Title"])
    #expect(KeyMapping.keys(for: ["US Gross", "US_Gross"]) == ["US_Gross_2", "US_Gross"])
    #expect(KeyMapping.keys(for: ["a b", "a-b", "a.b"]) == ["a_b", "a_b_2", "a_b_3"])
    #expect(KeyMapping.keys(for: ["parent", "recordName", "share"]) == ["parent_2", "recordName_2", "share_2"])
    #expect(KeyMapping.keys(for: ["parent", "parent_2"]) == ["parent_3", "parent_2"])
    #expect(
      KeyMapping.keys(for: ["", "2010", "_x", "é", "e\u{301}", "名前", "Größe"])
        == ["key", "key_2010", "key_x", "key_2", "key_3", "key_4", "Gr__e"])
    #expect(KeyMapping.keys(for: ["location", "x"], taken: ["location"]) == ["location_2", "x"])
    #expect(KeyMapping.keys(for: ["name", "name", "name"]) == ["name", "name_2", "name_3"])
    let long = String(repeating: "k", count: 300)
    #expect(KeyMapping.keys(for: [long, long + "x"]).map(\.count) == [255, 255])
  }

  @Test("every mapped key is one that a record accepts, and no two are the same", arguments: 0..<30)
  func anyKeys(seed: UInt64) throws {
    var generator = Seeded(seed)
    let pieces = ["a", "_", " ", "1", "é", "parent", "_2", "-", "👍", "Z"]
    let names = (0..<30).map { _ in
      (0..<Int.random(in: 0...4, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
    }
    let keys = KeyMapping.keys(for: names)
    #expect(keys.count == names.count && Set(keys).count == keys.count)
    var record = try Record(type: "Probe")
    for key in keys { try record.set(1, forKey: key) }
  }

  @Test("names hold what they can and percent-encode the rest")
  func names() throws {
    #expect(RecordNames.name(for: "The Land Girls") == "The Land Girls")
    #expect(RecordNames.name(for: "Amélie") == "Am%C3%A9lie")
    #expect(RecordNames.name(for: "_x_") == "%5Fx_")
    #expect(RecordNames.name(for: "a\nb") == "a%0Ab")
    #expect(RecordNames.name(for: "") == nil)
    #expect(RecordNames.name(for: String(repeating: "x", count: 255))?.count == 255)
    #expect(RecordNames.name(for: String(repeating: "x", count: 256)) == nil)
    #expect(RecordNames.name(for: String(repeating: "é", count: 43)) == nil)
    for text in ["👨‍👩‍👧‍👦", "שלום", "_", "%", "a/b", "\u{7F}"] { _ = try Record.ID(RecordNames.name(for: text) ?? "") }
  }

  @Test("random names are UUIDs that do not repeat")
  func randomNames() {
    var names = RandomNames()
    let drawn = (0..<10_000).map { _ in names.next() }
    #expect(Set(drawn).count == drawn.count)
    #expect(drawn.allSatisfy { UUID(uuidString: $0)?.uuidString == $0 && Array($0)[14] == "4" })
  }

  @Test(
    "dates are read as their format says",
    arguments: [
      ("%b %d %Y", "Jun 12 1998", "1998-06-12T00:00:00Z"), ("%b %d %Y", "jun  2 1998", "1998-06-02T00:00:00Z"),
      ("%B %e, %Y", "February 29, 2000", "2000-02-29T00:00:00Z"), ("%F %T", "2021-10-22 18:30:15", "2021-10-22T18:30:15Z"),
      ("%d.%m.%y", "1.2.69", "1969-02-01T00:00:00Z"), ("%d.%m.%y", "1.2.68", "2068-02-01T00:00:00Z"),
      ("%Y-%m-%dT%H:%M:%S.%f%z", "2021-10-22T18:30:15.250+02:00", "2021-10-22T16:30:15.250Z"),
      ("%I:%M %p %D", "12:05 am 10/22/21", "2021-10-22T00:05:00Z"), ("%I%p %F", "11PM 2021-10-22", "2021-10-22T23:00:00Z"),
      ("%s", "0", "1970-01-01T00:00:00Z"), ("%s", "-86400.5", "1969-12-30T23:59:59.500Z"),
      ("%Y %j", "2020 366", "2020-12-31T00:00:00Z"),
      ("%a %d %b %Y %R %z", "Tue 05 Mar 2024 07:08 GMT", "2024-03-05T07:08:00Z"), ("%Y%%", "2001%", "2001-01-01T00:00:00Z"),
      ("iso8601", "2024-02-29", "2024-02-29T00:00:00Z"), ("iso8601", "2024-02-29T10:00:00-0530", "2024-02-29T15:30:00Z"),
      ("%Y", "1", "0001-01-01T00:00:00Z"),
    ])
  func dates(pattern: String, text: String, expected: String) throws {
    let seconds = try #require(try DatePattern(pattern).seconds(text))
    #expect(CalendarDate.text(secondsSinceReference: seconds) == expected)
  }

  @Test(
    "what is not of the format, or no day, is no date",
    arguments: [
      ("%b %d %Y", "1998-06-12"), ("%b %d %Y", "Jun 12 1998x"), ("%b %d %Y", ""), ("%F", "2023-02-29"), ("%F", "2023-13-01"),
      ("%F", "2023-00-10"), ("%F %R", "2023-01-01 25:00"), ("%Y %j", "2021 366"), ("iso8601", "24-01-01"),
      ("%b %Y", "Foo 2000"),
      ("%F %z", "2023-01-01 1"), ("%I %p %Y", "13 pm 2000"),
    ])
  func noDates(pattern: String, text: String) throws { #expect(try DatePattern(pattern).seconds(text) == nil) }

  @Test("a pattern without a year, or with what is not known, is refused", arguments: ["%H:%M", "", "%Q %Y", "%Y%"])
  func badPatterns(pattern: String) {
    #expect(throws: ToolError.self) { try DatePattern(pattern) }
  }

  @Test("the calendar agrees with Foundation's", arguments: 0..<20)
  func calendar(seed: UInt64) throws {
    var generator = Seeded(seed)
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    for _ in 0..<200 {
      let seconds = Double(Int.random(in: -12_000_000_000...30_000_000_000, using: &generator))
      let date = try #require(CalendarDate(secondsSinceReference: seconds))
      let parts = calendar.dateComponents(
        [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSinceReferenceDate: seconds))
      #expect(date.secondsSinceReference == seconds && date.isValid)
      #expect([date.year, date.month, date.day] == [parts.year, parts.month, parts.day])
      #expect([date.hour, date.minute, date.second] == [parts.hour, parts.minute, parts.second])
    }
    #expect(CalendarDate.text(secondsSinceReference: .infinity) == "inf s since 2001")
  }
}
