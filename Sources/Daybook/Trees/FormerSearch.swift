import DaybookEngine

/// Finds the entries of records whose former bodies cannot be read: in the trees themselves, which know, if not as fast.
///
/// One lost body costs a walk over all entries of its zone. In a forged file the body of every record that is saved behind a
/// checkpoint may be lost. So from the ninth search in one zone of a gathered run on, one more walk finds the entries of all
/// records that the run has there. In a gathered run each stored version is searched once, before anything of that record
/// changes, so what a walk has found stays true for the records that are still to come.
///
/// Belongs to the holder of the turn.
final class FormerSearch {
  /// Where the zone that is being applied has its operations in the run; empty while no run is applied.
  @safe @exclusivity(unchecked) private var ranks = 0..<0
  @safe @exclusivity(unchecked) private var walkCount = 0
  /// Entries of the run's records, in the order of the trees.
  private let entries = ContributionList()
  /// For each entry, the first rank of its record.
  @safe @exclusivity(unchecked) private var owners: [UInt32] = []
  /// The entries, record by record; nil before they have been looked for.
  @safe @exclusivity(unchecked) private var order: [Int]?
  /// Entries that walks have passed in this transaction or replay. Not by run: any operation on a zone ends a run, and costs a
  /// forger a few bytes.
  @safe @exclusivity(unchecked) private(set) var visitedCount: UInt64 = 0

  private static let mostWalks = 8
  /// How many entries may be passed for each byte of the file, and how many besides. In a forged file many zones may share one
  /// large tree. In an honest one each entry has its own 11 bytes on a page at least (a slot, a length, a letter), so nine walks
  /// in a run pass fewer entries than the file has bytes; and the log after a checkpoint, 512 MB at most, is eight runs. Only
  /// operations on zones make runs shorter: dozens of them, with nine lost bodies between any two of them, could reach the limit.
  private static let countForByte: UInt64 = 8
  private static let freeCount: UInt64 = 1 << 22

  /// A run's operations of one zone are being applied.
  func begin(_ ranks: Range<Int>) {
    self.ranks = ranks
    walkCount = 0
    if order == nil { return }
    order = nil
    owners = []
    entries.removeAll()
  }

  /// A replay or a transaction begins.
  func reset() {
    if ranks.isEmpty, visitedCount == 0 { return }
    begin(0..<0)
    visitedCount = 0
  }

  /// Adds the entries of one record to a list. Returns where they are.
  /// - Parameter name: its key by name; the entries have the name itself.
  func collect(
    _ name: ByteView, of run: ReplayRun, _ zone: ZoneTrees, _ changes: StoreTransaction, to list: ContributionList
  ) throws(LogFault) -> Range<Int> {
    let first = list.count
    if let rank = firstRank(of: name, run), !isMutant("search-each-lost-body") {
      walkCount += 1
      if walkCount > FormerSearch.mostWalks {
        if order == nil { order = try makeOrder(run, zone, changes) }
        let order = order ?? []
        var index = order.partitioningIndex { owners[$0] >= rank }
        while index < order.count, owners[order[index]] == rank {
          let entry = order[index]
          add(entries.key(entry), entries.value(entry), of: entries.tree(entry), to: list)
          index += 1
        }
        return first..<list.count
      }
    }
    try walk(zone, changes) { tree, key, value in
      if tree.withRecord(of: key, { UTF8Order.equal($0, name) }) == true { add(key, value, of: tree, to: list) }
    }
    return first..<list.count
  }

  private func add(_ key: ByteView, _ value: ByteView, of tree: ZoneTree, to list: ContributionList) {
    _ = list.begin(tree)
    list.bytes.append(key)
    list.bytes.append(value)
    list.add(valueByteCount: value.count)
  }

  /// Finds the entries of all records of the run.
  private func makeOrder(_ run: ReplayRun, _ zone: ZoneTrees, _ changes: StoreTransaction) throws(LogFault) -> [Int] {
    try walk(zone, changes) { tree, key, value in
      guard let rank = tree.withRecord(of: key, { firstRank(of: $0, run) }) ?? nil else { return }
      add(key, value, of: tree, to: entries)
      owners.append(rank)
    }
    // Entries of one record keep the order of the trees.
    return owners.indices.sorted { (owners[$0], $0) < (owners[$1], $1) }
  }

  private func walk(
    _ zone: ZoneTrees, _ changes: StoreTransaction, _ body: (ZoneTree, _ key: ByteView, _ value: ByteView) -> Void
  ) throws(LogFault) {
    let key = ByteBuffer(capacity: 512)
    do throws(PageFault) {
      for tree in zone.trees where tree.basis == .entries {
        var cursor = changes.reader.cursor(in: zone[tree])
        while try cursor.next() {
          visitedCount += 1
          let limit = changes.logEnd.multipliedReportingOverflow(by: FormerSearch.countForByte)
          guard
            limit.overflow || visitedCount <= limit.partialValue &+ FormerSearch.freeCount || isMutant("walk-shared-trees")
          else {
            throw changes.reader.fault(in: zone[tree])
          }
          cursor.key(into: key)
          if cursor.value.count <= ContributionList.maximumValueByteCount { body(tree, key.view, cursor.value) }
        }
      }
    } catch { throw .page(error) }
  }

  /// The first rank of a record in the run's zone; nil when the run has none of its operations.
  private func firstRank(of name: ByteView, _ run: ReplayRun) -> UInt32? {
    let rank = ranks.partitioningIndex { compareKeys(run.key(run.position(atRank: $0)), name) >= 0 }
    guard rank < ranks.upperBound, compareKeys(run.key(run.position(atRank: rank)), name) == 0 else { return nil }
    return UInt32(rank)
  }
}

extension RandomAccessCollection where Index == Int {
  /// The first index whose element is at or behind a border; the elements before it come first.
  fileprivate func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
    var (lower, upper) = (startIndex, endIndex)
    while lower < upper {
      let middle = lower + (upper - lower) / 2
      if isBehind(self[middle]) { upper = middle } else { lower = middle + 1 }
    }
    return lower
  }
}
