import DaybookTesting
import Testing

@testable import DaybookEngine

@Suite("lists of keys")
struct KeyListTests {
  private func list(_ keys: [[UInt8]]) -> KeyList {
    let list = KeyList(capacity: 16)
    for key in keys { key.withView { list.append($0) } }
    return list
  }

  @Test("the places of keys that two lists share are those that a set says")
  func shared() {
    var random = SeededGenerator(seed: 11)
    for round in 0..<2000 {
      func keys() -> [[UInt8]] {
        let count = Int.random(in: 0...(round % 40), using: &random)
        return (0..<count).map { _ in
          (0..<Int.random(in: 0...3, using: &random)).map { _ in UInt8.random(in: 0...5, using: &random) }
        }
      }
      /// In their order, each once; or in any order, and where each is in theirs.
      func made(_ keys: [[UInt8]], isSorted: Bool) -> (list: KeyList, places: [Int]?, keys: [[UInt8]]) {
        let ascending = Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
        if isSorted { return (list(ascending), nil, ascending) }
        let shuffled = ascending.shuffled(using: &random)
        let order = shuffled.indices.sorted { shuffled[$0].lexicographicallyPrecedes(shuffled[$1]) }
        return (list(shuffled), order, shuffled)
      }
      let (first, second) = (keys(), keys())
      let own = made(first, isSorted: Bool.random(using: &random))
      let other = made(second, isSorted: Bool.random(using: &random))
      let found = own.list.places(own.places, in: other.list, other.places)
      let wanted = Set(first).intersection(second).sorted { $0.lexicographicallyPrecedes($1) }
      #expect(found.map { own.keys[$0] } == wanted)
      let isAscending = zip(first, first.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
      #expect(list(first).isAscending == isAscending)
    }
  }
}
