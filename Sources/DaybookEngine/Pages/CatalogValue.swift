/// The value of a catalog cell: the roots of trees, then whatever the owner of the catalog keeps.
///
///     offset  size  field
///          0     1  root count
///          1     1  zero
///          2     2  byte count of the owner's bytes
///          4     4  zero
///          8  24×n  roots: {u64 page, or a place behind, u64 records, u64 pages}
///        ...        the owner's bytes
///        ...        trees that are small enough to stand here (`InlineTree`)
@safe package struct CatalogValue {
  static let headerByteCount = 8
  package let bytes: ByteView
  /// Where the value lies, for the trees inside it; zero where nobody follows them.
  private let place: UInt64

  init(_ bytes: ByteView, place: UInt64 = 0) {
    self.bytes = bytes
    self.place = place
  }

  @_transparent
  package var rootCount: Int {
    guard bytes.count >= CatalogValue.headerByteCount else { return 0 }
    return min(Int(bytes[0]), (bytes.count - CatalogValue.headerByteCount) / TreeRoot.encodedByteCount)
  }

  @_transparent
  package func root(_ index: Int) -> TreeRoot {
    var root = TreeRoot(bytes, at: CatalogValue.headerByteCount + index * TreeRoot.encodedByteCount)
    if InlineTree.isInline(root.reference), place != 0 {
      root.reference = InlineTree.resolve(root.reference, in: bytes, at: place)
    }
    return root
  }

  /// The owner's bytes.
  @_transparent
  package var ownerBytes: ByteView {
    guard bytes.count >= CatalogValue.headerByteCount else { return bytes.prefix(0) }
    let start = CatalogValue.headerByteCount + rootCount * TreeRoot.encodedByteCount
    return bytes.slice(start..<min(start + Int(bytes.uint16(at: 2)), bytes.count))
  }

  static func appendHeader(rootCount: Int, ownerByteCount: Int, to buffer: ByteBuffer) {
    buffer.append(UInt8(rootCount))
    buffer.append(0)
    buffer.append(uint16: UInt16(ownerByteCount))
    buffer.append(zeros: 4)
  }

  /// Replaces the reference of one root in a cell of a page that may be changed.
  static func setReference(_ reference: UInt64, root: Int, cell: Int, of page: Page) {
    let value = page.value(cell)
    precondition(headerByteCount + (root + 1) * TreeRoot.encodedByteCount <= value.count, "a root lies within its value")
    // Safe: the line above; the page is writable, as its caller says.
    unsafe UnsafeMutableRawPointer(mutating: value.base).storeBytes(
      of: reference.littleEndian, toByteOffset: headerByteCount + root * TreeRoot.encodedByteCount, as: UInt64.self)
  }
}
