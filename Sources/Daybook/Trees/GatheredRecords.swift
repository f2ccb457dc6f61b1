import DaybookEngine

/// Records that replay has gathered: zone by zone, name by name, each record's versions together.
///
/// What may be gathered are saves and deletes of records between two operations that change a zone as a whole. Such an
/// operation changes entries of its own record and nothing else, so records may be taken in any order as long as each has its
/// own versions in the order of the log. What stands in other orders than names is put right when a zone's names are through: the
/// change journal (each record's last entry, type by type), what bodies contribute to other trees (tree by tree, by its own keys),
/// and the zone's last change. Metadata, lineages and the schema have trees of their own and are applied at once.
final class GatheredRecords {
  /// What a body contributes: found while its bytes are at hand, because later they may cost a read each.
  struct Contents {
    /// To which trees it may, as its flags say.
    let trees: ZoneTreeSet
    /// Where its entries are.
    let entries: Range<Int>
  }

  /// An entry of the change journal that leaves it.
  struct Former {
    let sequence: UInt64
    let ordinal: UInt32
    /// Of an operation whose type it has; none for a tombstone.
    let position: Int32
  }

  let run = ReplayRun()
  private let nameKey = ByteBuffer(capacity: 32)
  /// The entries of all bodies, as `Contents` says.
  let entries: ContributionList
  /// Entries of derived trees that come and go, of the zone that is being applied; a tree is a group.
  let contributions = ReplayRun()
  static let coming: UInt8 = 1
  static let going: UInt8 = 0
  @safe @exclusivity(unchecked) private(set) var zoneKeys: [[UInt8]] = []
  /// The life that packed bodies of each zone belong to; nil while there is none.
  @safe @exclusivity(unchecked) private(set) var epochs: [UInt64?] = []
  @safe @exclusivity(unchecked) private var numbers: [[UInt8]: UInt32] = [:]
  @safe @exclusivity(unchecked) private var lastZone: UInt32 = 0
  @safe @exclusivity(unchecked) private var contents: [Contents] = []
  /// The commit that had an image's stamps last. What it holds besides is not gathered: entries with stamps may stand
  /// anywhere among its own.
  @safe @exclusivity(unchecked) var stampedSequence: UInt64 = 0
  // Of the zone that is being applied.
  @safe @exclusivity(unchecked) var formers: [Former] = []
  /// By position: it is what its record has in the change journal at the end.
  @safe @exclusivity(unchecked) var isLast: [Bool] = []

  init(_ indexes: IndexList) { entries = ContributionList(indexes) }

  /// Sorts what is there, and makes room for what is found out about it.
  func prepare() {
    run.sort(groupCount: zoneKeys.count)
    isLast = [Bool](repeating: false, count: run.count)
  }

  /// What a record may need here: in the change journal, a mark, and in a list that grows.
  private static let byteCountPerRecord = MemoryLayout<Former>.stride + 1 + 2 * MemoryLayout<Int32>.stride

  func removeAll(keepingCapacity: Bool = false) {
    run.removeAll(keepingCapacity: keepingCapacity)
    contributions.removeAll(keepingCapacity: keepingCapacity)
    if zoneKeys.isEmpty { return }
    zoneKeys = []
    epochs = []
    numbers = [:]
    lastZone = 0
    contents = []
    entries.removeAll()
    formers = []
    isLast = []
  }

  /// False when it is nothing to gather: `apply` says what is wrong with it, if anything is.
  /// - Parameter applier: knows what packed bodies mean; what was declared before them has been applied.
  func append(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, _ applier: RecordApplier
  ) -> Bool {
    let body = Operation.payload(operation)
    let isSave = Operation.isOf(.saveRecord, operation)
    guard let identity = isSave ? applier.identity(of: body) : BodyIdentity.tombstone(body),
      ordinal < RecordEntry.ordinalLimit, ChangeKey.isType(identity.type), NameKey.isName(identity.name)
    else { return false }
    let group = number(of: identity.zoneKey)
    if let epoch = identity.epoch {
      // Of two lives at once one is wrong; `apply` finds out which.
      guard epochs[Int(group)] == nil || epochs[Int(group)] == epoch else { return false }
      epochs[Int(group)] = epoch
    }
    var mark: Int32 = -1
    if isSave {
      let trees = ZoneTree.contributed(by: body)
      if !trees.isEmpty || entries.indexes.covers(identity.type) {
        guard let spelled = try? applier.spelled(body) else { return false }
        let entry = RecordEntry(place: place, sequence: sequence, ordinal: ordinal)
        mark = appendContents(RecordVersion(spelled, identity, entry), trees)
      }
    }
    run.append(
      kind: Operation.kind(operation), key: NameKey.view(of: identity.name, in: nameKey), rest: identity.type,
      group: group, mark: mark,
      place: place,
      sequence: sequence, ordinal: ordinal, noting: GatheredRecords.byteCountPerRecord)
    return true
  }

  private func appendContents(_ version: RecordVersion, _ trees: ZoneTreeSet) -> Int32 {
    let found = Contents(trees: trees, entries: entries.collect(version))
    contents.append(found)
    run.charge(byteCount: MemoryLayout<Contents>.stride + entries.byteCount(of: found.entries))
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
    epochs.append(nil)
    numbers[key] = lastZone
    run.charge(byteCount: key.count + 128)
    return lastZone
  }

  /// Calls `put` with the position of each record's last operation in the order in which a journal's keys ascend as far as
  /// possible: type by type, each in the order of the log. So each is put after the one before, as in a load in the order of keys.
  func forEachLast(in ranks: Range<Int>, _ put: (_ position: Int) throws(LogFault) -> Void) throws(LogFault) {
    var positions: [[Int32]] = []
    var groups: [UInt64: Int] = [:]
    var present: (hash: UInt64, group: Int)?
    for rank in ranks {
      let position = run.position(atLogRank: rank)
      guard isLast[position] else { continue }
      // Tombstones are a group, too. Types of one hash share a list, whose keys do not ascend: that is slower and nothing else.
      let hash = run.operation(position).isSave ? XXH3.hash(run.rest(position), seed: 0) : 0
      let group: Int
      if let present, present.hash == hash {
        group = present.group
      } else if let known = groups[hash] {
        group = known
      } else {
        group = positions.count
        groups[hash] = group
        positions.append([])
      }
      present = (hash, group)
      positions[group].append(Int32(position))
    }
    for group in positions { for position in group { try put(Int(position)) } }
  }

  /// Nil when the operation contributes nothing.
  func contents(of operation: ReplayRun.Gathered) -> Contents? {
    operation.mark < 0 ? nil : contents[Int(operation.mark)]
  }
}
