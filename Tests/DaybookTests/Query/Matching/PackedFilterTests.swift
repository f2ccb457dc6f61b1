import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What a filter says of a packed body beside what the predicate means, and scans over bodies of every form beside loops.

@Suite("predicates on packed bodies")
struct PackedFilterTests {
  /// A record whose texts are now and then longer than one byte can say.
  private func record(_ random: inout RandomQueries, zone: Zone.ID, keys: [String]) throws -> Record {
    var values: [String: Record.Value] = [:]
    var encrypted: [String: Record.Value] = [:]
    for key in keys {
      let isLong = random.chance(12)
      let value = isLong ? .string(random.text() + String(repeating: "é", count: 70)) : random.value(zone: zone)
      if random.chance(10) { encrypted[key] = .string("x") } else { values[key] = value }
    }
    return try Record(
      type: random.chance(9) ? "Song" : "Movie", id: Record.ID(unchecked: "n", in: zone),
      metadata: .init(
        changeTag: "t", creationDate: random.date(), creatorUserID: random.chance(3) ? "_c" : nil,
        modificationDate: random.date()),
      values: values, encryptedValues: encrypted)
  }

  private func keys(_ random: inout RandomQueries, among count: Int) -> [String] {
    (RandomQueries.keys + (0..<count).map { "x\($0)" }).filter { _ in !random.chance(4) }
  }

  @Test(
    "a filter says of a packed body what the predicate says of the record, or leaves it to the spelled body",
    arguments: 0..<6 as Range<UInt64>)
  func answers(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    let packer = Packer()
    let zones: [Zone.ID] = [.default, try Zone.ID("Library"), try Zone.ID("Été", owner: "_x")]
    var counts = (passed: 0, failed: 0, unknown: 0)
    for _ in 0..<60 {
      let records = try (0..<6).map { _ in
        let keys = keys(&random, among: random.chance(3) ? 14 : 0)
        return try record(&random, zone: random.pick(zones), keys: keys)
      }
      let packed = try records.map { record in try record.body.withBytes { try packer.packed($0.array) } }
      for _ in 0..<20 {
        let predicate = random.predicate()
        let (now, zone) = (random.date(), random.pick(zones))
        guard var filter = PackedFilter(BodyFilter(predicate, dialect: .extended, now: now), ofType: "Movie") else { continue }
        filter.enter(zone)
        for (record, packed) in zip(records, packed) {
          guard let packed else { continue }
          let answer = try packed.withView { (view) throws -> PackedFilter.Answer in
            let body = try PackedBody(view, in: packer.shapes.table)
            return filter.answer(body, try body.plan(in: packer.shapes.table))
          }
          switch answer {
          case .unknown: counts.unknown += 1
          case .passes, .fails:
            let isExpected = predicate.matches(record, now: now, dialect: .extended)
            #expect(record.id.zone == zone && record.type == "Movie")
            #expect((answer == .passes) == isExpected, "\(predicate) on \(record.debugDescription)")
            if isExpected { counts.passed += 1 } else { counts.failed += 1 }
          }
        }
      }
    }
    #expect(counts.passed > 20 && counts.failed > 100 && counts.unknown > 100, "\(counts)")
  }

  @Test(
    "a scan finds what a loop finds, among bodies of few and many shapes, with fields missing, and spelled out",
    arguments: 0..<4 as Range<UInt64>)
  func scans(seed: UInt64) throws {
    var random = RandomQueries(seed: 100 + seed)
    let database = try Database.scratch(seed: seed)
    let zones = try [Zone.ID.default, database.zone("Library")]
    // Up to sixteen shapes of a type are whole; above, bodies lack fields of a larger one.
    let shapes = (0..<(seed % 2 == 0 ? 6 : 60)).map { _ in keys(&random, among: 30) }
    for batch in 0..<10 {
      try database.write { transaction in
        for number in 0..<30 {
          let filled = try record(&random, zone: random.pick(zones), keys: random.pick(shapes))
          var named = try Record(type: filled.type, id: Record.ID("n\(batch)-\(number)", in: filled.id.zone))
          for key in filled.keys { named[key] = filled[key] as Record.Value? }
          try transaction.save(named)
        }
      }
    }
    for round in 0..<2 {
      let all = try zones.flatMap { zone in try database.records(in: zone, ofType: "Movie") }
      #expect(all.count > 200)
      let now = database.options.now()
      for _ in 0..<60 {
        let predicate = random.predicate()
        let query = Query("Movie", where: predicate, in: random.chance(2) ? random.pick(zones) : nil)
        let expected = all.filter { (query.zone ?? $0.id.zone) == $0.id.zone && predicate.matches($0, now: now) }
        let found = try database.records(query)
        #expect(Set(found.map(\.id)) == Set(expected.map(\.id)), "\(predicate)")
        #expect(found.count == expected.count)
        #expect(try database.count(query) == expected.count)
      }
      if round == 0 { try database.compact() }
    }
    try database.close()
  }
}
