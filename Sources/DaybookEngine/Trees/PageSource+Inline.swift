extension PageSource {
  /// The page behind a root, which may be inside a cell of the catalog. A child of a page never is: a number in a corrupt page
  /// must not be taken for an address.
  @inline(__always)
  func rootPage(_ reference: UInt64, end: UInt64) throws(PageFault) -> Page {
    if InlineTree.isInline(reference) { return try inlinePage(reference, end) }
    return try page(reference, end: end)
  }

  /// The leaf of a small tree, in memory of the present thread.
  @inline(never)
  private func inlinePage(_ reference: UInt64, _ end: UInt64) throws(PageFault) -> Page {
    let byteCount = InlineTree.byteCount(reference)
    let place = reference & (1 << 48 - 1)
    let image: ByteView
    if reference & InlineTree.addressTag != 0 {
      // Safe: such references are only made from values in pages (`CatalogValue`), and stay within their value.
      image = unsafe ByteView(UnsafeRawPointer(bitPattern: UInt(place))!, count: byteCount)
    } else {
      let offset = place & ~UInt64(Page.byteCount - 1)
      let start = Int(place & UInt64(Page.byteCount - 1))
      guard offset != 0, start + byteCount <= Page.byteCount else { throw PageFault(offset: offset, reason: .cell) }
      let catalog = try page(offset, end: end)
      // Safe: the line above.
      image = unsafe ByteView(UnsafeRawPointer(catalog.base) + start, count: byteCount)
    }
    let page = unsafe Page(ThreadScratch.current.nextPage())
    guard InlineTree.expand(image, into: page) else { throw fault(reference, .cell) }
    return page
  }
}
