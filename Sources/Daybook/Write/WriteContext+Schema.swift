import DaybookEngine

/// Learning the schema, or holding records to it.
extension WriteContext {
  /// Whether the schema has everything that a body is made of.
  @inline(__always)
  func isKnownShape(_ body: RecordBody) -> Bool {
    body.withBytes { state.knownShapes.contains(KnownShapes.shape(of: $0, body.layout)) }
  }

  /// Declares what is new in a record, or refuses it. Nothing is written when all is known.
  /// - Throws: `invalidArguments` with type, key and kinds; `corrupted` for keys that no record can have.
  func declareShape(of record: Record) throws(DatabaseError) {
    let body = record.body
    if !body.isChecked {
      // Parts of it were copied from a stored body, of which the lengths were looked at and nothing else.
      do throws(BodyFault) {
        try body.withBytes { (bytes) throws(BodyFault) in try RecordBody.validateShape(of: bytes, layout: body.layout) }
      } catch { throw damaged(record, error) }
    }
    let root = changes.roots[Roots.schema]
    let reader = view.reader
    let declaration = ByteBuffer(capacity: 256)
    let isMissing = try body.withBytes { (bytes) throws(DatabaseError) in
      try view.asDatabaseError { () throws(PageFault) in
        try SchemaTree.appendMissing(of: bytes, body.layout, reader, root, to: declaration)
      }
    }
    if isMissing {
      try refuseFields(of: record, declaration.view, root)
      try write(declaration)
    }
    body.withBytes { state.knownShapes.insert(KnownShapes.shape(of: $0, body.layout)) }
  }

  /// Writes the declaration of a schema's types, as far as they are new: all of it, or nothing when a part is refused.
  func declare(_ schema: Schema) throws(DatabaseError) {
    try requireOpen()
    try undoing { () throws(DatabaseError) in try declareTypes(of: schema) }
  }

  private func declareTypes(of schema: Schema) throws(DatabaseError) {
    for type in schema.types {
      try declareFields(of: type)
      for index in type.indexes { _ = try defineIndex(on: index.key, ofType: type.name, kind: index.kind) }
    }
  }

  func declareFields(of type: Schema.RecordType) throws(DatabaseError) {
    let key = ByteBuffer(capacity: 512)
    do {
      if let fault = NameRules.faultOfType(type.name, isNew: false) { throw fault }
      let declaration = ByteBuffer(capacity: 256)
      var isMissing = false
      let root = changes.roots[Roots.schema]
      let reader = view.reader
      try type.name.withKeyView { (name) throws(DatabaseError) in
        SchemaTree.beginDeclaration(declaration, type: name)
        isMissing = try view.asDatabaseError { () throws(PageFault) in
          try SchemaTree.kinds(of: nil, type: name, reader, root, key) == nil
        }
        // A key may be named several times; what all of it comes to is what is looked at.
        var named: [String: KindBits] = [:]
        for field in type.fields {
          if let fault = NameRules.faultOfKey(field.key) { throw fault.adding { $0.recordType = type.name } }
          var bits = KindBits(rawValue: 0)
          for kind in field.kinds {
            guard let kind = FieldKind(name: kind.rawValue) else { continue }
            if field.isEncrypted, kind.isAsset || kind.isReference {
              throw DatabaseError(
                .invalidArguments, "Assets and references cannot be encrypted values.",
                facts: .init(recordType: type.name, key: field.key, found: kind.name))
            }
            bits = bits.union(KindBits(kind, isEncrypted: field.isEncrypted))
          }
          try field.key.withKeyView { (fieldKey) throws(DatabaseError) in
            let known = try view.asDatabaseError { () throws(PageFault) in
              try SchemaTree.kinds(of: fieldKey, type: name, reader, root, key)
            }
            let before = named[field.key].map { $0.union(known ?? KindBits(rawValue: 0)) } ?? known
            named[field.key] = (before ?? KindBits(rawValue: 0)).union(bits)
            if let before, before.contains(bits) { return }
            try refuse(bits, before, key: field.key, type: type.name)
            SchemaTree.append(fieldKey, bits, to: declaration)
            isMissing = true
          }
        }
      }
      // What is known makes no commit, so the shape comes with the fields, or with the first record.
      if !isMissing { return }
      try write(declaration)
      try declareShape(ofType: type.name, type.fields)
    }
  }

  private func write(_ declaration: ByteBuffer) throws(DatabaseError) {
    try start()
    let operationStart = changes.beginOperation()
    payload.append(declaration.view)
    try endOperation(operationStart, .declareFields)
    hasDeclared = true
  }

  /// What a record may not bring.
  private func refuseFields(
    of record: Record, _ declaration: ByteView, _ root: TreeRoot
  ) throws(DatabaseError) {
    var fields: [(key: String, kinds: KindBits)] = []
    do {
      try SchemaTree.forEachField(of: declaration) { (_, field, kinds) in
        if let field, let key = UTF8Order.string(field, isValid: false) { fields.append((key, kinds)) }
      }
    } catch { throw failure(error) }
    let type = record.type
    let reader = view.reader
    let key = ByteBuffer(capacity: 512)
    let isTypeKnown = try view.asDatabaseError { () throws(PageFault) in
      try type.withKeyView { (name) throws(PageFault) in
        try SchemaTree.kinds(of: nil, type: name, reader, root, key) != nil
      }
    }
    do throws(DatabaseError) {
      if !isTypeKnown, database.options.schema == .locked {
        throw DatabaseError(
          .invalidArguments, "The record type is not in the schema, which is locked.", facts: .init(recordType: type))
      }
      for field in fields {
        let known = try view.asDatabaseError { () throws(PageFault) in
          try type.withKeyView { (name) throws(PageFault) in
            try field.key.withKeyView { (fieldKey) throws(PageFault) in
              try SchemaTree.kinds(of: fieldKey, type: name, reader, root, key)
            }
          }
        }
        if database.options.schema == .locked {
          throw DatabaseError(
            .invalidArguments,
            known == nil
              ? "The field is not in the schema, which is locked."
              : "The schema, which is locked, has the field with another kind.",
            facts: .init(recordType: type, key: field.key, expected: known?.description, found: field.kinds.description))
        }
        try refuse(field.kinds, known, key: field.key, type: type)
        if known == nil, database.options.dialect == .cloudKit,
          ((record[field.key] as Record.Value?) ?? record.encryptedValues[field.key])?.elementCount == 0
        {
          throw DatabaseError(
            .invalidArguments, "cannot use an empty list to initialize a new field",
            facts: .init(recordType: type, key: field.key, found: field.kinds.description))
        }
      }
    } catch {
      throw error.adding(record.id)
    }
  }

  /// Kinds that a field cannot have beside those it has.
  private func refuse(_ kinds: KindBits, _ known: KindBits?, key: String, type: String) throws(DatabaseError) {
    let all = (known ?? KindBits(rawValue: 0)).union(kinds)
    let facts = DatabaseError.Facts(recordType: type, key: key, expected: known?.description, found: kinds.description)
    if all.intersects(.plain), all.intersects(.encrypted) {
      throw DatabaseError(.invalidArguments, "A key is either encrypted or plain, never both.", facts: facts)
    }
    // A field that was made before this was refused stays as it is.
    if kinds.intersects(.encrypted), !(known?.intersects(.encrypted) ?? false), try hasIndex(on: key, ofType: type) {
      throw DatabaseError(.invalidArguments, "Encrypted values cannot be queried, sorted or indexed.", facts: facts)
    }
    if database.options.dialect == .cloudKit, all.rawValue.nonzeroBitCount > 1 {
      throw DatabaseError(.invalidArguments, "A field keeps the kind that it was first saved with.", facts: facts)
    }
  }
}
