/// Sorts a run of replay by key: three bytes of the keys at a time, as numbers; whole keys are compared only when few are left.
///
///     order[rank]   63     40 39  32 31            0
///                  ┌─────────┬─────┬───────────────┐
///                  │ 3 bytes │ n   │ position      │     n: how many of the three the key has, so that a key which ends
///                  └─────────┴─────┴───────────────┘     sorts before one that goes on with zeros
///
/// The bytes that all keys of a range share are skipped first; names often begin alike. Large ranges are sorted by radix (least
/// significant digit first, which is stable), small ones by comparing numbers. Keys with the same three bytes are sorted by the
/// bytes that follow. Comparing whole keys would cost a cache miss each; this way, sorting 350,000 random keys is a twentieth
/// of an open (row: kv-open-after-kill-64-mb).
///
/// Always true: equal keys keep their order. The work for a range is bounded by the bytes of its keys.
@safe struct KeySorter {
  private static let digitCount = 4
  /// For fewer keys, counting digits costs more than comparing.
  private static let leastDigitSorted = 512
  private static let mostInserted = 12

  private let order: UnsafeMutableBufferPointer<UInt64>
  private let spare: UnsafeMutableBufferPointer<UInt64>
  private let counts: UnsafeMutableBufferPointer<Int>
  private let gathered: UnsafeBufferPointer<ReplayRun.Gathered>
  private let keys: ByteView

  /// Sorts `range` of `order`, whose low halves ascend; `spare` is as long and is overwritten.
  static func sort(
    _ order: inout [UInt64], _ spare: inout [UInt64], _ range: Range<Int>, _ gathered: [ReplayRun.Gathered],
    _ keys: ByteView
  ) {
    precondition(order.count == spare.count && range.upperBound <= order.count, "all of the range has room to move")
    var counts = [Int](repeating: 0, count: range.count < leastDigitSorted ? 0 : digitCount * 256)
    // Safe: the buffers are used inside the closures only. Ranks are cut from `range`, which the line above has checked, and
    // low halves are positions in `gathered`.
    unsafe order.withUnsafeMutableBufferPointer { order in
      unsafe spare.withUnsafeMutableBufferPointer { spare in
        unsafe counts.withUnsafeMutableBufferPointer { counts in
          unsafe gathered.withUnsafeBufferPointer { gathered in
            unsafe KeySorter(order: order, spare: spare, counts: counts, gathered: gathered, keys: keys)
              .sort(range, after: 0)
          }
        }
      }
    }
  }

  @inline(__always)
  private func position(_ rank: Int) -> Int {
    // Safe: ranks lie in the range.
    Int(truncatingIfNeeded: unsafe order[rank] & 0xFFFF_FFFF)
  }

  @inline(__always)
  private func key(_ rank: Int) -> ByteView {
    // Safe: low halves are positions of gathered operations.
    let operation = unsafe gathered[position(rank)]
    return keys.slice(Int(operation.keyOffset)..<Int(operation.keyOffset) + Int(operation.keyByteCount))
  }

  /// Sorts ranks whose keys share their first `shared` bytes.
  private func sort(_ range: Range<Int>, after shared: Int) {
    if range.count <= KeySorter.mostInserted { return insert(range, after: shared) }
    guard let shared = sharedByteCount(range, atLeast: shared) else { return }
    for rank in range {
      // Safe: a rank of the range.
      unsafe order[rank] = KeySorter.head(key(rank), from: shared) | order[rank] & 0xFFFF_FFFF
    }
    if range.count < KeySorter.leastDigitSorted {
      // Safe: a part of the buffer.
      var part = unsafe UnsafeMutableBufferPointer(rebasing: order[range])
      unsafe part.sort()
    } else {
      sortByDigits(range)
    }
    var start = range.lowerBound
    while start < range.upperBound {
      // Safe: ranks of the range.
      let head = unsafe order[start] >> 32
      var end = start + 1
      while end < range.upperBound, unsafe order[end] >> 32 == head { end += 1 }
      // Keys that end within the three bytes are equal.
      if end - start > 1, head & 0xFF == 3 { sort(start..<end, after: shared + 3) }
      start = end
    }
  }

  /// How many bytes all keys share at their beginning, at least `least`; nil when all keys are equal.
  private func sharedByteCount(_ range: Range<Int>, atLeast least: Int) -> Int? {
    let first = key(range.lowerBound)
    var shared = first.count
    var longest = shared
    for rank in range.dropFirst() {
      let key = key(rank)
      longest = max(longest, key.count)
      var length = least
      while length < min(shared, key.count), first[length] == key[length] { length += 1 }
      shared = length
      if shared == least && longest > shared { break }
    }
    return longest == shared ? nil : shared
  }

  /// Up to three bytes of a key, and how many there are, in the high half.
  @inline(__always)
  private static func head(_ key: ByteView, from start: Int) -> UInt64 {
    let rest = key.count - start
    if rest >= 4 { return UInt64(key.bigEndianUInt32(at: start) & ~0xFF | 3) << 32 }
    var head: UInt32 = 0
    for index in 0..<min(rest, 3) { head |= UInt32(key[start + index]) << UInt32(24 - 8 * index) }
    return UInt64(head | UInt32(min(rest, 3))) << 32
  }

  private func sortByDigits(_ range: Range<Int>) {
    let digitCount = KeySorter.digitCount
    // Safe: `counts` has 256 numbers a digit, which is a byte; the counts of a digit add up to those of the range.
    for index in 0..<digitCount * 256 { unsafe counts[index] = 0 }
    for rank in range {
      let number = unsafe order[rank]
      for digit in 0..<digitCount { unsafe counts[digit * 256 + Int(number >> UInt64(32 + 8 * digit) & 0xFF)] += 1 }
    }
    var isInSpare = false
    for digit in 0..<digitCount {
      let shift = UInt64(32 + 8 * digit)
      let source = unsafe isInSpare ? spare : order
      let target = unsafe isInSpare ? order : spare
      let first = Int(unsafe source[range.lowerBound] >> shift & 0xFF)
      if unsafe counts[digit * 256 + first] == range.count { continue }
      var next = range.lowerBound
      for value in digit * 256..<(digit + 1) * 256 {
        let count = unsafe counts[value]
        unsafe counts[value] = next
        next += count
      }
      for rank in range {
        let number = unsafe source[rank]
        let slot = digit * 256 + Int(number >> shift & 0xFF)
        unsafe target[counts[slot]] = number
        unsafe counts[slot] += 1
      }
      isInSpare.toggle()
    }
    guard isInSpare else { return }
    for rank in range { unsafe order[rank] = spare[rank] }
  }

  /// Sorts a few keys by comparing them whole.
  private func insert(_ range: Range<Int>, after shared: Int) {
    for rank in range.dropFirst() {
      // Safe: ranks of the range.
      let number = unsafe order[rank]
      let key = key(rank).dropFirst(shared)
      var free = rank
      while free > range.lowerBound, compareKeys(self.key(free - 1).dropFirst(shared), key) > 0 {
        unsafe order[free] = order[free - 1]
        free -= 1
      }
      unsafe order[free] = number
    }
  }
}
