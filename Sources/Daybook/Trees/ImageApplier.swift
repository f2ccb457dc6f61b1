import DaybookEngine

/// Operations of an image: records as a compaction writes them, in the order of their names, each with the sequence and
/// ordinal that it had in the old file.
///
///     imageZone ─► stamps for n ─► n × (record | tombstone | lineage) ─► stamps …
///
/// Names come in order, sequences do not. So change journal entries are gathered, sorted, and put into their tree when the zone
/// ends: ascending inserts fill pages and touch each once. Gathered in runs, so that ten million entries take their 24 bytes
/// each, and not as much again while an array grows and is sorted; and put a part at a time, so that pages can be written in between.
/// Entries of indexes are gathered as well (`ImageEntries`), in runs that may end before the zone does; a compaction copies those of the
/// version that it writes (`EntryCopy`).
final class ImageApplier {
  /// Entries that are put before pages may be written.
  static let partCount = TestSetting.keepsLittle ? 128 : 4 << 10

  private let stamps = ByteBuffer(capacity: 4096)
  @safe @exclusivity(unchecked) private var position = 0
  /// The stamp before the position.
  @safe @exclusivity(unchecked) private var stamp = ImageStamp()
  @safe @exclusivity(unchecked) private var runs: [EntryRun] = []
  /// What is left of the runs while they are put.
  @safe @exclusivity(unchecked) private var merge: RunMerge?
  /// Made for the first entry: most opens have none (row: session).
  @safe @exclusivity(unchecked) private var entries: ImageEntries?
  /// Whether records have no entries of indexes, because the compaction copies them.
  @safe @exclusivity(unchecked) var leavesEntries = false
  /// The zone that all of these belong to.
  private let zoneKey = ByteBuffer(capacity: 256)
  /// The types that they have, by their numbers; the first is that of tombstones.
  @safe @exclusivity(unchecked) private var types: [[UInt8]] = [[]]
  @safe @exclusivity(unchecked) private var typeNumbers: [[UInt8]: Int] = [:]
  @safe @exclusivity(unchecked) private var lastType = 0

  var hasStamps: Bool {
    @inline(__always) get { position < stamps.view.count }
  }
  private var hasJournal: Bool { !runs.isEmpty || merge != nil }
  /// Whether anything waits to be put.
  var hasGathered: Bool { hasJournal || entries?.isEmpty == false }

  func reset() {
    stamps.truncate(to: 0)
    position = 0
    runs = []
    merge = nil
    leavesEntries = false
    entries?.reset()
    forgetTypes()
  }

  private func forgetTypes() {
    types = [[]]
    typeNumbers = [:]
    lastType = 0
  }

  /// The number of a type, drawn when it is new; nil when there are too many, which no application has.
  private func number(of type: ByteView) -> Int? {
    if types[lastType].withView({ UTF8Order.equal($0, type) }) { return lastType }
    let bytes = type.array
    if let number = typeNumbers[bytes] {
      lastType = number
      return number
    }
    if types.count == Entry.typeLimit { return nil }
    lastType = types.count
    types.append(bytes)
    typeNumbers[bytes] = lastType
    return lastType
  }

  /// False when the bytes are no stamps.
  func take(stamps bytes: ByteView) -> Bool {
    var offset = 0
    var last = ImageStamp()
    while offset < bytes.count { guard last.read(bytes, at: &offset) else { return false } }
    guard bytes.count > 0 else { return false }
    stamps.truncate(to: 0)
    stamps.append(bytes)
    position = 0
    stamp = ImageStamp()
    return true
  }

  func nextStamp() -> ImageStamp {
    let isSound = stamp.read(stamps.view, at: &position)
    precondition(isSound, "stamps are looked through before they are taken")
    return stamp
  }

  /// Whether entries of another zone wait.
  func waits(forOtherThan key: ByteView) -> Bool { hasGathered && !UTF8Order.equal(zoneKey.view, key) }

  private func begin(zone key: ByteView) {
    if hasGathered { return }
    zoneKey.truncate(to: 0)
    zoneKey.append(key)
  }

  /// Takes the entry of a record with its type, or of a tombstone. False when it has to be put at once.
  func append(_ entry: RecordEntry, ofType type: ByteView?, zone key: ByteView) -> Bool {
    precondition(merge == nil, "the entries of a zone are put when it has all of them")
    guard entry.place.offset < 1 << Entry.typeShift, let number = type.map({ self.number(of: $0) }) ?? 0 else { return false }
    begin(zone: key)
    if runs.isEmpty || runs[runs.count - 1].count == ImageApplier.runCount {
      sortLastRun()
      runs.append(EntryRun())
    }
    runs[runs.count - 1].append(
      Entry(
        sequence: entry.sequence, offset: entry.place.offset | UInt64(number) << Entry.typeShift, ordinal: entry.ordinal,
        byteCount: entry.place.byteCount))
    return true
  }

  /// Takes an entry of an index.
  func append(entry key: ByteView, _ value: ByteView, zone: ByteView) {
    begin(zone: zone)
    let entries = entries ?? ImageEntries()
    self.entries = entries
    entries.append(key, value)
  }

  /// Whether entries of indexes have the memory that they may take: they have to be put before the next record.
  func isFull(_ changes: StoreTransaction) -> Bool { entries?.isFull(changes) == true }

  /// Puts what was gathered into the zone's trees, in order: all of it, or as much as may come before pages are written;
  /// true when some is left.
  @discardableResult
  func put(_ changes: StoreTransaction, _ applier: RecordApplier, all: Bool = true) throws(LogFault) -> Bool {
    if try putEntries(changes, applier, all: all) { return true }
    return try putJournal(changes, applier, all: all)
  }

  /// Puts entries of indexes: all of them, or as many as may come before pages are written; true when some are left.
  @discardableResult
  func putEntries(_ changes: StoreTransaction, _ applier: RecordApplier, all: Bool = true) throws(LogFault) -> Bool {
    guard let entries, !entries.isEmpty else { return false }
    try applier.open(zoneKey.view, changes)
    guard var zone = applier.openZone, !zone.isDeleted else { throw .inconsistent }
    let isMore = try entries.put(in: &zone.indexes, atMost: all ? .max : ImageApplier.partCount, changes)
    applier.setOpenZone(zone)
    return isMore
  }

  private func putJournal(_ changes: StoreTransaction, _ applier: RecordApplier, all: Bool) throws(LogFault) -> Bool {
    if !hasJournal { return false }
    try applier.open(zoneKey.view, changes)
    guard var zone = applier.openZone, !zone.isDeleted else { throw .inconsistent }
    let key = ByteBuffer(capacity: ChangeKey.maximumByteCount)
    let value = ByteBuffer(capacity: ChangeEntry.maximumByteCount)
    if merge == nil {
      sortLastRun()
      merge = RunMerge(&runs)
    }
    var count = 0
    while all || count < ImageApplier.partCount, let entry = merge?.next() {
      let number = Int(entry.offset >> Entry.typeShift)
      types[number].withView { ChangeKey.set(key, type: $0, sequence: entry.sequence, ordinal: entry.ordinal) }
      value.truncate(to: 0)
      let place = Place(offset: entry.offset & (1 << Entry.typeShift - 1), byteCount: entry.byteCount)
      ChangeEntry.append(place, isDeleted: number == 0, to: value)
      guard try changes.put(key.view, value.view, in: &zone.changeJournal) else { throw .inconsistent }
      count += 1
    }
    if merge?.isEmpty == true {
      merge = nil
      forgetTypes()
    }
    applier.setOpenZone(zone)
    return merge != nil
  }

  private func sortLastRun() {
    runs.last?.sort()
  }
}
