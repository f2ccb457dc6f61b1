/// A version of the store in memory that the store frees when nobody pins it.
@safe struct StateReference: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<StateRecord>

  init(_ record: StateRecord) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: record)
  }
  /// From the word that a slot or the store holds. Safe: such words are only ever made from `word`.
  init(word: UInt) { unsafe pointer = UnsafeMutablePointer(bitPattern: word)! }

  var word: UInt { unsafe UInt(bitPattern: pointer) }
  var record: StateRecord {
    @inline(__always) _read { yield unsafe pointer.pointee }
  }
  /// The store that it is a version of. Whoever has pinned it may ask: a store keeps its memory until nobody has pinned any
  /// of its versions (`Store.releaseIfUnused`), and only then lets `StoreSwitch` forget it.
  var store: Store {
    @inline(__always) get {
      // Safe: `Store.enqueue` sets the owner of each state before anybody can pin it; the comment above.
      unsafe Unmanaged<Store>.fromOpaque(UnsafeRawPointer(bitPattern: pointer.pointee.owner)!).takeUnretainedValue()
    }
  }
  func free() {
    // Safe: nobody has it pinned. What is read through a stale address in a test is nothing that could be true.
    #if DEBUG
      unsafe RawMemory.fill(
        UnsafeMutableRawPointer(pointer), byteCount: MemoryLayout<StateRecord>.size, with: DirtyPages.poison)
    #endif
    unsafe pointer.deallocate()
  }
}
