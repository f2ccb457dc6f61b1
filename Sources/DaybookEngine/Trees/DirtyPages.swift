/// Memory for pages that are not in the file yet, and for deltas of leaves that are in the file.
///
/// A dirty page is raw memory, not an object: reference counting would cost more than the read itself. A header of 64 bytes
/// precedes each page or delta:
///
///     offset  size  field
///          0     8  birth: the version that first holds the page
///          8     8  mark: the edit that made it; a later edit copies the page instead of changing it
///         16     8  file offset, once a checkpoint has written it; zero before
///         24     8  1 when some version has replaced it, else 0
///         32     8  where the edit that made it has it in its list
///
/// They come from slabs of a megabyte, each for one size; freed ones go to a list for their size. A reference is the address
/// with `PageSource.memoryTag`; for a delta, the low bits hold its size class. Only the holder of the turn allocates and frees.
///
/// In tests, freed memory is *poisoned*: filled with a pattern and kept aside until a few hundred others have been freed. A
/// stale address then leads to nothing that looks like a page, and a write there, or a second free, is detected. Otherwise this
/// costs one test of a flag for each page that is freed.
@safe final class DirtyPages {
  static let headerByteCount = 64
  /// The pattern of poisoned memory.
  static let poison: UInt8 = 0xDB
  private static let stride = headerByteCount + Page.byteCount
  /// The memory that one page takes.
  static var byteCountPerPage: Int { stride }
  private static let pagesPerSlab = 252

  /// From this much free memory of one size on, its empty slabs are taken for other sizes.
  private static let recycledByteCount = 16 << 20

  @safe @exclusivity(unchecked) private var slabs = PageSlabs()
  /// How many slabs to take from the system before looking for empty ones again.
  @safe @exclusivity(unchecked) private var recyclingPause = 0
  @safe @exclusivity(unchecked) private var free: [UInt64] = []
  @safe @exclusivity(unchecked) private var freeDeltas = [[UInt64]](repeating: [], count: LeafDelta.classCount + 1)
  @safe @exclusivity(unchecked) private(set) var usedByteCount = 0
  /// Pages and deltas.
  @safe @exclusivity(unchecked) private(set) var usedPageCount = 0

  private let poisons: Bool
  /// Poisoned memory, the oldest first from `poisonedStart`.
  @safe @exclusivity(unchecked) private var poisoned: [UInt64] = []
  @safe @exclusivity(unchecked) private var poisonedStart = 0
  private static let poisonedCount = 256

  init(poisons: Bool) { self.poisons = poisons }

  /// All memory taken from the system, in use or not.
  var reservedByteCount: Int { slabs.reservedByteCount }

  deinit { releaseAll() }

  /// Allocates a page of uninitialised memory and returns its tagged reference. Throws when the system has no more memory.
  func allocate(birth: UInt64, mark: UInt64) throws(DiskFailure) -> UInt64 {
    if free.isEmpty { try addSlab() }
    let reference = free.removeLast()
    usedByteCount += DirtyPages.stride
    begin(reference, birth: birth, mark: mark)
    return reference
  }

  /// Allocates uninitialised memory for a delta.
  func allocateDelta(classNumber: Int, birth: UInt64, mark: UInt64) throws(DiskFailure) -> UInt64 {
    if freeDeltas[classNumber].isEmpty { try addSlab(classNumber: classNumber) }
    let reference = freeDeltas[classNumber].removeLast()
    usedByteCount += LeafDelta.stride(ofClass: classNumber)
    begin(reference, birth: birth, mark: mark)
    return reference
  }

  /// The memory of a page or delta; zero for a page of the file.
  static func byteCount(of reference: UInt64) -> Int {
    if reference & PageSource.memoryTag == 0 { return 0 }
    let number = Int(reference & LeafDelta.classMask)
    return number == 0 ? stride : LeafDelta.stride(ofClass: number)
  }

  private func begin(_ reference: UInt64, birth: UInt64, mark: UInt64) {
    usedPageCount += 1
    let meta = DirtyPage(reference)
    meta.birth = birth
    meta.mark = mark
    meta.fileOffset = 0
    meta.isRetired = false
  }

  /// Releases all memory; no page may be used any more.
  func releaseAll() {
    endPoison(leaving: 0)
    slabs.releaseAll()
    free = []
    freeDeltas = [[UInt64]](repeating: [], count: LeafDelta.classCount + 1)
    usedByteCount = 0
    usedPageCount = 0
  }

  func deallocate(_ reference: UInt64) {
    usedPageCount -= 1
    usedByteCount -= DirtyPages.byteCount(of: reference)
    if poisons { poison(reference) } else { makeFree(reference) }
  }

  private func makeFree(_ reference: UInt64) {
    let number = Int(reference & LeafDelta.classMask)
    if number == 0 { free.append(reference) } else { freeDeltas[number].append(reference) }
  }

  private func poison(_ reference: UInt64) {
    let page = DirtyPage(reference)
    precondition(page.birth != DirtyPage.poisonedBirth, "a page is freed once")
    page.poison(byteCount: DirtyPages.byteCount(of: reference))
    poisoned.append(reference)
    endPoison(leaving: DirtyPages.poisonedCount)
  }

  /// Makes the oldest poisoned memory available again.
  private func endPoison(leaving count: Int) {
    while poisoned.count - poisonedStart > count {
      let reference = poisoned[poisonedStart]
      poisonedStart += 1
      precondition(
        DirtyPage(reference).isPoisoned(byteCount: DirtyPages.byteCount(of: reference)),
        "nobody writes to a page that was freed")
      makeFree(reference)
    }
    if poisonedStart > DirtyPages.poisonedCount {
      poisoned.removeSubrange(..<poisonedStart)
      poisonedStart = 0
    }
  }

  private func makeSlab() throws(DiskFailure) -> UnsafeMutableRawPointer {
    if recyclingPause > 0 {
      recyclingPause -= 1
    } else if !slabs.hasEmpty {
      recycle(atLeast: DirtyPages.recycledByteCount)
      if !slabs.hasEmpty { recyclingPause = 16 }
    }
    guard let slab = unsafe slabs.take() else {
      throw DiskFailure(.map, path: "memory", code: ErrorNumber.noMemory, byteCount: PageSlabs.byteCount)
    }
    return unsafe slab
  }

  /// Takes empty slabs away from sizes with much free memory: a load needs pages, and updates after it need deltas.
  private func recycle(atLeast byteCount: Int) {
    if free.count * DirtyPages.stride >= byteCount {
      slabs.collectEmpty(from: &free, countPerSlab: DirtyPages.pagesPerSlab)
    }
    for number in 1...LeafDelta.classCount {
      let stride = LeafDelta.stride(ofClass: number)
      if freeDeltas[number].count * stride >= byteCount {
        slabs.collectEmpty(from: &freeDeltas[number], countPerSlab: PageSlabs.byteCount / stride)
      }
    }
  }

  /// Detaches unused memory if there is more than `byteCount` of it; the caller returns it with `PageSlabs.release` when it
  /// holds no lock. A load may have needed three times the memory of the work after it, and a compaction needs memory of its
  /// own.
  func detachUnused(moreThan byteCount: Int) -> [UInt] {
    guard reservedByteCount - usedByteCount > byteCount else { return [] }
    endPoison(leaving: 0)
    recycle(atLeast: PageSlabs.byteCount)
    return slabs.detachEmptyBlocks()
  }

  private func addSlab() throws(DiskFailure) {
    let slab = unsafe try makeSlab()
    for index in (0..<DirtyPages.pagesPerSlab).reversed() {
      // Safe: the page lies within the slab.
      let page = unsafe slab + (index * DirtyPages.stride + DirtyPages.headerByteCount)
      free.append(UInt64(UInt(bitPattern: page)) | PageSource.memoryTag)
    }
  }

  private func addSlab(classNumber: Int) throws(DiskFailure) {
    let slab = unsafe try makeSlab()
    let stride = LeafDelta.stride(ofClass: classNumber)
    for index in (0..<PageSlabs.byteCount / stride).reversed() {
      // Safe: the delta lies within the slab; strides are multiples of 64, so the low bits are free.
      let delta = unsafe slab + (index * stride + DirtyPages.headerByteCount)
      freeDeltas[classNumber].append(UInt64(UInt(bitPattern: delta)) | PageSource.memoryTag | UInt64(classNumber))
    }
  }
}
