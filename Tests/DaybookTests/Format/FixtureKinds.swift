import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// All kinds of things that files of this format can have, by the names that `FixtureCensus` gives them: from the enumerations of the
/// sources, so that one which is new is missed until a fixture has it.
enum FixtureKinds {
  /// Each bit of a packed body's form that is a question of its own.
  static let formBits: [(UInt8, String)] = [
    (PackedBody.Form.creation, "creation date"), (PackedBody.Form.link, "link"), (PackedBody.Form.numbers, "numbers"),
    (PackedBody.Form.bitmap, "bitmap"),
  ]
  static let flagBits: [(UInt8, String)] = [
    (RecordBody.Flags.parent, "parent"), (RecordBody.Flags.creator, "creator"), (RecordBody.Flags.modifier, "modifier"),
    (RecordBody.Flags.modifierIsCreator, "modifierIsCreator"), (RecordBody.Flags.device, "device"),
    (RecordBody.Flags.tagText, "tagText"), (RecordBody.Flags.assets, "assets"), (RecordBody.Flags.references, "references"),
  ]
  static let userFlags = RecordBody.Flags.creator | RecordBody.Flags.modifier | RecordBody.Flags.device

  static func all() throws -> Set<String> {
    try frames().union(operations()).union(bodies()).union(values()).union(pages()).union(entries())
  }

  private static func frames() -> Set<String> {
    var kinds: Set<String> = [
      "first page: never closed", "first page: closed length", "first page: filled under its own name",
      "first page: least length",
      "first page: made by a compaction", "first page: made by a copy", "frame flag: parts", "frame flag: fills sectors",
      "frame flag: image", "note", "note of a damaged page",
    ]
    for number in UInt8.min...UInt8.max {
      if let kind = FrameHeader.Kind(rawValue: number) { kinds.insert(FixtureCensus.name(of: kind)) }
    }
    return kinds
  }

  private static func operations() throws -> Set<String> {
    var kinds: Set<String> = [
      "operation forget", "operation of a later version", "operation with a header of 12 bytes",
      "operation with a header of 16 bytes", "commit with an origin", "commit without an origin", "part of an index",
      "end of an index", "requires nothing", "requires a feature", "image of a zone that is there",
      "image of a zone that was deleted", "tombstone: with a user", "tombstone: without a user", "tombstone: with a link",
      "tombstone: without a link", "tombstone: zone", "tombstone: default zone",
    ]
    for kind in OperationKind.allCases { kinds.insert("operation \(kind)") }
    for number in UInt8.min...UInt8.max where Declaration.Kind(rawValue: number) != nil {
      kinds.insert("declaration of kind \(number)")
    }
    for (index, _) in DatabaseChanges.DeletedZone.Reason.allCases.enumerated() {
      kinds.insert("zone deleted for reason \(index)")
      kinds.insert("zone in the catalog that was deleted for reason \(index)")
    }
    return kinds
  }

  private static func bodies() -> Set<String> {
    var kinds: Set<String> = []
    for (_, name) in formBits { kinds.formUnion(["packed: \(name)", "packed: no \(name)"]) }
    for number in 0...2 { kinds.formUnion(["packed: zone \(number)", "packed: name \(number)"]) }
    for number in 1...3 { kinds.insert("packed: a length of \(number) bytes") }
    for what in ["empty", "short", "long"] { kinds.insert("packed: the last value is \(what)") }
    for form in ["packed", "spelled"] {
      for what in ["none", "of eight bytes only", "of any length"] { kinds.insert("\(form): fields: \(what)") }
      kinds.formUnion(["\(form): zone", "\(form): default zone"])
      for (_, name) in flagBits { kinds.formUnion(["\(form): \(name)", "\(form): no \(name)"]) }
      for kind in FieldKind.allCases {
        kinds.insert("\(form): plain \(kind.name)")
        if !kind.isAsset, !kind.isReference {
          kinds.formUnion(["\(form): encrypted \(kind.name)", "\(form): sealed \(kind.name)"])
        }
      }
    }
    return kinds
  }

  private static func values() -> Set<String> {
    var kinds: Set<String> = ["location without parts", "asset with flags 1", "asset with flags 3"]
    for number in 1...8 { kinds.insert("int of \(number) bytes") }
    for part in 0..<6 { kinds.insert("location with part \(part)") }
    for (index, _) in Record.Reference.Action.allCases.enumerated() {
      kinds.insert("reference with action \(index)")
      // One that leads to another zone is never validated.
      if index < 2 { kinds.insert("reference with action \(index + 128)") }
    }
    for kind in FieldKind.allCases where kind.isList || kind == .string || kind == .bytes {
      kinds.formUnion(["\(kind.name): empty", "\(kind.name): some"])
    }
    return kinds
  }

  private static func pages() throws -> Set<String> {
    var kinds: Set<String> = ["tree inside a cell", "tree on pages of its own", "zone in the catalog that is there"]
    for number in try constants("enum Kind", in: "Sources/DaybookEngine/Pages/Page.swift").values {
      kinds.insert("page of kind \(number)")
    }
    for number in try constants("enum Roots", in: "Sources/Daybook/Trees/Roots.swift").values {
      kinds.insert("tree of the file \(number)")
    }
    // The toy index of a test build is in no file that is kept.
    for tree in ZoneTree.allCases where tree.rawValue <= ZoneTree.indexes.rawValue {
      kinds.insert("tree of a zone \(tree.rawValue)")
    }
    return kinds
  }

  private static func entries() throws -> Set<String> {
    var kinds: Set<String> = [
      "metadata of the library", "metadata of the application", "setting horizon", "setting requires",
      "definition of an index in pieces", "declaration in pieces", "name key 1", "name key 2", "name key text",
      "entry by name, contributes", "entry by name, contributes nothing", "change saved", "change deleted",
    ]
    for kind in ReferenceKind.allCases { kinds.insert("referenced for \(kind.rawValue)") }
    // One record with more words than count would make a file of megabytes.
    for (name, number) in try constants("enum Rank", in: "Sources/Daybook/Trees/IndexKey.swift") where name != "manyWords" {
      kinds.insert("index of a value \(number)")
    }
    // Bits: complete, with gaps.
    for state in 0...3 where state != 2 { kinds.insert("index in state \(state)") }
    for kind in IndexKind.allCases { kinds.insert("index of kind \(kind.byte)") }
    return kinds
  }

  /// Names and numbers of the constants of a type, as its source has them: those that are not the cases of an enumeration.
  static func constants(_ type: String, in path: String) throws -> [String: Int] {
    let text = try Pages.text(of: path)
    let start = try #require(text.range(of: type), "\(path) has \(type)")
    let end = text.range(of: "\n  }\n", range: start.upperBound..<text.endIndex)?.lowerBound ?? text.endIndex
    // An enumeration of one line ends with it.
    let line = text[start.upperBound...].prefix { $0 != "\n" }
    let body = line.hasSuffix("}") ? line : text[start.upperBound..<end]
    var constants: [String: Int] = [:]
    for match in body.matches(of: /(\w+)(?:: UInt8)? = ([0-9]+)\b/) { constants[String(match.1)] = Int(match.2) }
    return constants
  }
}
