/// Memory for pages that are not in the file yet, and for deltas of leaves that are.
///
/// A dirty page is raw memory, not an object: reference counting on the path of a read costs more than the read. In
/// front of each page or delta stand 64 bytes about it:
///
///     offset  size  field
///          0     8  birth: the version that first holds the page
///          8     8  mark: the edit that made it; a later edit copies the page instead of changing it
///         16     8  file offset, once a checkpoint has written it; zero before
///         24     8  1 when some version has replaced it, else 0
///         32     8  where the edit that made it has it in its list
///
/// They come from slabs of a megabyte, each for one size; freed ones go onto a list for their size. A reference is the
/// address with `PageSource.memoryTag`; of a delta it has the number of its size in the low bits. Only the holder of the turn
/// allocates and frees.
@safe final class DirtyPages {
  static let headerByteCount = 64
  private static let stride = headerByteCount + Page.byteCount
  private static let slabByteCount = 1 << 20
  /// What one page takes of memory.
  static var byteCountPerPage: Int { stride }
  private static let pagesPerSlab = 252

  private static let smallSlabCount = 4
  private static let blockByteCount = 8 << 20
  /// Free memory of one size that makes it worth looking whether another size can have it.
  private static let recycledByteCount = 16 << 20

  private var slabs = unsafe [UnsafeMutableRawPointer]()
  /// Of which later slabs are cut.
  private var blocks = unsafe [UnsafeMutableRawPointer]()
  private var emptySlabs = unsafe [UnsafeMutableRawPointer]()
  /// How many slabs to take from the system before looking for empty ones again.
  @safe @exclusivity(unchecked) private var recyclingPause = 0
  @safe @exclusivity(unchecked) private var free: [UInt64] = []
  @safe @exclusivity(unchecked) private var freeDeltas = [[UInt64]](repeating: [], count: LeafDelta.classCount + 1)
  @safe @exclusivity(unchecked) private(set) var usedByteCount = 0
  /// Pages and deltas.
  @safe @exclusivity(unchecked) private(set) var usedPageCount = 0

  /// What has been taken from the system, in use or not.
  var reservedByteCount: Int { unsafe slabs.count * DirtyPages.slabByteCount }

  deinit { releaseAll() }

  /// A page of uninitialised memory; the tagged reference to it. Throws where the system has no more memory.
  func allocate(birth: UInt64, mark: UInt64) throws(DiskFailure) -> UInt64 {
    if free.isEmpty { try addSlab() }
    let reference = free.removeLast()
    usedByteCount += DirtyPages.stride
    begin(reference, birth: birth, mark: mark)
    return reference
  }

  /// Memory for a delta, uninitialised.
  func allocateDelta(classNumber: Int, birth: UInt64, mark: UInt64) throws(DiskFailure) -> UInt64 {
    if freeDeltas[classNumber].isEmpty { try addSlab(classNumber: classNumber) }
    let reference = freeDeltas[classNumber].removeLast()
    usedByteCount += LeafDelta.stride(ofClass: classNumber)
    begin(reference, birth: birth, mark: mark)
    return reference
  }

  /// What a page or delta takes of memory; zero for a page of the file.
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

  /// Gives all memory back; no page may be looked at any more.
  func releaseAll() {
    while let slab = unsafe slabs.popLast() {
      // Later ones are parts of blocks.
      if unsafe slabs.count < DirtyPages.smallSlabCount {
        unsafe RawMemory.release(slab, byteCount: DirtyPages.slabByteCount)
      }
    }
    unsafe emptySlabs = []
    while let block = unsafe blocks.popLast() { unsafe RawMemory.release(block, byteCount: DirtyPages.blockByteCount) }
    free = []
    freeDeltas = [[UInt64]](repeating: [], count: LeafDelta.classCount + 1)
    usedByteCount = 0
    usedPageCount = 0
  }

  func deallocate(_ reference: UInt64) {
    usedPageCount -= 1
    usedByteCount -= DirtyPages.byteCount(of: reference)
    let number = Int(reference & LeafDelta.classMask)
    if number == 0 { free.append(reference) } else { freeDeltas[number].append(reference) }
  }

  /// From the system, which has it back as soon as the store is closed: an allocator would keep what a compaction used.
  /// A small store takes a megabyte at a time; a large one takes large pages, because it uses them in no order
  /// (rows: kv-load-random-unsynced, record-insert).
  private func makeSlab() throws(DiskFailure) -> UnsafeMutableRawPointer {
    if recyclingPause > 0 {
      recyclingPause -= 1
    } else if unsafe emptySlabs.isEmpty {
      recycle()
      if unsafe emptySlabs.isEmpty { recyclingPause = 16 }
    }
    if let slab = unsafe emptySlabs.popLast() { return unsafe slab }
    let later = unsafe slabs.count - DirtyPages.smallSlabCount
    let slabsPerBlock = DirtyPages.blockByteCount / DirtyPages.slabByteCount
    var slab: UnsafeMutableRawPointer?
    if later < 0 {
      unsafe slab = RawMemory.reserveZeroed(byteCount: DirtyPages.slabByteCount)
    } else {
      if later % slabsPerBlock == 0,
        let block = unsafe RawMemory.reserveZeroedInLargePages(byteCount: DirtyPages.blockByteCount)
      {
        unsafe blocks.append(block)
      }
      if unsafe later / slabsPerBlock < blocks.count {
        // Safe: slabs of a block lie one behind the other, as many as fit.
        unsafe slab = blocks[later / slabsPerBlock] + later % slabsPerBlock * DirtyPages.slabByteCount
      }
    }
    guard let slab = unsafe slab else {
      throw DiskFailure(.map, path: "memory", code: ErrorNumber.noMemory, byteCount: DirtyPages.slabByteCount)
    }
    unsafe slabs.append(slab)
    return unsafe slab
  }

  /// Takes slabs that have nothing in use any more away from sizes with much free memory: what a load needs as pages, updates
  /// need as deltas.
  private func recycle() {
    recycle(&free, stride: DirtyPages.stride, DirtyPages.pagesPerSlab)
    for number in 1...LeafDelta.classCount {
      let stride = LeafDelta.stride(ofClass: number)
      recycle(&freeDeltas[number], stride: stride, DirtyPages.slabByteCount / stride)
    }
  }

  private func recycle(_ free: inout [UInt64], stride: Int, _ countPerSlab: Int) {
    guard free.count * stride >= DirtyPages.recycledByteCount else { return }
    var counts: [UInt64: Int] = [:]
    for reference in free { counts[DirtyPages.slab(of: reference), default: 0] += 1 }
    // The first few slabs do not begin at a multiple of their size, and stay what they are.
    for index in 0..<min(unsafe slabs.count, DirtyPages.smallSlabCount) {
      let start = unsafe UInt64(UInt(bitPattern: slabs[index]))
      counts[DirtyPages.slab(of: start)] = nil
      counts[DirtyPages.slab(of: start + UInt64(DirtyPages.slabByteCount))] = nil
    }
    let empty = counts.filter { $0.value == countPerSlab }
    if empty.isEmpty { return }
    free.removeAll { empty[DirtyPages.slab(of: $0)] != nil }
    // Safe: an address inside a slab of a block, rounded down to where the slab begins; sorted, so that the same work takes
    // the same memory.
    for start in empty.keys.sorted() { unsafe emptySlabs.append(UnsafeMutableRawPointer(bitPattern: UInt(start))!) }
  }

  private static func slab(of reference: UInt64) -> UInt64 {
    reference & ~(PageSource.memoryTag | UInt64(slabByteCount - 1))
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
    for index in (0..<DirtyPages.slabByteCount / stride).reversed() {
      // Safe: the delta lies within the slab; strides are multiples of 64, so the low bits are free.
      let delta = unsafe slab + (index * stride + DirtyPages.headerByteCount)
      freeDeltas[classNumber].append(UInt64(UInt(bitPattern: delta)) | PageSource.memoryTag | UInt64(classNumber))
    }
  }
}

/// What stands in front of a dirty page or a delta.
@safe struct DirtyPage {
  private let base: UnsafeMutableRawPointer

  init(_ reference: UInt64) {
    precondition(reference & PageSource.memoryTag != 0, "only a page in memory has a header in front of it")
    // Safe: tagged references are made by `DirtyPages.allocate`, which leaves room in front of the page.
    unsafe base =
      UnsafeMutableRawPointer(bitPattern: UInt(reference & ~(PageSource.memoryTag | LeafDelta.classMask)))!
      - DirtyPages.headerByteCount
  }

  /// Only of a page, never of a delta.
  var page: Page { unsafe Page(base + DirtyPages.headerByteCount) }
  var birth: UInt64 {
    get { unsafe base.load(as: UInt64.self) }
    nonmutating set { unsafe base.storeBytes(of: newValue, as: UInt64.self) }
  }
  var mark: UInt64 {
    get { unsafe base.load(fromByteOffset: 8, as: UInt64.self) }
    nonmutating set { unsafe base.storeBytes(of: newValue, toByteOffset: 8, as: UInt64.self) }
  }
  var fileOffset: UInt64 {
    get { unsafe base.load(fromByteOffset: 16, as: UInt64.self) }
    nonmutating set { unsafe base.storeBytes(of: newValue, toByteOffset: 16, as: UInt64.self) }
  }
  var isRetired: Bool {
    get { unsafe base.load(fromByteOffset: 24, as: UInt64.self) != 0 }
    nonmutating set { unsafe base.storeBytes(of: newValue ? 1 : 0, toByteOffset: 24, as: UInt64.self) }
  }
  var createdIndex: Int {
    get { unsafe base.load(fromByteOffset: 32, as: Int.self) }
    nonmutating set { unsafe base.storeBytes(of: newValue, toByteOffset: 32, as: Int.self) }
  }
}
