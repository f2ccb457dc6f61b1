/// Copies of pages for those who keep them longer than a few calls: cursors, and walks that go down by recursion.
///
/// Only for files that are not mapped, whose pages stay with the reader's thread for a few calls only (`ThreadScratch`).
/// Belongs to one cursor or one walk; one page a level, about five for a million records.
@safe final class PageCopies: @unchecked Sendable {
  private var pages = unsafe [UnsafeMutableRawPointer]()

  deinit { while let page = unsafe pages.popLast() { unsafe page.deallocate() } }

  /// A copy of the page under a number; what was there before is gone.
  func keep(_ page: Page, as number: Int) -> Page {
    while unsafe pages.count <= number {
      unsafe pages.append(.allocate(byteCount: Page.byteCount, alignment: 64))
    }
    let copy = unsafe Page(pages[number])
    // Safe: both are whole pages. A page that is kept already stays where it is.
    if unsafe copy.base != page.base { unsafe copy.base.copyMemory(from: page.base, byteCount: Page.byteCount) }
    return copy
  }
}
