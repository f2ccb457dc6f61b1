import DaybookEngine

/// The names of records that the ranges of an index have in a zone, as keys by name, to be compared with those of another index.
///
/// Entries of one word are in the order of names, so two words have a record in common where two ascending lists meet: that costs a
/// few nanoseconds an entry, and reading a record to see whether it has the second word a microsecond. Names that come in another
/// order are put into it first.
struct CandidateNames {
  private let keys = KeyList()
  /// Which of the keys, in the order of names; nil for all, as they are.
  private var order: [Int]?
  /// They are the entries of one word or value, whose names ascend.
  private var isOfOneValue = false

  init() {}

  func append(_ name: ByteView) { keys.append(name) }

  func removeAll() { keys.removeAll() }

  /// Those that have an entry in the ranges; nil where there are more than `limit`.
  init?(
    in ranges: [IndexRange], _ root: TreeRoot, _ view: ReadView, limit: Int = .max - CandidateNames.walkedCount,
    _ stop: QueryStop?
  ) throws(DatabaseError) {
    if root.count == 0 { return }
    var cursor = view.reader.cursor(in: root)
    // Of a range of one value the names are gathered without what is in front of them (row: query-tokens).
    var raw: KeyList?
    for range in ranges {
      let nameOffset = range.nameOffset
      if nameOffset == nil, raw == nil { raw = KeyList() }
      var isAtEnd = false
      do throws(PageFault) {
        isAtEnd = try !range.lower.withView { (lower) throws(PageFault) in try cursor.seek(onTo: lower) }
      } catch { throw view.failure(error) }
      while !isAtEnd {
        if keys.count > limit { return nil }
        // A long walk is to stop when its task is cancelled.
        let room = min(CandidateNames.walkedCount, limit - keys.count + 1)
        do throws(PageFault) {
          isAtEnd = try gather(range, nameOffset, &cursor, limit: room, raw)
        } catch { throw view.failure(error) }
        if let raw, !CandidateNames.appendNames(of: raw, to: keys) { throw view.failure(view.reader.fault(in: root)) }
        if !isAtEnd { try view.checkStop(stop) }
      }
    }
    if keys.count > limit { return nil }
    isOfOneValue = ranges.count == 1 && ranges[0].nameOffset != nil
  }

  private func gather(
    _ range: IndexRange, _ nameOffset: Int?, _ cursor: inout Cursor, limit: Int, _ raw: KeyList?
  ) throws(PageFault) -> Bool {
    try range.upper.withView { (upper) throws(PageFault) in
      if nameOffset == nil, let raw { return try cursor.gather(below: upper, limit: limit, into: raw) }
      return try cursor.gather(below: upper, limit: limit, dropping: nameOffset ?? 0, into: keys)
    }
  }

  /// Moves the names out of whole keys; false where one is no key of an index.
  private static func appendNames(of raw: KeyList, to keys: KeyList) -> Bool {
    if raw.count == 0 { return true }
    for index in 0..<raw.count {
      guard let name = IndexKey.nameKey(in: raw[index]) else { return false }
      keys.append(name)
    }
    raw.removeAll()
    return true
  }

  static let walkedCount = 256

  var count: Int { order?.count ?? keys.count }

  /// Valid as long as the names are.
  @inline(__always)
  func name(_ index: Int) -> ByteView { keys[order.map { $0[index] } ?? index] }

  /// Looks for some of them in a tree by name.
  func find(
    _ range: Range<Int>, in root: TreeRoot, _ reader: TreeReader, _ group: inout LookupGroup
  ) throws(PageFault) { try group.find(keys, order, range, in: root, reader) }

  /// Puts the names into their order, each once.
  mutating func arrange() {
    if isOfOneValue || order != nil || keys.isAscending { return }
    var kept: [Int] = []
    for index in (0..<keys.count).sorted(by: { compareKeys(keys[$0], keys[$1]) < 0 }) {
      if let last = kept.last, compareKeys(keys[last], keys[index]) == 0 { continue }
      kept.append(index)
    }
    order = kept
  }

  /// Drops the names that are not among others. Both are in their order.
  mutating func keep(in others: CandidateNames) { order = keys.places(order, in: others.keys, others.order) }
}

extension IndexRange {
  /// Where names begin in the keys of a range of one value, or of one word; nil where each key has to tell.
  var nameOffset: Int? {
    guard lower.count > IndexKey.numberByteCount, upper.count == lower.count + 1, upper.last == IndexKey.afterNames,
      upper.starts(with: lower)
    else { return nil }
    return lower.count
  }
}
