import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine
@_spi(Daybook) @testable import Daybook

// Files with many shapes, and types whose records have ever new ones: what a save writes stays in proportion to the save.

@Suite("many shapes")
struct ManyShapesTests {
  @Test("a file of many types grows by what is saved when it is opened, written and closed again and again")
  func openedAgain() throws {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    var database = try Database.open(on: disk)
    for type in 0..<60 {
      var record = try Record(type: "Type\(type)", id: Record.ID("a\(type)"))
      for key in 0..<60 { record["a_field_of_type_\(type)_\(key)"] = key }
      try database.save(record)
    }
    #expect(database.store.records.shapes.byteCount > 64 << 10)
    try database.close()
    var sizes: [Int] = []
    for cycle in 0..<6 {
      database = try Database.open(on: disk)
      sizes.append(try database.statistics().fileByteCount)
      var record = try Record(type: "Small", id: Record.ID("c\(cycle)"))
      record["n"] = cycle
      try database.save(record)
      try database.expectClean()
      try database.close()
    }
    // The first two repeat what the process before has declared.
    #expect(sizes[5] - sizes[2] < 3 * 8192, "\(sizes)")
  }

  @Test("records that bring a new key each stay readable, and their type has a few shapes")
  func newKeys() throws {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 64 << 20)
    let database = try Database.open(on: disk)
    var expected: [Record] = []
    try database.write { transaction in
      for index in 0..<400 {
        var record = try Record(type: "Thing", id: Record.ID("r\(index)"))
        record["name"] = "n"
        record["attribute_\(index)"] = index
        expected.append(try transaction.save(record))
      }
    }
    let shapes = database.store.records.shapes
    #expect(Array("Thing".utf8).withView { shapes.shapes(ofType: $0).count } == BodyPacker.sparseShapeLimit)
    #expect(shapes.byteCount < 64 << 10)
    for record in expected { #expect(try database.record(record.id) == record) }
    try database.expectClean()
    #expect(try database.statistics().fileByteCount < 1 << 20)
    try database.close()
    _ = try Database.salvage(from: "test.daybook", to: "out", options: .simulated(seed: 5), disk: disk)
    let salvaged = try Database.open(at: "out", options: .simulated(seed: 6), disk: disk)
    for record in expected { #expect(try salvaged.record(record.id) == record) }
    try salvaged.close()
  }

  @Test("four bytes of a body mean at most 255 of a user or a device")
  func longTexts() {
    for kind in [Declaration.Kind.user, .device] {
      for (count, isSound) in [(1, true), (255, true), (256, false), (65_000, false)] {
        let bytes = [kind.rawValue] + [UInt8](repeating: 0x61, count: count)
        #expect(bytes.withView { Declaration.isSound($0) } == isSound, "\(kind), \(count)")
      }
    }
  }
}
