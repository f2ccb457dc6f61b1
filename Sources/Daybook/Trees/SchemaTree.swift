import DaybookEngine

/// The tree of the schema: root 5 of the database.
///
///     key     type, 0, key of a field (nothing behind the zero: the type itself)
///     value   u32 kinds that the field has had, see `KindBits`; 0 for the type itself
///
/// It is fed by operations of its own, "declare fields", which a save writes before itself when it brings something new. So
/// the schema outlives the records that brought it, also through compaction, and applying a save looks at none of it:
///
///     u8 type length, type, then for each field: u8 key length, key, u32 kinds to add
///
/// Always true: type, fields and kinds of every live record stand here; no bit is ever taken away.
enum SchemaTree {
  static func setKey(_ buffer: ByteBuffer, type: ByteView, field: ByteView?) {
    buffer.truncate(to: 0)
    buffer.append(type)
    buffer.append(0)
    if let field { buffer.append(field) }
  }

  static func beginDeclaration(_ buffer: ByteBuffer, type: ByteView) {
    buffer.append(UInt8(type.count))
    buffer.append(type)
  }

  static func append(_ field: ByteView, _ kinds: KindBits, to buffer: ByteBuffer) {
    buffer.append(UInt8(field.count))
    buffer.append(field)
    buffer.append(uint32: kinds.rawValue)
  }

  /// Type and fields of a declaration; nil when its lengths make no sense.
  static func forEachField(
    of declaration: ByteView, _ body: (_ type: ByteView, _ field: ByteView?, KindBits) throws(LogFault) -> Void
  ) throws(LogFault) {
    var reader = ByteReader(declaration)
    guard let typeCount = reader.uint8(), typeCount > 0, let type = reader.take(Int(typeCount)) else { throw .operation }
    try body(type, nil, KindBits(rawValue: 0))
    while !reader.isAtEnd {
      guard let count = reader.uint8(), count > 0, let field = reader.take(Int(count)), let bits = reader.uint32() else {
        throw .operation
      }
      try body(type, field, KindBits(rawValue: bits))
    }
  }

  /// Adds a declaration to the tree.
  static func apply(_ declaration: ByteView, _ key: ByteBuffer, _ changes: StoreTransaction) throws(LogFault) {
    let value = ByteBuffer(capacity: 16)
    try forEachField(of: declaration) { (type, field, kinds) throws(LogFault) in
      setKey(key, type: type, field: field)
      let known = try changes.value(key.view, in: changes.roots[Roots.schema]).map { (view) throws(LogFault) in
        guard view.count == 4 else { throw .inconsistent }
        return KindBits(rawValue: view.uint32(at: 0))
      }
      if let known, known.contains(kinds) { return }
      value.truncate(to: 0)
      value.append(uint32: (known ?? KindBits(rawValue: 0)).union(kinds).rawValue)
      try changes.put(key.view, value.view, in: &changes.roots[Roots.schema])
    }
  }

  /// The kinds that a field has had: nil when it is not known.
  static func kinds(
    of field: ByteView?, type: ByteView, _ reader: TreeReader, _ root: TreeRoot, _ key: ByteBuffer
  ) throws(PageFault) -> KindBits? {
    setKey(key, type: type, field: field)
    guard let value = try reader.value(key.view, in: root) else { return nil }
    guard value.count == 4 else { throw reader.fault(in: root) }
    return KindBits(rawValue: value.uint32(at: 0))
  }

  /// Appends the declaration of what a body has and the tree does not; false, and nothing appended, when it has all.
  static func appendMissing(
    of body: ByteView, _ layout: RecordBody.Layout, _ reader: TreeReader, _ root: TreeRoot, to declaration: ByteBuffer
  ) throws(PageFault) -> Bool {
    let type = RecordBody.typeBytes(of: body)
    let key = ByteBuffer(capacity: 512)
    var isMissing = try kinds(of: nil, type: type, reader, root, key) == nil
    let start = declaration.count
    beginDeclaration(declaration, type: type)
    var cursor = FieldCursor(body, layout)
    while let field = cursor.next() {
      guard let kind = field.mark.kind else { continue }
      let bits = KindBits(kind, isEncrypted: field.mark.isEncrypted)
      if try kinds(of: field.key, type: type, reader, root, key)?.contains(bits) == true { continue }
      append(field.key, bits, to: declaration)
      isMissing = true
    }
    if !isMissing { declaration.truncate(to: start) }
    return isMissing
  }
}
