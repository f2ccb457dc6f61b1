/// Copies of pages for users that need them for more than a few calls: cursors and recursive walks.
///
/// Only for files that are not mapped: their pages stay valid for a few calls only (`ThreadScratch`). Belongs to one cursor or
/// one walk and holds one page a level, about five for a million records.
@safe final class PageCopies: @unchecked Sendable {
  private var pages = unsafe [UnsafeMutableRawPointer]()

  deinit { while let page = unsafe pages.popLast() { unsafe page.deallocate() } }

  /// Copies a page to a number, replacing what was there.
  func keep(_ page: Page, as number: Int) -> Page {
    while unsafe pages.count <= number {
      unsafe pages.append(.allocate(byteCount: Page.byteCount, alignment: 64))
    }
    let copy = unsafe Page(pages[number])
    // Safe: both are whole pages. A page that is already kept is not copied.
    if unsafe copy.base != page.base { unsafe copy.base.copyMemory(from: page.base, byteCount: Page.byteCount) }
    return copy
  }
}
