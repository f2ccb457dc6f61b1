import DaybookEngine

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
