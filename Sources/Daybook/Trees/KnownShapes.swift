import DaybookEngine

/// The shapes of records, that is their type, keys and kinds, that are known to stand in the schema.
///
/// A save asks for its shape by one number; only a new one is looked up field by field. Hashing type and keys of ten fields
/// costs about 25 ns. Two shapes with one number would leave fields undeclared: one in 2⁶⁴ pairs, and a check finds them.
/// Forgotten as a whole when a transaction goes back that declared something, and when there are very many.
struct KnownShapes {
  private var last: UInt64 = 0
  private var shapes: Set<UInt64> = []
  private static let limit = 1 << 14

  @inline(__always)
  mutating func contains(_ shape: UInt64) -> Bool {
    if shape == last { return true }
    guard shapes.contains(shape) else { return false }
    last = shape
    return true
  }

  mutating func insert(_ shape: UInt64) {
    if shapes.count >= Self.limit { shapes.removeAll(keepingCapacity: true) }
    shapes.insert(shape)
    last = shape
  }

  mutating func removeAll() {
    shapes.removeAll()
    last = 0
  }

  /// The number of a body's shape; never 0.
  static func shape(of body: ByteView, _ layout: RecordBody.Layout) -> UInt64 {
    var mix = UInt64(layout.fieldCount)
    var row = layout.fieldsStart + 2
    // Kind and key length of four fields at once: each step waits for the one before it. Whether a value is sealed does not matter.
    let kept = ~(UInt64(FieldMark.sealedFlag) &* 0x0001_0001_0001_0001)
    while row &+ 4 &* RecordBody.tableStride <= layout.keysStart {
      let first = UInt64(body.uint16(at: row)) | UInt64(body.uint16(at: row &+ RecordBody.tableStride)) &<< 16
      let second =
        UInt64(body.uint16(at: row &+ 2 &* RecordBody.tableStride))
        | UInt64(body.uint16(at: row &+ 3 &* RecordBody.tableStride)) &<< 16
      mix = (mix ^ (first | second &<< 32) & kept) &* 0x9E37_79B9_7F4A_7C15
      mix ^= mix &>> 32
      row &+= 4 &* RecordBody.tableStride
    }
    while row < layout.keysStart {
      mix = (mix ^ UInt64(body.uint16(at: row)) & kept) &* 0x9E37_79B9_7F4A_7C15
      row &+= RecordBody.tableStride
    }
    let keys = XXH3.hash(body.slice(layout.keysStart..<layout.valuesStart), seed: mix)
    return XXH3.hash(RecordBody.typeBytes(of: body), seed: keys) | 1
  }
}
