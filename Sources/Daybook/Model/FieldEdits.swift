/// A borrowed run of edits, sorted by their keys' bytes, every access checked against the count. Valid as long as the draft it came from is unchanged.
@safe package struct FieldEdits {
  private let base: UnsafePointer<FieldEdit>
  /// The numbers of the edits, sorted by their keys.
  private let order: UnsafePointer<UInt32>
  package let count: Int

  @_transparent
  init(_ base: UnsafeMutablePointer<FieldEdit>, _ order: UnsafeMutablePointer<UInt32>, count: Int) {
    unsafe self.base = unsafe UnsafePointer(base)
    unsafe self.order = unsafe UnsafePointer(order)
    self.count = count
  }

  /// No edits.
  init() {
    // Safe: what is at the address of nothing is never read.
    unsafe base = UnsafePointer(bitPattern: MemoryLayout<FieldEdit>.alignment)!
    unsafe order = UnsafePointer(bitPattern: MemoryLayout<UInt32>.alignment)!
    count = 0
  }

  @_transparent var indices: Range<Int> { 0..<count }

  /// Which edit it is in the order in which they were first made.
  @inline(__always)
  func number(at index: Int) -> Int {
    precondition(index >= 0 && index < count, "an edit was read behind the last")
    // Safe: the line above.
    return unsafe Int(order[index])
  }

  /// The edit in its place: what is read of it is not copied first. By address: without optimisation, a coroutine allocates its
  /// frame each time.
  subscript(index: Int) -> FieldEdit {
    @_transparent
    unsafeAddress {
      guard index >= 0, index < count else { preconditionFailure("an edit was read behind the last") }
      // Safe: the line above.
      return unsafe base + Int(order[index])
    }
  }
}
