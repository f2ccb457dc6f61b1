/// Memory of a thread for what it reads with `pread` or builds from parts: pages in one ring, operations in another.
///
///     pages       ┌────┬────┬────┬╌╌╌╌┬────┐   a page stays as it is until its thread has asked for `pageCount` more
///     operations  ┌────┬────┬────┬────┐        an operation, until its thread has asked for `operationCount` more
///
/// A cache that hands out its own blocks must know who still uses them. A copy in the reader's own memory costs less than that:
/// it needs no count for each page and no grace period, and a long walk holds nothing back. Whoever needs a page for more than
/// a few calls (a cursor, a recursive walk) copies it into `PageCopies`.
///
/// Always true: only its own thread sees it; it is freed when the thread ends.
@safe final class ThreadScratch {
  static let pageByteCount = 4096
  /// At most four pages are in use at once: two of a descent and two of a merge. The suite runs with four.
  static let pageCount = TestSetting.keepsLittle ? 4 : 16
  static let operationCount = 4
  /// What most operations fit into: no buffer, so that reading one counts no reference.
  static let shortOperationByteCount = 2048

  private let pages: UnsafeMutableRawPointer
  private let shortOperations: UnsafeMutableRawPointer
  // Without the run-time check of exclusive access: only the own thread comes here (row: record-changes-since-1000).
  @safe @exclusivity(unchecked) private var nextPageIndex = 0
  @safe @exclusivity(unchecked) private var operations: [ByteBuffer] = []
  @safe @exclusivity(unchecked) private var nextOperationIndex = 0
  /// Holds a few blocks that are read together.
  let blocks = ByteBuffer(capacity: 16 << 10)

  private init() {
    unsafe shortOperations = .allocate(
      byteCount: ThreadScratch.operationCount * ThreadScratch.shortOperationByteCount, alignment: 64)
    unsafe pages = .allocate(byteCount: (ThreadScratch.pageCount + 1) * ThreadScratch.pageByteCount, alignment: 64)
    for _ in 0..<ThreadScratch.operationCount { operations.append(ByteBuffer(capacity: 1024)) }
  }

  deinit {
    unsafe pages.deallocate()
    unsafe shortOperations.deallocate()
  }

  /// Room for one page. Its former content is no longer in use.
  func nextPage() -> UnsafeMutableRawPointer {
    // Safe: the index stays below the number of pages that there is room for.
    let page = unsafe pages + nextPageIndex * ThreadScratch.pageByteCount
    nextPageIndex = nextPageIndex + 1 == ThreadScratch.pageCount ? 0 : nextPageIndex + 1
    // A page that was kept too long must not look valid.
    if TestSetting.keepsLittle { unsafe RawMemory.fill(page, byteCount: ThreadScratch.pageByteCount, with: 0xA5) }
    return unsafe page
  }

  /// A page to work in while another is built; never returned to a reader.
  var workPage: UnsafeMutableRawPointer {
    // Safe: there is room for one page more than the ring has.
    unsafe pages + ThreadScratch.pageCount * ThreadScratch.pageByteCount
  }

  /// An empty buffer for one operation. The thread does not keep a very long one.
  func nextOperation() -> ByteBuffer {
    let buffer = operations[nextOperationIndex]
    nextOperationIndex = (nextOperationIndex + 1) % ThreadScratch.operationCount
    buffer.removeAll(keeping: 64 << 10)
    return buffer
  }

  /// Room for one short operation. Its former content is no longer in use.
  @inline(__always)
  private func nextShortOperation() -> UnsafeMutableRawPointer {
    let index = nextOperationIndex
    nextOperationIndex = (index &+ 1) % ThreadScratch.operationCount
    // Safe: the index stays below the number that there is room for.
    return unsafe shortOperations + index &* ThreadScratch.shortOperationByteCount
  }

  // MARK: one for each thread

  private static let key = ThreadKey<ThreadScratch>()

  static var current: ThreadScratch { key.object ?? make() }

  /// Room for one short operation of the present thread.
  @inline(__always)
  static func nextShortOperation() -> UnsafeMutableRawPointer {
    let known = unsafe key.withObject { unsafe $0.nextShortOperation() }
    return unsafe known ?? make().nextShortOperation()
  }

  private static func make() -> ThreadScratch {
    let scratch = ThreadScratch()
    key.set(scratch)
    return scratch
  }
}
