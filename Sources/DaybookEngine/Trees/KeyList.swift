/// Keys that a cursor gathered (`Cursor.gather`), one after the other, to be looked at when the walk is over.
///
///     bytes  ┌──────┬────────┬──────┐        ends  ┌────┬────┬────┐
///            │ key  │ key    │ key  │              │ 6  │ 14 │ 20 │   u32 each
///            └──────┴────────┴──────┘              └────┴────┴────┘
///
/// A walk that hands out key after key pays for the way into each caller and back; this one copies a leaf's keys in one loop.
/// It belongs to one thread.
@safe package final class KeyList {
  private let bytes: ByteBuffer
  private let ends = ByteBuffer(capacity: 256)
  // Like those of `ByteBuffer`: only its own thread comes here.
  @safe @exclusivity(unchecked) package private(set) var count = 0

  package init(capacity byteCount: Int = 2048) { bytes = ByteBuffer(capacity: byteCount) }

  /// Valid until another key is appended.
  package subscript(index: Int) -> ByteView {
    precondition(index >= 0 && index < count, "a list was read outside its keys")
    let ends = ends.view
    let start = index == 0 ? 0 : Int(ends.uint32(at: 4 &* index &- 4))
    return bytes.view.slice(start..<Int(ends.uint32(at: 4 &* index)))
  }

  package func append(_ key: ByteView) {
    bytes.append(key)
    end()
  }

  package func removeAll() {
    bytes.truncate(to: 0)
    ends.truncate(to: 0)
    count = 0
  }

  /// Appends the keys of some cells of a leaf, each without its first bytes.
  func append(_ cells: Range<Int>, of leaf: Page, dropping dropCount: Int) {
    let prefix = leaf.prefix
    let start = min(dropCount, prefix.count)
    let kept = prefix.dropFirst(start)
    for index in cells {
      let suffix = leaf.suffix(index)
      if kept.count > 0 { bytes.append(kept) }
      append(suffix.dropFirst(min(dropCount &- start, suffix.count)), below: leaf)
      end()
    }
  }

  /// Appends bytes of a page, short ones word by word: a call for each key would cost more than its bytes (row: query-tokens).
  @inline(__always)
  private func append(_ suffix: ByteView, below page: Page) {
    let end = unsafe UnsafeRawPointer(page.base) + Page.byteCount
    bytes.reserve(suffix.count &+ 8)
    let (target, _, count) = unsafe bytes.extent
    if suffix.count <= 64, unsafe suffix.base + ((suffix.count &+ 7) & ~7) <= end {
      var offset = 0
      while offset < suffix.count {
        // Safe: whole words of the suffix end within the page, and those that are written within what was reserved.
        unsafe (target + (count &+ offset)).storeBytes(
          of: suffix.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self), as: UInt64.self)
        offset &+= 8
      }
    } else {
      // Safe: reserved.
      unsafe (target + count).copyMemory(from: suffix.base, byteCount: suffix.count)
    }
    bytes.setCount(count &+ suffix.count)
  }

  @inline(__always)
  private func end() {
    precondition(bytes.count <= Int(UInt32.max), "a list of keys has less than 4 GB")
    ends.append(uint32: UInt32(truncatingIfNeeded: bytes.count))
    count &+= 1
  }
}

extension KeyList {
  /// Whether each key is above the one in front of it.
  package var isAscending: Bool {
    if count < 2 { return true }
    for index in 1..<count where compareKeys(self[index &- 1], self[index]) >= 0 { return false }
    return true
  }

  /// The places of the keys that another list has as well.
  /// - Parameters:
  ///   - own: the places of keys that ascend; nil for all, which then do.
  ///   - others: the same, of the other list.
  package func places(_ own: [Int]?, in other: KeyList, _ others: [Int]?) -> [Int] {
    var common: [Int] = []
    var (index, otherIndex) = (0, 0)
    let (count, otherCount) = (own?.count ?? count, others?.count ?? other.count)
    while index < count, otherIndex < otherCount {
      let place = own?[index] ?? index
      let order = compareKeys(self[place], other[others?[otherIndex] ?? otherIndex])
      if order == 0 { common.append(place) }
      // Without a branch: which of the two lists lags, nothing foretells.
      index &+= order <= 0 ? 1 : 0
      otherIndex &+= order >= 0 ? 1 : 0
    }
    return common
  }
}
