import DaybookEngine

/// A value where it lies: its kind, and the bytes or the number. Nothing is copied, and nothing is kept alive.
///
/// Bytes that make no value have no view, as they decode to nil; what is within a text or a list is looked at when it is
/// compared.
struct ValueView {
  let kind: FieldKind
  /// Of an integer.
  private(set) var int: Int64 = 0
  /// Of a double; of a date the seconds since 2001.
  private(set) var double: Double = 0
  /// Text and bytes as they are, a list or a place as it is encoded, of a reference the record's name.
  private(set) var bytes: ByteView
  /// Of a reference, and of the references in a list that name none.
  private(set) var zoneKey: ByteView

  private static var none: ByteView { Zone.ID.defaultKey.prefix(0) }

  /// The value of a field's bytes.
  /// - Parameter zoneKey: the zone of the record.
  @inline(__always)
  init?(_ kind: FieldKind, _ bytes: ByteView, zoneKey: ByteView) {
    self.kind = kind
    self.bytes = bytes
    self.zoneKey = zoneKey
    switch kind {
    case .int:
      guard let number = ValueCoding.int(bytes) else { return nil }
      int = number
    case .double, .date:
      guard let number = ValueCoding.double(bytes) else { return nil }
      double = number
    case .reference:
      guard let parts = ValueCoding.referenceParts(bytes, zoneKey: zoneKey) else { return nil }
      self.bytes = parts.name
      self.zoneKey = parts.zoneKey
    default: break
    }
  }

  init(int: Int64) {
    kind = .int
    self.int = int
    bytes = Self.none
    zoneKey = Self.none
  }

  /// A double, or a date.
  init(_ kind: FieldKind, double: Double) {
    self.kind = kind
    self.double = double
    bytes = Self.none
    zoneKey = Self.none
  }

  /// A text, bytes, a place or a list as it is encoded.
  init(_ kind: FieldKind, plain bytes: ByteView, zoneKey: ByteView = Zone.ID.defaultKey) {
    self.kind = kind
    self.bytes = bytes
    self.zoneKey = zoneKey
  }

  init(referenceTo name: ByteView, zoneKey: ByteView) {
    kind = .reference
    bytes = name
    self.zoneKey = zoneKey
  }

  /// Latitude, longitude and the rest of a place.
  var place: Location? { ValueCoding.location(bytes) }

  /// The elements of a list, one after the other; none of another value.
  var elements: Elements { Elements(self) }

  /// A walk over a list's elements; it ends where the bytes make none.
  struct Elements {
    private let kind: FieldKind?
    private var reader: ByteReader
    private(set) var rest: UInt32
    private let zoneKey: ByteView

    fileprivate init(_ list: ValueView) {
      kind = list.kind.isList ? FieldKind(rawValue: list.kind.rawValue & 0x0F) : nil
      reader = ByteReader(list.bytes)
      rest = kind == nil ? 0 : reader.uint32() ?? 0
      zoneKey = list.zoneKey
    }

    mutating func next() -> ValueView? {
      guard rest > 0, let kind else { return nil }
      rest &-= 1
      switch kind {
      case .int: return reader.varint().map { ValueView(int: ZigZag.decode($0)) }
      case .double, .date:
        return reader.take(8).flatMap { ValueView(kind, $0, zoneKey: zoneKey) }
      default:
        guard let raw = reader.varint(), let byteCount = Int(exactly: raw), let bytes = reader.take(byteCount) else {
          return nil
        }
        return ValueView(kind, bytes, zoneKey: zoneKey)
      }
    }
  }
}

extension ValueCoding {
  /// Name and zone of a reference, in place.
  static func referenceParts(_ bytes: ByteView, zoneKey: ByteView) -> (name: ByteView, zoneKey: ByteView)? {
    var reader = ByteReader(bytes)
    guard let mark = reader.uint8(), let count = reader.uint8(), count > 0, let name = reader.take(Int(count)) else {
      return nil
    }
    guard mark & 0x80 != 0 else { return reader.isAtEnd ? (name, zoneKey) : nil }
    guard let keyCount = reader.uint16(), let key = reader.take(Int(keyCount)), reader.isAtEnd else { return nil }
    return (name, key)
  }
}

extension RecordBody {
  /// Calls `body` with the value of a plain field, in place; with nil where there is none, or an encrypted one.
  @inline(__always)
  func withValue<R>(_ key: ByteView, _ body: (ValueView?) -> R) -> R {
    let layout = layout
    let view = bytes
    var value: ValueView?
    if let place = Self.row(of: key, in: view, layout) {
      let mark = FieldMark(rawValue: view[place.row])
      if !mark.isEncrypted, !mark.isSealed, let kind = mark.kind {
        let start = layout.valuesStart
        let bytes = view.slice(start &+ place.heapStart..<start &+ Int(view.uint32(at: place.row &+ 2)))
        // Only references ask for the zone.
        value = ValueView(kind, bytes, zoneKey: kind.isReference ? Self.zoneKey(of: view) : bytes)
      }
    }
    let result = body(value)
    _fixLifetime(self)
    return result
  }
}
