/// Kinds of operations in the log.
enum OperationKind {
  /// {f64 date, origin}: the first operation of every commit.
  static let commitInfo: UInt8 = 1
  /// {u64 lineage}
  static let lineage: UInt8 = 2
  /// {u64 epoch, u32 capabilities, f64 date, zone key}
  static let saveZone: UInt8 = 3
  /// {u8 reason, f64 date, zone key}
  static let deleteZone: UInt8 = 4
  /// A `RecordBody`.
  static let saveRecord: UInt8 = 5
  /// A `Tombstone`.
  static let deleteRecord: UInt8 = 6
  /// {u16 key length, key, value}
  static let setMetadata: UInt8 = 7
  /// {key}
  static let deleteMetadata: UInt8 = 8
  /// {u64 sequence}: tombstones at or below it are forgotten, and tokens below it expire.
  static let raiseHorizon: UInt8 = 9
  /// n × {u64 sequence, u32 ordinal}: the next n operations stand for those of older commits. Only in an image.
  static let imageStamps: UInt8 = 10
  /// {u64 epoch, u32 capabilities, u8 1 if deleted, u8 reason, u16 zero, u64 last sequence, zone key}: a zone as it was.
  static let imageZone: UInt8 = 11
  /// {u8 type length, type, then {u8 key length, key, u32 kinds} each}: kinds of fields that are new.
  static let declareFields: UInt8 = 14

  /// Whether a transaction with such an operation must leave the reserve to those that only delete.
  @inline(__always)
  static func addsData(_ kind: UInt8) -> Bool {
    kind == saveRecord || kind == saveZone || kind == setMetadata || kind == declareFields
  }
}
