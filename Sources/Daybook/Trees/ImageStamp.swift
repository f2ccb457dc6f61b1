import DaybookEngine

/// Where an operation of an image once was: its sequence and ordinal in the file that was compacted.
///
/// Stamps of one operation of stamps follow each other as differences, about four bytes each instead of twelve:
///
///     signed varint   sequence − that of the stamp before, 0 before the first
///     signed varint   ordinal − what is expected: in the same commit the ordinal of the stamp before + 1, else 0
///
/// So records that were saved in the order of their names take two bytes each.
struct ImageStamp {
  private(set) var sequence: UInt64 = 0
  private(set) var ordinal: UInt32 = 0

  private func expected(_ difference: UInt64) -> Int64 { difference == 0 ? Int64(ordinal) + 1 : 0 }

  /// Moves on to a stamp and appends what is different.
  mutating func move(to sequence: UInt64, _ ordinal: UInt32, appendingTo buffer: ByteBuffer) {
    let difference = sequence &- self.sequence
    buffer.append(signedVarint: Int64(bitPattern: difference))
    buffer.append(signedVarint: Int64(ordinal) - expected(difference))
    self.sequence = sequence
    self.ordinal = ordinal
  }

  /// Moves on to the stamp at an offset, which moves behind it; false when the bytes are none.
  mutating func read(_ bytes: ByteView, at offset: inout Int) -> Bool {
    guard let step = bytes.signedVarint(at: &offset), let ordinalStep = bytes.signedVarint(at: &offset) else { return false }
    let difference = UInt64(bitPattern: step)
    let (ordinal, isOverflow) = expected(difference).addingReportingOverflow(ordinalStep)
    guard !isOverflow, ordinal >= 0, ordinal <= UInt32.max else { return false }
    sequence &+= difference
    self.ordinal = UInt32(ordinal)
    return true
  }
}
