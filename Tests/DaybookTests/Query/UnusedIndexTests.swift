import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A plan that leaves an index out says why.

@Suite("indexes that a plan does not use")
struct UnusedIndexTests {
  private let database: Database
  private let library: Zone.ID

  init() throws {
    database = try Database.scratch()
    library = try database.zone("Library")
    for number in 0..<200 {
      try database.put(
        "r\(number)", in: library,
        [
          "n": .int(Int64(number)), "m": .int(Int64(number % 7)), "t": .string("text \(number)"), "u": "other",
          "tags": .strings(["a\(number)"]), "at": .location(Location(latitude: Double(number % 80), longitude: 0)),
        ])
    }
    for key in ["n", "t", "tags", "at"] { try database.setIndex(.queryable, on: key, ofType: "Note") }
    try database.setIndex([.searchable], on: "t", ofType: "Note")
  }

  private func unused(_ predicate: Query.Predicate, sort: [Query.Sort] = [], limit: Int? = nil) throws -> [String] {
    try database.explain(Query("Note", where: predicate, sort: sort, limit: limit)).unused.map {
      "\($0.kind.rawValue) \($0.key): \($0.reason.rawValue)"
    }
  }

  @Test("explain did not say why a condition does without an index of its field")
  func conditions() throws {
    let place = Location(latitude: 3, longitude: 0)
    for (predicate, expected) in [
      (.field("n") == 1 || .field("m") == 2, ["value n: alternative"]), (.field("n") == 1 || .field("n") == 2, []),
      (!(.field("n") == 1), ["value n: negation"]), (.field("n") != 1, ["value n: comparison"]),
      (.field("n") > -1, ["value n: lessSelective"]), (.field("n") == 1 && .field("m") == 2, []),
      (.field("t").contains("x") && .field("m") == 1, ["value t: comparison", "text t: otherKind"]),
      (.field("t").isEqual(to: "TEXT 1", options: .ignoringCase), ["value t: textOptions", "text t: otherKind"]),
      (.field("t").hasPrefix("text 11", options: .ignoringAccents), ["value t: textOptions", "text t: otherKind"]),
      (.field("t") == "text 7", []), (.field("t").tokens("17"), []), (.tokens("17"), ["text t: otherTexts"]),
      (.field("at").near(place, within: 5), ["value at: otherKind"]), (.field("tags") == ["a1"], ["value tags: comparison"]),
      (.field("tags").contains("a1"), []), (.recordName == "r1" && .field("n") == 1, ["value n: namedRecords"]),
      (.field("t") == "none" && .field("n") == 1, ["value n: otherIndex"]), (.field("m") == 1, []), (.false, []),
    ] as [(Query.Predicate, [String])] {
      #expect(try unused(predicate) == expected, "\(predicate)")
    }
    #expect(try database.explain(Query(where: .field("n") == 1)).unused.isEmpty)
  }

  @Test("explain did not say why an order does without an index of its field")
  func orders() throws {
    #expect(try unused(.true, sort: [.ascending("n"), .ascending("m")], limit: 5) == ["value n: severalSteps"])
    #expect(try unused(.true, sort: [.ascending("n")]) == ["value n: noLimit"])
    #expect(try unused(.true, sort: [.ascending("n")], limit: 5).isEmpty)
    #expect(try unused(.true, sort: [.ascending("n")], limit: 150) == ["value n: lessSelective"])
    #expect(try unused(.true, sort: [.ascending("tags")], limit: 5) == ["value tags: unordered"])
    let place = Location(latitude: 3, longitude: 0)
    #expect(try unused(.true, sort: [.distance(of: "at", from: place)], limit: 5) == ["value at: otherKind"])
    try database.put("far", ["n": 1])
    #expect(try unused(.true, sort: [.ascending("n")], limit: 5) == ["value n: severalZones"])
  }

  @Test("explain did not say that an index is still being built, and queries did without it")
  func building() throws {
    let cut = failure { try database.setIndex(.queryable, on: "m", ofType: "Note") { _, _ in false } }
    #expect(cut?.code == .operationCancelled)
    let query = Query("Note", where: .field("m") == 2 && .field("u") == "x")
    let plan = try database.explain(query)
    #expect(plan.unused == [.init(key: "m", kind: .value, reason: .building)] && plan.access == .scan)
    #expect(plan.description.hasSuffix("\nvalue index of m is not used: it is not complete yet"))
    try database.buildIndexes()
    #expect(try database.explain(query).unused.isEmpty)
  }

  @Test("each index on a field that a query names is used, or told with a reason", arguments: [false, true])
  func everyIndex(isPreferred: Bool) throws {
    let database = try Database.scratch { $0.prefersIndexes = isPreferred }
    for number in 0..<60 {
      try database.put(
        "r\(number)", ["n": .int(Int64(number)), "t": .string("t\(number)"), "list": .ints([Int64(number), 3])])
    }
    for key in ["n", "t", "list"] { try database.setIndex([.queryable], on: key, ofType: "Note") }
    let conditions: [Query.Predicate] = [
      .field("n") == 5, .field("n") > 50, .field("n") != 5, .field("n").isAbsent, .field("t").hasPrefix("t1"),
      .field("t").contains("1"), .field("t") == "t5", .field("list").any == 3, .field("list") == [1, 3], .field("x") == 1,
      .true,
    ]
    for first in conditions {
      for second in conditions {
        for predicate in [first && second, first || second, !first, first && !(second || first)] {
          for sort in [[], [Query.Sort.ascending("n")], [.ascending("list")]] {
            for limit in [nil, 3] {
              let query = Query("Note", where: predicate, sort: sort, limit: limit)
              let plan = try database.explain(query)
              if plan.access == .none { continue }
              let named = Set(query.fields.map(\.name)).intersection(["n", "t", "list"])
              let told = Set(plan.unused.map(\.key) + [plan.index].compactMap { $0 })
              #expect(named == told, "\(query)\n\(plan)")
            }
          }
        }
      }
    }
  }
}
