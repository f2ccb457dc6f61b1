/// Runs of ascending keys in the middle of a tree: in a change journal, the entries of one type. A split after the last key of
/// a run leaves the page full (`TreeEditor+Split.swift`).
extension TreeEditor {
  /// Whether a new key is the last of a run: it has more bytes in common with the key eight places before it than with the one
  /// behind it, which is a key of the page or the separator.
  ///
  /// It takes four more bytes, because fewer are often equal by chance; and eight keys, because small groups of keys that come
  /// in any order would cut pages anywhere.
  func endsRun(_ page: Page, _ index: Int, _ key: ByteView) -> Bool {
    guard index >= 8 else { return false }
    fullKey.truncate(to: 0)
    var shared = 0
    if index < page.cellCount {
      page.appendKey(index, to: fullKey)
      shared = commonPrefixLength(fullKey.view, key)
      fullKey.truncate(to: 0)
    } else {
      shared = commonPrefixLength(upperFence.view, key)
    }
    page.appendKey(index - 8, to: fullKey)
    return commonPrefixLength(fullKey.view, key) >= shared + 4
  }

  /// Whether the new cell and those before it fit into one page.
  func fits(_ page: Page, _ index: Int, _ keyCount: Int, _ valueCount: Int) -> Bool {
    var byteCount = page.prefixLength + Page.slotByteCount + 2 + keyCount - page.prefixLength + valueCount
    for cell in 0..<index { byteCount += page.cellByteCount(cell) }
    return byteCount <= Page.capacity
  }
}
