import Synchronization

/// Where pages come from: a reference is a file offset, or the tagged address of a page or a delta that is only in memory.
///
/// A page of the file is checked at its first use in this process (checksum, layout, order); one bit per 4096 bytes of file
/// remembers that. After that, a reference costs a bit test. No reference is followed beyond the verified end of the reader's
/// version, because a touch past the end of a mapped file kills the process. A leaf with a delta (`LeafDelta`) is merged in
/// memory of the thread; single lookups search leaf and delta instead.
///
/// What is not mapped is read through a `BufferedFile`, and has no bits: the whole file, or all from `inPlaceEnd` on once
/// the file has outgrown the address space that it got. `pageElsewhere` returns such a page as a copy in memory of the thread,
/// valid only until the thread has asked for a few more (`ThreadScratch`). A page is checked when it enters the cache.
///
///     0                     inPlaceEnd
///     │ mapped, has bits    │ through the cache, once `isBuffered` is set
///
/// Always true: `base` never moves; a set bit means that the page at that offset passed its check; `isBuffered` is set before
/// any version reaches past `inPlaceEnd`, and never cleared.
@safe package final class PageSource: @unchecked Sendable {
  static let memoryTag: UInt64 = 1 << 63

  let base: UnsafeRawPointer
  let salt: UInt64
  /// Whether pages may come as copies. A reader that began before keeps what it has: its version lies where pages stay in place.
  @inline(__always) var isBuffered: Bool { readsThroughCache.load(ordering: .acquiring) }
  private let readsThroughCache: Atomic<Bool>
  /// Written once, before `readsThroughCache`.
  @safe @exclusivity(unchecked) private var throughCache: BufferedFile?
  /// Nil while all of the file is mapped.
  var buffered: BufferedFile? { isBuffered ? throughCache : nil }
  /// How far the file can be mapped.
  let inPlaceEnd: Int
  /// For what cannot be mapped.
  private let cache: BlockCache.Shared
  private let verified: UnsafeMutablePointer<Atomic<UInt64>>
  private let verifiedByteCount: Int
  /// One more than the number of the last page that `verified` has a bit for.
  private let pageLimit: UInt64
  /// The first page that failed its check; a note tells the next open for writing.
  package let firstFault = Mutex<PageFault?>(nil)

  package init(
    base: UnsafeRawPointer, salt: UInt64, maximumByteCount: Int = 1 << 40,
    cache: BlockCache.Shared = BlockCache.Shared(byteCount: BlockCache.minimumByteCount)
  ) throws(DiskFailure) {
    unsafe self.base = base
    self.salt = salt
    self.cache = cache
    readsThroughCache = Atomic(false)
    var byteCount = max(maximumByteCount / Page.byteCount / 8, 4096)
    var memory = unsafe RawMemory.reserveZeroed(byteCount: byteCount)
    while unsafe memory == nil && byteCount > 4096 {
      byteCount /= 2
      unsafe memory = RawMemory.reserveZeroed(byteCount: byteCount)
    }
    guard let memory = unsafe memory else {
      throw DiskFailure(.map, path: "memory", kind: .other, code: 12, byteCount: byteCount)
    }
    // Safe: fresh zeroed memory of that size; zero is a valid atomic.
    unsafe verified = memory.bindMemory(to: Atomic<UInt64>.self, capacity: byteCount / 8)
    verifiedByteCount = byteCount
    let pageCount = min(byteCount * 8, maximumByteCount / Page.byteCount)
    pageLimit = UInt64(pageCount)
    inPlaceEnd = pageCount * Page.byteCount
  }

  /// Pages of a file that is not mapped.
  init(reading file: any DiskFile, salt: UInt64, cache: BlockCache.Shared) throws(DiskFailure) {
    readsThroughCache = Atomic(true)
    throughCache = BufferedFile(file, cache: try cache.cache())
    self.salt = salt
    self.cache = cache
    verifiedByteCount = 4096
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: verifiedByteCount) else {
      throw DiskFailure(.map, path: "memory", code: ErrorNumber.noMemory, byteCount: verifiedByteCount)
    }
    // Safe: zeroed memory; nobody reads it, because no page has a bit.
    unsafe verified = memory.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    unsafe base = UnsafeRawPointer(memory)
    pageLimit = 0
    inPlaceEnd = 0
  }

  /// Called before any version reaches up to `end`, by one thread at a time: what cannot be mapped will be read through a cache.
  func admit(_ end: Int, of file: any DiskFile) throws(DiskFailure) {
    if end <= inPlaceEnd || isBuffered { return }
    // All that has a bit must be readable in place.
    if inPlaceEnd > 0 { try file.map(upTo: inPlaceEnd) }
    throughCache = BufferedFile(file, cache: try cache.cache())
    readsThroughCache.store(true, ordering: .releasing)
  }

  /// Whether a reference leads to a page of the file that stays where it is. Others of the file come as copies.
  func isInPlace(_ reference: UInt64) -> Bool { reference &>> 12 | reference &<< 52 < pageLimit }

  deinit { unsafe RawMemory.release(UnsafeMutableRawPointer(verified), byteCount: verifiedByteCount) }

  /// The page behind a reference.
  /// - Parameter end: the verified end of the reader's version.
  @inline(__always)
  func page(_ reference: UInt64, end: UInt64) throws(PageFault) -> Page {
    if reference & PageSource.memoryTag != 0 {
      if reference & LeafDelta.classMask != 0 { return try mergedPage(reference, end) }
      // Safe: a tagged reference is only ever written by the editor, and its page lives as long as a version that
      // reaches it is pinned.
      return unsafe Page(UnsafeMutableRawPointer(bitPattern: UInt(reference & ~PageSource.memoryTag))!)
    }
    // The page's number. If the reference is not a multiple of 4096, its low bits make the number huge; otherwise a page could
    // pass by the bit of a page that it overlaps.
    let number = reference &>> 12 | reference &<< 52
    guard number < pageLimit, reference &+ UInt64(Page.byteCount) <= end else {
      return try pageElsewhere(reference, end)
    }
    let index = Int(truncatingIfNeeded: number)
    // Safe: `index / 64` is below the bitmap's capacity, because `number` is below `pageLimit`.
    let word = unsafe verified[index &>> 6].load(ordering: .relaxed)
    let page = unsafe Page(base + Int(reference))
    if word & (1 &<< UInt64(index & 63)) == 0 { try check(page, reference, index) }
    return page
  }

  /// Loads what a search in a leaf, and a copy of it, will read. Checks nothing and returns nothing.
  func touch(_ leaf: UInt64, end: UInt64) {
    var reference = leaf
    if LeafDelta.isDelta(reference) {
      let delta = LeafDelta(reference)
      delta.touch()
      reference = delta.leaf
    }
    if reference & PageSource.memoryTag != 0 {
      unsafe Page(UnsafeMutableRawPointer(bitPattern: UInt(reference & ~PageSource.memoryTag))!).touch()
    } else if isInPlace(reference), reference &+ UInt64(Page.byteCount) <= end {
      unsafe Page(base + Int(reference)).touch()
    }
  }

  /// Loads what a search in a leaf reads first: its numbers and the prefix. Checks nothing and returns nothing.
  @inline(__always)
  func touchEnds(_ leaf: UInt64, end: UInt64) {
    if isInPlace(leaf), leaf &+ UInt64(Page.byteCount) <= end { unsafe Page(base + Int(leaf)).touchEnds() }
  }

  /// Whether the page of a reference stays where it is when another one is read.
  @inline(__always)
  func isSteady(_ reference: UInt64) -> Bool {
    isInPlace(reference) || reference & PageSource.memoryTag != 0 && !LeafDelta.isDelta(reference)
  }

  @inline(never)
  private func check(_ page: Page, _ reference: UInt64, _ index: Int) throws(PageFault) {
    if let reason = page.verify(salt: salt, offset: reference) {
      throw remembered(PageFault(offset: reference, reason: reason))
    }
    // Safe: as in `page`.
    unsafe verified[index >> 6].bitwiseOr(1 << UInt64(index & 63), ordering: .relaxed)
  }

  /// A page without a bit: in a file that is not mapped, or beyond the file.
  @inline(never)
  private func pageElsewhere(_ reference: UInt64, _ end: UInt64) throws(PageFault) -> Page {
    guard let buffered, reference & 4095 == 0, reference < end, reference &+ UInt64(Page.byteCount) <= end else {
      throw PageFault(offset: reference, reason: reference & 4095 == 0 ? .beyondEnd : .place)
    }
    let target = unsafe ThreadScratch.current.nextPage()
    let isChecked: Bool
    // Safe: the target has room for a page.
    do { isChecked = unsafe try buffered.readPage(at: Int(reference), to: target) } catch {
      throw PageFault(error, offset: reference)
    }
    let page = unsafe Page(target)
    if isChecked { return page }
    if let reason = page.verify(salt: salt, offset: reference) {
      throw remembered(PageFault(offset: reference, reason: reason))
    }
    unsafe buffered.keepPage(target, at: Int(reference))
    return page
  }

  /// Makes `target` a copy of a page of the file and checks the copy (130 ns): the bytes may have been corrupted since the
  /// first check, and the caller is about to write a new page from them. A page that is not mapped is a copy already.
  func copyPage(_ page: Page, _ reference: UInt64, to target: Page) throws(PageFault) {
    // Safe: both are whole pages.
    unsafe target.base.copyMemory(from: page.base, byteCount: Page.byteCount)
    if !isInPlace(reference) || target.hasValidChecksum(salt: salt, offset: reference) || isMutant("skip-copy-verification") {
      return
    }
    throw remembered(PageFault(offset: reference, reason: .checksum))
  }

  /// Checks a copy of a page that was read in place. Other pages are copies of something that was checked, or were never in the file.
  func checkCopy(_ copy: Page, of reference: UInt64) throws(PageFault) {
    if reference & PageSource.memoryTag != 0 || InlineTree.isInline(reference) || !isInPlace(reference) { return }
    if copy.hasValidChecksum(salt: salt, offset: reference) || isMutant("skip-copy-verification") { return }
    throw remembered(PageFault(offset: reference, reason: .checksum))
  }

  func remembered(_ fault: PageFault) -> PageFault {
    firstFault.withLock { first in if first == nil { first = fault } }
    return fault
  }

  /// Clears all bits, so that a full check reads every page again.
  func clearChecks(below end: UInt64) {
    buffered?.evict()
    let words = min(Int(end / UInt64(Page.byteCount)) / 64 + 1, verifiedByteCount / 8)
    for word in 0..<words { unsafe verified[word].store(0, ordering: .relaxed) }
  }
}
