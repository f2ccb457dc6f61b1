import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

// What becomes of a file that has everything, when any of it is damaged, cut off, or made up.

@Suite("damage to files that have everything")
struct FixtureDamageTests {
  /// All versions of records that a file has ever had: the bodies spelled out, without their links.
  private static func versions(of file: [UInt8]) throws -> Set<[UInt8]> {
    var bodies: Set<[UInt8]> = []
    let disk = SimulatedDisk(seed: 1)
    disk.install(file, at: "a")
    let reader = try SalvageReader("a", disk: disk)
    let shapes = SalvagedDeclarations(reader, mask: .max).dictionary
    let buffer = ByteBuffer(capacity: 1024)
    try reader.forEachCommit(progress: { _ in true }) { commit in
      for index in 0..<commit.count {
        guard let operation = commit.operation(index), Operation.isOf(.saveRecord, operation),
          let spelled = try? shapes.spelled(Operation.payload(operation), in: buffer)
        else { continue }
        bodies.insert(unlinked(spelled.array))
      }
    }
    return bodies
  }

  /// Where the rollbacks of a file begin, with their checksums.
  private static func rollbacks(in file: [UInt8]) -> [Range<Int>] {
    let wanted: [UInt8] = [4, 0, 0, Operation.rollbackKind]
    return file.indices.dropFirst(8).filter { file[$0] == 4 && file[$0...].starts(with: wanted) }.map { $0 - 8..<$0 + 8 }
  }

  /// Versions that a rollback to a savepoint took back: a salvage that finds the rollback damaged has nothing that says so.
  private static func rolledBack(in file: [UInt8]) throws -> Set<[UInt8]> {
    var bodies: Set<[UInt8]> = []
    let disk = SimulatedDisk(seed: 1)
    disk.install(file, at: "a")
    let reader = try SalvageReader("a", disk: disk)
    let shapes = SalvagedDeclarations(reader, mask: .max).dictionary
    let buffer = ByteBuffer(capacity: 1024)
    reader.forEachOperation(of: OperationKind.saveRecord.rawValue) { body, _ in
      if let spelled = try? shapes.spelled(body, in: buffer) { bodies.insert(unlinked(spelled.array)) }
    }
    return bodies
  }

  private static func unlinked(_ body: [UInt8]) -> [UInt8] {
    var body = body
    for offset in RecordBody.previousOffset..<RecordBody.fixedByteCount { body[offset] = 0 }
    return body
  }

  /// Salvages a damaged file. Every version of every record of the new file must be one that the sound file had.
  /// - Returns: nil when there is nothing that says how to read the file.
  @discardableResult
  private static func salvage(_ file: [UInt8], _ known: Set<[UInt8]>, _ what: String) throws -> Database.SalvageReport? {
    let disk = SimulatedDisk(seed: 2, maximumFileByteCount: 64 << 20)
    disk.install(file, at: KindsFixture.path)
    let report: Database.SalvageReport
    do {
      report = try Database.salvage(from: KindsFixture.path, to: "/saved", options: KindsFixture.options(), disk: disk)
    } catch {
      #expect(error.code == .notADatabase || error.code == .corrupted, "\(what): \(error)")
      return nil
    }
    let saved = try Database.open(at: "/saved", options: KindsFixture.options(), disk: disk)
    let result = try saved.check(.deep)
    // Asset files are not there in these tests.
    #expect(result.isClean || !report.missingAssets.isEmpty, "\(what): \(result.findings)")
    let bytes = try #require(disk.bytes(of: "/saved"))
    for body in try versions(of: bytes) where !known.contains(body) {
      Issue.record(
        "\(what): a version that never was: \(String(decoding: body.filter { $0 >= 32 && $0 < 127 }, as: UTF8.self))")
      break
    }
    return report
  }

  @Test("wherever the file ends, a salvage takes what is before it, and nothing that never was")
  func truncated() throws {
    let file = try KindsFixture.everything.bytes()
    let known = try Self.versions(of: file)
    var last = 0
    let step = file.count / 40
    for length in stride(from: 4096 + step, through: file.count, by: step) {
      guard let report = try Self.salvage(Array(file[..<length]), known, "\(length) bytes") else {
        Issue.record("\(length) bytes of a sound beginning are not read")
        continue
      }
      #expect(report.commitCount >= last, "\(length) bytes")
      last = report.commitCount
      #expect(!report.isComplete || report.missingByteCount == 0)
    }
  }

  @Test(
    "whatever blocks are damaged, a salvage makes up nothing, and says that something is missing",
    arguments: [1, 2, 3] as [UInt64])
  func damagedBlocks(_ seed: UInt64) throws {
    let file = try KindsFixture.everything.bytes()
    let known = try Self.versions(of: file)
    let rollbacks = Self.rollbacks(in: file)
    let rolledBack = try Self.rolledBack(in: file)
    #expect(!rollbacks.isEmpty && rolledBack.count >= known.count + 20)
    var generator = SeededGenerator(seed: seed)
    for round in 0..<12 {
      var damaged = file
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let block = Int.random(in: 1..<file.count / 4096, using: &generator) * 4096
        let other = Int.random(in: 1..<file.count / 4096, using: &generator) * 4096
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: for index in block..<block + 4096 { damaged[index] = 0 }
        case 1: for index in block..<block + 4096 { damaged[index] ^= 0x55 }
        case 2: damaged.replaceSubrange(block..<block + 4096, with: file[other..<other + 4096])
        default: damaged[Int.random(in: 4096..<file.count, using: &generator)] ^= 1
        }
      }
      let isWhole = rollbacks.allSatisfy { file[$0].elementsEqual(damaged[$0]) }
      try Self.salvage(damaged, isWhole ? known : known.union(rolledBack), "seed \(seed), round \(round)")
    }
  }

  @Test("declarations and packed bodies of any content under sound checksums trap nobody", arguments: [1, 2, 3, 4] as [UInt64])
  func forged(_ seed: UInt64) throws {
    let file = try KindsFixture.everything.bytes()
    var places: [Range<Int>] = []
    let disk = SimulatedDisk(seed: 1)
    disk.install(file, at: "a")
    try SalvageReader("a", disk: disk).forEachCommit(progress: { _ in true }) { commit in
      for index in 0..<commit.count {
        guard let operation = commit.operation(index), let kind = OperationKind(rawValue: Operation.kind(operation)),
          [.declare, .saveRecord, .defineIndex, .buildIndex, .deleteRecord].contains(kind)
        else { continue }
        let place = commit.place(index)
        let header = Operation.headerByteCount(ofOperation: Int(place.byteCount))
        places.append(Int(place.offset) + header..<Int(place.offset) + Int(place.byteCount))
      }
    }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<6 {
      var forged = file
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        guard let place = places.randomElement(using: &generator) else { continue }
        // What counts, lengths and numbers are is in front.
        let offset = place.lowerBound + Int.random(in: 0..<min(place.count, 40), using: &generator)
        forged[offset] =
          [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &generator)].randomElement(using: &generator) ?? 0
      }
      forged = Forgery.sealed(forged)
      try FuzzOpen.examine(forged)
      let target = SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20)
      target.install(forged, at: "a")
      _ = try? Database.salvage(from: "a", to: "saved", options: KindsFixture.options(), disk: target)
      if let saved = try? Database.open(at: "saved", options: KindsFixture.options(), disk: target) {
        _ = try? FixtureContents.lines(of: saved)
        _ = try? saved.check(.deep)
      }
    }
  }
}
