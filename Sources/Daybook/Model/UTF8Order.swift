import DaybookEngine

/// Strings and bytes compared by their UTF-8 bytes, and strings made from bytes.
///
/// Swift compares strings by canonical equivalence: a composed and a decomposed "é" are equal. An index that orders
/// bytes would call them different, and so do CloudKit's names; so every comparison of the model goes through here.
/// The pointers of the model live in this file and in `RecordBody`.
package enum UTF8Order {
  /// Calls `body` with the UTF-8 of `string`; the view ends with the call.
  @inline(__always)
  package static func withView<R>(of string: String, _ body: (ByteView) -> R) -> R {
    #if !DEBUG
      // Without optimisation, asking first costs three times as much as the copy below.
      let fast = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
        // Safe: the view is used only while the closure runs.
        unsafe body(ByteView(UnsafeRawBufferPointer(bytes)))
      }
      if let fast { return fast }
    #endif
    // A string bridged from another runtime has no bytes of its own until it is copied.
    var copy = string
    return copy.withUTF8 { bytes in unsafe body(ByteView(UnsafeRawBufferPointer(bytes))) }
  }

  /// Calls `body` with the bytes of an array; the view ends with the call.
  @inline(__always)
  package static func withView<R>(of bytes: [UInt8], _ body: (ByteView) -> R) -> R {
    // Safe: the view is used only while the closure runs.
    unsafe bytes.withUnsafeBytes { unsafe body(ByteView($0)) }
  }

  @_transparent
  package static func equal(_ first: ByteView, _ second: ByteView) -> Bool {
    // Safe: both views have that many bytes.
    unsafe first.count == second.count && equal(first.base, second.base, byteCount: first.count)
  }

  /// Whether both have the same bytes; both have `byteCount` of them. Words that overlap at the end, so that no byte is
  /// compared by itself in keys and names of usual length (row: record-fetch-ten-fields).
  @_transparent
  static func equal(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer, byteCount: Int) -> Bool {
    // Safe: every load lies within the bytes, as the lengths tested before it say.
    if byteCount >= 8 {
      var index = 0
      while index &+ 8 <= byteCount {
        if unsafe first.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          != second.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        {
          return false
        }
        index &+= 8
      }
      index = byteCount &- 8
      return unsafe first.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        == second.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    }
    if byteCount >= 4 {
      let index = byteCount &- 4
      return unsafe first.loadUnaligned(as: UInt32.self) == second.loadUnaligned(as: UInt32.self)
        && first.loadUnaligned(fromByteOffset: index, as: UInt32.self)
          == second.loadUnaligned(fromByteOffset: index, as: UInt32.self)
    }
    var index = 0
    while index < byteCount {
      if unsafe first.load(fromByteOffset: index, as: UInt8.self)
        != second.load(fromByteOffset: index, as: UInt8.self)
      {
        return false
      }
      index &+= 1
    }
    return true
  }

  /// Whether the bytes are those of a literal.
  @_transparent
  static func equal(_ first: ByteView, _ second: StaticString) -> Bool {
    precondition(second.hasPointerRepresentation, "a literal of several characters lies in memory")
    // Safe: a literal's bytes live as long as the program.
    return unsafe equal(first, ByteView(UnsafeRawPointer(second.utf8Start), count: second.utf8CodeUnitCount))
  }

  /// The first eight bytes as a big-endian number, missing bytes as zero: `a < b` implies `head(a) <= head(b)`.
  @_transparent
  static func head(of bytes: ByteView) -> UInt64 {
    if bytes.count >= 8 { return bytes.bigEndianUInt64(at: 0) }
    return bytes.count == 0 ? 0 : word(of: bytes).byteSwapped
  }

  /// One to seven bytes as a little-endian number, the rest zero; without a loop (row: record-insert).
  @_transparent
  static func word(of bytes: ByteView) -> UInt64 {
    let count = bytes.count
    if count >= 4 {
      let shift = UInt64(count &- 4) &* 8
      return UInt64(bytes.uint32(at: 0)) | UInt64(bytes.uint32(at: count &- 4)) &<< shift
    }
    // Of three bytes the first, the middle and the last; of fewer some are the same.
    return UInt64(bytes[0]) | UInt64(bytes[count &>> 1]) &<< (UInt64(count &>> 1) &* 8)
      | UInt64(bytes[count &- 1]) &<< (UInt64(count &- 1) &* 8)
  }

  /// Below zero when `first` comes before `second`, zero when they are the same bytes, above zero otherwise.
  package static func compare(_ first: ByteView, _ second: ByteView) -> Int {
    let shared = min(first.count, second.count)
    var index = 0
    while index < shared {
      let difference = Int(first[index]) &- Int(second[index])
      if difference != 0 { return difference }
      index &+= 1
    }
    return first.count &- second.count
  }

  package static func equal(_ first: String, _ second: String) -> Bool {
    if hasSameWords(first, second) { return true }
    return withView(of: first) { a in withView(of: second) { b in equal(a, b) } }
  }

  /// Whether two strings are the same two words, as short ones and the literals of one place in a program are: then they have the same
  /// bytes. Others may have them, too.
  @_transparent
  static func hasSameWords(_ first: String, _ second: String) -> Bool {
    // Safe: a string is two words.
    let (a, b) = unsafe (unsafeBitCast(first, to: (UInt64, UInt64).self), unsafeBitCast(second, to: (UInt64, UInt64).self))
    return a.0 == b.0 && a.1 == b.1
  }

  package static func compare(_ first: String, _ second: String) -> Int {
    withView(of: first) { a in withView(of: second) { b in compare(a, b) } }
  }

  package static func compare(_ first: String, _ second: ByteView) -> Int {
    withView(of: first) { compare($0, second) }
  }

  package static func combine(_ string: String, into hasher: inout Hasher) {
    var copy = hasher
    withView(of: string) { view in
      // Safe: the bytes are read before the closure returns.
      unsafe copy.combine(bytes: view.buffer)
      // A terminator, so that neighbours do not run into each other.
      copy.combine(0xFF as UInt8)
    }
    hasher = copy
  }

  package static func isASCII(_ view: ByteView) -> Bool {
    let high: UInt64 = 0x8080_8080_8080_8080
    // Safe: every load lies within the view, as the lengths tested before it say; the last word overlaps the one before.
    let bytes = unsafe view.base
    let count = view.count
    if count >= 8 {
      var found = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
      var index = 0
      while index &+ 8 < count {
        unsafe found |= bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        index &+= 8
      }
      return found & high == 0
    }
    var found: UInt8 = 0
    var index = 0
    while index < count {
      unsafe found |= bytes.load(fromByteOffset: index, as: UInt8.self)
      index &+= 1
    }
    return found < 0x80
  }

  /// A string of the bytes, or nil when they are not UTF-8.
  ///
  /// Checking non-ASCII text costs about three times the copy, so bytes that were checked before (`isValid`) are
  /// copied unchecked. Bytes of a file are never that: a checksum says that they are what was written, not that the
  /// writer meant well, and an invalid string could be read beyond its end.
  package static func string(_ view: ByteView, isValid: Bool) -> String? {
    // Safe: a ByteView is readable over its whole count, and both initialisers copy.
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), isValid || isASCII(view) {
      let bytes = unsafe view.buffer.assumingMemoryBound(to: UInt8.self)
      return unsafe String(copying: UTF8Span(unchecked: bytes.span))
    }
    return unsafe String(validating: view.buffer, as: UTF8.self)
  }

  /// A string of bytes that were found to be ASCII.
  @inline(__always)
  static func string(ascii view: ByteView) -> String {
    // Safe: as above; the caller has checked the bytes, and they do not change.
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      let bytes = unsafe view.buffer.assumingMemoryBound(to: UInt8.self)
      return unsafe String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: true))
    }
    return unsafe String(decoding: view.buffer, as: UTF8.self)
  }

  /// The digits of a number in base 36, as the standard library writes them, which took a fifth of the time of a history (row:
  /// use-history-all).
  static func base36(_ number: UInt64) -> String {
    var digitCount = 1
    var rest = number / 36
    while rest > 0 {
      digitCount &+= 1
      rest /= 36
    }
    rest = number
    return unsafe String(unsafeUninitializedCapacity: 13) { digits in
      var index = digitCount
      while index > 0 {
        index &-= 1
        let digit = UInt8(truncatingIfNeeded: rest % 36)
        // Safe: no number has more than 13 digits.
        unsafe digits[index] = digit < 10 ? 48 &+ digit : 87 &+ digit
        rest /= 36
      }
      return digitCount
    }
  }
}

extension String {
  /// For texts from outside: `==` normalises both first, which takes quadratic time for a letter with many marks.
  package func equalsBytes(of other: String) -> Bool { UTF8Order.equal(self, other) }
}
