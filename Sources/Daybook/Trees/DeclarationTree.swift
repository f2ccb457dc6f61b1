import DaybookEngine

/// The tree of declarations: root 6 of the database.
///
///     key     u16 number in the order in which they were made, u8 number of the piece
///     value   a piece of the declaration, of 500 bytes but for the last
///
/// It has the declarations themselves and not their places. So what a file's bodies mean is in the log and in the tree, and one
/// of the two may be damaged.
enum DeclarationTree {
  private static let keyByteCount = 3

  static func setKey(_ key: ByteBuffer, number: Int, piece: Int) {
    key.truncate(to: 0)
    key.append(UInt8(truncatingIfNeeded: number >> 8))
    key.append(UInt8(truncatingIfNeeded: number))
    key.append(UInt8(truncatingIfNeeded: piece))
  }

  /// Which declaration and which piece of it a key names; nil when it is no key of the tree.
  static func place(_ key: ByteView) -> (number: Int, piece: Int)? {
    guard key.count == keyByteCount else { return nil }
    return (Int(key[0]) << 8 | Int(key[1]), Int(key[2]))
  }

  static func put(
    _ declaration: ByteView, number: Int, _ key: ByteBuffer, _ changes: StoreTransaction
  ) throws(LogFault) {
    for piece in 0..<Declaration.pieceCount(of: declaration.count) {
      let start = piece * Declaration.pieceByteCount
      setKey(key, number: number, piece: piece)
      try changes.put(
        key.view, declaration.slice(start..<min(declaration.count, start + Declaration.pieceByteCount)),
        in: &changes.roots[Roots.declarations])
    }
  }

  /// Calls `body` with each declaration from one on.
  /// - Throws: a fault when the tree has anything else.
  static func forEach(
    from first: Int = 0, in root: TreeRoot, _ reader: TreeReader, _ body: (ByteView) throws(PageFault) -> Void
  ) throws(PageFault) {
    let key = ByteBuffer(capacity: 16)
    let declaration = ByteBuffer(capacity: 1024)
    // `body` gets a view of it.
    defer { withExtendedLifetime(declaration) {} }
    setKey(key, number: first, piece: 0)
    var cursor = reader.cursor(in: root)
    try cursor.start(at: key.view)
    var number = first
    var piece = 0
    while try cursor.next() {
      cursor.key(into: key)
      guard let found = place(key.view) else { throw reader.fault(in: root) }
      if found.piece == 0, piece > 0 {
        try body(declaration.view)
        declaration.truncate(to: 0)
        number += 1
        piece = 0
      }
      guard found == (number, piece), cursor.value.count <= Declaration.pieceByteCount else {
        throw reader.fault(in: root)
      }
      declaration.append(cursor.value)
      piece += 1
    }
    if piece > 0 { try body(declaration.view) }
  }
}
