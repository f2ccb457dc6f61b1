import DaybookEngine

/// What the small trees of a version declare, decoded once: which indexes there are, and what the file requires.
///
/// It belongs to a version as its roots do: a reader gets it with its pin, a transaction begins with that of the version it begins on, a
/// rollback brings that of its savepoint, and a commit gives the store its own (`RecordApplier+Facts.swift`). So definitions are read
/// from the tree when a file is opened, and not again.
final class DeclaredFacts: RootFacts {
  let indexes: DefinedIndexes
  let features: RequiredFeatures

  init(_ indexes: DefinedIndexes, _ features: RequiredFeatures) {
    self.indexes = indexes
    self.features = features
  }
}

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

/// The indexes from which entries are derived. Belongs to the holder of the turn, or to a check of its own.
final class IndexList {
  @safe @exclusivity(unchecked) private(set) var defined: DefinedIndexes
  @safe @exclusivity(unchecked) private(set) var isEmpty: Bool

  init(_ defined: DefinedIndexes = DefinedIndexes()) {
    self.defined = defined
    isEmpty = defined.isEmpty
  }

  var all: [IndexDefinition] { defined.all }

  subscript(number: UInt16) -> IndexDefinition? { defined[number] }

  func replace(_ defined: DefinedIndexes) {
    self.defined = defined
    isEmpty = defined.isEmpty
  }

  func insert(_ definition: IndexDefinition) {
    defined.insert(definition)
    isEmpty = false
  }

  func remove(_ number: UInt16) {
    defined.remove(number)
    isEmpty = defined.isEmpty
  }

  func nextNumber() -> UInt16? { defined.nextNumber() }

  /// Whether a type has indexes: then every version of its records may have entries.
  @inline(__always)
  func covers(_ type: ByteView) -> Bool { isEmpty ? false : !range(of: type).isEmpty }

  @inline(never)
  func range(of type: ByteView) -> Range<Int> { defined.range(of: type) }
}
