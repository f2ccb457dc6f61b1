import DaybookEngine

/// Reading the schema.
extension ReadView {
  func schema() throws(DatabaseError) -> Schema {
    var schema = Schema()
    let key = ByteBuffer(capacity: 512)
    try asDatabaseError { () throws(PageFault) in
      var cursor = reader.cursor(in: root(.schema))
      while try cursor.next() {
        key.truncate(to: 0)
        cursor.key(into: key)
        if IndexDefinition.isKey(key.view) { continue }
        guard let end = key.view.firstIndex(of: 0), cursor.value.count == 4,
          let type = UTF8Order.string(key.view.prefix(end), isValid: false),
          let field = UTF8Order.string(key.view.dropFirst(end + 1), isValid: false)
        else { throw reader.fault(in: root(.schema)) }
        if schema.types.last.map({ UTF8Order.equal($0.name, type) }) != true { schema.types.append(.init(name: type)) }
        let bits = KindBits(rawValue: cursor.value.uint32(at: 0))
        for isEncrypted in [false, true] {
          let kinds = bits.kinds(isEncrypted: isEncrypted).compactMap { Schema.Kind(rawValue: $0.name) }
          if !kinds.isEmpty {
            schema.types[schema.types.count - 1].fields.append(.init(key: field, kinds: kinds, isEncrypted: isEncrypted))
          }
        }
      }
    }
    for index in try indexes() {
      guard let kind = index.kind, let position = schema.types.firstIndex(where: { $0.name == index.typeName }) else {
        continue
      }
      // Some files have one from when that was not refused. No database takes it, and it finds nothing.
      let fields = schema.types[position].fields
      if fields.contains(where: { $0.isEncrypted && UTF8Order.equal($0.key, index.keyName) }) { continue }
      schema.types[position].indexes.append(.init(key: index.keyName, kind: kind))
    }
    return schema
  }

  /// The indexes that there are, by their numbers.
  func indexes() throws(DatabaseError) -> [IndexDefinition] { try facts().indexes.byNumber }

  /// The one place that says which fields may be asked for and indexed.
  /// - Returns: the kinds that the field has had; nil where it is not known.
  /// - Throws: `invalidArguments` for encrypted values, and for types of the system where they are kept from queries.
  @discardableResult
  func requireQueryable(_ field: String?, ofType type: String) throws(DatabaseError) -> KindBits? {
    guard let field else { return nil }
    let key = ByteBuffer(capacity: 64)
    let reader = reader
    let root = root(.schema)
    let kinds = try asDatabaseError { () throws(PageFault) in
      try type.withKeyView { (type) throws(PageFault) in
        try field.withKeyView { (field) throws(PageFault) in
          try SchemaTree.kinds(of: field, type: type, reader, root, key)
        }
      }
    }
    if let kinds, kinds.intersects(.encrypted) {
      throw DatabaseError(
        .invalidArguments, "Encrypted values cannot be queried, sorted or indexed.",
        facts: .init(recordType: type, key: field, found: kinds.description))
    }
    return kinds
  }
}
