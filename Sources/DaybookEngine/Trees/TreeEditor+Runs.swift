/// Runs of ascending keys that end within a tree, as the entries of one type in a change journal do: a split behind one leaves
/// the page full, see `TreeEditor+Split.swift`.
extension TreeEditor {
  /// Whether a new key goes on with a run that what comes behind it is no part of: a key of the page, or the separator.
  ///
  /// Four bytes more in common are no chance, and eight keys before it no small group of keys that come in any order: for such
  /// a page would be cut anywhere.
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

  /// Whether the cells before the new one and itself fit into one page.
  func fits(_ page: Page, _ index: Int, _ keyCount: Int, _ valueCount: Int) -> Bool {
    var byteCount = page.prefixLength + Page.slotByteCount + 2 + keyCount - page.prefixLength + valueCount
    for cell in 0..<index { byteCount += page.cellByteCount(cell) }
    return byteCount <= Page.capacity
  }
}
