import DaybookEngine

/// A filter that looks at bodies as the log has them packed: one that does not pass is never spelled out (row: query-filter).
///
/// In which place of a body a field is follows from its shape, and is looked up once for each shape of the type. Bodies without some
/// fields of their shape, with long values, spelled out in the log, or of another type or zone are left to the caller, and so are
/// conditions on what is not a field.
struct PackedFilter {
  enum Answer {
    case passes, fails
    /// The spelled body tells.
    case unknown
  }

  private let filter: BodyFilter
  private let type: [UInt8]
  /// The key of the zone that bodies have to be of; nil for the default zone.
  private var zoneKey: [UInt8]?

  /// The shapes that were met, and for each the fields of all steps of the filter, one after the other.
  private var shapes: [UInt32] = []
  private var fields: [PackedField?] = []
  /// The shape that was met last, and where its fields begin.
  private var shape: UInt32 = 0
  private var fieldsStart: Int?

  /// More are forgotten: they are looked up again.
  private static let largestShapeCount = 256

  /// Nil where a filter asks for more than fields.
  init?(_ filter: BodyFilter, ofType type: String) {
    guard !filter.acceptsAll, filter.asksForFieldsAlone else { return nil }
    self.filter = filter
    self.type = Array(type.utf8)
  }

  /// From here on bodies are to be of a zone.
  mutating func enter(_ zone: Zone.ID) { zoneKey = zone.isDefault ? nil : zone.key }

  /// Whether a body passes.
  @inline(__always)
  mutating func answer(_ body: PackedBody, _ plan: PackedBody.Plan) -> Answer {
    guard body.hasValuesInPlace(plan), isOfZone(body) else { return .unknown }
    if fieldsStart == nil || (shape != body.shape.number && !isMutant("one-shape-for-all")) { find(body.shape) }
    guard let fieldsStart else { return .unknown }
    let passes = filter.accepts { (step) -> ValueView? in
      guard let field = fields[fieldsStart &+ step], !field.mark.isEncrypted, !field.mark.isSealed, let kind = field.mark.kind
      else { return nil }
      return ValueView(kind, body.value(of: field, plan), zoneKey: body.zoneKey ?? Zone.ID.defaultKey)
    }
    return passes ? .passes : .fails
  }

  @inline(__always)
  private func isOfZone(_ body: PackedBody) -> Bool {
    guard let key = body.zoneKey else { return zoneKey == nil }
    return zoneKey?.withView { UTF8Order.equal($0, key) } ?? false
  }

  /// Makes a shape the last one; none when it is of another type.
  @inline(never)
  private mutating func find(_ shape: Declared) {
    fieldsStart = nil
    guard type.withView({ UTF8Order.equal($0, shape.type) }) else { return }
    self.shape = shape.number
    let count = filter.steps.count
    if let index = shapes.firstIndex(of: shape.number) {
      fieldsStart = index * count
      return
    }
    if shapes.count == Self.largestShapeCount {
      shapes = []
      fields = []
    }
    fieldsStart = fields.count
    shapes.append(shape.number)
    for step in filter.steps { fields.append(shape.field(step.key)) }
  }
}
