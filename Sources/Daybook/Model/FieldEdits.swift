/// A borrowed run of edits, sorted by their keys' bytes, every access checked against the count. Valid as long as the draft it came from is unchanged.
@safe package struct FieldEdits {
  private let base: UnsafePointer<FieldEdit>?
  /// The numbers of the edits, sorted by their keys.
  private let order: UnsafePointer<UInt32>?
  package let count: Int

  @inline(__always)
  init(_ base: UnsafeMutablePointer<FieldEdit>, _ order: UnsafeMutablePointer<UInt32>, count: Int) {
    unsafe self.base = unsafe UnsafePointer(base)
    unsafe self.order = unsafe UnsafePointer(order)
    self.count = count
  }

  /// No edits.
  init() {
    unsafe base = nil
    unsafe order = nil
    count = 0
  }

  @inline(__always) var indices: Range<Int> { 0..<count }

  /// The edit in its place: what is read of it is not copied first.
  subscript(index: Int) -> FieldEdit {
    @inline(__always) _read {
      precondition(index >= 0 && index < count, "an edit was read behind the last")
      // Safe: the line above; where there are edits there are base and order.
      yield unsafe base.unsafelyUnwrapped[Int(order.unsafelyUnwrapped[index])]
    }
  }
}
