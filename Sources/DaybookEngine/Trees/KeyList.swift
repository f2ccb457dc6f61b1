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
      bytes.append(kept)
      bytes.append(suffix.dropFirst(min(dropCount &- start, suffix.count)))
      end()
    }
  }

  @inline(__always)
  private func end() {
    precondition(bytes.count <= Int(UInt32.max), "a list of keys has less than 4 GB")
    ends.append(uint32: UInt32(truncatingIfNeeded: bytes.count))
    count &+= 1
  }
}
