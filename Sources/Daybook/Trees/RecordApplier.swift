import DaybookEngine
import Synchronization

/// Turns record operations into tree changes, for live commits, replay and check: nothing else changes the trees of records.
///
/// What a save or a deletion changes is written here, for commits and for images, and once more for replay in the order of names
/// (`RecordApplier+Replay.swift`), which touches each tree once. Both must agree: `ReplayTests` and the deep check see to it.
///
/// It reads the trees and the operation, nothing else: no clock, no limit, no policy. The zone that it worked on last stays
/// open in memory with its roots, because most transactions stay in one zone; `flush` puts it into the catalog.
///
/// Always true after `flush`: by name and change journal hold the same records, the change journal once each, under its type; a deleted
/// record has an entry in the change journal and among the tombstones, and nowhere else; the other trees hold what the records' bodies
/// contribute (`ZoneTree`). The version before is read again only when it contributes something, which its entry says.
final class RecordApplier: Applier, @unchecked Sendable {
  // Belongs to the holder of the turn.
  let openKey = ByteBuffer(capacity: 256)
  @safe @exclusivity(unchecked) private(set) var openZone: ZoneTrees?
  @safe @exclusivity(unchecked) private var isOpenZoneChanged = false
  let key = ByteBuffer(capacity: 512)
  let value = ByteBuffer(capacity: 256)
  let old = ByteBuffer(capacity: 64)
  /// The name of the record that an operation is about, as a key.
  let nameKey = ByteBuffer(capacity: 32)
  private let ownerBytes = ByteBuffer(capacity: 64)
  let image = ImageApplier()
  let gathered: GatheredRecords
  /// What the version contributes that is being applied, and what the one before did.
  let coming: ContributionList
  let former: ContributionList
  /// The indexes that the tree of the present transaction has, and those that entries are made of: others only within a replay
  /// (`DeferredIndexes.swift`). Aligned with the tree when the shapes are.
  let declared = IndexList()
  let indexes = IndexList()
  /// Within a replay: something waits for its end; and numbers of indexes that were dropped, which may have entries.
  @safe @exclusivity(unchecked) var hasDeferred = false
  @safe @exclusivity(unchecked) var dropped: Set<UInt16> = []
  /// What the file requires.
  @safe @exclusivity(unchecked) var features = RequiredFeatures(reading: 0, writing: 0)
  /// Declared indexes and features as a value; nil when they have changed since it was made.
  @safe @exclusivity(unchecked) var facts: DeclaredFacts?
  /// For tests: how often definitions were read from a tree, and how many versions builds have read.
  let decodingCount = Atomic<Int>(0)
  @safe @exclusivity(unchecked) var builtCount = 0
  /// Entries that are in the trees, and their operation is to come.
  @safe @exclusivity(unchecked) var ahead: IndexPart?
  /// A body that the last build of an index could not read.
  @safe @exclusivity(unchecked) var unreadable: Place?
  let formerSearch = FormerSearch()
  /// What bodies name by numbers.
  let shapes: ShapeDictionary
  /// The dictionary, and the lists of indexes, have what the trees of the present transaction have.
  @safe @exclusivity(unchecked) var areShapesAligned = false
  /// Empty after an open: the next commit then repeats all declarations.
  @safe @exclusivity(unchecked) var copiedDeclarations = CopiedDeclarations()
  /// The name of a packed body, and a body that was spelled out.
  let nameText = ByteBuffer(capacity: 64)
  let spelledBody = ByteBuffer(capacity: 1024)

  /// How many trees zones have that have fewer than the list, by their keys, where zones are made as another file has them.
  private let treeCounts: [[UInt8]: Int]

  /// - Parameter shapeMask: bits of the numbers of declarations that count.
  init(treeCounts: [[UInt8]: Int] = [:], shapeMask: UInt32 = .max) {
    self.treeCounts = treeCounts
    shapes = ShapeDictionary(mask: shapeMask)
    gathered = GatheredRecords(indexes)
    coming = ContributionList(indexes)
    former = ContributionList(indexes)
  }

  // MARK: zones

  /// The zone with this key, as the transaction has it; nil when there is none. The default zone is always there.
  func zone(_ zoneKey: ByteView, _ changes: StoreTransaction) throws(LogFault) -> ZoneTrees? {
    if let openZone, UTF8Order.equal(openKey.view, zoneKey) { return openZone.isDeleted ? nil : openZone }
    let zone = try load(zoneKey, changes)
    return zone.flatMap { $0.isDeleted ? nil : $0 }
  }

  private func load(_ zoneKey: ByteView, _ changes: StoreTransaction) throws(LogFault) -> ZoneTrees? {
    try flushZone(changes)
    var zone: ZoneTrees?
    let cell: CatalogValue?
    do { cell = try changes.reader.catalogValue(zoneKey, in: changes.roots[Roots.catalog]) } catch {
      throw .page(error)
    }
    if let cell {
      guard let found = ZoneTrees(cell) else { throw ZoneTrees.fault(of: cell) }
      zone = found
    } else if Zone.ID.isDefault(key: zoneKey) {
      zone = newZone(zoneKey)
    }
    openKey.truncate(to: 0)
    openKey.append(zoneKey)
    openZone = zone
    isOpenZoneChanged = false
    return zone
  }

  /// A zone without anything, for this key.
  func newZone(_ zoneKey: ByteView) -> ZoneTrees {
    if treeCounts.isEmpty { return ZoneTrees() }
    return ZoneTrees(treeCount: treeCounts[zoneKey.array] ?? ZoneTree.count)
  }

  /// Opens the zone for changing it.
  func open(_ zoneKey: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    if openZone != nil, UTF8Order.equal(openKey.view, zoneKey) { return }
    _ = try load(zoneKey, changes)
  }

  func flush(_ changes: StoreTransaction) throws(LogFault) {
    try alignShapes(changes)
    if gathered.run.count > 0 { try applyGathered(changes) }
    gathered.removeAll()
    try image.put(changes, self)
    try flushZone(changes)
  }

  /// A part of what an image has gathered of a zone.
  func flushPart(_ changes: StoreTransaction) throws(LogFault) -> Bool {
    try image.put(changes, self, all: false)
  }

  /// The pages of the trees are about to move into the file: what an image has gathered stays.
  func letGo(_ changes: StoreTransaction) throws(LogFault) {
    try flushZone(changes)
    openZone = nil
  }

  private func flushZone(_ changes: StoreTransaction) throws(LogFault) {
    guard isOpenZoneChanged, let openZone else { return }
    let hasInlineTrees = try openZone.encode(into: value, ownerBytes: ownerBytes, keyByteCount: openKey.count, changes)
    try changes.put(openKey.view, value.view, in: &changes.roots[Roots.catalog], asCatalog: true)
    isOpenZoneChanged = false
    if hasInlineTrees { self.openZone = nil }
  }

  func reset() {
    forgetOpenZone()
    forgetDeferred()
    ahead = nil
    image.reset()
    gathered.removeAll()
    formerSearch.reset()
    areShapesAligned = false
  }

  /// The zone that was open has gone.
  func forgetOpenZone() {
    openZone = nil
    isOpenZoneChanged = false
  }

  /// Moves the zone to `sequence` in the order of last changes.
  func touch(_ sequence: UInt64, _ changes: StoreTransaction) throws(LogFault) {
    guard openZone?.lastSequence != sequence, var zone = openZone else { return }
    if zone.lastSequence != 0 {
      setZoneSequenceKey(zone.lastSequence)
      try changes.remove(key.view, from: &changes.roots[Roots.zonesBySequence])
    }
    zone.lastSequence = sequence
    setZoneSequenceKey(sequence)
    try changes.put(key.view, key.view.prefix(0), in: &changes.roots[Roots.zonesBySequence])
    openZone = zone
    isOpenZoneChanged = true
  }

  func setZoneSequenceKey(_ sequence: UInt64) {
    key.truncate(to: 0)
    key.append(uint64: sequence.byteSwapped)
    key.append(openKey.view)
  }

  // MARK: operations

  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault) {
    let payload = Operation.payload(operation)
    guard let kind = try OperationKind(of: operation) else { return }
    try alignShapes(changes)
    if image.hasStamps { return try applyStamped(kind, payload, place, changes) }
    // The image is over: what comes next expects its change journal and its indexes.
    if image.hasGathered, kind != .imageStamps { try image.put(changes, self) }
    switch kind {
    case .saveRecord:
      try saveRecord(payload, RecordEntry(place: place, sequence: sequence, ordinal: ordinal), changes)
    case .deleteRecord:
      try deleteRecord(payload, RecordEntry(place: place, sequence: sequence, ordinal: ordinal), changes)
    case .imageStamps:
      guard image.take(stamps: payload) else { throw .operation }
    case .imageZone:
      try saveZone(image: payload, changes)
    case .commitInfo:
      guard payload.count >= 8 else { throw .operation }
    case .lineage:
      try saveLineage(payload, sequence, changes)
    case .saveZone:
      try saveZone(payload, sequence, changes)
    case .deleteZone:
      try deleteZone(payload, sequence, changes)
    case .setMetadata:
      guard let metadata = MetadataPayload.parts(payload), metadata.key.count <= TreeLimits.maximumKeyByteCount else {
        throw .operation
      }
      value.truncate(to: 0)
      place.append(to: value)
      old.truncate(to: 0)
      try changes.put(metadata.key, value.view, in: &changes.roots[Roots.metadata], old: old)
      changes.liveByteCount &+= Int(place.byteCount) &- oldPlaceByteCount
    case .deleteMetadata:
      guard payload.count <= TreeLimits.maximumKeyByteCount else { throw .operation }
      old.truncate(to: 0)
      try changes.remove(payload, from: &changes.roots[Roots.metadata], old: old)
      changes.liveByteCount &-= oldPlaceByteCount
    case .raiseHorizon:
      guard payload.count == 8 else { throw .operation }
      try raiseHorizon(payload, changes)
    case .declareFields:
      try SchemaTree.apply(payload, key, changes)
    case .declare:
      try declare(payload, changes)
    case .requires:
      try require(payload, changes)
    case .defineIndex:
      try defineIndex(payload, changes)
    case .buildIndex:
      try buildIndex(payload, changes)
    case .dropIndex:
      try dropIndex(payload, changes)
    }
  }

  /// Of a metadata entry that was replaced or removed.
  private var oldPlaceByteCount: Int {
    Place(old.view).map { Int($0.byteCount) } ?? 0
  }

  /// The zone that is open names other bodies now.
  @inline(__always)
  func addLiveBytes(_ byteCount: Int, to zone: inout ZoneTrees, _ changes: StoreTransaction) {
    zone.liveByteCount &+= byteCount
    changes.addLiveBytes(byteCount)
  }

  func saveLineage(_ payload: ByteView, _ sequence: UInt64, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count == 8 else { throw .operation }
    key.truncate(to: 0)
    key.append(uint64: sequence.byteSwapped)
    try changes.put(key.view, payload, in: &changes.roots[Roots.lineages])
  }

  /// - Parameter isImage: no tree has the record yet, in any version, and its entries of change journal and indexes are gathered.
  func saveRecord(
    _ body: ByteView, _ entry: RecordEntry, isImage: Bool = false, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard let identity = identity(of: body), ChangeKey.isType(identity.type), NameKey.isName(identity.name) else {
      throw .operation
    }
    let name = NameKey.view(of: identity.name, in: nameKey)
    if isImage {
      if image.waits(forOtherThan: identity.zoneKey) { try flush(changes) }
      if image.isFull(changes) { try image.putEntries(changes, self) }
    }
    try open(identity.zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted, identity.isOfLife(zone.epoch) else { throw .inconsistent }
    guard entry.ordinal < RecordEntry.ordinalLimit else { throw .operation }
    var entry = entry
    entry.contributes = zone.takes(ZoneTree.contributed(by: body))
    let isIndexed = indexes.covers(identity.type) && !(isImage && image.leavesEntries)
    addLiveBytes(Int(entry.place.byteCount), to: &zone, changes)
    value.truncate(to: 0)
    entry.append(to: value)
    old.truncate(to: 0)
    if try !changes.put(name, value.view, in: &zone.byName, old: old) {
      guard !isImage, let oldEntry = RecordEntry(old.view) else { throw .inconsistent }
      addLiveBytes(-Int(oldEntry.place.byteCount), to: &zone, changes)
      if entry.contributes || oldEntry.contributes || isIndexed {
        let version = RecordVersion(try spelled(body), identity, entry)
        try changeContributions(of: name, from: oldEntry, to: version, isIndexed: isIndexed, &zone, changes)
      }
      try leaveJournal(identity.type, oldEntry.sequence, oldEntry.ordinal, &zone, changes)
    } else {
      if !isImage, zone.tombstones.count > 0 { try removeTombstone(name, &zone, changes) }
      if entry.contributes || isIndexed {
        let version = RecordVersion(try spelled(body), identity, entry)
        try changeContributions(of: name, from: nil, to: version, isIndexed: isIndexed, isImage: isImage, &zone, changes)
      }
    }
    if !isImage || !image.append(entry, ofType: identity.type, zone: identity.zoneKey) {
      try changeJournal(entry, ofType: identity.type, &zone, changes)
    }
    setOpenZone(zone)
    if !isImage { try touch(entry.sequence, changes) }
  }

  /// - Parameter isImage: as of a save: no tree has what it deletes.
  func deleteRecord(
    _ body: ByteView, _ entry: RecordEntry, isImage: Bool = false, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard let identity = BodyIdentity.tombstone(body), NameKey.isName(identity.name) else { throw .operation }
    let name = NameKey.view(of: identity.name, in: nameKey)
    if isImage, image.waits(forOtherThan: identity.zoneKey) { try flush(changes) }
    try open(identity.zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    addLiveBytes(Int(entry.place.byteCount), to: &zone, changes)
    if !isImage { try removeVersion(of: name, ofType: identity.type, &zone, changes) }
    if !isMutant("leave-no-tombstone") {
      try putTombstone(name, entry, in: &zone, changes)
      if !isImage || !image.append(entry, ofType: nil, zone: identity.zoneKey) {
        try changeJournal(entry, ofType: nil, &zone, changes)
      }
    }
    setOpenZone(zone)
    if !isImage { try touch(entry.sequence, changes) }
  }

  /// Takes a record's version out of all trees.
  private func removeVersion(
    of name: ByteView, ofType type: ByteView, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard let old = try changes.value(name, in: zone.byName), let entry = RecordEntry(old) else { throw .inconsistent }
    addLiveBytes(-Int(entry.place.byteCount), to: &zone, changes)
    try leaveJournal(type, entry.sequence, entry.ordinal, &zone, changes)
    let isIndexed = indexes.covers(type)
    if entry.contributes || isIndexed {
      try changeContributions(of: name, from: entry, to: nil, isIndexed: isIndexed, &zone, changes)
    }
    try changes.remove(name, from: &zone.byName)
  }

  func setOpenZone(_ zone: ZoneTrees) {
    openZone = zone
    isOpenZoneChanged = true
  }

  func putTombstone(
    _ name: ByteView, _ entry: RecordEntry, in zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    value.truncate(to: 0)
    TombstoneEntry.append(entry, to: value)
    try changes.put(name, value.view, in: &zone.tombstones)
  }

  /// Puts an entry into the change journal: that of a record's latest version, or without a type that of its tombstone.
  func changeJournal(
    _ entry: RecordEntry, ofType type: ByteView?, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    if let type {
      ChangeKey.set(key, type: type, sequence: entry.sequence, ordinal: entry.ordinal)
    } else {
      ChangeKey.setTombstone(key, sequence: entry.sequence, ordinal: entry.ordinal)
    }
    value.truncate(to: 0)
    ChangeEntry.append(entry.place, isDeleted: type == nil, to: value)
    try changes.put(key.view, value.view, in: &zone.changeJournal)
  }

  /// Takes a version that lived out of the change journal. It is not there where an operation has another type than the record.
  @inline(__always)
  func leaveJournal(
    _ type: ByteView, _ sequence: UInt64, _ ordinal: UInt32, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    ChangeKey.set(key, type: type, sequence: sequence, ordinal: ordinal)
    guard try changes.remove(key.view, from: &zone.changeJournal) else { throw .inconsistent }
  }

  /// A record that was deleted comes back: its tombstone leaves the change journal.
  private func removeTombstone(
    _ name: ByteView, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    guard let value = try changes.value(name, in: zone.tombstones) else { return }
    guard let tombstone = TombstoneEntry(value) else { throw .inconsistent }
    try removeChange(tombstone.sequence, tombstone.ordinal, &zone, changes)
    try changes.remove(name, from: &zone.tombstones)
  }

  /// Takes a tombstone out of the change journal.
  func removeChange(
    _ sequence: UInt64, _ ordinal: UInt32, _ zone: inout ZoneTrees, _ changes: StoreTransaction
  ) throws(LogFault) {
    ChangeKey.setTombstone(key, sequence: sequence, ordinal: ordinal)
    old.truncate(to: 0)
    try changes.remove(key.view, from: &zone.changeJournal, old: old)
    guard let entry = ChangeEntry(old.view), entry.isDeleted else { throw .inconsistent }
    addLiveBytes(-Int(entry.place.byteCount), to: &zone, changes)
  }
}
