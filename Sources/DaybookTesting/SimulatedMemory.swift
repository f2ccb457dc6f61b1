/// The address range that holds one simulated file, lent from a small pool.
///
/// Crash tests make an image of the disk for every call of a run. A fresh mapping for each would spend most of its time
/// in the kernel, so ranges that were used little are zeroed and lent again.
///
/// Always true: a range that is lent is zero everywhere.
import DaybookEngine

@safe final class SimulatedMemory: @unchecked Sendable {
  let base: UnsafeMutableRawPointer
  let capacity: Int
  /// All bytes from here on are zero. Raised by `touch` before each write.
  private var touchedByteCount = 0

  private struct Spare {
    let address: UInt
    let capacity: Int
  }

  private static let spares = Locked<[Spare]>([])
  private static let largestSpareCount = 32
  /// Zeroing more than this by hand costs more than a new mapping.
  private static let largestSpareByteCount = 2 << 20

  init(capacity: Int) {
    let spare = SimulatedMemory.spares.withLock { spares in
      spares.lastIndex { $0.capacity == capacity }.map { spares.remove(at: $0) }
    }
    self.capacity = capacity
    if let spare, let base = unsafe UnsafeMutableRawPointer(bitPattern: spare.address) {
      unsafe self.base = base
      return
    }
    let granted = unsafe RawMemory.reserveZeroed(byteCount: capacity)
    unsafe precondition(granted != nil, "a test asks for no more address space than the system has")
    // Safe: the line above.
    unsafe self.base = granted.unsafelyUnwrapped
  }

  deinit {
    guard touchedByteCount <= SimulatedMemory.largestSpareByteCount else {
      return unsafe RawMemory.release(base, byteCount: capacity)
    }
    // Safe: the first `touchedByteCount` bytes lie inside the range, which nobody uses any more.
    unsafe RawMemory.zero(base, byteCount: touchedByteCount)
    let spare = unsafe Spare(address: UInt(bitPattern: base), capacity: capacity)
    let isKept = SimulatedMemory.spares.withLock { spares in
      guard spares.count < SimulatedMemory.largestSpareCount else { return false }
      spares.append(spare)
      return true
    }
    if !isKept { unsafe RawMemory.release(base, byteCount: capacity) }
  }

  /// Makes a range zero.
  func clear(_ range: Range<Int>) {
    let end = min(range.upperBound, touchedByteCount)
    guard range.lowerBound < end else { return }
    // Safe: what was touched lies inside the range of addresses.
    unsafe RawMemory.zero(base + range.lowerBound, byteCount: end - range.lowerBound)
    if end == touchedByteCount { touchedByteCount = range.lowerBound }
  }

  /// Announces a write to everything before `end`.
  func touch(upTo end: Int) {
    precondition(end <= capacity, "writes were checked against the capacity")
    touchedByteCount = max(touchedByteCount, end)
  }
}
