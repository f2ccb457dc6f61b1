import DaybookEngine

/// What a writer knows of copies of declarations within commits.
struct CopiedDeclarations {
  /// So many have a copy in a later block of the log than where they were before.
  var farCount = 0
  /// This process has written so many of them, the last time up to `end`, since it opened the file.
  var count = 0
  var end: UInt64 = 0
}

/// Declarations: the dictionary of a store follows its newest trees.
extension RecordApplier {
  /// Makes the dictionary what the transaction's tree has: takes what an open finds there, and forgets what was rolled back.
  ///
  /// A log only ever adds declarations, so of two states of its tree one is the beginning of the other.
  @inline(__always)
  func alignShapes(_ changes: StoreTransaction) throws(LogFault) {
    if areShapesAligned { return }
    try alignShapes(to: changes.roots[Roots.declarations], changes)
  }

  @inline(never)
  private func alignShapes(to root: TreeRoot, _ changes: StoreTransaction) throws(LogFault) {
    try alignFeatures(changes)
    let target = Int(clamping: root.count)
    if shapes.pieceCount > target, !isMutant("keep-shapes-of-savepoint") { shapes.cut(toPieceCount: target) }
    if shapes.pieceCount < target {
      do throws(PageFault) {
        try DeclarationTree.forEach(from: shapes.count, in: root, changes.reader) { (declaration) throws(PageFault) in
          let count = shapes.count
          guard Declaration.isSound(declaration), shapes.add(declaration), shapes.count == count + 1 else {
            throw changes.reader.fault(in: root)
          }
        }
      } catch { throw .page(error) }
    }
    guard shapes.pieceCount == target || isMutant("keep-shapes-of-savepoint") else { throw .inconsistent }
    try alignIndexes(changes)
    areShapesAligned = true
  }

  /// Applies a declaration. The same one may be in a log several times.
  func declare(_ declaration: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard Declaration.isSound(declaration) else { throw .operation }
    let number = shapes.count
    // One number for two declarations: no writer makes that.
    guard shapes.add(declaration) else { throw .inconsistent }
    if shapes.count > number, !isMutant("forget-a-shape") { try DeclarationTree.put(declaration, number: number, key, changes) }
  }

  func declarationCount(in roots: RootSet) -> Int {
    var count = 0
    forEachDeclaration(in: roots) { _, _ in count += 1 }
    return count
  }

  func forEachDeclaration(in roots: RootSet, _ body: (_ kind: UInt8, _ payload: ByteView) -> Void) {
    var rest = Int(clamping: roots[Roots.declarations].count)
    // What a transaction declared that was rolled back may still be after the others.
    for index in 0..<shapes.count {
      let declaration = shapes[index].bytes
      rest -= Declaration.pieceCount(of: declaration.count)
      if rest < 0 { return }
      body(OperationKind.declare.rawValue, declaration)
    }
  }

  /// Zone, type and name of a stored body; nil when it is none, or not to be understood.
  @inline(__always)
  func identity(of body: ByteView) -> BodyIdentity? { BodyIdentity.stored(body, shapes.table, nameText) }

  /// A stored body spelled out, until the next one is.
  func spelled(_ body: ByteView) throws(LogFault) -> ByteView {
    do throws(BodyFault) { return try shapes.spelled(body, in: spelledBody) } catch { throw .operation }
  }
}
