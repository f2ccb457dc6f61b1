import DaybookEngine

/// Which entries of indexes a compaction copies from the version that it writes, zone by zone.
///
/// They lead to names, which stay, and their order is that of the new tree. Made of the records again and sorted, they took five times as
/// long (row: query-compact). Those of a tree that is damaged are made of the records: a compaction needs no tree but the one by name.
struct EntryCopy {
  private let pin: Store.Pin
  /// Entries that may still be read. In a forged file many zones may share one large tree.
  private var remaining: UInt64

  init(of pin: Store.Pin) {
    self.pin = pin
    remaining = RecordApplier.entryLimit(logEnd: pin.end)
  }

  /// Whether the entries of a zone can be read to the last.
  mutating func isSound(_ root: TreeRoot) -> Bool {
    guard root.count <= remaining else { return false }
    remaining -= root.count
    var cursor = pin.reader.cursor(in: root)
    var count: UInt64 = 0
    do throws(PageFault) {
      while count <= root.count, try cursor.next() { count += 1 }
    } catch { return false }
    return count == root.count
  }

  /// A walk over them; nil when there are none.
  func cursor(in root: TreeRoot) -> Cursor? {
    if root.count == 0 { return nil }
    var cursor = pin.reader.cursor(in: root)
    cursor.readInCheckedCopies()
    return cursor
  }
}
