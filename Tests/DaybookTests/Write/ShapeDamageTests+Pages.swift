import DaybookTesting
import Testing

@testable import DaybookEngine
@_spi(Daybook) @testable import Daybook

// Declarations on pages of their tree, and damage in two places at once.

extension ShapeDamageTests {
  /// The same, closed: with a checkpoint, in which the tree of declarations has several pages, and a frame of declarations.
  func closedFile(commits: Int, types: Int) throws -> (bytes: [UInt8], zone: Zone.ID) {
    let disk = SimulatedDisk(seed: 12)
    let database = try Database.open(on: disk) {
      $0.userID = "ada lovelace"
      $0.closeCheckpointByteCount = 0
    }
    let zone = try database.zone("Shelf")
    for index in 0..<commits {
      try database.write { transaction in
        for part in 0..<3 {
          let number = 3 * index + part
          try transaction.save(record("r\(number)", type: "Type\(100 + number % types)", in: zone, keys: 15, index))
        }
      }
    }
    try database.close()
    return (try #require(disk.bytes(of: path)), zone)
  }

  /// Where declarations begin: in operations of the log, and of each piece the pages that have it. An older checkpoint may have others.
  func declarations(in bytes: [UInt8]) throws -> [(payload: [UInt8], inLog: [Int], onPages: [[Int]])] {
    let disk = SimulatedDisk(seed: 1)
    disk.install(bytes, at: path)
    var payloads: Set<[UInt8]> = []
    try SalvageReader(path, disk: disk).forEachOperation(of: OperationKind.declare.rawValue) { payload, _ in
      payloads.insert(payload.array)
    }
    let values = try valuesOnPages(of: bytes)
    return payloads.sorted { $0.lexicographicallyPrecedes($1) }.map { payload in
      let inLog = (4096..<max(4096, bytes.count - payload.count)).filter { start in
        bytes[start] == payload[0] && bytes[start - 1] == OperationKind.declare.rawValue
          && bytes[start..<start + payload.count].elementsEqual(payload)
      }
      let pieces = stride(from: 0, to: payload.count, by: Declaration.pieceByteCount).map { start in
        Array(payload[start..<min(payload.count, start + Declaration.pieceByteCount)])
      }
      return (payload, inLog, pieces.map { values[$0] ?? [] })
    }
  }

  /// Where the values of all leaves of a file begin.
  private func valuesOnPages(of bytes: [UInt8]) throws -> [[UInt8]: [Int]] {
    var found: [[UInt8]: [Int]] = [:]
    let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    let copy = ByteBuffer(capacity: Page.byteCount)
    defer { withExtendedLifetime(copy) {} }
    for start in stride(from: Page.byteCount, through: bytes.count - Page.byteCount, by: Page.byteCount) {
      copy.truncate(to: 0)
      copy.append(Array(bytes[start..<start + Page.byteCount]))
      // Safe: the buffer has the bytes of a page.
      let page = unsafe Page(copy.base)
      guard page.verify(salt: salt, offset: UInt64(start)) == nil, !page.isBranch else { continue }
      for cell in 0..<page.cellCount { found[page.value(cell).array, default: []].append(start) }
    }
    return found
  }

  @Test("where every copy in the log is destroyed, a salvage finds declarations in their tree, but those of damaged pages")
  func onlyTheTree() throws {
    let (sound, zone) = try closedFile(commits: 16, types: 24)
    let all = try declarations(in: sound)
    #expect(all.count == 26 && all.allSatisfy { $0.inLog.count >= 2 && !$0.onPages.contains([]) }, "24 shapes, a zone, a user")
    var bytes = sound
    for declaration in all { for start in declaration.inLog { bytes[start + 2] ^= 0x55 } }
    func unreadable(_ bytes: [UInt8]) throws -> Set<String> {
      let (database, report) = try salvage(bytes)
      let named = Set(report.unreadableRecords.map(\.name))
      let hasZone = try database.zones().contains { $0.id == zone }
      for number in 0..<48 where !named.contains("r\(number)") {
        #expect(try hasZone && database.record(Record.ID("r\(number)", in: zone))?["n"] == number / 3)
      }
      return named
    }
    #expect(try unreadable(bytes).isEmpty)
    let pages = Set(all.flatMap { $0.onPages.joined() })
    var losingPageCount = 0
    for page in pages {
      var damaged = bytes
      damaged[page + 4000] ^= 0x55
      let missing = all.filter { $0.onPages.contains([page]) }.map(\.payload)
      let missesAll = missing.contains { $0[0] != Declaration.Kind.shape.rawValue }
      let names = (0..<48).filter { number in
        let type = Array("Type\(100 + number % 24)".utf8)
        return missesAll || missing.contains { $0.dropFirst(2).starts(with: type) }
      }
      if !names.isEmpty { losingPageCount += 1 }
      let named = try unreadable(damaged)
      let wanted = Set(names.map { "r\($0)" })
      #expect(named == wanted, "page \(page): only one of the two names \(named.symmetricDifference(wanted).sorted())")
    }
    #expect(losingPageCount > 3)
    var damaged = bytes
    for page in pages { damaged[page + 4000] ^= 0x55 }
    #expect(try unreadable(damaged).count == 48)
  }

  @Test("of two damaged places each takes what it held, and what else cannot be read is named", arguments: [false, true])
  func pairs(isClosed: Bool) throws {
    let (bytes, zone) = try isClosed ? closedFile(commits: 30, types: 4) : log(SimulatedDisk(seed: 1), commits: 30)
    let starts = try declarations(in: bytes).flatMap { $0.inLog + $0.onPages.joined() }
    let saves = try places(in: bytes).commits.suffix(30)
    let end = try #require(bytes.lastIndex { $0 != 0 })
    var generator = SeededGenerator(seed: 13)
    for step in 0..<80 {
      var damaged = bytes
      var ranges: [Range<Int>] = []
      // Two patterns, so that two damages of one byte do not mend it.
      for pattern: UInt8 in [0x55, 0xAA] {
        var start = Int.random(in: 4096..<end, using: &generator)
        var count = 1
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: (start, count) = (start & ~4095, 4096)
        case 1: break
        default: start = (starts.randomElement(using: &generator) ?? start) + 2
        }
        ranges.append(start..<min(start + count, bytes.count))
        for index in ranges[ranges.count - 1] { damaged[index] ^= pattern }
      }
      let (database, report) = try salvage(damaged)
      let named = Set(report.unreadableRecords.map(\.name))
      let hasZone = try database.zones().contains { $0.id == zone }
      var isLost = false
      for (index, commit) in saves.enumerated() {
        for number in 3 * index..<3 * index + 3 {
          let found = hasZone ? try database.record(Record.ID("r\(number)", in: zone)) : nil
          if let found {
            #expect(found["n"] == index, "step \(step)")
            continue
          }
          isLost = true
          #expect(
            named.contains("r\(number)") || ranges.contains { $0.overlaps(commit) },
            "step \(step): record \(number) at \(commit), damage at \(ranges)")
        }
      }
      #expect(!isLost || !report.isComplete || report.hasTornTail, "step \(step)")
    }
  }
}
