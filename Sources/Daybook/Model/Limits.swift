/// How much one request and one record may be. The defaults are CloudKit's; a database can have others.
///
/// More is refused with `limitExceeded`, before anything is written.
public struct Limits: Hashable, Codable, Sendable {
  /// Records to save and delete in one request, and names to fetch in one.
  public var itemsPerRequest = 400
  /// Bytes of all records of one request, without assets.
  public var requestByteCount = 2_000_000
  /// Bytes of one record, without assets; compared with ``Record/encodedByteCount``.
  public var recordByteCount = 1_000_000
  /// Records that may point to one target with `deleteSelf`; nil leaves it to the dialect: 750 in ``Dialect/cloudKit``, no
  /// limit in ``Dialect/extended``.
  public var referencesPerTarget: Int?
  /// Bytes of one asset, in its record or in a file of its own (``Database/Options/inlineAssetByteCount``).
  public var assetByteCount = 50_000_000
  /// Changes on one page of a feed, and records on one of a query, when the caller does not say. Less than one counts as one.
  public var changesPerPage = 200

  /// CloudKit's limits.
  public init() {}

  /// No limits but those of the format.
  public static var unlimited: Limits {
    var limits = Limits()
    limits.itemsPerRequest = .max
    limits.requestByteCount = .max
    limits.recordByteCount = .max
    limits.referencesPerTarget = .max
    limits.assetByteCount = .max
    limits.changesPerPage = 1000
    return limits
  }
}
