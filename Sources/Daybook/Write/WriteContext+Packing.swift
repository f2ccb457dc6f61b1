import DaybookEngine

/// Packing what is saved: the body is made spelled out, which is what the caller gets, and written in its packed form.
extension WriteContext {
  /// How a body is packed; `undeclared` when something must be declared first.
  /// - Parameter shape: its number in `KnownShapes`.
  @inline(__always)
  func packing(of body: RecordBody, _ shape: UInt64, in zone: ZoneTrees) throws(DatabaseError) -> BodyPacker.Packing {
    let applier = applier
    do throws(LogFault) { try applier.alignShapes(changes) } catch { throw failure(error) }
    return body.withBytes {
      database.writerState.packer.packing(of: $0, body.layout, shape: shape, epoch: zone.epoch, in: applier.shapes)
    }
  }

  /// Declares what a body needs to be packed.
  func declarePacking(of body: RecordBody, _ shape: UInt64, in zone: ZoneTrees) throws(DatabaseError) {
    let shapes = applier.shapes
    try body.withBytes { (bytes) throws(DatabaseError) in
      try database.writerState.packer.declare(
        for: bytes, body.layout, shape: shape, epoch: zone.epoch, in: shapes
      ) { (declaration) throws(DatabaseError) in
        hasDeclared = true
        try start()
        let operation = changes.beginOperation()
        changes.payload.append(declaration)
        try end(operation, .declare)
      }
    }
  }

  /// Ends the save of a body that is spelled out after the header of an operation.
  @inline(__always)
  func endSave(_ operation: Int, _ body: RecordBody, _ packing: BodyPacker.Packing) throws(DatabaseError) {
    guard case .packed(let packing) = packing else {
      try end(operation, .saveRecord)
      return
    }
    changes.cancelOperation(operation)
    let start = changes.beginOperation()
    body.withBytes { bytes in
      if !packing.append(bytes, body.layout, to: changes.payload) { changes.payload.append(bytes) }
    }
    try end(start, .saveRecord)
  }
}

extension BodyPacker.Packing {
  @inline(__always)
  var isUndeclared: Bool {
    if case .undeclared = self { true } else { false }
  }
}
