/// The header in front of a dirty page or a delta.
@safe struct DirtyPage {
  private let base: UnsafeMutableRawPointer

  init(_ reference: UInt64) {
    precondition(reference & PageSource.memoryTag != 0, "only a page in memory has a header in front of it")
    // Safe: tagged references are made by `DirtyPages.allocate`, which leaves room in front of the page.
    unsafe base =
      UnsafeMutableRawPointer(bitPattern: UInt(reference & ~(PageSource.memoryTag | LeafDelta.classMask)))!
      - DirtyPages.headerByteCount
  }

  /// The page; a delta has none.
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
  static let poisonedBirth = UInt64(DirtyPages.poison) &* 0x0101_0101_0101_0101

  /// Fills the memory with a pattern. It reads as "not retired", the answer that would do most harm.
  func poison(byteCount: Int) {
    // Safe: the page or delta with its header, as `DirtyPages` made it; the same holds below.
    unsafe RawMemory.fill(base, byteCount: byteCount, with: DirtyPages.poison)
    isRetired = false
  }

  /// Whether the pattern is intact; then the memory may be used again.
  func isPoisoned(byteCount: Int) -> Bool {
    if isRetired { return false }
    unsafe base.storeBytes(of: DirtyPage.poisonedBirth, toByteOffset: 24, as: UInt64.self)
    return unsafe RawMemory.isFilled(base, byteCount: byteCount, with: DirtyPages.poison)
  }

  var createdIndex: Int {
    get { unsafe base.load(fromByteOffset: 32, as: Int.self) }
    nonmutating set { unsafe base.storeBytes(of: newValue, toByteOffset: 32, as: Int.self) }
  }
}
