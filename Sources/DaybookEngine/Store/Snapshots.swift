import Synchronization

/// One version of the store, as readers see it. Raw memory: a reader that pinned it costs no reference count.
struct StateRecord {
  var version: UInt64
  var sequence: UInt64
  /// The first byte of the log behind this version; nothing beyond is read.
  var end: UInt64
  /// The number of the frame that starts at `end`, and the header checksum of the one before it: a checkpoint of this
  /// version is followed by replay from there.
  var nextNumber: UInt64
  var previous: UInt64
  /// Bytes of the log before `end` that are frames of pages, counted from where this open began to replay.
  var pageFrameByteCount: UInt64 = 0
  /// Frame number of the last commit in it: durable means published.
  var frameNumber: UInt64
  /// Pages of all trees, for the log budget.
  var pageCount: UInt64
  /// Bytes of the operations that the trees name.
  var liveByteCount: Int
  var roots: RootSet

  /// `end` without the frames of pages before it.
  var commitEnd: UInt64 { end &- pageFrameByteCount }
}

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
  func free() { unsafe pointer.deallocate() }
}

/// Epoch slots: who reads which version.
///
/// A reader puts the address of the version it reads into a slot of its own and looks again whether that version is still
/// the newest; from then on the writer, which looks at all slots before it frees anything, leaves it alone. 5 ns, no lock,
/// the same on every thread count; a mutex with a retained object took 21, and 286 on two threads.
///
/// A slot word is 0 (free), 2 (revoked), an address (a read is going on), or an address + 1 (a long-lived snapshot between
/// two reads: the writer may revoke it when it holds back too much memory).
///
/// Always true: a version is freed only when no slot names it and it is not the newest.
@safe final class SnapshotSlots: @unchecked Sendable {
  static let limit = 65_536
  private static let strideWords = 16  // 128 bytes: two cache lines, so neighbours never share one
  private static let revoked: UInt = 2

  private let slots: UnsafeMutablePointer<Atomic<UInt>>
  private let current = Atomic<UInt>(0)
  /// One more than the highest slot that was ever used.
  private let highWater = Atomic<Int>(0)

  init() throws(DiskFailure) {
    let byteCount = SnapshotSlots.limit * SnapshotSlots.strideWords * 8
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: byteCount) else {
      throw DiskFailure(.map, path: "memory", kind: .other, code: 12, byteCount: byteCount)
    }
    // Safe: zeroed memory of that size; zero is a valid atomic.
    unsafe slots = memory.bindMemory(
      to: Atomic<UInt>.self, capacity: SnapshotSlots.limit * SnapshotSlots.strideWords)
  }

  deinit {
    unsafe RawMemory.release(
      UnsafeMutableRawPointer(slots), byteCount: SnapshotSlots.limit * SnapshotSlots.strideWords * 8)
  }

  /// What new readers see.
  var newest: StateReference { StateReference(word: current.load(ordering: .sequentiallyConsistent)) }
  func publish(_ state: StateReference) { current.store(state.word, ordering: .sequentiallyConsistent) }

  /// Claims a slot and pins the newest version in it; nil when all are taken.
  @inline(__always)
  func claim() -> (slot: Int, state: StateReference)? {
    // Threads have stacks far apart: where this one's lies spreads them over the first slots.
    var local = 0
    let hint = unsafe withUnsafePointer(to: &local) { Int(bitPattern: $0) &>> 16 &* 0x9E37 }
    var word = current.load(ordering: .sequentiallyConsistent)
    var slot = hint & 15
    // Safe: `slot` is below the limit in every access.
    while unsafe !slots[slot &* SnapshotSlots.strideWords].compareExchange(
      expected: 0, desired: word, ordering: .sequentiallyConsistent
    ).exchanged {
      slot &+= 1
      if slot >= SnapshotSlots.limit { return nil }
    }
    if slot >= highWater.load(ordering: .relaxed) { raiseHighWater(slot + 1) }
    while true {
      let again = current.load(ordering: .sequentiallyConsistent)
      if again == word { break }
      word = again
      unsafe slots[slot &* SnapshotSlots.strideWords].store(word, ordering: .sequentiallyConsistent)
    }
    return (slot, StateReference(word: word))
  }

  private func raiseHighWater(_ wanted: Int) {
    _ = highWater.max(wanted, ordering: .sequentiallyConsistent)
  }

  @inline(__always)
  func release(_ slot: Int) {
    unsafe slots[slot &* SnapshotSlots.strideWords].store(0, ordering: .releasing)
  }

  /// A long-lived snapshot stops reading for now and may be revoked.
  @inline(__always)
  func rest(_ slot: Int, _ state: StateReference) {
    unsafe slots[slot &* SnapshotSlots.strideWords].store(state.word | 1, ordering: .releasing)
  }

  /// It reads again; false when it was revoked meanwhile.
  @inline(__always)
  func resume(_ slot: Int, _ state: StateReference) -> Bool {
    unsafe slots[slot &* SnapshotSlots.strideWords].compareExchange(
      expected: state.word | 1, desired: state.word, ordering: .sequentiallyConsistent
    ).exchanged
  }

  private var usedSlotCount: Int { min(highWater.load(ordering: .sequentiallyConsistent), SnapshotSlots.limit) }

  /// What stands in the slots. A word may be stale (its claimer has not looked again yet), so nothing is read through it:
  /// the store compares words with the states that it has not freed. A claim raises the mark before its second look at
  /// `current`, so a slot above the mark that we read here is about to find the newest version.
  func pinnedWords() -> Set<UInt> {
    var words: Set<UInt> = []
    for slot in 0..<usedSlotCount {
      let word = unsafe slots[slot * SnapshotSlots.strideWords].load(ordering: .sequentiallyConsistent) & ~1
      if word > SnapshotSlots.revoked { words.insert(word) }
    }
    return words
  }

  /// Whether anybody reads right now; resting snapshots do not count.
  var hasReaders: Bool {
    for slot in 0..<usedSlotCount {
      let word = unsafe slots[slot * SnapshotSlots.strideWords].load(ordering: .sequentiallyConsistent)
      if word > SnapshotSlots.revoked && word & 1 == 0 { return true }
    }
    return false
  }

  /// Whether no version is pinned, by a reader or by a resting snapshot.
  var isUnused: Bool {
    for slot in 0..<usedSlotCount {
      let word = unsafe slots[slot * SnapshotSlots.strideWords].load(ordering: .sequentiallyConsistent)
      if word > SnapshotSlots.revoked { return false }
    }
    return true
  }

  /// Revokes the resting snapshot of the oldest version below `limit`; false when there is none any more. A snapshot that
  /// wakes up meanwhile is passed over.
  func revokeOldest(below limit: UInt64) -> Bool {
    while true {
      var oldest: (slot: Int, word: UInt, version: UInt64)?
      for slot in 0..<usedSlotCount {
        let word = unsafe slots[slot * SnapshotSlots.strideWords].load(ordering: .sequentiallyConsistent)
        guard word & 1 == 1 else { continue }
        // A resting word was pinned before, and only our caller frees states.
        let version = StateReference(word: word & ~1).record.version
        if version < limit, oldest == nil || version < oldest!.version { oldest = (slot, word, version) }
      }
      guard let oldest else { return false }
      let revoked = unsafe slots[oldest.slot * SnapshotSlots.strideWords].compareExchange(
        expected: oldest.word, desired: SnapshotSlots.revoked, ordering: .sequentiallyConsistent
      ).exchanged
      if revoked { return true }
    }
  }
}
