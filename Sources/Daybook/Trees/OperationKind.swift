import DaybookEngine

/// The kinds of operations in the log, with everything that depends on the kind alone. FORMAT.md §4 has the layouts.
///
/// No switch over them has a `default`: for a new kind the compiler asks what applies, replays, copies and counts it.
/// Numbers are never used twice; 12 and 13 are free, and 255 is the engine's. What has a number from 128 to 254 may be passed over
/// by a version that does not know it: trees hold nothing of it, and it names no place of the log.
enum OperationKind: UInt8, CaseIterable {
  /// {f64 date, origin}: the first operation of every commit.
  case commitInfo = 1
  /// {u64 lineage}
  case lineage = 2
  /// {u64 epoch, u32 capabilities, f64 date, zone key}
  case saveZone = 3
  /// {u8 reason, f64 date, zone key}
  case deleteZone = 4
  /// A `PackedBody`, or a `RecordBody` where it cannot be packed.
  case saveRecord = 5
  /// A `Tombstone`.
  case deleteRecord = 6
  /// {u16 key length, key, value}: a `MetadataPayload`.
  case setMetadata = 7
  /// {key}
  case deleteMetadata = 8
  /// {u64 sequence}: tombstones at or below it are dropped, and tokens below it expire.
  case raiseHorizon = 9
  /// n × {u64 sequence, u32 ordinal}: the next n operations represent those of older commits. Only in an image.
  case imageStamps = 10
  /// {u64 epoch, u32 capabilities, u8 1 if deleted, u8 reason, u16 zero, u64 last sequence, zone key}: a zone as it was.
  /// Only in an image.
  case imageZone = 11
  /// {u8 type length, type, then {u8 key length, key, u32 kinds} each}: kinds of fields that are new.
  case declareFields = 14
  /// A `Declaration`: what bodies after it name by its number.
  case declare = 15
  /// The `RequiredFeatures` of a file: in the first commit that uses one, before anything else.
  case requires = 16
  /// An `IndexDefinition`: a new index, with its number; no other has it.
  case defineIndex = 17
  /// {u16 number, u64 sequence, u32 ordinal, zone key}: the index gets the entries of the zone's versions up to that place of the log's
  /// order, from where it was built. Without a zone key: it is complete.
  case buildIndex = 18
  /// {u16 number}: the index and all its entries go.
  case dropIndex = 19

  /// Kinds that a version which does not know them may pass over.
  static let skippable: ClosedRange<UInt8> = 128...254

  /// Whether a backup copies an operation with such a number.
  static func isCopied(_ number: UInt8) -> Bool {
    OperationKind(rawValue: number) != nil || OperationKind.skippable.contains(number)
  }

  /// What a replay in the order of names does with it.
  enum Replay {
    /// Waits for others of its zone and is applied with them, in the order of names.
    case gathered
    /// Is applied where it stands, while gathered operations go on waiting: it changes nothing that records read or change.
    case atOnce
    /// Gathered operations are applied first.
    case barrier
  }

  /// The kind of an operation out of a file; nil for one of a later version that may be passed over.
  /// - Throws: `unknownOperation` for another one of a later version. Everything that has to understand an
  ///   operation goes through here; what only shows or skips operations asks `init(rawValue:)`.
  @inline(__always)
  init?(of operation: ByteView) throws(LogFault) { try self.init(number: Operation.kind(operation)) }

  @inline(__always)
  init?(number: UInt8) throws(LogFault) {
    guard let kind = OperationKind(rawValue: number) else {
      if OperationKind.skippable.contains(number) { return nil }
      throw .unknownOperation(kind: number)
    }
    self = kind
  }

  /// Whether a transaction with such an operation must leave the reserve to those that only delete.
  @inline(__always)
  var addsData: Bool {
    switch self {
    case .saveZone, .saveRecord, .setMetadata, .declareFields, .declare, .defineIndex, .buildIndex: true
    case .commitInfo, .lineage, .deleteZone, .deleteRecord, .deleteMetadata, .raiseHorizon, .imageStamps, .imageZone,
      .dropIndex, .requires:
      false
    }
  }

  @inline(__always)
  var replay: Replay {
    switch self {
    case .saveRecord, .deleteRecord: .gathered
    case .commitInfo, .lineage, .setMetadata, .deleteMetadata, .declareFields, .declare, .requires: .atOnce
    case .saveZone, .deleteZone, .raiseHorizon, .imageStamps, .imageZone, .defineIndex, .buildIndex, .dropIndex: .barrier
    }
  }
}

extension Operation {
  @inline(__always)
  static func isOf(_ kind: OperationKind, _ operation: ByteView) -> Bool { self.kind(operation) == kind.rawValue }
}

extension StoreTransaction {
  @discardableResult @inline(__always)
  func endOperation(_ start: Int, kind: OperationKind) throws(StoreError) -> Place {
    try endOperation(start, kind: kind.rawValue)
  }
}

extension ImageWriter {
  func append(_ payload: ByteView, kind: OperationKind) throws(StoreError) { try append(payload, kind: kind.rawValue) }
}
