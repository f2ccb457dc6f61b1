/// The root of a tree: a page reference (zero for an empty tree), and how many records and pages the tree has.
package struct TreeRoot: Sendable, Equatable {
  package var reference: UInt64
  package var count: UInt64
  /// Kept exact by `put` and `remove`, so that nobody has to walk a dropped tree to know its size.
  package var pageCount: UInt64
  package init(reference: UInt64 = 0, count: UInt64 = 0, pageCount: UInt64 = 0) {
    self.reference = reference
    self.count = count
    self.pageCount = pageCount
  }
  package static let empty = TreeRoot()
  package static let encodedByteCount = 24
  package var isEmpty: Bool { reference == 0 && count == 0 }

  /// Reads what `append` wrote.
  init(_ bytes: ByteView, at offset: Int) {
    reference = bytes.uint64(at: offset)
    count = bytes.uint64(at: offset + 8)
    pageCount = bytes.uint64(at: offset + 16)
  }

  /// No genuine tree has more records or pages, nor do all trees of a file together.
  static let countLimit: UInt64 = 1 << 40
  /// Whether the counts are plausible: sums of such numbers do not overflow.
  var hasSaneCounts: Bool { count < TreeRoot.countLimit && pageCount < TreeRoot.countLimit }

  /// Adds or subtracts pages. A forged tree may claim fewer than are removed, or as many as there can be.
  @inline(__always)
  mutating func addPages(_ change: Int) {
    if change != 0 { pageCount = TreeRoot.sum(pageCount, change) }
  }

  /// Subtracts a record; a forged tree may claim to have none.
  @inline(__always)
  mutating func removeOne() {
    if count > 0 { count &-= 1 }
  }

  /// A count plus a change, clamped to valid counts.
  static func sum(_ count: UInt64, _ change: Int) -> UInt64 {
    let limit = Int(countLimit)
    return UInt64(min(max(0, Int(clamping: min(count, countLimit)) &+ min(max(change, -limit), limit)), limit))
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(uint64: reference)
    buffer.append(uint64: count)
    buffer.append(uint64: pageCount)
  }
}
