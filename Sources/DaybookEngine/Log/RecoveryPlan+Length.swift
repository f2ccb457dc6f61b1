/// A log that ends before the length that its file names was cut, as by a copy that broke off.
extension RecoveryPlan {
  /// Compares the end of a walk with the length that the file names.
  mutating func compare(with header: FileHeader, fileEnd: UInt64) {
    guard end.offset < header.leastByteCount else { return }
    if case .corrupt = ending {
      // The walk ended at damage, and later frames are there: only what the file is too short for is missing.
      missingByteCount = fileEnd < header.leastByteCount ? header.leastByteCount - fileEnd : 0
      return
    }
    // The file may still have its size, with zeros or something else in place of the lost bytes.
    missingByteCount = header.leastByteCount - (fileEnd < header.leastByteCount ? fileEnd : end.offset)
    ending = .cutShort
    discardsFrames = false
    // The length proves them durable.
    firstUnproven = nil
    hasUnprovenData = false
  }
}
