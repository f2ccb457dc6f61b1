import DaybookEngine

/// Entries that versions of records contribute to trees, one version behind the other, in memory that is used again.
///
///     bytes     key value key value …
///     entries   {tree, where key and value are, amount} …
///
/// Always true: the entries of one version stand in the order of the trees' list, those of one tree ascending, each key once. Belongs to
/// the holder of the turn, or to a check of its own.
final class ContributionList {
  struct Entry {
    let tree: ZoneTree
    fileprivate let start: Int
    fileprivate let keyEnd: Int
    fileprivate let end: Int
    /// Of a sum: what the entry adds to it.
    fileprivate(set) var amount: Int64
  }

  /// The indexes that versions are asked for.
  let indexes: IndexList
  /// Where a tree writes its entries: the bytes of a key, and behind them those of its value.
  let bytes = ByteBuffer(capacity: 512)
  @safe @exclusivity(unchecked) private var entries: [Entry] = []
  /// Of the tree that is writing.
  @safe @exclusivity(unchecked) private var tree = ZoneTree.byName
  @safe @exclusivity(unchecked) private var start = 0

  init(_ indexes: IndexList = IndexList()) { self.indexes = indexes }

  var count: Int { entries.count }
  /// Memory that so many entries take, about.
  func byteCount(of range: Range<Int>) -> Int {
    range.reduce(0) { $0 + MemoryLayout<Entry>.stride + entries[$1].end - entries[$1].start }
  }

  func removeAll() {
    if entries.isEmpty { return }
    // Those of an unusual body do not stay.
    entries.removeAll(keepingCapacity: entries.capacity <= 4096)
    bytes.removeAll(keeping: 64 << 10)
  }

  // MARK: filling

  /// Adds all that a version contributes. Returns where its entries are.
  /// - Parameter leavingIndexes: without entries of indexes.
  func collect(_ version: RecordVersion, leavingIndexes: Bool = false) -> Range<Int> {
    var trees = ZoneTree.contributed(by: version.body)
    if !leavingIndexes, indexes.covers(version.type) { trees.insert(.indexes) }
    return collect(version, to: trees)
  }

  /// Adds what a version contributes to some trees.
  func collect(_ version: RecordVersion, to trees: ZoneTreeSet) -> Range<Int> {
    let first = entries.count
    for tree in trees {
      let firstOfTree = begin(tree)
      tree.contribute(version, to: self)
      precondition(start == bytes.count, "a tree adds what it has written")
      arrange(from: firstOfTree)
    }
    return first..<entries.count
  }

  /// Adds what a version contributes to some indexes of its type, in the order of their keys.
  func collect(_ version: RecordVersion, for definitions: [IndexDefinition]) -> Range<Int> {
    let first = begin(.indexes)
    IndexTree.contribute(version, of: definitions[...], to: self)
    arrange(from: first)
    return first..<entries.count
  }

  /// From here on entries are those of a tree. Returns where they begin.
  func begin(_ tree: ZoneTree) -> Int {
    self.tree = tree
    start = bytes.count
    return entries.count
  }

  /// What has been written since the entry before is one: a key, and behind it a value of so many bytes.
  /// - Parameter amount: what the entry adds, in a tree of sums; those have no value here.
  func add(valueByteCount: Int = 0, amount: Int64 = 1) {
    let end = bytes.count
    let keyByteCount = end - valueByteCount - start
    precondition(keyByteCount > 0 && keyByteCount <= TreeLimits.maximumKeyByteCount, "an entry has a key, which is limited")
    precondition(valueByteCount <= ContributionList.maximumValueByteCount, "an entry has a short value")
    entries.append(Entry(tree: tree, start: start, keyEnd: end - valueByteCount, end: end, amount: amount))
    start = end
  }

  /// The longest value of an entry: replay keeps it beside the key.
  static let maximumValueByteCount = 255

  /// Sorts the entries of one tree and makes one of those with the same key.
  private func arrange(from first: Int) {
    var isAscending = true
    var index = first + 1
    while isAscending, index < entries.count {
      isAscending = compareKeys(key(index - 1), key(index)) < 0
      index += 1
    }
    if isAscending { return }
    entries[first...].sort { left, right in
      let order = compareKeys(key(left), key(right))
      return order == 0 ? compareKeys(value(left), value(right)) < 0 : order < 0
    }
    var last = first
    for index in first + 1..<entries.count {
      if compareKeys(key(last), key(index)) != 0 {
        last += 1
        entries[last] = entries[index]
      } else {
        let sum = entries[last].amount &+ entries[index].amount
        entries[last] = entries[index]
        entries[last].amount = sum
      }
    }
    entries.removeSubrange((last + 1)...)
  }

  // MARK: looking

  @inline(__always) func tree(_ index: Int) -> ZoneTree { entries[index].tree }
  @inline(__always) func amount(_ index: Int) -> Int64 { entries[index].amount }
  /// Valid until the next entry is written.
  @inline(__always) func key(_ index: Int) -> ByteView { key(entries[index]) }
  @inline(__always) func value(_ index: Int) -> ByteView { value(entries[index]) }

  @inline(__always) private func key(_ entry: Entry) -> ByteView { bytes.view.slice(entry.start..<entry.keyEnd) }
  @inline(__always) private func value(_ entry: Entry) -> ByteView { bytes.view.slice(entry.keyEnd..<entry.end) }
}

/// What is different between the entries of two versions of one record: a walk over both.
struct ContributionDifference {
  /// One entry that comes or goes, or one sum that changes.
  struct Change {
    let tree: ZoneTree
    let key: ByteView
    let value: ByteView
    let isComing: Bool
    let amount: Int64
  }

  private let former: ContributionList
  private let new: ContributionList
  private let trees: ZoneTreeSet
  private var formerRange: Range<Int>
  private var newRange: Range<Int>

  /// - Parameter trees: those that the zone has; entries of others do not count.
  init(
    from former: ContributionList, _ formerRange: Range<Int>, to new: ContributionList, _ newRange: Range<Int>,
    in trees: ZoneTreeSet
  ) {
    self.former = former
    self.new = new
    self.trees = trees
    self.formerRange = formerRange
    self.newRange = newRange
  }

  /// The next change; its views are those of the lists.
  mutating func next() -> Change? {
    while let order = order() {
      let (old, index) = (formerRange.lowerBound, newRange.lowerBound)
      if order <= 0 { formerRange = old + 1..<formerRange.upperBound }
      if order >= 0 { newRange = index + 1..<newRange.upperBound }
      let tree = order <= 0 ? former.tree(old) : new.tree(index)
      guard trees.contains(tree) else { continue }
      if tree.isSum {
        let before = order <= 0 && !isMutant("miscount-replaced-assets") ? former.amount(old) : 0
        let amount = (order >= 0 ? new.amount(index) : 0) - before
        if amount == 0 { continue }
        let key = order <= 0 ? former.key(old) : new.key(index)
        return Change(tree: tree, key: key, value: key.prefix(0), isComing: amount > 0, amount: amount)
      }
      if order < 0 {
        if isMutant("keep-old-references") { continue }
        return Change(tree: tree, key: former.key(old), value: former.value(old), isComing: false, amount: 0)
      }
      if order == 0, compareKeys(former.value(old), new.value(index)) == 0 { continue }
      return Change(tree: tree, key: new.key(index), value: new.value(index), isComing: true, amount: 0)
    }
    return nil
  }

  /// Negative, zero or positive as the next entry is one of before, of both, or a new one; nil behind the last.
  private func order() -> Int? {
    if formerRange.isEmpty { return newRange.isEmpty ? nil : 1 }
    if newRange.isEmpty { return -1 }
    let (old, index) = (formerRange.lowerBound, newRange.lowerBound)
    let byTree = former.tree(old).rawValue - new.tree(index).rawValue
    return byTree != 0 ? byTree : compareKeys(former.key(old), new.key(index))
  }
}
