import DaybookEngine

/// The entries of a change journal that an image gathers: sorted runs, and what makes one sequence of them.
extension ImageApplier {
  /// One change journal entry to be.
  struct Entry {
    var sequence: UInt64
    /// With the number of its type from `typeShift` on: none for a tombstone. Files are shorter than that.
    var offset: UInt64
    var ordinal: UInt32
    var byteCount: UInt32
    static let typeShift: UInt64 = 48
    static let typeLimit = 1 << 16

    static func < (left: Entry, right: Entry) -> Bool {
      (left.sequence, left.ordinal) < (right.sequence, right.ordinal)
    }
  }

  /// Entries of a run; all but the last are full, and sorted.
  static let runCount = TestSetting.keepsLittle ? 64 : 64 << 10

  /// Sorted runs as one: a heap of those that have something left, the least entry first. The heap has the first entry of each run
  /// beside its number: to ask the runs for both of each comparison counted references, a twelfth of a compaction (row: use-compact).
  struct RunMerge {
    private struct First {
      var entry: Entry
      let run: Int
      var position: Int
    }

    private var runs: [EntryRun?]
    private var heap: [First]

    /// Takes the runs away from who had them.
    init(_ source: inout [EntryRun]) {
      runs = source
      // Sorted by their first entries, which is a heap.
      heap = source.enumerated().map { First(entry: $1[0], run: $0, position: 0) }.sorted { $0.entry < $1.entry }
      source = []
    }

    var isEmpty: Bool { heap.isEmpty }

    mutating func next() -> Entry? {
      guard var first = heap.first else { return nil }
      let entry = first.entry
      first.position += 1
      if let following = runs[first.run]?.entry(at: first.position) {
        first.entry = following
      } else {
        runs[first.run] = nil
        let last = heap.removeLast()
        if heap.isEmpty { return entry }
        first = last
      }
      sink(first)
      return entry
    }

    /// Puts an entry where it belongs, the first of the heap being free.
    private mutating func sink(_ first: First) {
      var parent = 0
      while true {
        var child = 2 * parent + 1
        if child >= heap.count { break }
        if child + 1 < heap.count, heap[child + 1].entry < heap[child].entry { child += 1 }
        if !(heap[child].entry < first.entry) { break }
        heap[parent] = heap[child]
        parent = child
      }
      heap[parent] = first
    }
  }
}

/// Entries of one run, in memory of their own that goes back to the system with it: an allocator kept the quarter of a
/// gigabyte of ten million entries until the process ended.
@safe final class EntryRun {
  typealias Entry = ImageApplier.Entry
  private let base: UnsafeMutablePointer<Entry>
  private(set) var count = 0
  private static let byteCount = ImageApplier.runCount * MemoryLayout<Entry>.stride

  init() {
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: EntryRun.byteCount) else {
      preconditionFailure("the system has no memory left for a run of change journal entries")
    }
    // Safe: room for `runCount` entries, which are plain numbers.
    unsafe base = memory.bindMemory(to: Entry.self, capacity: ImageApplier.runCount)
  }

  deinit { unsafe RawMemory.release(UnsafeMutableRawPointer(base), byteCount: EntryRun.byteCount) }

  func append(_ entry: Entry) {
    precondition(count < ImageApplier.runCount, "a full run takes nothing more")
    // Safe: the line above.
    unsafe base[count] = entry
    count += 1
  }

  /// Nil past the last.
  func entry(at index: Int) -> Entry? { index < count ? self[index] : nil }

  subscript(index: Int) -> Entry {
    precondition(index < count, "an entry of the run")
    // Safe: the line above.
    return unsafe base[index]
  }

  /// Fewer entries are compared.
  private static let leastDigitSorted = 512

  /// By radix, the least byte first, of those bytes in which entries differ. Comparisons took a seventh of a compaction (row:
  /// use-compact).
  func sort() {
    // Safe: `count` entries have been written.
    var entries = unsafe UnsafeMutableBufferPointer(start: base, count: count)
    if count < EntryRun.leastDigitSorted { return unsafe entries.sort(by: <) }
    let byteCount = count * MemoryLayout<Entry>.stride
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: byteCount) else { return unsafe entries.sort(by: <) }
    defer { unsafe RawMemory.release(memory, byteCount: byteCount) }
    // Safe: as long as the run; entries are plain numbers.
    var spare = unsafe UnsafeMutableBufferPointer(start: memory.bindMemory(to: Entry.self, capacity: count), count: count)
    let first = unsafe entries[0]
    var (sequences, ordinals): (UInt64, UInt32) = (0, 0)
    for index in 1..<count {
      let entry = unsafe entries[index]
      sequences |= entry.sequence ^ first.sequence
      ordinals |= entry.ordinal ^ first.ordinal
    }
    for shift in stride(from: UInt32(0), to: 32, by: 8) where ordinals >> shift & 0xFF != 0 {
      unsafe EntryRun.sort(entries, into: spare) { Int(truncatingIfNeeded: $0.ordinal &>> shift & 0xFF) }
      unsafe swap(&entries, &spare)
    }
    for shift in stride(from: UInt64(0), to: 64, by: 8) where sequences >> shift & 0xFF != 0 {
      unsafe EntryRun.sort(entries, into: spare) { Int(truncatingIfNeeded: $0.sequence &>> shift & 0xFF) }
      unsafe swap(&entries, &spare)
    }
    // Safe: both have `count` entries.
    if unsafe entries.baseAddress != base { unsafe base.update(from: entries.baseAddress.unsafelyUnwrapped, count: count) }
  }

  /// Entries with the same digit keep their order.
  @inline(__always)
  private static func sort(
    _ source: UnsafeMutableBufferPointer<Entry>, into target: UnsafeMutableBufferPointer<Entry>, by digit: (Entry) -> Int
  ) {
    // Safe: digits are below 256, and the target is as long as the source.
    unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { starts in
      unsafe starts.initialize(repeating: 0)
      for index in source.indices { unsafe starts[digit(source[index])] &+= 1 }
      var start = 0
      for index in 0..<256 {
        let count = unsafe starts[index]
        unsafe starts[index] = start
        start &+= count
      }
      for index in source.indices {
        let entry = unsafe source[index]
        let digit = digit(entry)
        unsafe target[starts[digit]] = entry
        unsafe starts[digit] &+= 1
      }
    }
  }
}
