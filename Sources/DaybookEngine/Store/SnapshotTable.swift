import Synchronization

/// Which versions snapshots keep, also between their reads.
///
///     a place, 128 bytes:
///     offset  size  field
///          0     8  the address of the version; 0 while nobody has the place
///          8     8  {u32 how often the place was given back, u1 revoked, u31 reads that are going on}
///         16     8  the next free place, while nobody has this one
///
/// Finding a place costs the same however many are taken: free places form a stack, whose head counts its changes, so that a
/// slow thread does not mistake a new head for the old one. Several threads may read through one snapshot; each adds one to its
/// reads, and only a snapshot without reads is ever revoked. A free place counts as being read, so it is not revoked. When a
/// place is released, its count of uses grows, so a thread that has looked at it before does not revoke it either.
///
/// Always true: a place belongs to one snapshot from `begin` to `end`; a version is kept while a place that is not revoked
/// names it.
@safe final class SnapshotTable: @unchecked Sendable {
  let limit: Int
  static let stride = 128
  private static let revoked: UInt = 1 << 31
  private static let readMask: UInt = 1 << 31 - 1
  private static let indexMask: UInt = 1 << 32 - 1

  private let base: UnsafeMutableRawPointer
  /// {u32 changes, u32 one more than the first free place}: the head of the stack.
  private let free = Atomic<UInt>(0)
  /// How many places have ever been used.
  private let usedCount = Atomic<Int>(0)

  init(limit: Int) throws(DiskFailure) {
    self.limit = limit
    let byteCount = limit * SnapshotTable.stride
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: byteCount) else {
      throw DiskFailure(.map, path: "memory", kind: .other, code: ErrorNumber.noMemory, byteCount: byteCount)
    }
    unsafe base = memory
  }

  deinit { unsafe RawMemory.release(base, byteCount: limit * SnapshotTable.stride) }

  private enum Field: Int { case version = 0, reads = 8, next = 16 }

  @inline(__always)
  private func field(_ field: Field, of index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
    precondition(index >= 0 && index < limit, "a place of the table")
    // Safe: the line above; the memory is zeroed, and zero is a valid atomic.
    return unsafe (base + (index &* SnapshotTable.stride &+ field.rawValue)).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  /// Takes a place and keeps the newest version; nil when all places are taken. A read through it has begun; `endReading` ends
  /// it.
  func begin(_ newest: borrowing Atomic<UInt>) -> (index: Int, state: VersionReference)? {
    guard let index = takeFree() ?? takeUnused() else { return nil }
    var word = newest.load(ordering: .sequentiallyConsistent)
    while true {
      unsafe field(.version, of: index).pointee.store(word, ordering: .sequentiallyConsistent)
      let again = newest.load(ordering: .sequentiallyConsistent)
      if again == word { break }
      word = again
    }
    return (index, VersionReference(word: word))
  }

  private func takeFree() -> Int? {
    var head = free.load(ordering: .acquiring)
    while true {
      let first = Int(head & SnapshotTable.indexMask)
      if first == 0 { return nil }
      // Another thread may take the place in the meantime and this value may change, but then the head has changed, too.
      let next = unsafe field(.next, of: first - 1).pointee.load(ordering: .relaxed)
      let result = free.compareExchange(
        expected: head, desired: (head >> 32 &+ 1) << 32 | next, ordering: .acquiringAndReleasing)
      if result.exchanged { return first - 1 }
      head = result.original
    }
  }

  /// A place that was never used. The count grows before a version is stored there: see `addWords`.
  private func takeUnused() -> Int? {
    var count = usedCount.load(ordering: .relaxed)
    while count < limit {
      let result = usedCount.compareExchange(expected: count, desired: count + 1, ordering: .sequentiallyConsistent)
      if result.exchanged {
        unsafe field(.reads, of: count).pointee.store(1, ordering: .sequentiallyConsistent)
        return count
      }
      count = result.original
    }
    return nil
  }

  /// Releases a place. Nobody reads through the snapshot any more.
  func end(_ index: Int) {
    let reads = unsafe field(.reads, of: index).pointee.load(ordering: .relaxed)
    unsafe field(.version, of: index).pointee.store(0, ordering: .releasing)
    unsafe field(.reads, of: index).pointee.store((reads >> 32 &+ 1) << 32 | 1, ordering: .sequentiallyConsistent)
    var head = free.load(ordering: .relaxed)
    while true {
      unsafe field(.next, of: index).pointee.store(head & SnapshotTable.indexMask, ordering: .relaxed)
      let result = free.compareExchange(
        expected: head, desired: (head >> 32 &+ 1) << 32 | UInt(index + 1), ordering: .acquiringAndReleasing)
      if result.exchanged { return }
      head = result.original
    }
  }

  /// Begins a read through a snapshot, perhaps beside others; false when it was revoked.
  @inline(__always)
  func beginReading(_ index: Int) -> Bool {
    let reads = unsafe field(.reads, of: index).pointee.add(1, ordering: .sequentiallyConsistent).oldValue
    if reads & SnapshotTable.revoked == 0 { return true }
    endReading(index)
    return false
  }

  @inline(__always)
  func endReading(_ index: Int) {
    unsafe field(.reads, of: index).pointee.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Adds the versions that are kept. As with `ReaderSlots.pinnedWords`, a word may be stale, and a place that is too new to be
  /// seen here is still going to get the newest version.
  func addWords(onlyRead: Bool, to words: inout Set<UInt>) {
    for index in 0..<usedCount.load(ordering: .sequentiallyConsistent) {
      // Read the version first: a place that was revoked is renewed before another version is stored there.
      let word = unsafe field(.version, of: index).pointee.load(ordering: .sequentiallyConsistent)
      if word == 0 { continue }
      let reads = unsafe field(.reads, of: index).pointee.load(ordering: .sequentiallyConsistent)
      if reads & SnapshotTable.revoked != 0 || onlyRead && reads & SnapshotTable.readMask == 0 { continue }
      words.insert(word)
    }
  }

  /// A snapshot without reads at the time of the look.
  struct Resting {
    let version: UInt64
    fileprivate let index: Int
    fileprivate let reads: UInt
  }

  /// The snapshots without reads, of versions below `limit`, oldest first.
  /// - Parameter versions: the versions that the store has not freed, by address.
  func resting(below limit: UInt64, of versions: [UInt: UInt64]) -> [Resting] {
    var result: [Resting] = []
    for index in 0..<usedCount.load(ordering: .sequentiallyConsistent) {
      // Read the count of reads first: if the place gets another version, it also gets another count, and is not revoked.
      let reads = unsafe field(.reads, of: index).pointee.load(ordering: .sequentiallyConsistent)
      if reads & (SnapshotTable.readMask | SnapshotTable.revoked) != 0 { continue }
      let word = unsafe field(.version, of: index).pointee.load(ordering: .sequentiallyConsistent)
      guard let version = versions[word], version < limit else { continue }
      result.append(Resting(version: version, index: index, reads: reads))
    }
    return result.sorted { $0.version < $1.version }
  }

  /// Revokes a snapshot; false when it was read through, or ended, since the look.
  func revoke(_ snapshot: Resting) -> Bool {
    unsafe field(.reads, of: snapshot.index).pointee.compareExchange(
      expected: snapshot.reads, desired: snapshot.reads | SnapshotTable.revoked, ordering: .sequentiallyConsistent
    ).exchanged
  }
}
