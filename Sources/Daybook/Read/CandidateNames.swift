import DaybookEngine

/// The names of records that an index leaves, in their order, to be compared with what another index leaves.
///
/// Entries of one word are in the order of names, so two words have a record in common where two ascending lists meet: that costs a
/// few nanoseconds an entry, and reading a record to see whether it has the second word a microsecond. Names that come in another
/// order are found, too, if not as fast.
struct CandidateNames {
  private let bytes = ByteBuffer(capacity: 4096)
  private var names: [Range<Int>] = []
  private var isMarked: [Bool] = []
  /// The first name that is not before the one that was marked last.
  private var next = 0

  var count: Int { names.count }

  /// Valid until another one is appended.
  func name(_ index: Int) -> ByteView { bytes.view.slice(names[index]) }

  mutating func append(_ name: ByteView) {
    let start = bytes.count
    bytes.append(name)
    names.append(start..<bytes.count)
  }

  /// Puts the names into their order, each once.
  mutating func arrange() {
    var isAscending = true
    for index in names.indices.dropFirst() where isAscending { isAscending = compareKeys(name(index - 1), name(index)) < 0 }
    if isAscending { return }
    let view = bytes.view
    names.sort { compareKeys(view.slice($0), view.slice($1)) < 0 }
    var kept: [Range<Int>] = []
    for name in names {
      if let last = kept.last, compareKeys(view.slice(last), view.slice(name)) == 0 { continue }
      kept.append(name)
    }
    names = kept
  }

  mutating func beginMarking() {
    isMarked = Array(repeating: false, count: names.count)
    next = 0
  }

  /// Marks a name if it is here.
  mutating func mark(_ name: ByteView) {
    if next > 0, compareKeys(self.name(next - 1), name) >= 0 { next = firstIndex(notBefore: name) }
    while next < names.count {
      let order = compareKeys(self.name(next), name)
      if order == 0 { isMarked[next] = true }
      if order >= 0 { return }
      next += 1
    }
  }

  private func firstIndex(notBefore name: ByteView) -> Int {
    var range = 0..<names.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      let isBefore = compareKeys(self.name(middle), name) < 0
      range = isBefore ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }

  /// Drops the names that were not marked.
  mutating func keepMarked() {
    var count = 0
    for index in names.indices where isMarked[index] {
      names[count] = names[index]
      count += 1
    }
    names.removeSubrange(count...)
  }
}
