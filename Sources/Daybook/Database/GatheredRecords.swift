import DaybookEngine

/// Records that replay has gathered: zone by zone, name by name, each record's versions together.
///
/// What may be gathered are saves and deletes of records between two operations that change a zone as a whole. Such an
/// operation changes entries of its own record and nothing else, so records may be taken in any order as long as each has its
/// own versions in the order of the log. What stands in other orders than names is put right when a zone's names are through: the
/// journal (each record's last entry, in the order of the log), the references (by their own keys), the counts of assets (in the
/// order of the log, because they are not one record's), and the zone's last change. Metadata, lineages and the schema have trees
/// of their own and are applied at once.
final class GatheredRecords {
  /// What a body points at and names: found while its bytes are at hand, because later they may cost a read each.
  struct Contents {
    /// What the body's flags say of it.
    var points = false
    var namesAssets = false
    var references = ReferenceSet()
    var assets: [AssetNames.Name] = []
  }

  /// An entry of the journal that leaves it.
  struct Former {
    let sequence: UInt64
    let ordinal: UInt32
    let isTombstone: Bool
  }

  /// An operation that may change counts of assets.
  struct AssetChange {
    let position: Int
    let replaced: Place?
  }

  let run = ReplayRun()
  /// Entries by target that come and go, of the zone that is being applied.
  let references = ReplayRun()
  static let coming: UInt8 = 1
  static let going: UInt8 = 0
  @safe @exclusivity(unchecked) private(set) var zoneKeys: [[UInt8]] = []
  @safe @exclusivity(unchecked) private var numbers: [[UInt8]: UInt32] = [:]
  @safe @exclusivity(unchecked) private var lastZone: UInt32 = 0
  @safe @exclusivity(unchecked) private var contents: [Contents] = []
  @safe @exclusivity(unchecked) private(set) var hasAssets = false
  /// The commit that had an image's stamps last. What it holds besides is not gathered: entries with stamps may stand
  /// anywhere among its own.
  @safe @exclusivity(unchecked) var stampedSequence: UInt64 = 0
  // Of the zone that is being applied.
  @safe @exclusivity(unchecked) var formers: [Former] = []
  @safe @exclusivity(unchecked) var assetChanges: [AssetChange] = []
  /// By position: it is what its record has in the journal at the end.
  @safe @exclusivity(unchecked) var isLast: [Bool] = []

  /// Sorts what is there, and makes room for what is found out about it.
  func prepare() {
    run.sort(groupCount: zoneKeys.count)
    isLast = [Bool](repeating: false, count: run.count)
  }

  /// What a record may need here: in the journal, among the assets, a mark.
  private static let byteCountPerRecord = MemoryLayout<Former>.stride + MemoryLayout<AssetChange>.stride + 1

  func removeAll(keepingCapacity: Bool = false) {
    run.removeAll(keepingCapacity: keepingCapacity)
    references.removeAll(keepingCapacity: keepingCapacity)
    if zoneKeys.isEmpty { return }
    zoneKeys = []
    numbers = [:]
    lastZone = 0
    contents = []
    hasAssets = false
    formers = []
    assetChanges = []
    isLast = []
  }

  /// False when it is nothing to gather: `apply` says what is wrong with it, if anything is.
  func append(_ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32) -> Bool {
    let body = Operation.payload(operation)
    let kind = Operation.kind(operation)
    let isSave = kind == OperationKind.saveRecord
    guard let identity = isSave ? BodyIdentity.body(body) : BodyIdentity.tombstone(body),
      ordinal < RecordEntry.ordinalLimit
    else { return false }
    var mark: Int32 = -1
    if isSave, RecordBody.pointsSomewhere(body) || AssetNames.areIn(body) { mark = appendContents(of: body) }
    run.append(
      kind: kind, key: identity.name, rest: identity.type, group: number(of: identity.zoneKey), mark: mark, place: place,
      sequence: sequence, ordinal: ordinal, noting: GatheredRecords.byteCountPerRecord)
    return true
  }

  private func appendContents(of body: ByteView) -> Int32 {
    let found = Contents(
      points: RecordBody.pointsSomewhere(body), namesAssets: AssetNames.areIn(body), references: ReferenceSet(of: body),
      assets: AssetNames.names(in: body))
    contents.append(found)
    if found.namesAssets { hasAssets = true }
    // With what arrays need for themselves.
    run.charge(byteCount: found.references.keys.reduce(128 + 48 * found.assets.count) { $0 + 48 + $1.count })
    return Int32(contents.count - 1)
  }

  private func number(of zoneKey: ByteView) -> UInt32 {
    if Int(lastZone) < zoneKeys.count, zoneKeys[Int(lastZone)].withView({ UTF8Order.equal($0, zoneKey) }) { return lastZone }
    let key = zoneKey.array
    if let number = numbers[key] {
      lastZone = number
      return number
    }
    lastZone = UInt32(zoneKeys.count)
    zoneKeys.append(key)
    numbers[key] = lastZone
    run.charge(byteCount: key.count + 128)
    return lastZone
  }

  /// Nil when the operation neither points anywhere nor names an asset.
  func contents(of operation: ReplayRun.Gathered) -> Contents? {
    operation.mark < 0 ? nil : contents[Int(operation.mark)]
  }
}
