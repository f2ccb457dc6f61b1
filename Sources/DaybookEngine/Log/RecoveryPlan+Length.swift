/// A log that ends before the length that its file names was cut, as by a copy that broke off.
extension RecoveryPlan {
  /// Compares the end of a walk with the length that the file names.
  mutating func compare(with header: FileHeader, fileEnd: UInt64) {
    guard end.offset < header.leastByteCount else { return }
    // The file may still have its size, with zeros or something else in place of the lost bytes.
    missingByteCount = header.leastByteCount - (fileEnd < header.leastByteCount ? fileEnd : end.offset)
    if case .corrupt = ending { return }
    ending = .cutShort
    discardsFrames = false
    // The length proves them durable.
    firstUnproven = nil
    hasUnprovenData = false
  }
}
