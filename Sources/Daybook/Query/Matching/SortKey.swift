import DaybookEngine

/// What a record is sorted by, copied out of its body: for each step of the order 1 kind, 4 byte count, bytes.
///
///     absent              kind 0, no bytes
///     int, double, date   8 bytes
///     text, bytes, place  as encoded; a distance is a double
///     reference           1 byte count of the name, name, key of the zone
///     list                as encoded; its references without a zone are in the record's
///
/// Always true: steps compare as ``ValueOrder`` says, absent ones last in both directions.
struct SortKey {
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Copies what a body is sorted by.
  init(_ body: RecordBody, _ order: SortOrder) {
    let buffer = ByteBuffer(capacity: 64)
    for index in order.steps.indices {
      order.withValue(index, of: body) { value in
        guard let value else {
          buffer.append(0)
          buffer.append(uint32: 0)
          return
        }
        buffer.append(value.kind.rawValue)
        switch value.kind {
        case .int:
          buffer.append(uint32: 8)
          buffer.append(uint64: UInt64(bitPattern: value.int))
        case .double, .date:
          buffer.append(uint32: 8)
          buffer.append(uint64: value.double.bitPattern)
        case .reference:
          buffer.append(uint32: UInt32(1 + value.bytes.count + value.zoneKey.count))
          buffer.append(UInt8(value.bytes.count))
          buffer.append(value.bytes)
          buffer.append(value.zoneKey)
        default:
          buffer.append(uint32: UInt32(value.bytes.count))
          buffer.append(value.bytes)
        }
      }
    }
    bytes = buffer.view.array
  }

  /// A walk over the steps of a key whose bytes may come from elsewhere.
  struct Reader {
    private var reader: ByteReader
    private let zoneKey: ByteView

    /// - Parameter zoneKey: of the record.
    init(_ bytes: ByteView, zoneKey: ByteView) {
      reader = ByteReader(bytes)
      self.zoneKey = zoneKey
    }

    var isAtEnd: Bool { reader.isAtEnd }

    /// The value of the next step. The outer nil is that of malformed bytes.
    mutating func next() -> ValueView?? {
      guard let raw = reader.uint8(), let count = reader.uint32(), let bytes = reader.take(Int(count)) else { return nil }
      if raw == 0 { return count == 0 ? .some(nil) : nil }
      guard let kind = FieldKind(rawValue: raw) else { return nil }
      switch kind {
      case .int:
        guard bytes.count == 8 else { return nil }
        return .some(ValueView(int: Int64(bitPattern: bytes.uint64(at: 0))))
      case .double, .date:
        guard bytes.count == 8, !bytes.double(at: 0).isNaN else { return nil }
        return .some(ValueView(kind, double: bytes.double(at: 0)))
      case .reference:
        guard bytes.count > 0, Int(bytes[0]) < bytes.count else { return nil }
        let nameEnd = 1 + Int(bytes[0])
        return .some(ValueView(referenceTo: bytes.slice(1..<nameEnd), zoneKey: bytes.dropFirst(nameEnd)))
      case .asset, .assets: return nil
      default: return .some(ValueView(kind, plain: bytes, zoneKey: zoneKey))
      }
    }
  }

  /// Whether the bytes are a key of so many steps.
  static func isSound(_ bytes: [UInt8], stepCount: Int) -> Bool {
    UTF8Order.withView(of: bytes) { view in
      var reader = Reader(view, zoneKey: view)
      for _ in 0..<stepCount where reader.next() == nil { return false }
      return reader.isAtEnd
    }
  }
}

/// The order of a query, made ready for many records.
final class SortOrder {
  struct Step {
    let key: ByteView
    let system: Query.SystemField?
    let isAscending: Bool
    let place: Location?
  }

  /// The keys; it does not change once the steps are made.
  private let pool: ByteBuffer
  let steps: [Step]

  init(_ sort: [Query.Sort]) {
    pool = ByteBuffer(capacity: 64)
    var ranges: [Range<Int>] = []
    for step in sort {
      let start = pool.count
      pool.append(utf8: step.field.name)
      ranges.append(start..<pool.count)
    }
    let view = pool.view
    steps = zip(sort, ranges).map { step, range in
      Step(key: view.slice(range), system: step.field.system, isAscending: step.isAscending, place: step.place)
    }
  }

  /// Calls `body` with what a step sorts a record by; with nil where that is absent.
  @inline(__always)
  func withValue<R>(_ index: Int, of record: RecordBody, _ body: (ValueView?) -> R) -> R {
    let step = steps[index]
    func sorted(_ value: ValueView?) -> R {
      guard let value, !value.kind.isAsset else { return body(nil) }
      guard let center = step.place else { return body(value) }
      guard value.kind == .location, let place = value.place else { return body(nil) }
      let distance = place.distance(to: center)
      return body(distance.isNaN ? nil : ValueView(.double, double: distance))
    }
    if let system = step.system { return record.withSystemValue(system, sorted) }
    return record.withValue(step.key, sorted)
  }

  /// Below zero when a record comes before a key of another one.
  func compare(_ record: RecordBody, _ key: ByteView, zoneKey: ByteView) -> Int {
    var reader = SortKey.Reader(key, zoneKey: zoneKey)
    for index in steps.indices {
      guard let other = reader.next() else { return 0 }
      let order = withValue(index, of: record) { compare($0, other, steps[index].isAscending) }
      if order != 0 { return order }
    }
    return 0
  }

  /// Below zero when the first key comes before the second.
  func compare(_ first: ByteView, _ firstZoneKey: ByteView, _ second: ByteView, _ secondZoneKey: ByteView) -> Int {
    var a = SortKey.Reader(first, zoneKey: firstZoneKey)
    var b = SortKey.Reader(second, zoneKey: secondZoneKey)
    for step in steps {
      guard let x = a.next(), let y = b.next() else { return 0 }
      let order = compare(x, y, step.isAscending)
      if order != 0 { return order }
    }
    return 0
  }

  private func compare(_ first: ValueView?, _ second: ValueView?, _ isAscending: Bool) -> Int {
    guard let first else { return second == nil ? 0 : 1 }
    guard let second else { return -1 }
    let order = ViewOrder.compare(first, second)
    return isAscending ? order : -order
  }
}
