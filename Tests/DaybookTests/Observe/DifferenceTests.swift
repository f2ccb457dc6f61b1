import DaybookTesting
import Foundation
import Testing

@testable import Daybook

// What became of a result: applied to the old one it gives the new one, and it says no more than has changed.

@Suite("differences of results")
struct DifferenceTests {
  private func records(_ names: [String]) throws -> [Record] {
    try names.map { name in
      let (id, version) = (name.prefix { $0 != "'" }, name.filter { $0 == "'" }.count)
      return try Record.fresh(String(id), ["v": .int(Int64(version))])
    }
  }

  @Test("what goes has its place in the old result, what comes has its place in the new one")
  func positions() throws {
    let difference = Query.Difference(
      from: try records(["a", "b", "c", "d"]), to: try records(["c", "a", "e", "d'"]))
    #expect(difference.removed.map(\.index) == [1] && difference.removed.map(\.id.name) == ["b"])
    #expect(difference.inserted.map(\.index) == [2] && difference.inserted.first?.record.id.name == "e")
    #expect(difference.moved.count == 1 && difference.updated.map(\.index) == [3])
    #expect(difference.count == 4 && !difference.isEmpty)
    let same = try records(["a", "b"])
    #expect(Query.Difference(from: same, to: same).isEmpty)
  }

  @Test("applied to the old result it gives the new one, and as few records move as can", arguments: 0..<3 as Range<UInt64>)
  func model(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    for _ in 0..<300 {
      let names = (0..<random.number(12)).map { "n\($0)" }
      let old = names.shuffled(using: &random.generator)
      var new = old.filter { _ in !random.chance(4) }
      for number in 0..<random.number(4) { new.insert("x\(number)", at: random.number(new.count + 1)) }
      for _ in 0..<random.number(3) where !new.isEmpty {
        new.insert(new.remove(at: random.number(new.count)), at: random.number(new.count + 1))
      }
      let changed = new.map { random.chance(5) ? $0 + "'" : $0 }
      let (before, after) = (try records(old), try records(changed))
      let difference = Query.Difference(from: before, to: after)
      #expect(difference.applied(to: before) == after)
      #expect(difference.removed.count == old.filter { !new.contains($0) }.count)
      #expect(difference.inserted.count == new.filter { !old.contains($0) }.count)
      // The longest ascent, found by trying.
      let numbers = new.compactMap { old.firstIndex(of: $0) }
      var lengths: [Int] = []
      for (index, number) in numbers.enumerated() {
        lengths.append(1 + (zip(numbers[..<index], lengths).filter { $0.0 < number }.map(\.1).max() ?? 0))
      }
      #expect(difference.moved.count == numbers.count - (lengths.max() ?? 0))
      #expect(Set(difference.updated.map(\.record.id.name)).count == difference.updated.count)
    }
  }

  @Test("applied to another list it gives nothing")
  func strangers() throws {
    let old = try records(["a", "b", "c"])
    let difference = Query.Difference(from: old, to: try records(["c", "b'"]))
    #expect(difference.applied(to: old) != nil)
    #expect(difference.applied(to: try records(["a", "b"])) == nil)
    #expect(difference.applied(to: try records(["x", "b", "c"])) == nil)
    #expect(difference.applied(to: try records(["a", "x", "c"])) == nil)
  }
}
