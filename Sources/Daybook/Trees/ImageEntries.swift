import DaybookEngine

/// Entries of indexes that the records of an image contribute: gathered, and put in the order of their keys, a run at a time.
///
/// Records come in the order of their names, so each entry would change a leaf anywhere in the tree: one by one they took most of
/// the time of a compaction. A run ends with the zone, or when it has taken its memory; the next one then touches the leaves of
/// the ones before again.
///
/// Always true: nothing is added to a run that has been sorted, before all of it is in the tree.
final class ImageEntries {
  private let run = ReplayRun()
  /// The next rank of the sorted run that is to be put; nil while it is gathered.
  @safe @exclusivity(unchecked) private var next: Int?

  var isEmpty: Bool { run.count == 0 }

  /// The run has as much memory as it may take: a quarter of what pages may take, at most 256 MB.
  func isFull(_ changes: StoreTransaction) -> Bool {
    run.byteCount >= (TestSetting.keepsLittle ? 16 << 10 : min(256 << 20, changes.pageByteLimit / 4))
  }

  func append(_ key: ByteView, _ value: ByteView) {
    precondition(next == nil, "a run is put when it is over")
    run.append(kind: GatheredRecords.coming, key: key, rest: value, place: .none, sequence: 0, ordinal: 0)
  }

  /// Puts up to so many into the tree; true when some are left.
  func put(in root: inout TreeRoot, atMost count: Int, _ changes: StoreTransaction) throws(LogFault) -> Bool {
    if isEmpty { return false }
    if next == nil { run.sort() }
    let ranks = run.ranks()
    var rank = next ?? ranks.lowerBound
    let end = count < ranks.upperBound - rank ? rank + count : ranks.upperBound
    while rank < end {
      let position = run.position(atRank: rank)
      // Loads the keys that follow, too.
      rank = run.endOfKey(atRank: rank, in: ranks)
      try changes.put(run.key(position), run.rest(position), in: &root)
    }
    if rank < ranks.upperBound {
      next = rank
      return true
    }
    next = nil
    run.removeAll(keepingCapacity: true)
    return false
  }

  /// Gives the memory back, and with it what was not put.
  func reset() {
    next = nil
    run.removeAll()
  }
}
