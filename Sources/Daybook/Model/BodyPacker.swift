import DaybookEngine

/// Finds the declarations that bodies are packed with, and says which are missing.
///
/// A type of which a file has many shapes gets no more of them: its further bodies take the smallest shape that has all of their fields,
/// and say which they lack. So twenty of two hundred optional keys make a few declarations and not thousands.
///
/// Belongs to the holder of the turn. What it remembers it compares with the dictionary before it is used.
final class BodyPacker {
  enum Packing {
    case packed(BodyPacking)
    /// The body stays as it is: it is long, or the dictionary has no room for what it needs, or a number is another's.
    case spelled
    /// Something must be declared first.
    case undeclared
  }

  private struct Choice {
    /// Nil: bodies of this shape are spelled out.
    var shape: UInt32?
    var isSparse = false
  }

  /// With so many shapes of a type, the next is a sparse one.
  static let shapeLimit = 16
  /// With so many, the sparse ones included, a body that none of them covers is spelled out. A type whose records bring new keys
  /// without end would declare a shape with each, every one longer than the one before.
  static let sparseShapeLimit = 48
  private static let choiceLimit = 1 << 14

  @safe @exclusivity(unchecked) private var choices: [UInt64: Choice] = [:]
  /// The last choice of those that share a place; 0 is no shape.
  @safe @exclusivity(unchecked) private var recent = [(shape: UInt64, choice: Choice)](
    repeating: (0, Choice()), count: BodyPacker.recentCount)
  private static let recentCount = 16
  /// Longer bodies are spelled out. A copy packs what was packed, however long it is spelled out.
  var largestByteCount = BodyPacking.largestByteCount
  // Numbers that the body before had.
  @safe @exclusivity(unchecked) private var zone: UInt32 = 0
  @safe @exclusivity(unchecked) private var creator: UInt32 = 0
  @safe @exclusivity(unchecked) private var modifier: UInt32 = 0
  @safe @exclusivity(unchecked) private var device: UInt32 = 0
  private let scratch = ByteBuffer(capacity: 256)

  /// Forgets what may have been rolled back with a transaction.
  func removeAll() {
    choices.removeAll()
    for index in recent.indices { recent[index].shape = 0 }
  }

  /// How a body is packed.
  /// - Parameters:
  ///   - shape: the number of its shape in `KnownShapes`.
  ///   - epoch: of the zone's life that it belongs to.
  func packing(
    of body: ByteView, _ layout: RecordBody.Layout, shape: UInt64, epoch: UInt64, in shapes: ShapeDictionary
  ) -> Packing {
    if body.count > largestByteCount { return .spelled }
    guard let choice = choice(of: shape) else { return .undeclared }
    guard let number = choice.shape else { return .spelled }
    guard let found = shapes.find(number, .shape) else { return .undeclared }
    var packing = BodyPacking(shape: found, isSparse: choice.isSparse)
    if body.uint16(at: 2) != RecordBody.defaultZoneMark {
      let key = RecordBody.zoneKey(of: body)
      if let known = shapes.find(zone, .zone), known.epoch == epoch, UTF8Order.equal(known.zoneKey, key) {
        packing.zone = zone
      } else {
        setZone(key, epoch)
        if let known = shapes.find(scratch.view) {
          zone = known.number
          packing.zone = zone
        } else if shapes.mayAdd(scratch.view) {
          return .undeclared
        }
      }
    }
    if body[1] & BodyPacker.userFlags == 0 {
      packing.users = (0, 0, 0)
      return .packed(packing)
    }
    let parts = RecordBody.Optionals(of: body, layout: layout)
    let own = body[1] & RecordBody.Flags.modifier != 0 ? parts.modifier : nil
    switch (
      find(parts.creator, .user, &creator, shapes), find(own, .user, &modifier, shapes),
      find(parts.device, .device, &device, shapes)
    ) {
    case (.missing, _, _), (_, .missing, _), (_, _, .missing): return .undeclared
    case (.found(let creator), .found(let modifier), .found(let device)): packing.users = (creator, modifier, device)
    default: break
    }
    return .packed(packing)
  }

  private static let userFlags = RecordBody.Flags.creator | RecordBody.Flags.modifier | RecordBody.Flags.device

  private enum Found {
    case found(UInt32), missing, impossible
  }

  private func find(
    _ text: ByteView?, _ kind: Declaration.Kind, _ known: inout UInt32, _ shapes: ShapeDictionary
  ) -> Found {
    guard let text else { return .found(0) }
    if let declared = shapes.find(known, kind), UTF8Order.equal(declared.text, text) { return .found(known) }
    scratch.truncate(to: 0)
    Declaration.append(kind, text, to: scratch)
    if let declared = shapes.find(scratch.view) {
      known = declared.number
      return .found(known)
    }
    return Declaration.isSound(scratch.view) && shapes.mayAdd(scratch.view) ? .missing : .impossible
  }

  private func setZone(_ key: ByteView, _ epoch: UInt64) {
    scratch.truncate(to: 0)
    Declaration.appendZone(key, epoch: epoch, to: scratch)
  }

  private func choice(of shape: UInt64) -> Choice? {
    let place = BodyPacker.place(of: shape)
    if recent[place].shape == shape { return recent[place].choice }
    guard let choice = choices[shape] else { return nil }
    recent[place] = (shape, choice)
    return choice
  }

  /// Numbers of shapes are hashes, and odd.
  private static func place(of shape: UInt64) -> Int { Int(truncatingIfNeeded: shape &>> 1) & (recentCount - 1) }

  // MARK: declaring

  /// Declares what a body needs and the dictionary lacks, and chooses its shape.
  /// - Parameter write: puts a declaration into the transaction, and so into the dictionary.
  func declare<Failure: Error>(
    for body: ByteView, _ layout: RecordBody.Layout, shape: UInt64, epoch: UInt64, in shapes: ShapeDictionary,
    _ write: (ByteView) throws(Failure) -> Void
  ) throws(Failure) {
    if body.count > largestByteCount { return }
    let choice = try chooseShape(of: body, layout, in: shapes, write)
    if choices.count >= BodyPacker.choiceLimit { choices.removeAll(keepingCapacity: true) }
    choices[shape] = choice
    recent[BodyPacker.place(of: shape)] = (shape, choice)
    if choice.shape == nil { return }
    if body.uint16(at: 2) != RecordBody.defaultZoneMark {
      setZone(RecordBody.zoneKey(of: body), epoch)
      _ = try add(in: shapes, write)
    }
    let parts = RecordBody.Optionals(of: body, layout: layout)
    for (text, kind) in [(parts.creator, Declaration.Kind.user), (parts.modifier, .user), (parts.device, .device)] {
      guard let text else { continue }
      scratch.truncate(to: 0)
      Declaration.append(kind, text, to: scratch)
      _ = try add(in: shapes, write)
    }
  }

  /// Declares what is in the scratch, unless it is there. Nil when that cannot be.
  private func add<Failure: Error>(
    in shapes: ShapeDictionary, _ write: (ByteView) throws(Failure) -> Void
  ) throws(Failure) -> Declared? {
    if let known = shapes.find(scratch.view) { return known }
    guard Declaration.isSound(scratch.view), shapes.mayAdd(scratch.view) else { return nil }
    try write(scratch.view)
    return shapes.find(scratch.view)
  }

  private func chooseShape<Failure: Error>(
    of body: ByteView, _ layout: RecordBody.Layout, in shapes: ShapeDictionary,
    _ write: (ByteView) throws(Failure) -> Void
  ) throws(Failure) -> Choice {
    scratch.truncate(to: 0)
    Declaration.appendShape(of: body, layout, to: scratch)
    if let known = shapes.find(scratch.view) { return Choice(shape: known.number) }
    let type = RecordBody.typeBytes(of: body)
    let ofType = shapes.shapes(ofType: type)
    if ofType.count < BodyPacker.shapeLimit { return Choice(shape: try add(in: shapes, write)?.number) }
    let supersets = ofType.filter { $0.covers(body, layout) }
    if let smallest = supersets.min(by: { $0.fieldCount < $1.fieldCount }) {
      return Choice(shape: smallest.number, isSparse: true)
    }
    if ofType.count >= BodyPacker.sparseShapeLimit { return Choice(shape: nil) }
    var all: [[UInt8]: UInt8] = [:]
    var cursor = FieldCursor(body, layout)
    while let field = cursor.next() { all[field.key.array] = field.mark.rawValue }
    for shape in ofType.reversed() {
      for field in shape.fields where all[field.key] == nil { all[field.key] = field.mark }
    }
    scratch.truncate(to: 0)
    let fields = all.map { (key: $0.key, mark: $0.value) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    Declaration.appendShape(type: type, fields, to: scratch)
    return Choice(shape: try add(in: shapes, write)?.number, isSparse: true)
  }
}
