import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// One value of every kind, and the awkward ones of each.
let sampleValues: [Record.Value] = {
  let place = Location(
    latitude: 29.6, longitude: -35.4, altitude: 1, horizontalAccuracy: 2, verticalAccuracy: 3, course: 4, speed: 5,
    timestamp: Date(timeIntervalSinceReferenceDate: 6))
  let target = Record.Reference(Record.ID(unchecked: "target", in: .default), action: .deleteSelf)
  let asset = Asset(digest: Array(0..<32), byteCount: 1234)
  let inline = Asset(digest: Array(1..<33), byteCount: 3, content: Data([1, 2, 3]))
  return [
    "", "Dune", "e\u{301}", "\u{E9}", "שלום עולם", "👩‍👩‍👧‍👦", .string(String(repeating: "ü", count: 5000)), "a\u{0}b",
    0, 1, -1, 127, 128, -129, .int(.max), .int(.min), 65535, 1_000_000_007,
    1.5, .double(.infinity), .double(-.infinity), .double(.leastNonzeroMagnitude), .double(1e300),
    .bytes(Data()), .bytes(Data([0, 255, 1])), .date(.distantPast), .date(Date(timeIntervalSinceReferenceDate: 0.1)),
    .location(Location(latitude: 0, longitude: 0)), .location(place), .asset(asset), .asset(inline),
    .reference(target), .reference(Record.Reference(target.id, action: .validate)),
    .strings([]), .strings(["", "a", "e\u{301}"]), .ints([]), .ints([0, -1, .max, .min]), .doubles([]),
    .doubles([1, 2.5, .infinity]), .bytesList([]), .bytesList([Data(), Data([7])]), .dates([]),
    .dates([.distantFuture]), .locations([]), .locations([place, Location(latitude: 1, longitude: 2)]), .assets([]),
    .assets([asset, inline]), .references([]), .references([target, target]),
  ]
}()

@Suite("values of a field")
struct RecordValueTests {
  @Test("every value survives a save and a read", arguments: sampleValues)
  func roundTrip(_ value: Record.Value) throws {
    var record = try Record(type: "Movie")
    record["v"] = value
    #expect(record["v"] == value)
    let stored = try record.stored()
    let read = stored["v"] as Record.Value?
    #expect(read == value)
    #expect(read?.kind == value.kind)
    #expect(stored.changedKeys.isEmpty)
    #expect(stored.keys == ["v"])
    if case .string(let text) = value, case .string(let again)? = read {
      #expect(text.utf8.elementsEqual(again.utf8))
    }
    let inline = [value].reduce(0) {
      switch $1 {
      case .asset(let asset): $0 + (asset.data?.count ?? 0)
      case .assets(let list): $0 + list.reduce(0) { $0 + ($1.data?.count ?? 0) }
      default: $0
      }
    }
    #expect(stored.encodedByteCount == record.encodedByteCount)
    let buffer = ByteBuffer()
    defer { withExtendedLifetime(buffer) {} }
    var writer = ByteWriter(buffer)
    record.body.withZoneKey { ValueCoding.append(value, zoneKey: $0, into: &writer) }
    #expect(record.encodedByteCount == 6 + 1 + writer.offset - inline)
  }

  @Test("every value survives an archive", arguments: sampleValues.filter { $0 != .double(.infinity) })
  func archive(_ value: Record.Value) throws {
    let encoder = JSONEncoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "n")
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "n")
    #expect(try decoder.decode(Record.Value.self, from: encoder.encode(value)) == value)
  }

  @Test("literals are values")
  func literals() {
    #expect(("a" as Record.Value) == .string("a"))
    #expect((2 as Record.Value) == .int(2))
    #expect((2.5 as Record.Value) == .double(2.5))
    #expect((true as Record.Value) == .int(1))
  }

  @Test("numbers are equal by their exact value, and hash alike")
  func numbers() {
    #expect(Record.Value.int(1) == .double(1))
    #expect(Record.Value.int(1).hashValue == Record.Value.double(1).hashValue)
    #expect(Record.Value.ints([1]).hashValue == Record.Value.doubles([1]).hashValue)
    let large = Int64(1) << 53
    #expect(Record.Value.int(large + 1) != .double(Double(large)))
    #expect(Record.Value.int(.max) != .double(9_223_372_036_854_775_808))
    #expect(Record.Value.double(-0.0) == .int(0))
    #expect(Record.Value.double(.nan) == .double(.nan))
    #expect(Record.Value.int(1) != .string("1"))
  }

  @Test("text is equal by its bytes")
  func text() {
    #expect(Record.Value.string("\u{E9}") != .string("e\u{301}"))
    #expect(Record.Value.strings(["\u{E9}"]) != .strings(["e\u{301}"]))
    #expect(Set<Record.Value>(["\u{E9}", "e\u{301}"]).count == 2)
  }

  @Test(
    "a value that is not a number is refused at save", arguments: 0..<5)
  func notANumber(_ index: Int) throws {
    // By index, because Foundation cannot print a date that is not a number.
    let values: [Record.Value] = [
      .double(.nan), .doubles([1, .nan]), .date(Date(timeIntervalSinceReferenceDate: .nan)),
      .location(Location(latitude: .nan, longitude: 0)), .locations([Location(latitude: 0, longitude: 0, speed: .nan)]),
    ]
    let value = values[index]
    var record = try Record(type: "Movie")
    record["v"] = value
    #expect(record["v"] == nil)
    let error = #expect(throws: DatabaseError.self) { try record.validateForSave() }
    #expect(error?.facts.key == "v")
    record["v"] = 1
    try record.validateForSave()
  }

  @Test("minus zero is stored as zero")
  func minusZero() throws {
    var record = try Record(type: "Movie")
    record["v"] = -0.0
    record["w"] = .doubles([-0.0])
    let stored = try record.stored()
    #expect((stored["v"] as Double?)?.sign == .plus)
    #expect((stored["w"] as [Double]?)?.first?.sign == .plus)
  }

  @Test("typed reads")
  func typedReads() throws {
    var record = try Record(type: "Movie")
    record["title"] = "Dune"
    record["year"] = 2021
    record["rating"] = 8.0
    record["seen"] = true
    record["many"] = [1, 2, 3]
    record["date"] = Date(timeIntervalSinceReferenceDate: 1)
    record["blob"] = Data([1])
    record["tags"] = ["a", "b"]
    record["big"] = UInt64(7)
    for record in [record, try record.stored()] {
      #expect(record["title"] == "Dune")
      #expect(record["year"] == 2021)
      #expect(record["year"] as Double? == 2021)
      #expect(record["year"] as Float? == 2021)
      #expect(record["year"] as Int16? == 2021)
      #expect(record["year"] as Int8? == nil)
      #expect(record["year"] as Bool? == nil)
      #expect(record["year"] as String? == nil)
      #expect(record["rating"] as Double? == 8)
      #expect(record["rating"] as Int? == nil, "whole-number types read no doubles")
      #expect(record["seen"] as Bool? == true)
      #expect(record["seen"] as Int? == 1)
      #expect(record["many"] as [Int]? == [1, 2, 3])
      #expect(record["many"] as [Double]? == [1, 2, 3])
      #expect(record["many"] as [String]? == nil)
      #expect(record["tags"] as [String]? == ["a", "b"])
      #expect(record["big"] as UInt64? == 7)
      #expect(record["absent"] as Int? == nil)
      #expect(record["date"] as Date? == Date(timeIntervalSinceReferenceDate: 1))
      #expect(record["blob"] as Data? == Data([1]))
      #expect(try record.value(Int.self, forKey: "year") == 2021)
      let absent = #expect(throws: DatabaseError.self) { try record.value(Int.self, forKey: "absent") }
      #expect(absent?.code == .unknownItem)
      let other = #expect(throws: DatabaseError.self) { try record.value(Int.self, forKey: "title") }
      #expect(other?.code == .invalidArguments && other?.facts.found == "string")
    }
  }

  @Test("whole numbers beyond Int64 are refused at save")
  func hugeNumbers() throws {
    for isList in [false, true] {
      var record = try Record(type: "Movie")
      if isList { record["v"] = [UInt64.max] } else { record["v"] = UInt64.max }
      #expect(record["v"] == nil)
      #expect(throws: DatabaseError.self) { try record.validateForSave() }
    }
    #expect(UInt64.max.recordValue > 0)
  }

  enum Genre: String, RecordValueConvertible { case drama, comedy }

  @Test("an enum with raw values converts")
  func enums() throws {
    var record = try Record(type: "Movie")
    record["genre"] = Genre.drama
    #expect(record["genre"] == Genre.drama)
    #expect(record["genre"] as String? == "drama")
    record["genre"] = "western"
    #expect(record["genre"] as Genre? == nil)
  }

  @Test("typed keys")
  func typedKeys() throws {
    var record = try Record(type: "Movie")
    record[.title] = "Dune"
    record[.year] = 2021
    #expect(record[.title] == "Dune")
    #expect(record[.year] == 2021)
    record[.title] = nil
    #expect(record[.title] == nil && record.removedKeys == ["title"])
  }

  @Test("the distance of two places")
  func distance() {
    let berlin = Location(latitude: 52.52, longitude: 13.405)
    let paris = Location(latitude: 48.8566, longitude: 2.3522)
    #expect(abs(berlin.distance(to: paris) - 877_500) < 1000)
    #expect(berlin.distance(to: berlin) == 0)
    let south = Location(latitude: -90, longitude: 0)
    #expect(abs(south.distance(to: Location(latitude: 90, longitude: 120)) - .pi * Location.earthRadius) < 1)
  }

  @Test("an asset is a regular file, and notices its change")
  func assets() throws {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "a.bin")
    #expect(throws: DatabaseError.self) { _ = try Asset(fileURL: file) }
    try Data([1, 2, 3]).write(to: file)
    let asset = try Asset(fileURL: file)
    #expect(asset.byteCount == 3 && asset.sha256 == nil && asset.fileURL == file)
    try asset.validateUnmodified()
    try Data([1, 2, 3, 4]).write(to: file)
    let changed = #expect(throws: DatabaseError.self) { try asset.validateUnmodified() }
    #expect(changed?.code == .assetFileModified)
    let directory = #expect(throws: DatabaseError.self) { _ = try Asset(fileURL: folder) }
    #expect(directory?.code == .invalidArguments)
    #expect(throws: DatabaseError.self) { _ = try Asset(fileURL: #require(URL(string: "https://example.com/a"))) }
    #expect(Asset(digest: [UInt8](repeating: 0xAB, count: 32), byteCount: 0).sha256 == String(repeating: "ab", count: 32))
    #expect(Asset(data: Data([1])) == Asset(data: Data([1])))
    #expect(Asset(data: Data([1])) != Asset(data: Data([2])))
  }

  /// Values that hold a NaN somewhere.
  static let strange: [Record.Value] = [
    .double(.nan), .doubles([1, .nan]), .date(Date(timeIntervalSinceReferenceDate: .nan)),
    .dates([Date(timeIntervalSinceReferenceDate: .nan)]), .location(Location(latitude: .nan, longitude: 0)),
    .location(Location(latitude: 0, longitude: .nan)), .location(Location(latitude: 0, longitude: 0, altitude: .nan)),
    .location(Location(latitude: 0, longitude: 0, timestamp: Date(timeIntervalSinceReferenceDate: .nan))),
    .locations([Location(latitude: 0, longitude: 0, speed: .nan)]),
  ]

  @Test("a value with a NaN anywhere equals itself, is found in a set, and is refused when set", arguments: 0..<9)
  func equalsItself(_ index: Int) throws {
    // By number: the description of a date that is none is not to be relied upon.
    let value = Self.strange[index]
    #expect(value == value && Set([value]).contains(value) && Set([value, value]).count == 1)
    var record = try Record(type: "Note")
    let error = #expect(throws: DatabaseError.self) { try record.set(value, forKey: "k") }
    #expect(error?.code == .invalidArguments && error?.facts.key == "k")
    #expect(record.keys.isEmpty)
  }

  @Test("dates and places take infinities, and −0 as 0", arguments: [Double.infinity, -.infinity, -0.0])
  func extremes(_ number: Double) throws {
    var record = try Record(type: "Note")
    let date = Date(timeIntervalSinceReferenceDate: number)
    let place = Location(latitude: number, longitude: number, altitude: number, timestamp: date)
    try record.set(.date(date), forKey: "date")
    try record.set(.location(place), forKey: "place")
    #expect(record["date"] == date && record["place"] == place)
    let stored: Date? = record["date"]
    #expect(number != 0 || stored?.timeIntervalSinceReferenceDate.sign == .plus)
    let (a, b) = (Location(latitude: 0, longitude: -0.0), Location(latitude: -0.0, longitude: 0))
    #expect(a == b && a.hashValue == b.hashValue)
    #expect(Location(latitude: 1, longitude: 2) != Location(latitude: 1, longitude: 2, speed: 3))
    #expect(Location(latitude: 1, longitude: 2, course: 3) != Location(latitude: 1, longitude: 2, speed: 3))
  }
}

extension Record.Key where T == String { static var title: Self { .init("title") } }
extension Record.Key where T == Int { static var year: Self { .init("year") } }

extension Record.Value {
  fileprivate static func > (value: Record.Value, bound: Double) -> Bool {
    Double(recordValue: value).map { $0 > bound } ?? false
  }
}

extension Record {
  /// The record as a database would answer: encoded onto the server's version, and read again.
  func stored(
    tag: UInt64 = 1, date: Double = 1000, onto server: Record? = nil, _ extent: RecordBodyEncoder.Extent = .changedKeys
  ) throws -> Record {
    let buffer = ByteBuffer()
    try RecordBodyEncoder.encode(
      self, onto: server?.body, writing: extent,
      stamp: .init(tag: tag, date: date, userID: Array("me".utf8), deviceID: Array("here".utf8)), into: buffer)
    return Record(body: try RecordBody(trusted: buffer.view))
  }
}
