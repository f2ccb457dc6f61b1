/// A version of the store in memory. The store frees it when nobody pins it.
@safe struct VersionReference: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<Version>

  init(_ version: Version) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: version)
  }
  /// Makes a reference from the word in a slot or in the store. Safe: such words are only made from `word`.
  init(word: UInt) { unsafe pointer = UnsafeMutablePointer(bitPattern: word)! }

  var word: UInt { unsafe UInt(bitPattern: pointer) }
  var fields: Version {
    // By address: without optimisation, a coroutine allocates its frame each time.
    @_transparent unsafeAddress { unsafe UnsafePointer(pointer) }
  }
  /// The store of this version. Only for holders of a pin, and only until they release it: a store keeps its memory until none of
  /// its versions is pinned (`Store.releaseIfUnused`), and only then `KeptStores` drops it. The reference that this returns is no
  /// protection: the optimizer leaves out the counting, or moves it past the release of the pin.
  var store: Store {
    @inline(__always) get {
      // Safe: `Store.enqueue` sets the owner of each state before anyone can pin it; see the comment above.
      unsafe Unmanaged<Store>.fromOpaque(UnsafeRawPointer(bitPattern: pointer.pointee.owner)!).takeUnretainedValue()
    }
  }
  func free() {
    // Safe: nobody has it pinned. In tests, the pattern makes a read through a stale address visible.
    #if DEBUG
      unsafe RawMemory.fill(
        UnsafeMutableRawPointer(pointer), byteCount: MemoryLayout<Version>.size, with: DirtyPages.poison)
    #endif
    unsafe pointer.deallocate()
  }
}
