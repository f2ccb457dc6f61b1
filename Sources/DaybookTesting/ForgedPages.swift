import Daybook
import DaybookEngine
import Foundation

/// Files whose pages were exchanged: whole pages of one tree in the place of another's, pointers that lead elsewhere, keys and counts that
/// were changed. Every checksum is right.
///
/// Unlike the fuzzers' databases these have trees of several levels and indexes of all kinds, so that a page finds another one of
/// its kind and level. Whatever is forged: calls return, in time, or throw a `DatabaseError`, and what the check calls clean can be read.
package enum ForgedPages {
  private static let zone = "Z"
  private static let recordCount = 320
  private static let pageByteCount = 4096

  /// Sound files: as they were filled, compacted, and changed at random afterwards.
  private static let bases: [[UInt8]] = (0..<3).map { kind in
    do { return try base(kind) } catch { preconditionFailure("a sound database can be made: \(error)") }
  }

  /// Forges a file as the seed says, and looks at it.
  package static func run(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var image = bases[Int.random(in: 0..<bases.count, using: &random)]
    let pages = pages(of: image)
    for _ in 0..<Int.random(in: 1...4, using: &random) { forge(&image, pages, &random) }
    image = Forgery.sealed(image)
    try FuzzOpen.examine(image, isThorough: false)
    ask(image)
  }

  /// The places of all pages of checkpoints.
  private static func pages(of image: [UInt8]) -> [Int] {
    Forgery.frameOffsets(of: image).filter { image[$0 + 4] == FrameHeader.Kind.pages.rawValue }.flatMap { frame in
      let first = (frame + FrameHeader.byteCount + pageByteCount - 1) & ~(pageByteCount - 1)
      return Array(stride(from: first, through: Forgery.payloadEnd(of: image, at: frame) - pageByteCount, by: pageByteCount))
    }
  }

  private static func forge(_ image: inout [UInt8], _ pages: [Int], _ random: inout SeededGenerator) {
    guard let page = pages.randomElement(using: &random), let other = pages.randomElement(using: &random) else { return }
    func number(_ value: Int) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    func set(_ bytes: [UInt8], _ offset: Int) { image.replaceSubrange(offset..<offset + bytes.count, with: bytes) }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: set(Array(image[other..<other + pageByteCount]), page)
    case 1:
      // A pointer of the page leads to another one.
      let targets = Set(pages)
      let pointers = (page..<page + pageByteCount - 8).filter { offset in
        targets.contains((0..<8).reversed().reduce(0) { $0 << 8 | Int(image[offset + $1]) & 0xFF })
      }
      if let pointer = pointers.randomElement(using: &random) { set(number(other), pointer) }
    case 2:
      let count = Int.random(in: 1...512, using: &random)
      let offset = Int.random(in: 0...pageByteCount - count, using: &random)
      set(Array(image[other + offset..<other + offset + count]), page + offset)
    case 3: set([UInt8.random(in: 0...255, using: &random)], page + Int.random(in: 0..<64, using: &random))
    case 4:
      let offset = page + Int.random(in: 0..<pageByteCount, using: &random)
      set([image[offset] &+ [1, 255, 128].randomElement(using: &random)!], offset)
    default:
      image.swapAt(
        page + Int.random(in: 0..<pageByteCount, using: &random), page + Int.random(in: 0..<pageByteCount, using: &random))
    }
  }

  /// Asks what needs indexes and groups of records; only that the calls return matters.
  private static func ask(_ image: [UInt8]) {
    let disk = FuzzForging.disk()
    disk.install(image, at: "a.daybook")
    var options = FuzzForging.options(seed: 3)
    options.isReadOnly = true
    guard let database = try? Database.open(at: "a.daybook", options: options, disk: disk) else { return }
    let queries = [
      Query("T", where: .field("i") == 7), Query("T", where: .field("i") >= 30), Query("T", where: .field("l").any > 3),
      Query("T", where: .field("s").tokens("word3 other1")),
      Query("T", where: .field("i") > 2, sort: [.descending("i")], limit: 5),
      Query("T", where: .field("p").near(Location(latitude: 20, longitude: 20), within: 900)), Query(where: .field("i") < 3),
    ]
    for query in queries {
      _ = try? database.records(query)
      _ = try? database.count(query)
      _ = try? database.distinctValues(of: "i", for: query)
      _ = try? database.minimum(of: "l", for: query)
      var cursor: Query.Cursor?
      for _ in 0..<2 * recordCount {
        guard let page = try? database.query(query, after: cursor), let next = page.next else { break }
        cursor = next
      }
    }
    let ids = (0..<40).compactMap { try? Record.ID("r\($0 * 7)", in: Zone.ID(zone)) }
    _ = try? database.records(for: ids)
    for id in ids.prefix(4) { _ = try? database.referencing(id) }
    try? database.close()
  }

  private static func base(_ kind: Int) throws -> [UInt8] {
    let disk = FuzzForging.disk()
    var options = FuzzForging.options(seed: UInt64(kind))
    options.closeCheckpointByteCount = 0
    let database = try Database.open(at: "a.daybook", options: options, disk: disk)
    let id = try Zone.ID(zone)
    try database.write { try $0.save(Zone(id)) }
    func fill(_ numbers: Range<Int>) throws {
      try database.write { transaction in
        for number in numbers {
          let own = number % 5 == 0 ? Zone.ID.default : id
          var record = try Record(type: number % 9 == 0 ? "U" : "T", id: Record.ID("r\(number)", in: own))
          record["i"] = number % 40
          record["s"] = "word\(number % 11) other\(number % 3)"
          record["l"] = [number % 3, number % 5, number % 7]
          record["p"] = Location(latitude: Double(number % 90), longitude: Double(number % 170))
          if number > 20, number % 4 == 0 { record["o"] = Record.Reference(try Record.ID("r\(number - 7)", in: own)) }
          try transaction.save(record)
        }
      }
    }
    try fill(0..<recordCount / 2)
    try database.setIndex([.queryable, .sortable], on: "i", ofType: "T")
    try database.setIndex(.searchable, on: "s", ofType: "T")
    try database.setIndex(.location, on: "p", ofType: "T")
    try database.setIndex(.queryable, on: "l", ofType: "T")
    try fill(recordCount / 2..<recordCount)
    if kind == 1 { try database.compact() }
    if kind == 2 {
      try database.write { transaction in
        for number in stride(from: 1, to: recordCount, by: 3) {
          guard var record = try transaction.record(Record.ID("r\(number)", in: id)) else { continue }
          record["i"] = 7
          try transaction.save(record)
        }
      }
    }
    try database.close()
    return disk.bytes(of: "a.daybook") ?? []
  }
}
