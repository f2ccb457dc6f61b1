import DaybookEngine

/// One index: of which type, key and kind, and which records have entries.
///
/// Definitions are in the tree of the schema, in front of all types, in pieces:
///
///     key     0, u16 number, u8 piece                      big-endian
///     value   500 bytes of what follows, the last piece what is left
///
///     u8 kind (1 values, 2 places, 3 words), u8 version of what its entries are,
///     u8 state (1 complete, 2 with gaps),
///     u64 since sequence, u32 since ordinal                the operation that defined it
///     u64 sequence, u32 ordinal                            how far it is built in the zone below
///     u8 type length, type, u8 key length, key, zone key
///
/// Which versions have entries follows from this and from the place of the version in the log's order: all when it is complete; else
/// those after `since`, those of zones before the one that is being built, and of that one those up to the place. So entries never
/// depend on when they were made, and a build goes on where it stopped.
struct IndexDefinition: Equatable {
  var number: UInt16
  /// Kind and version as they are stored: those of a later version of the library stay what they are.
  private let storedKind: UInt8
  private let storedVersion: UInt8
  let type: [UInt8]
  let key: [UInt8]
  /// The date of the record's that it is of; nil for one of a field.
  let date: Query.SystemField?
  var isComplete: Bool
  /// A body was not readable when a replay built the index again: it lacks entries, and queries do without it until it is dropped
  /// and built again. Else it would hide the record, and the query would not say that one is damaged.
  var hasGaps = false
  var sinceSequence: UInt64
  var sinceOrdinal: UInt32
  /// The zone that is being built; empty before the first.
  var zoneKey: [UInt8] = []
  var sequence: UInt64 = 0
  var ordinal: UInt32 = 0

  /// What its entries are made of; nil for a kind, or a version of one, that this library does not know: it makes no entries of it,
  /// and no query uses it.
  let kind: IndexKind?

  private static func kind(_ byte: UInt8) -> IndexKind? { IndexKind.allCases.first { $0.byte == byte } }

  init(
    number: UInt16, kind: IndexKind, type: [UInt8], key: [UInt8], isComplete: Bool, sinceSequence: UInt64, sinceOrdinal: UInt32
  ) {
    self.init(
      number: number, kind.byte, kind.version, type: type, key: key, isComplete: isComplete, sinceSequence: sinceSequence,
      sinceOrdinal: sinceOrdinal)
  }

  private init(
    number: UInt16, _ kind: UInt8, _ version: UInt8, type: [UInt8], key: [UInt8], isComplete: Bool, sinceSequence: UInt64,
    sinceOrdinal: UInt32
  ) {
    storedKind = kind
    storedVersion = version
    self.kind = IndexDefinition.kind(kind).flatMap { $0.version == version ? $0 : nil }
    self.number = number
    self.type = type
    self.key = key
    date = key.withView { Query.SystemField(indexKey: $0) }
    self.isComplete = isComplete
    self.sinceSequence = sinceSequence
    self.sinceOrdinal = sinceOrdinal
  }

  /// Whether both are of the same type, key and kind: no two indexes are.
  func isSame(as other: IndexDefinition) -> Bool {
    type == other.type && key == other.key && storedKind == other.storedKind
  }

  /// Whether a version has entries.
  func isEntered(_ version: RecordVersion) -> Bool {
    if isComplete || (version.sequence, version.ordinal) > (sinceSequence, sinceOrdinal) { return true }
    if isMutant("enter-unbuilt-versions") { return true }
    let order = zoneKey.withView { compareKeys(version.zoneKey, $0) }
    return order == 0 ? (version.sequence, version.ordinal) <= (sequence, ordinal) : order < 0
  }

  /// Whether the index is of a field.
  func isOf(_ field: Query.Field) -> Bool {
    field.system == date && UTF8Order.withView(of: field.name) { name in key.withView { UTF8Order.equal(name, $0) } }
  }

  var typeName: String { String(decoding: type, as: UTF8.self) }
  var keyName: String { String(decoding: key, as: UTF8.self) }

  // MARK: bytes

  /// Number and everything else: the payload of "define index".
  func append(to buffer: ByteBuffer) {
    buffer.append(uint16: number)
    buffer.append(storedKind)
    buffer.append(storedVersion)
    buffer.append((isComplete ? 1 : 0) | (hasGaps ? 2 : 0))
    buffer.append(uint64: sinceSequence)
    buffer.append(uint32: sinceOrdinal)
    buffer.append(uint64: sequence)
    buffer.append(uint32: ordinal)
    buffer.append(UInt8(truncatingIfNeeded: type.count))
    buffer.append(type)
    buffer.append(UInt8(truncatingIfNeeded: key.count))
    buffer.append(key)
    buffer.append(zoneKey)
  }

  /// Nil when the bytes are none.
  init?(_ bytes: ByteView) {
    var reader = ByteReader(bytes)
    guard let number = reader.uint16(), let kind = reader.uint8(), kind > 0, let version = reader.uint8(), version > 0,
      let state = reader.uint8(), state <= 3, let sinceSequence = reader.uint64(), let sinceOrdinal = reader.uint32(),
      let sequence = reader.uint64(),
      let ordinal = reader.uint32(), let typeCount = reader.uint8(), let type = reader.take(Int(typeCount)),
      let keyCount = reader.uint8(), let key = reader.take(Int(keyCount)), ChangeKey.isType(type), key.count > 0,
      let zoneKey = reader.take(reader.remaining), zoneKey.count <= TreeLimits.maximumKeyByteCount
    else { return nil }
    self.init(
      number: number, kind, version, type: type.array, key: key.array, isComplete: state & 1 != 0,
      sinceSequence: sinceSequence, sinceOrdinal: sinceOrdinal)
    hasGaps = state & 2 != 0
    self.sequence = sequence
    self.ordinal = ordinal
    self.zoneKey = zoneKey.array
  }

  // MARK: the tree

  private static let pieceByteCount = 500
  /// A longer one is none.
  private static let largestPieceCount = 8

  private static func setKey(_ key: ByteBuffer, number: UInt16, piece: Int) {
    key.truncate(to: 0)
    key.append(0)
    key.append(UInt8(truncatingIfNeeded: number >> 8))
    key.append(UInt8(truncatingIfNeeded: number))
    key.append(UInt8(truncatingIfNeeded: piece))
  }

  /// Whether a key of the schema's tree is that of a definition and not of a type.
  @inline(__always)
  static func isKey(_ key: ByteView) -> Bool { key.count == 0 || key[0] == 0 }

  /// Puts the definition in, or in the place of what it was.
  func put(_ key: ByteBuffer, _ changes: StoreTransaction) throws(LogFault) {
    try remove(key, changes)
    let bytes = ByteBuffer(capacity: 256)
    defer { withExtendedLifetime(bytes) {} }
    append(to: bytes)
    let view = bytes.view.dropFirst(2)
    var piece = 0
    while piece * IndexDefinition.pieceByteCount < view.count {
      let start = piece * IndexDefinition.pieceByteCount
      IndexDefinition.setKey(key, number: number, piece: piece)
      try changes.put(
        key.view, view.slice(start..<min(view.count, start + IndexDefinition.pieceByteCount)), in: &changes.roots[Roots.schema])
      piece += 1
    }
  }

  /// Takes it out.
  func remove(_ key: ByteBuffer, _ changes: StoreTransaction) throws(LogFault) {
    for piece in 0..<IndexDefinition.largestPieceCount {
      IndexDefinition.setKey(key, number: number, piece: piece)
      if try !changes.remove(key.view, from: &changes.roots[Roots.schema]) { return }
    }
  }

  /// All definitions, by their numbers.
  static func all(in root: TreeRoot, _ reader: TreeReader) throws(PageFault) -> [IndexDefinition] {
    var result: [IndexDefinition] = []
    if root.count == 0 { return result }
    let key = ByteBuffer(capacity: 512)
    let bytes = ByteBuffer(capacity: 256)
    var pieceCount = 0
    func finish() throws(PageFault) {
      if pieceCount == 0 { return }
      guard let definition = IndexDefinition(bytes.view) else { throw reader.fault(in: root) }
      result.append(definition)
      pieceCount = 0
    }
    var cursor = reader.cursor(in: root)
    while try cursor.next() {
      cursor.key(into: key)
      guard isKey(key.view) else { break }
      guard key.count == 4, pieceCount < largestPieceCount else { throw reader.fault(in: root) }
      if key.view[3] == 0 {
        try finish()
        bytes.truncate(to: 0)
        bytes.append(key.view[2])
        bytes.append(key.view[1])
      }
      guard Int(key.view[3]) == pieceCount else { throw reader.fault(in: root) }
      bytes.append(cursor.value)
      pieceCount += 1
    }
    try finish()
    return result
  }
}

extension IndexKind {
  /// As it is in a definition. What it means never changes.
  var byte: UInt8 {
    switch self {
    case .value: 1
    case .location: 2
    case .text: 3
    }
  }

  /// Which bytes the entries have. Those of words follow from tables: others would make other words.
  fileprivate var version: UInt8 {
    switch self {
    case .value, .location: 1
    case .text: FoldingTable.version
    }
  }
}
