import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Declares what bodies need in a dictionary of its own, and packs them.
struct Packer {
  let shapes: ShapeDictionary
  private let scratch = ByteBuffer(capacity: 256)
  /// Bodies of one shape with fields that may be missing, instead of a shape each.
  var sparse: Declared?

  init(mask: UInt32 = .max) { shapes = ShapeDictionary(mask: mask) }

  func declared(_ fill: (ByteBuffer) -> Void) -> Declared? {
    scratch.truncate(to: 0)
    fill(scratch)
    guard Declaration.isSound(scratch.view), shapes.add(scratch.view) else { return nil }
    return shapes.find(scratch.view)
  }

  /// The packed form; nil when the body has to be spelled out.
  func packed(_ body: [UInt8], spellsZone: Bool = false, spellsUsers: Bool = false) throws -> [UInt8]? {
    try body.withView { (view) throws -> [UInt8]? in
      let layout = try RecordBody.layout(of: view)
      let shape = sparse ?? declared { Declaration.appendShape(of: view, layout, to: $0) }
      guard let shape else { return nil }
      var packing = BodyPacking(shape: shape, isSparse: sparse != nil)
      if view.uint16(at: 2) != RecordBody.defaultZoneMark, !spellsZone {
        packing.zone = declared { Declaration.appendZone(RecordBody.zoneKey(of: view), epoch: 5, to: $0) }?.number
      }
      if !spellsUsers {
        let parts = RecordBody.Optionals(of: view, layout: layout)
        func number(_ kind: Declaration.Kind, _ text: ByteView?) -> UInt32? {
          guard let text else { return 0 }
          return declared { Declaration.append(kind, text, to: $0) }?.number
        }
        if let creator = number(.user, parts.creator), let modifier = number(.user, parts.modifier),
          let device = number(.device, parts.device)
        {
          packing.users = (creator, modifier, device)
        }
      }
      let buffer = ByteBuffer(capacity: 16)
      buffer.append([1, 2, 3])
      guard packing.append(view, layout, to: buffer) else {
        #expect(buffer.count == 3, "what has no packed form leaves the buffer as it was")
        return nil
      }
      return Array(buffer.view.array.dropFirst(3))
    }
  }

  func spelled(_ body: [UInt8]) throws -> [UInt8] {
    let buffer = ByteBuffer(capacity: 16)
    return try body.withView { try shapes.spelled($0, in: buffer).array }
  }
}

/// Bodies as a database writes them, of all kinds of values, names, zones and users.
struct RandomBodies {
  private var generator: SeededGenerator
  private let values = sampleValues.filter { value in
    if case .string(let text) = value { return text.utf8.count < 1000 }
    return true
  }

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  private mutating func chance(_ one: Int, of all: Int) -> Bool { Int.random(in: 0..<all, using: &generator) < one }

  mutating func next(type: String? = nil, keyCount: Int = 12) throws -> [UInt8] {
    let names = [
      UUID().uuidString, UUID().uuidString.lowercased(), "12345678-1234-1234-1234-123456789012", "dune",
      "ABCDEF12-abcd-1234-1234-123456789012", String(repeating: "n", count: 255),
    ]
    let zones: [Zone.ID] = [.default, try Zone.ID("Library"), try Zone.ID("مكتبة 👍", owner: "_owner")]
    let id = try Record.ID(names.randomElement(using: &generator) ?? "", in: zones.randomElement(using: &generator) ?? .default)
    var record = try Record(type: type ?? ["Movie", "Book"].randomElement(using: &generator) ?? "", id: id)
    for index in 0..<keyCount where chance(2, of: 3) {
      guard let value = values.randomElement(using: &generator) else { continue }
      let isPlain = value.kind.isAsset || value.kind.isReference || chance(4, of: 5)
      if isPlain {
        try? record.set(value, forKey: "k\(index)")
      } else {
        try? record.encryptedValues.set(value, forKey: "k\(index)")
      }
    }
    if chance(1, of: 4) { record.parent = Record.Reference(try Record.ID("parent", in: id.zone)) }
    let users = [nil, "ada", "grace"].map { $0.map { Array($0.utf8) } }
    var stamp = RecordBodyEncoder.Stamp(
      tag: chance(1, of: 5) ? .max : UInt64.random(in: 1..<UInt64.max, using: &generator), date: 800_000_000,
      userID: users.randomElement(using: &generator) ?? nil,
      deviceID: chance(1, of: 2) ? Array("phone".utf8) : nil)
    if stamp.tag == .max { stamp.tagText = "foreign" }
    if chance(1, of: 2) { stamp.creation = (4, users.randomElement(using: &generator) ?? nil) }
    if chance(1, of: 2) {
      stamp.previousOffset = UInt64.random(in: 1..<1 << 40, using: &generator)
      stamp.previousByteCount = UInt32.random(in: 1..<1 << 20, using: &generator)
    }
    let buffer = ByteBuffer()
    do throws(DatabaseError) { try RecordBodyEncoder.encode(record, stamp: stamp, into: buffer) } catch {
      // An asset that was never stored.
      return try next(type: type, keyCount: keyCount)
    }
    return buffer.view.array
  }
}

@Suite("packed bodies")
struct PackedBodyTests {
  @Test("a packed body spells out as the bytes that were packed, and takes fewer")
  func roundTrip() throws {
    let packer = Packer()
    var bodies = RandomBodies(seed: 1)
    var before = 0
    var after = 0
    for step in 0..<3000 {
      let body = try bodies.next()
      let packed = try #require(try packer.packed(body, spellsZone: step % 7 == 0, spellsUsers: step % 5 == 0))
      #expect(packed.withView { PackedBody.isPacked($0) })
      #expect(try packer.spelled(packed) == body)
      #expect(PlainSpelling.spelled(packed, packer.shapes) == body)
      let record = try packed.withView { try RecordBody(stored: $0, packer.shapes) }
      #expect(record.withBytes { $0.array } == body)
      let layout = try body.withView { try RecordBody.layout(of: $0) }
      #expect(record.layout.fieldsStart == layout.fieldsStart && record.layout.valuesStart == layout.valuesStart)
      #expect(record.layout.fieldCount == layout.fieldCount && record.layout.byteCount == layout.byteCount)
      before += body.count
      after += packed.count
    }
    #expect(after < before * 9 / 10)
  }

  @Test("values of all lengths, of eight bytes and others in any order, are where they were")
  func lengths() throws {
    let packer = Packer()
    var generator = SeededGenerator(seed: 9)
    for step in 0..<2000 {
      let name = String(repeating: "n", count: 1 + step % 40)
      var record = try Record(type: String(repeating: "T", count: 1 + step % 20), id: Record.ID(name))
      // Around the nine values whose lengths are read at once.
      for index in 0..<step % 25 {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: record["k\(100 + index)"] = Double(index)
        case 1: record["k\(100 + index)"] = index
        default:
          let count = [0, 1, 126, 127, 128, 129, 300].randomElement(using: &generator) ?? 0
          record["k\(100 + index)"] = String(repeating: "v", count: step % 3 == 0 ? count : count & 127)
        }
      }
      let buffer = ByteBuffer()
      try RecordBodyEncoder.encode(record, stamp: .init(tag: 7, date: 3), into: buffer)
      let body = buffer.view.array
      let packed = try #require(try packer.packed(body))
      #expect(try packer.spelled(packed) == body)
      #expect(PlainSpelling.spelled(packed, packer.shapes) == body)
    }
  }

  @Test("a body that lacks fields of its shape says which")
  func sparse() throws {
    var packer = Packer()
    var bodies = RandomBodies(seed: 2)
    let kinds: [(key: [UInt8], mark: UInt8)] = (0..<21).map { index in
      (Array("f\(index + 10)".utf8), [FieldKind.double, .string, .int][index % 3].rawValue)
    }
    _ = try bodies.next()
    packer.sparse = packer.declared { buffer in
      Array("Movie".utf8).withView { Declaration.appendShape(type: $0, kinds, to: buffer) }
    }
    #expect(packer.sparse != nil)
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<500 {
      var record = try Record(type: "Movie", id: Record.ID("dune"))
      for (index, field) in kinds.enumerated() where Bool.random(using: &generator) {
        let key = String(decoding: field.key, as: UTF8.self)
        switch index % 3 {
        case 0: record[key] = Double(index)
        case 1: record[key] = String(repeating: "t", count: Int.random(in: 0..<300, using: &generator))
        default: record[key] = index
        }
      }
      let buffer = ByteBuffer()
      try RecordBodyEncoder.encode(record, stamp: .init(tag: 7, date: 3), into: buffer)
      let packed = try #require(try packer.packed(buffer.view.array))
      #expect(try packer.spelled(packed) == buffer.view.array)
    }
    var other = try Record(type: "Movie", id: Record.ID("dune"))
    other["unknown"] = 1
    let buffer = ByteBuffer()
    try RecordBodyEncoder.encode(other, stamp: .init(tag: 7, date: 3), into: buffer)
    #expect(try packer.packed(buffer.view.array) == nil, "a field that the shape lacks cannot be left out")
  }

  @Test("a packed body takes another link, or none, and nothing else of it changes")
  func relink() throws {
    let packer = Packer()
    var bodies = RandomBodies(seed: 4)
    for step in 0..<500 {
      var body = try bodies.next()
      let packed = try #require(try packer.packed(body, spellsZone: step % 3 == 0))
      let place = step % 2 == 0 ? nil : Place(offset: UInt64(step) << 20, byteCount: UInt32(step + 20))
      let buffer = ByteBuffer()
      #expect(packed.withView { PackedBody.append($0, linkedTo: place, to: buffer) })
      for index in 0..<8 { body[30 + index] = UInt8(truncatingIfNeeded: (place?.offset ?? 0) >> UInt64(8 * index)) }
      for index in 0..<4 { body[38 + index] = UInt8(truncatingIfNeeded: (place?.byteCount ?? 0) >> UInt32(8 * index)) }
      #expect(try packer.spelled(buffer.view.array) == body)
    }
  }

  @Test("no bytes that look like a packed body are read outside themselves")
  func hostile() throws {
    let packer = Packer()
    var bodies = RandomBodies(seed: 5)
    var generator = SeededGenerator(seed: 6)
    var sound = 0
    for _ in 0..<400 {
      let packed = try #require(try packer.packed(try bodies.next()))
      for count in 1..<min(packed.count, 200) {
        let cut = Array(packed.prefix(count))
        #expect((try? packer.spelled(cut)) == PlainSpelling.spelled(cut, packer.shapes))
      }
      for _ in 0..<50 {
        var bytes = packed
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
          let index = Int.random(in: 1..<min(bytes.count, 120), using: &generator)
          bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
        }
        let plain = PlainSpelling.spelled(bytes, packer.shapes)
        guard let spelled = try? packer.spelled(bytes) else {
          #expect(plain == nil)
          continue
        }
        #expect(plain == spelled)
        sound += 1
        // What is spelled out has the layout that a body has.
        let layout = try spelled.withView { try RecordBody.layout(of: $0) }
        #expect(layout.byteCount == spelled.count)
        _ = spelled.withView { try? RecordBody(copying: $0) }
      }
    }
    #expect(sound > 1000)
  }

  @Test("a body whose declarations are missing is refused, and says so")
  func missing() throws {
    let packer = Packer()
    var bodies = RandomBodies(seed: 7)
    let packed = try #require(try packer.packed(try bodies.next()))
    #expect(throws: BodyFault.unknownDeclaration) { try Packer().spelled(packed) }
  }
}
