/// A set of small numbers, one bit each: sectors of a file, units and names that a crash lets arrive.
///
/// Numbers below 64 are in one word beside an empty array, so that a small set allocates nothing: a search makes one for each
/// crash.
///
/// Always true: the last word of `high` is not zero, so that equal sets have equal words.
package struct NumberSet: Hashable, Sendable, Sequence, ExpressibleByArrayLiteral {
  private var low: UInt64 = 0
  private var high: [UInt64] = []

  package init() {}

  package init(_ numbers: some Sequence<Int>) {
    for number in numbers { insert(number) }
  }

  package init(arrayLiteral numbers: Int...) { self.init(numbers) }

  /// The numbers of the bits that are set.
  package init(bits: UInt64) { low = bits }

  package var isEmpty: Bool { low == 0 && high.isEmpty }

  package var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  package func contains(_ number: Int) -> Bool {
    if number < 64 { return low & 1 << UInt64(number) != 0 }
    let index = number >> 6 - 1
    return index < high.count && high[index] & 1 << UInt64(number & 63) != 0
  }

  package mutating func insert(_ number: Int) {
    precondition(number >= 0, "what is counted here is never negative")
    if number < 64 { return low |= 1 << UInt64(number) }
    while high.count < number >> 6 { high.append(0) }
    high[number >> 6 - 1] |= 1 << UInt64(number & 63)
  }

  package mutating func remove(_ number: Int) {
    if number < 64 { return low &= ~(1 << UInt64(number)) }
    guard contains(number) else { return }
    high[number >> 6 - 1] &= ~(1 << UInt64(number & 63))
    dropEmptyWords()
  }

  package mutating func removeAll() {
    low = 0
    if !high.isEmpty { high.removeAll(keepingCapacity: true) }
  }

  /// Removes all numbers from this one on.
  package mutating func removeAll(from first: Int) {
    if first < 64 {
      low &= (1 << UInt64(first)) &- 1
      if !high.isEmpty { high.removeAll(keepingCapacity: true) }
      return
    }
    guard first >> 6 <= high.count else { return }
    high.removeSubrange((first >> 6)...)
    high[first >> 6 - 1] &= (1 << UInt64(first & 63)) &- 1
    dropEmptyWords()
  }

  /// In ascending order.
  package var members: [Int] { Array(self) }

  package func makeIterator() -> Iterator { Iterator(word: low, high: high) }

  package struct Iterator: IteratorProtocol {
    fileprivate var word: UInt64
    fileprivate let high: [UInt64]
    private var base = 0

    fileprivate init(word: UInt64, high: [UInt64]) {
      self.word = word
      self.high = high
    }

    package mutating func next() -> Int? {
      while word == 0 {
        guard base >> 6 < high.count else { return nil }
        word = high[base >> 6]
        base += 64
      }
      defer { word &= word - 1 }
      return base + word.trailingZeroBitCount
    }
  }

  private mutating func dropEmptyWords() {
    while high.last == 0 { high.removeLast() }
  }
}
