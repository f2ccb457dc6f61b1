import Daybook
import Foundation
import Testing

@testable import DaybookTool

@Suite("records as lines")
struct LineTests {
  /// One value of each kind, with what is hard in it.
  static let values: [String: Record.Value] = [
    "aString": .string("e\u{301} \"\\\n\u{0}\u{7F} שלום 👨‍👩‍👧‍👦"), "anInt": .int(.min), "aMaximum": .int(.max),
    "aDouble": .double(0.1 + 0.2), "aWhole": .double(7), "aTiny": .double(.leastNonzeroMagnitude),
    "aHuge": .double(1.7976931348623157e308),
    "anInfinity": .double(.infinity), "anotherInfinity": .double(-.infinity), "bytes": .bytes(Data([0, 255, 10])),
    "noBytes": .bytes(Data()), "date": .date(Date(timeIntervalSinceReferenceDate: 781_234_567.123_456_7)),
    "distantPast": .date(.distantPast), "endOfTime": .date(Date(timeIntervalSinceReferenceDate: .infinity)),
    "place": .location(Location(latitude: -33.46069, longitude: 180)),
    "fullPlace": .location(
      Location(
        latitude: 1.5, longitude: 2, altitude: -3, horizontalAccuracy: 4, verticalAccuracy: 5.5, course: 6, speed: 7,
        timestamp: Date(timeIntervalSinceReferenceDate: 8.25))),
    "strings": .strings(["", "a", "ä"]), "noStrings": .strings([]), "ints": .ints([1, -2]), "noInts": .ints([]),
    "doubles": .doubles([1, .infinity]), "bytesList": .bytesList([Data([1]), Data()]),
    "dates": .dates([Date(timeIntervalSinceReferenceDate: 0.1)]),
    "locations": .locations([Location(latitude: 0, longitude: 0)]),
  ]

  static func everything() throws -> Record {
    let zone = try Zone.ID("Zoë's \"zone\"")
    var record = try Record(type: "Thing", id: Record.ID("a \"name\"", in: zone))
    for (key, value) in values { try record.set(value, forKey: key) }
    let target = try Record.ID("target", in: zone)
    try record.set(.reference(Record.Reference(target, action: .deleteSelf)), forKey: "reference")
    try record.set(.references([Record.Reference(target), Record.Reference(target)]), forKey: "references")
    try record.encryptedValues.set(.string("secret"), forKey: "hidden")
    record.parent = Record.Reference(target)
    return record
  }

  static func line(_ record: Record, withMetadata: Bool = false) throws -> String {
    var bytes: [UInt8] = []
    try RecordLine.append(record, withMetadata: withMetadata, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a line becomes the same record again, of every kind of value, bit by bit")
  func roundTrip() throws {
    let record = try Self.everything()
    let line = try Self.line(record)
    var sealedCount = 0
    let read = try RecordLine.record(json(line), sealedCount: &sealedCount)
    #expect(read.id == record.id && read.type == record.type && read.parent == record.parent && sealedCount == 0)
    #expect(read.keys == record.keys && read.encryptedValues.keys == record.encryptedValues.keys)
    for key in record.keys {
      let before: Record.Value? = record[key]
      let after: Record.Value? = read[key]
      #expect(before == after && before?.kind == after?.kind, "\(key)")
    }
    #expect(try Self.line(read) == line)
    #expect(!line.contains("\n"))
  }

  @Test("a line is JSON that others can read")
  func foundation() throws {
    let line = try Self.line(try Self.everything())
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(Set(object.keys) == ["zone", "name", "type", "parent", "fields", "encrypted"])
    let fields = try #require(object["fields"] as? [String: [String: Any]])
    #expect(fields["aString"]?["type"] as? String == "string")
    #expect((fields["aString"]?["value"] as? String)?.hasPrefix("e\u{301}") == true)
  }

  @Test("keys stand in order of their bytes, and numbers in one form")
  func canonical() throws {
    var record = try Record(type: "T", id: Record.ID("n"))
    for key in ["b", "B", "a_", "a", "a1"] { record[key] = 1 as Record.Value }
    record["b"] = 7.0 as Record.Value
    #expect(
      try Self.line(record)
        == #"{"zone":"_defaultZone","name":"n","type":"T","fields":{"B":{"type":"int","value":1},"a":{"type":"int","value":1},"a1":{"type":"int","value":1},"a_":{"type":"int","value":1},"b":{"type":"double","value":7.0}}}"#
    )
  }

  @Test("a date may be typed as text")
  func isoDate() throws {
    var sealedCount = 0
    let record = try RecordLine.record(
      json(#"{"zone":"Z","name":"n","type":"T","fields":{"d":{"type":"date","value":"2001-01-02T00:00:00Z"}}}"#),
      sealedCount: &sealedCount)
    #expect(record["d"] == Date(timeIntervalSinceReferenceDate: 86_400))
  }

  @Test(
    "a value that is not of its kind is refused",
    arguments: [
      #"{"type":"int","value":1.5}"#, #"{"type":"int","value":"1"}"#, #"{"type":"string","value":1}"#,
      #"{"type":"date","value":"yesterday"}"#, #"{"type":"bytes","value":"*"}"#, #"{"type":"location","value":{"latitude":1}}"#,
      #"{"type":"location","value":{"latitude":1,"longitude":2,"colour":3}}"#, #"{"type":"nothing","value":1}"#,
      #"{"type":"ints","value":[1,2.5]}"#, #"{"type":"reference","value":{"name":""}}"#,
      #"{"type":"reference","value":{"name":"a","action":"explode"}}"#,
      #"{"type":"asset","value":{"sha256":"00","byteCount":1}}"#,
      #"{"type":"double","value":"nan"}"#, #"{"type":"double","value":9007199254740993}"#,
    ])
  func refused(field: String) throws {
    var sealedCount = 0
    let row = try json(#"{"zone":"Z","name":"n","type":"T","fields":{"k":\#(field)}}"#)
    #expect(throws: (any Error).self) { try RecordLine.record(row, sealedCount: &sealedCount) }
  }

  @Test(
    "rows that only look like lines of a dump are rows",
    arguments: [
      #"{"name":"a","fields":{}}"#, #"{"zone":"Z","name":"a","type":"T","fields":{"x":1}}"#,
      #"{"zone":"Z","name":"a","type":"T","fields":{},"colour":1}"#, #"{"zone":1,"name":"a","type":"T","fields":{}}"#,
    ])
  func lookalikes(text: String) throws { #expect(!RecordLine.isRecordLine(try json(text))) }

  @Test("CloudKit's form has its types, its milliseconds and its zone")
  func cloudKit() throws {
    var record = try Self.everything()
    try record.set(.date(Date(timeIntervalSince1970: 1.5)), forKey: "date")
    var bytes: [UInt8] = []
    CloudKitLine.append(record, to: &bytes)
    let line = try json(String(decoding: bytes, as: UTF8.self))
    #expect(line["recordName"] == "a \"name\"" && line["recordType"] == "Thing")
    #expect(line["zoneID"]?["zoneName"] == "Zoë's \"zone\"" && line["parent"]?["recordName"] == "target")
    let fields = try #require(line["fields"])
    #expect(fields["date"] == ["value": 1500, "type": "TIMESTAMP"])
    #expect(fields["anInt"]?["type"] == "INT64" && fields["noInts"]?["type"] == "INT64_LIST")
    #expect(fields["reference"]?["value"]?["action"] == "DELETE_SELF")
    #expect(fields["bytes"] == ["value": "AP8K", "type": "BYTES"])
    #expect(fields["hidden"] == nil)
  }

  @Test("text for reading keeps control characters from the terminal")
  func text() throws {
    var record = try Record(type: "T", id: Record.ID("n"))
    record["a"] = "x\u{1B}[31mred\n" as Record.Value
    var bytes: [UInt8] = []
    RecordText.append(record, withMetadata: false, to: &bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(!text.contains("\u{1B}") && text.contains("red"))
  }
}
