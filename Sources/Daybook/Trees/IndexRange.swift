import DaybookEngine

/// A part of an index: the entries whose keys are at or above one border and below another.
struct IndexRange {
  var lower: [UInt8]
  var upper: [UInt8]

  /// All entries of an index.
  init(number: UInt16) {
    lower = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
    // Values begin with less than 255.
    upper = lower + [255]
  }

  init(lower: [UInt8], upper: [UInt8]) {
    self.lower = lower
    self.upper = upper
  }

  func count(in root: TreeRoot, _ reader: TreeReader) throws(PageFault) -> UInt64 {
    if root.count == 0 { return 0 }
    return try lower.withView { (lower) throws(PageFault) in
      try upper.withView { (upper) throws(PageFault) in try reader.count(from: lower, to: upper, in: root) }
    }
  }
}
