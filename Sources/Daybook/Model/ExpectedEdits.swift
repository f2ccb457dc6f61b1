/// What was done to a key that came in the order that was expected (`RecordDraft`).
struct ExpectedEdit {
  /// Zero where the key has none.
  var value: Record.Value
  /// `absent`, `removed`, or the kind of the value.
  var form: UInt8

  /// The key was passed over.
  static let absent: UInt8 = 0
  static let removed: UInt8 = 0xFF
  @_transparent var isValue: Bool { form &- 1 < 0xFE }
}

/// A borrowed run of them, by the numbers of their keys, every access checked against the count. Valid as long as the draft it came
/// from is unchanged.
@safe struct ExpectedEdits {
  private let base: UnsafePointer<ExpectedEdit>
  /// Of the keys up to the last one that was set or removed.
  let count: Int

  @_transparent
  init(_ base: UnsafeMutablePointer<ExpectedEdit>, count: Int) {
    unsafe self.base = unsafe UnsafePointer(base)
    self.count = count
  }

  /// The edit in its place: what is read of it is not copied first.
  subscript(number: Int) -> ExpectedEdit {
    @_transparent
    unsafeAddress {
      guard number >= 0, number < count else { preconditionFailure("an edit was read behind the last") }
      // Safe: the line above.
      return unsafe base + number
    }
  }

  /// What was done to the key with a number.
  @_transparent
  func form(_ number: Int) -> UInt8 { number >= 0 && number < count ? self[number].form : ExpectedEdit.absent }
}
