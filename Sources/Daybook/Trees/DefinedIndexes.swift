import DaybookEngine

/// Definitions of indexes as a value.
///
/// Always true: those of a type are side by side, in the order of their keys, as a body's fields are; no two have one number.
struct DefinedIndexes {
  private(set) var all: [IndexDefinition] = []
  private var numbers: Set<UInt16> = []
  /// Not above the lowest number that none has.
  private var lowestFree: UInt16 = 0

  init() {}

  init(_ definitions: [IndexDefinition]) {
    for definition in definitions { insert(definition) }
  }

  @inline(__always)
  var isEmpty: Bool { all.isEmpty }
  var count: Int { all.count }

  func contains(_ number: UInt16) -> Bool { numbers.contains(number) }

  subscript(number: UInt16) -> IndexDefinition? {
    numbers.contains(number) ? all.first { $0.number == number } : nil
  }

  /// As they were made, about.
  var byNumber: [IndexDefinition] { all.sorted { $0.number < $1.number } }

  /// Where those of a type are.
  func range(of type: ByteView) -> Range<Int> {
    var start = 0
    var end = all.count
    while start < end {
      let middle = (start + end) / 2
      if all[middle].type.withView({ compareKeys($0, type) }) < 0 { start = middle + 1 } else { end = middle }
    }
    while end < all.count, all[end].type.withView({ UTF8Order.equal($0, type) }) { end += 1 }
    return start..<end
  }

  func range(of type: [UInt8]) -> Range<Int> { type.withView { range(of: $0) } }

  /// Whether a definition is new, and one more may be. In a forged file each save would derive as many entries as there are definitions.
  func takes(_ definition: IndexDefinition) -> Bool {
    if contains(definition.number) || count >= DefinedIndexes.limit { return false }
    let ofType = all[range(of: definition.type)]
    return ofType.count < DefinedIndexes.limitPerType && !ofType.contains { $0.isSame(as: definition) }
  }

  /// The lowest number that none has; nil when there are too many.
  mutating func nextNumber() -> UInt16? {
    if numbers.count > Int(UInt16.max) { return nil }
    while numbers.contains(lowestFree) { lowestFree += 1 }
    return lowestFree
  }

  /// Adds one, or puts it in the place of the one with its number.
  mutating func insert(_ definition: IndexDefinition) {
    if numbers.contains(definition.number), let place = all.firstIndex(where: { $0.number == definition.number }) {
      if all[place].type == definition.type, all[place].key == definition.key {
        all[place] = definition
        return
      }
      all.remove(at: place)
    }
    numbers.insert(definition.number)
    var place = range(of: definition.type).lowerBound
    while place < all.count, all[place].type == definition.type,
      !definition.key.lexicographicallyPrecedes(all[place].key)
    {
      place += 1
    }
    all.insert(definition, at: place)
  }

  mutating func remove(_ number: UInt16) {
    guard numbers.remove(number) != nil, let place = all.firstIndex(where: { $0.number == number }) else { return }
    all.remove(at: place)
    lowestFree = min(lowestFree, number)
  }

  /// So many indexes a type may have: each save derives the entries of all of them.
  static let limitPerType = 32
  /// And so many a file: who asks for a type looks through them.
  static let limit = 1024
}
