import DaybookEngine

/// Packing what is saved: the body is made spelled out, which is what the caller gets, and written in its packed form.
extension WriteContext {
  /// How a body is packed; `undeclared` when something must be declared first.
  /// - Parameters:
  ///   - shape: its number in `KnownShapes`.
  ///   - epoch: the life of its zone.
  @inline(__always)
  func packing(of body: RecordBody, _ shape: UInt64, ofLife epoch: UInt64) throws(DatabaseError) -> BodyPacker.Packing {
    do throws(LogFault) { try applier.alignShapes(changes) } catch { throw failure(error) }
    return body.withBytes {
      state.packer.packing(of: $0, body.layout, shape: shape, epoch: epoch, in: applier.shapes)
    }
  }

  /// Declares what a body needs to be packed.
  func declarePacking(of body: RecordBody, _ shape: UInt64, ofLife epoch: UInt64) throws(DatabaseError) {
    let shapes = applier.shapes
    try body.withBytes { (bytes) throws(DatabaseError) in
      try state.packer.declare(
        for: bytes, body.layout, shape: shape, epoch: epoch, in: shapes
      ) { (declaration) throws(DatabaseError) in try write(declaration) }
    }
  }

  /// Declares the shape of records that have every field of a type. Records that lack some of them use it, too, once their type has
  /// many shapes. A type with a field of several kinds gets none: its records will say which they have.
  func declareShape(ofType type: String, _ fields: [Schema.Field]) throws(DatabaseError) {
    if fields.isEmpty { return }
    var marks: [(key: [UInt8], mark: UInt8)] = []
    for field in fields {
      guard field.kinds.count == 1, let kind = field.kinds.first.flatMap({ FieldKind(name: $0.rawValue) }) else { return }
      let isSealed = field.isEncrypted && database.options.cipher != nil
      marks.append((Array(field.key.utf8), FieldMark(kind, isEncrypted: field.isEncrypted, isSealed: isSealed).rawValue))
    }
    marks.sort { $0.key.lexicographicallyPrecedes($1.key) }
    do throws(LogFault) { try applier.alignShapes(changes) } catch { throw failure(error) }
    let declaration = ByteBuffer(capacity: 256)
    defer { withExtendedLifetime(declaration) {} }
    Array(type.utf8).withView { Declaration.appendShape(type: $0, marks, to: declaration) }
    let known = Array(type.utf8).withView { shapes.shapes(ofType: $0).count }
    // Not sound is one with a key twice.
    guard known < BodyPacker.shapeLimit, Declaration.isSound(declaration.view), shapes.find(declaration.view) == nil,
      shapes.mayAdd(declaration.view)
    else { return }
    try write(declaration.view)
  }

  private func write(_ declaration: ByteView) throws(DatabaseError) {
    hasDeclared = true
    try start()
    let first = min(ownDeclarations?.first ?? .max, shapes.count)
    try append(declaration)
    ownDeclarations = (first, changes.logEnd)
  }

  private var shapes: ShapeDictionary { applier.shapes }

  private func append(_ declaration: ByteView) throws(DatabaseError) {
    let operationStart = changes.beginOperation()
    payload.append(declaration)
    try endOperation(operationStart, .declare)
  }

  /// Writes declarations a second time, before the commit: those of this commit at its own end, so that no damaged byte takes both, and
  /// those of commits before at the end of the first commit in a later block of the log, so that no damaged block takes both.
  /// What the trees of a checkpoint have is not repeated.
  ///
  /// Always true: until a copy is in a later block than all of what it repeats, every body that names it ends in the block where that ends,
  /// or before. So a block takes no body that lies outside of it.
  ///
  /// A transaction that only deletes writes none: a full disk may have no room for them.
  /// - Returns: what the applier is to know of it when the commit is written; nil when nothing changes.
  func repeatDeclarations() throws(DatabaseError) -> CopiedDeclarations? {
    // The commit will say why.
    if changes.failure != nil { return nil }
    do throws(LogFault) { try applier.alignShapes(changes) } catch { throw failure(error) }
    let known = applier.copiedDeclarations
    let far = min(max(known.farCount, changes.store.checkpointedDeclarationCount), shapes.count)
    guard far < shapes.count, changes.addsData, !isMutant("never-repeat-declarations") else { return nil }
    let offset = changes.logEnd
    let own = min(ownDeclarations?.first ?? .max, shapes.count)
    // Where those are is unknown that another process has made, or this one before it opened the file: they are written
    // now, and count as being in this block.
    let areOthersUnknown = far < own && known.count < own
    let areOthersFar = !areOthersUnknown && WriteContext.isInLaterBlock(offset, than: known.end)
    guard own < shapes.count || areOthersUnknown || areOthersFar else { return nil }
    for index in far..<shapes.count { try append(shapes[index].bytes) }
    var copied = CopiedDeclarations(farCount: shapes.count, count: shapes.count, end: changes.logEnd)
    if areOthersUnknown {
      copied.farCount = far
    } else if own < shapes.count, let end = ownDeclarations?.end, !WriteContext.isInLaterBlock(offset, than: end) {
      copied.farCount = areOthersFar ? max(far, own) : far
    }
    return copied
  }

  private static let diskBlockByteCount: UInt64 = 4096

  /// Whether what begins at `offset` and what ended at `end` share no block of the disk.
  private static func isInLaterBlock(_ offset: UInt64, than end: UInt64) -> Bool {
    if isMutant("copy-in-same-block") { return true }
    return offset / diskBlockByteCount > (max(end, 1) - 1) / diskBlockByteCount
  }

  /// Ends the save of a body that `encode` has spelled out after the header of an operation. Where it can be packed, the spelled
  /// bytes are discarded, and `body`, which is a copy of them, is packed in their place.
  @inline(__always)
  func endSave(_ operationStart: Int, _ body: RecordBody, _ packing: BodyPacker.Packing) throws(DatabaseError) {
    guard case .packed(let packing) = packing else {
      try endOperation(operationStart, .saveRecord)
      return
    }
    changes.cancelOperation(operationStart)
    let operationStart = changes.beginOperation()
    body.withBytes { bytes in
      if !packing.append(bytes, body.layout, to: payload) { payload.append(bytes) }
    }
    try endOperation(operationStart, .saveRecord)
  }
}

extension BodyPacker.Packing {
  @inline(__always)
  var isPacked: Bool {
    if case .packed = self { true } else { false }
  }

  @inline(__always)
  var isUndeclared: Bool {
    if case .undeclared = self { true } else { false }
  }
}
