import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Fills the file `KindsFixture.everything`: one of everything that can be said to a database, and what no call says any more.
enum FixtureRecords {
  /// The content of an asset that lies in a file of its own.
  private static let content = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 * 7) })
  /// Where it lies, as SHA-256 names it.
  static let assetName = "9a/9a76b8af8f16f19d60de2b3999c22f9d10be4395c90ea3bfc5eb6cd6254243af"

  static func make(on disk: SimulatedDisk) throws {
    try makeZones(disk)
    try change(disk)
    try index(disk)
    try last(disk)
  }

  private static func open(
    _ disk: SimulatedDisk, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = KindsFixture.options()
    change(&options)
    return try Database.open(at: KindsFixture.path, options: options, disk: disk)
  }

  private static func books() throws -> Zone.ID { try Zone.ID("Bücher") }
  private static func bobs() throws -> Zone.ID { try Zone.ID("Shared", owner: "bob") }

  // MARK: the first open: zones, parts, pages

  private static func makeZones(_ disk: SimulatedDisk) throws {
    // Without a cipher encrypted values are stored as they are.
    let database = try open(disk) {
      $0.partByteCount = 4096
      $0.cipher = nil
    }
    let zone = try books()
    try database.write(origin: "fixture") { transaction in
      for id in [zone, try bobs(), try Zone.ID("Small")] { try transaction.save(Zone(id)) }
      for number in 0..<3 { try transaction.save(Zone(Zone.ID("Doomed \(number)"))) }
      // A savepoint that was rolled back after parts had been written.
      struct ChangedMyMind: Error {}
      try? transaction.savepoint {
        for number in 0..<80 { try transaction.save(row(number + 500)) }
        throw ChangedMyMind()
      }
      for number in 0..<160 { try transaction.save(row(number)) }
      try transaction.setMetadata(Data("kept".utf8), forKey: "state")
      try transaction.setMetadata(Data(), forKey: "empty")
      try transaction.setMetadata(Data("gone".utf8), forKey: "gone")
      try transaction.save(Subscription("all of bob", to: bobs()))
      try transaction.save(Subscription(toDatabase: "everything"))
      try transaction.save(Subscription("rows", to: Query("Row", in: zone)))
    }
    try database.write { transaction in
      let names = [
        "0123ABCD-0000-4000-8000-00000000ABCD", "0123abcd-0000-4000-8000-00000000abcd", "01234567-0000-4000-8000-000000000001",
        "0123abCD-0000-4000-8000-00000000ABcd", String(repeating: "n", count: 255), "~ a name/of {all} sorts!",
      ]
      for (number, name) in names.enumerated() {
        var record = try Record(type: "Named", id: Record.ID(existing: name, in: zone))
        record["n"] = number
        try transaction.save(record)
      }
      try transaction.save(all("encrypted", in: .default, isEncrypted: true))
      try transaction.save(all("encrypted and long", in: .default, isEncrypted: true, isLong: true))
      // More shapes of one type than it may have: later ones say which of many fields they have.
      for number in 0..<24 {
        var record = try Record(type: "Sparse", id: Record.ID("sparse-\(number)", in: zone))
        for bit in 0..<5 where number >> bit & 1 != 0 { record["field_\(bit)"] = number }
        record["rating"] = Double(number) / 4
        try transaction.save(record)
      }
      try transaction.save(.fresh("alone", in: bobs(), ["n": 1]))
    }
    try database.close()
  }

  private static func row(_ number: Int) throws -> Record {
    try .fresh(
      "row-\(number)", in: books(), type: "Row", ["number": .int(Int64(number)), "title": .string("row number \(number)")])
  }

  // MARK: the second: sealed values, assets, references, a history, deletions

  private static func change(_ disk: SimulatedDisk) throws {
    var database = try open(disk) {
      $0.userID = "grace"
      $0.deviceID = nil
    }
    let zone = try books()
    try database.write { transaction in
      try transaction.save(all("sealed", in: zone, isEncrypted: true))
      try transaction.save(all("sealed and long", in: zone, isEncrypted: true, isLong: true))
      try transaction.save(all("plain", in: zone, isEncrypted: false))
      try transaction.save(all("plain and long", in: zone, isEncrypted: false, isLong: true))
      for record in try ends(in: zone) { try transaction.save(record) }
      var changed = try #require(try transaction.record(Record.ID("row-3", in: zone)))
      changed["title"] = "changed"
      try transaction.save(changed)
      try transaction.delete(Record.ID("row-4", in: zone))
      try transaction.delete(Record.ID("encrypted and long"))
      try transaction.setMetadata(nil, forKey: "gone")
      // Of one type with an index: every kind of value.
      for (number, value) in try indexed(zone).enumerated() {
        try transaction.save(.fresh("mixed-\(number)", in: zone, type: "Mixed", value.map { ["value": $0] } ?? [:]))
      }
    }
    let reasons = DatabaseChanges.DeletedZone.Reason.allCases
    for (number, reason) in reasons.enumerated() {
      try database.write { try $0.deleteZone(Zone.ID("Doomed \(number)"), reason: reason) }
    }
    try database.close()

    database = try open(disk) {
      $0.userID = nil
      $0.deviceID = nil
    }
    try database.write { transaction in
      try transaction.delete(Record.ID("row-5", in: zone))
      try transaction.save(.fresh("nobody's", in: zone, ["n": 1]))
      try transaction.save(.fresh("nobody's", ["n": 1]))
    }
    try database.write { transaction in
      var record = try #require(try transaction.record(Record.ID("nobody's", in: zone)))
      record["n"] = 2
      try transaction.save(record)
    }
    try database.close()
  }

  /// Every kind of value, full.
  private static func all(_ name: String, in zone: Zone.ID, isEncrypted: Bool, isLong: Bool = false) throws -> Record {
    let day = Date(timeIntervalSinceReferenceDate: -700_000_000.5)
    let target = try Record.ID("row-7", in: zone)
    let full = Location(
      latitude: 90, longitude: -180, altitude: 8848.5, horizontalAccuracy: 1, verticalAccuracy: 2, course: 3, speed: 4,
      timestamp: day)
    var record = try Record(type: "Everything", id: Record.ID(name, in: zone))
    var values: [Record.Value] = [
      .string("naïve 東京 שלום e\u{301} 👩‍👩‍👧‍👦"), .int(-5), .double(.infinity), .bytes(Data([0, 255])), .date(day),
      .location(full), .strings(["", "zwei"]), .ints([.max, -1, 0]), .doubles([0.1, -2.5e300]),
      .bytesList([Data(), Data([7])]), .dates([day]), .locations([full, Location(latitude: -33.875, longitude: 151.25)]),
    ]
    if isEncrypted {
      for value in values { try record.encryptedValues.set(value, forKey: "secret_\(value.kind.name)") }
    } else {
      values += [
        .asset(Asset(data: Data([1, 2, 3]))), .assets([Asset(data: content), Asset(data: Data([1]))]),
        .reference(.init(target, action: .deleteSelf)), .references([.init(target, action: .none)]),
      ]
      for value in values { try record.set(value, forKey: value.kind.name) }
      if zone != .default { record.parent = Record.Reference(target) }
    }
    // So long a body is spelled out.
    if isLong { try record.set(.bytes(Data(repeating: 1, count: 66_000)), forKey: "long") }
    return record
  }

  /// The ends of what values and bodies can be.
  private static func ends(in zone: Zone.ID) throws -> [Record] {
    let target = try Record.ID("row-8", in: zone)
    var records: [Record] = [
      try .fresh("no field", in: zone, type: "Ends"),
      try .fresh("eight bytes", in: zone, type: "Ends", ["a": 1.5, "b": .date(Date(timeIntervalSinceReferenceDate: 0))]),
      try .fresh(
        "empty lists", in: zone, type: "Ends",
        [
          "a": .string(""), "b": .bytes(Data()), "c": .strings([]), "d": .ints([]), "e": .doubles([]), "f": .bytesList([]),
          "g": .dates([]), "h": .locations([]), "i": .assets([]), "j": .references([]),
        ]),
      try .fresh("empty last", in: zone, type: "Ends", ["a": .int(1), "b": .string("")]),
      try .fresh("long last", in: zone, type: "Ends", ["a": .int(1), "b": .string(String(repeating: "b", count: 200))]),
      try .fresh(
        "long first", in: zone, type: "Ends",
        ["a": .bytes(Data(repeating: 3, count: 130)), "b": .bytes(Data(repeating: 4, count: 17_000)), "c": .int(1)]),
      try .fresh("a place", in: zone, type: "Ends", ["a": .location(Location(latitude: 1, longitude: 2))]),
      try .fresh(
        "references", in: zone, type: "Ends",
        [
          "a": .reference(.init(target)), "b": .reference(.init(target, action: .deleteSelf)),
          "c": .reference(.init(target, action: .validate)),
        ]),
      try .fresh(
        "assets", in: zone, type: "Ends", ["a": .asset(Asset(data: content)), "b": .asset(Asset(data: Data([9])))]),
    ]
    var numbers: [String: Record.Value] = ["low": .int(.min), "high": .int(.max), "zero": .int(0)]
    for count in 1...8 { numbers["in_\(count)_bytes"] = .int(1 << Int64(8 * count - 3)) }
    records.append(try .fresh("numbers", in: zone, type: "Ends", numbers))
    return records
  }

  private static func indexed(_ zone: Zone.ID) throws -> [Record.Value?] {
    let target = try Record.ID("row-9", in: zone)
    return [
      nil, .int(-3), .int(1 << 60 + 1), .double(2.5), .date(Date(timeIntervalSinceReferenceDate: 5)), .string("te\u{1}xt"),
      .string(String(repeating: "long", count: 100)), .bytes(Data([0, 1])), .location(Location(latitude: -1, longitude: 2)),
      .location(Location(latitude: 300, longitude: 2)),
      .reference(.init(target)), .strings(["one", "two"]), .ints([4, 4, 5]), .asset(Asset(data: Data([2]))),
    ]
  }

  // MARK: the third: indexes

  private static func index(_ disk: SimulatedDisk) throws {
    let database = try open(disk)
    let longType = "T" + String(repeating: "y", count: 254)
    let longKey = "k" + String(repeating: "e", count: 254)
    try database.put("long names", type: longType, [longKey: 1])
    for (key, type) in [("number", "Row"), ("value", "Mixed"), (longKey, longType), ("rating", "Sparse"), ("n", "Named")] {
      try database.setIndex(.queryable, on: key, ofType: type)
    }
    try database.setIndex(.all, on: "value", ofType: "Mixed")
    _ = try database.dropIndex(on: "n", ofType: "Named")
    // One of which only a part is built.
    try database.write { transaction in
      _ = try transaction.context.defineIndex(on: "title", ofType: "Row")
    }
    try database.write { _ = try $0.buildIndexes(recordCount: 50) }
    try database.close()
  }

  /// An index lacks what a replay could not read: so says the tree, and the image that is made of it.
  static func tear(_ database: Database) throws {
    try database.write { transaction in
      try transaction.setMetadata(Data("torn".utf8), forKey: "state")
      let changes = transaction.context.changes
      var definition = try #require(
        try IndexDefinition.all(in: changes.roots[Roots.schema], changes.reader).first { $0.keyName == "rating" })
      definition.hasGaps = true
      try transaction.context.applier.declare(definition, changes)
    }
  }

  // MARK: the last: what no call writes, and what no checkpoint has

  private static func last(_ disk: SimulatedDisk) throws {
    var database = try open(disk)
    // What a file requires that requires nothing, as a later version may write it.
    try database.write { transaction in
      let context = transaction.context
      try context.start()
      let operation = context.changes.beginOperation()
      RequiredFeatures(reading: 0, writing: 0).append(to: context.changes.payload)
      try context.endOperation(operation, .requires)
      let fields: [Schema.Field] = [
        .init(key: "a", kinds: [.double]), .init(key: "b", kinds: [.string]), .init(key: "far", kinds: [.reference]),
      ]
      try transaction.declare(Schema(types: [.init(name: "Forged", fields: fields)]))
    }
    let first = Array("first".utf8)
    let full = RecordBodyEncoder.Stamp(
      tag: .max, tagText: "another server's", date: 5000, userID: Array("second".utf8), deviceID: Array("device".utf8),
      creation: (4000, first))
    let plain = RecordBodyEncoder.Stamp(tag: 77, date: 5000)
    let own = RecordBodyEncoder.Stamp(tag: 78, date: 5000, userID: first, deviceID: Array("device".utf8))
    for (number, stamp) in [full, plain, own].enumerated() {
      for isPacked in [false, true] {
        for zone in [.default, try books()] {
          for (what, values) in [
            ("none", [:]), ("eight", ["a": 1.5]), ("some", ["a": 1.5, "b": "text"]),
          ] as [(String, [String: Record.Value])] {
            var record = try Record.fresh("forged \(number) \(what) \(isPacked)", in: zone, type: "Forged", values)
            if number == 0, what == "some" { record.parent = Record.Reference(try Record.ID("forged 1 none false", in: zone)) }
            // The parent comes first.
            if number == 0, what == "some" {
              try save(Record.fresh("forged 1 none false", in: zone, type: "Forged"), plain, false, database)
            }
            if number == 1, what == "none", !isPacked { continue }
            try save(record, stamp, isPacked, database)
          }
        }
      }
    }
    for action: UInt8 in 0...1 { try savePointer(to: "alone", in: bobs(), action: 128 + action, database) }
    try database.write { try $0.forgetDeletions(through: 2) }
    try database.close()

    // Replayed whenever the file is opened.
    database = try open(disk) { $0.closeCheckpointByteCount = .max }
    try database.write { try $0.delete(Record.ID("row-6", in: books())) }
    try database.put("latest", ["n": 1])
    try database.write { try $0.delete(Record.ID("latest")) }
    try database.close()
  }

  /// Saves a record that points to another zone, which no save allows.
  private static func savePointer(to name: String, in zone: Zone.ID, action: UInt8, _ database: Database) throws {
    let value = ByteBuffer(capacity: 64)
    value.append([action, UInt8(name.utf8.count)] + Array(name.utf8))
    value.append(uint16: UInt16(zone.key.count))
    value.append(zone.key)
    // As bytes first: they have the same form.
    let record = try Record.fresh("far \(action)", in: books(), type: "Forged", ["far": .bytes(Data(value.view.array))])
    let spelled = ByteBuffer(capacity: 512)
    try RecordBodyEncoder.encode(record, stamp: .init(tag: UInt64(action), date: 5000), into: spelled)
    var bytes = spelled.view.array
    bytes[1] |= RecordBody.Flags.references
    bytes[try RecordBody.layout(of: spelled.view).fieldsStart + 2] = FieldKind.reference.rawValue
    try database.save(forgedBody: bytes)
  }

  /// Saves a record with users and a tag of another place, which a body can have, in the form that is asked for: spelled out, or packed
  /// with its zone and its users spelled out.
  private static func save(_ record: Record, _ stamp: RecordBodyEncoder.Stamp, _ isPacked: Bool, _ database: Database) throws {
    let spelled = ByteBuffer(capacity: 512)
    try RecordBodyEncoder.encode(record, stamp: stamp, into: spelled)
    guard isPacked else { return try database.save(forgedBody: spelled.view.array) }
    let layout = try RecordBody.layout(of: spelled.view)
    let shape = ByteBuffer(capacity: 64)
    Declaration.appendShape(of: spelled.view, layout, to: shape)
    let shapes = database.store.records.shapes
    if shapes.find(shape.view) == nil {
      try database.write { transaction in
        let context = transaction.context
        try context.start()
        let operation = context.changes.beginOperation()
        context.changes.payload.append(shape.view)
        try context.endOperation(operation, .declare)
      }
    }
    let packing = BodyPacking(shape: try #require(shapes.find(shape.view)))
    let packed = ByteBuffer(capacity: 512)
    #expect(packing.append(spelled.view, layout, to: packed))
    try database.save(forgedBody: packed.view.array)
  }
}
