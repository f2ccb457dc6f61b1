import DaybookEngine

/// Operations of an image: records as a compaction writes them, in the order of their names, each with the sequence and
/// ordinal that it had in the old file.
///
///     imageZone ─► stamps for n ─► n × (record | tombstone | lineage) ─► stamps …
///
/// Names come in order, sequences do not. So change journal entries are gathered, sorted, and put into their tree when the zone
/// ends: ascending inserts fill pages and touch each once. Gathered in runs, so that ten million entries take their 24 bytes
/// each, and not as much again while an array grows and is sorted; and put a part at a time, so that pages can be written in between.
final class ImageApplier {
  /// One change journal entry to be.
  fileprivate struct Entry {
    var sequence: UInt64
    /// With the number of its type from `typeShift` on: none for a tombstone. Files are shorter than that.
    var offset: UInt64
    var ordinal: UInt32
    var byteCount: UInt32
    static let typeShift: UInt64 = 48
    static let typeLimit = 1 << 16

    static func < (left: Entry, right: Entry) -> Bool {
      (left.sequence, left.ordinal) < (right.sequence, right.ordinal)
    }
  }

  /// Entries of a run; all but the last are full, and sorted.
  fileprivate static let runCount = TestSetting.keepsLittle ? 64 : 64 << 10
  /// Entries that are put before pages may be written.
  private static let partCount = TestSetting.keepsLittle ? 128 : 4 << 10

  private let stamps = ByteBuffer(capacity: 4096)
  @safe @exclusivity(unchecked) private var position = 0
  /// The stamp before the position.
  @safe @exclusivity(unchecked) private var stamp = ImageStamp()
  @safe @exclusivity(unchecked) private var runs: [EntryRun] = []
  /// What is left of the runs while they are put.
  @safe @exclusivity(unchecked) private var merge: RunMerge?
  /// The zone that they belong to.
  private let zoneKey = ByteBuffer(capacity: 256)
  /// The types that they have, by their numbers; the first is that of tombstones.
  @safe @exclusivity(unchecked) private var types: [[UInt8]] = [[]]
  @safe @exclusivity(unchecked) private var typeNumbers: [[UInt8]: Int] = [:]
  @safe @exclusivity(unchecked) private var lastType = 0

  var hasStamps: Bool {
    @inline(__always) get { position < stamps.view.count }
  }
  var hasJournal: Bool {
    @inline(__always) get { !runs.isEmpty || merge != nil }
  }

  func reset() {
    stamps.truncate(to: 0)
    position = 0
    runs = []
    merge = nil
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
  func waits(forOtherThan key: ByteView) -> Bool { hasJournal && !UTF8Order.equal(zoneKey.view, key) }

  /// Takes the entry of a record with its type, or of a tombstone. False when it has to be put at once.
  func append(_ entry: RecordEntry, ofType type: ByteView?, zone key: ByteView) -> Bool {
    precondition(merge == nil, "the entries of a zone are put when it has all of them")
    guard entry.place.offset < 1 << Entry.typeShift, let number = type.map({ self.number(of: $0) }) ?? 0 else { return false }
    if runs.isEmpty {
      zoneKey.truncate(to: 0)
      zoneKey.append(key)
    }
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

  /// Puts what was gathered into the zone's change journal, in order: all of it, or as much as may come before pages are written;
  /// true when some is left.
  @discardableResult
  func putJournal(_ changes: StoreTransaction, _ applier: RecordApplier, all: Bool = true) throws(LogFault) -> Bool {
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

  /// Sorted runs as one: a heap of those that have something left, the least entry first.
  private struct RunMerge {
    private var runs: [EntryRun?]
    private var positions: [Int]
    private var heap: [Int]

    /// Takes the runs away from who had them.
    init(_ source: inout [EntryRun]) {
      runs = source
      positions = Array(repeating: 0, count: runs.count)
      // Sorted by their first entries, which is a heap.
      heap = source.indices.sorted { [source] in source[$0][0] < source[$1][0] }
      source = []
    }

    var isEmpty: Bool { heap.isEmpty }

    private func entry(of run: Int) -> Entry { runs[run]![positions[run]] }

    mutating func next() -> Entry? {
      guard let run = heap.first else { return nil }
      let entry = entry(of: run)
      positions[run] += 1
      if positions[run] == runs[run]!.count {
        runs[run] = nil
        let last = heap.removeLast()
        if heap.isEmpty { return entry }
        heap[0] = last
      }
      sink()
      return entry
    }

    private func isLess(_ left: Int, _ right: Int) -> Bool {
      entry(of: heap[left]) < entry(of: heap[right])
    }

    /// Puts the first of the heap where it belongs.
    private mutating func sink() {
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isLess(child, least) { least = child }
        if least == parent { return }
        heap.swapAt(parent, least)
        parent = least
      }
    }
  }
}

/// Entries of one run, in memory of their own that goes back to the system with it: an allocator kept the quarter of a
/// gigabyte of ten million entries until the process ended.
@safe private final class EntryRun {
  typealias Entry = ImageApplier.Entry
  private let base: UnsafeMutablePointer<Entry>
  private(set) var count = 0
  private static let byteCount = ImageApplier.runCount * MemoryLayout<Entry>.stride

  init() {
    guard let memory = unsafe RawMemory.reserveZeroed(byteCount: EntryRun.byteCount) else {
      preconditionFailure("the system has no memory left for a run of change journal entries")
    }
    // Safe: room for `runCount` entries, which are plain numbers.
    unsafe base = memory.bindMemory(to: Entry.self, capacity: ImageApplier.runCount)
  }

  deinit { unsafe RawMemory.release(UnsafeMutableRawPointer(base), byteCount: EntryRun.byteCount) }

  func append(_ entry: Entry) {
    precondition(count < ImageApplier.runCount, "a full run takes nothing more")
    // Safe: the line above.
    unsafe base[count] = entry
    count += 1
  }

  subscript(index: Int) -> Entry {
    precondition(index < count, "an entry of the run")
    // Safe: the line above.
    return unsafe base[index]
  }

  func sort() {
    // Safe: `count` entries have been written.
    var entries = unsafe UnsafeMutableBufferPointer(start: base, count: count)
    unsafe entries.sort(by: <)
  }
}

extension RecordApplier {
  /// Applies an operation for which a stamp is waiting.
  func applyStamped(
    _ kind: OperationKind, _ payload: ByteView, _ place: Place, _ changes: StoreTransaction
  ) throws(LogFault) {
    let stamp = image.nextStamp()
    let entry = RecordEntry(place: place, sequence: stamp.sequence, ordinal: stamp.ordinal)
    // An image stands for commits of the past.
    guard stamp.sequence <= changes.sequence else { throw .inconsistent }
    switch kind {
    case .saveRecord: try saveRecord(image: payload, entry, changes)
    case .deleteRecord: try deleteRecord(image: payload, entry, changes)
    case .lineage: try saveLineage(payload, stamp.sequence, changes)
    case .commitInfo, .saveZone, .deleteZone, .setMetadata, .deleteMetadata, .raiseHorizon, .imageStamps, .imageZone,
      .declareFields, .declare, .defineIndex, .buildIndex, .dropIndex, .requires:
      throw .inconsistent
    }
  }

  /// A record that no tree holds yet.
  private func saveRecord(image body: ByteView, _ entry: RecordEntry, _ changes: StoreTransaction) throws(LogFault) {
    guard let identity = identity(of: body), ChangeKey.isType(identity.type), NameKey.isName(identity.name) else {
      throw .operation
    }
    let name = NameKey.view(of: identity.name, in: nameKey)
    if image.waits(forOtherThan: identity.zoneKey) { try flush(changes) }
    try open(identity.zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted, identity.isOfLife(zone.epoch), entry.ordinal < RecordEntry.ordinalLimit else {
      throw .inconsistent
    }
    var entry = entry
    entry.contributes = zone.takes(ZoneTree.contributed(by: body))
    value.truncate(to: 0)
    entry.append(to: value)
    guard try changes.put(name, value.view, in: &zone.byName) else { throw .inconsistent }
    let isIndexed = indexes.covers(identity.type)
    if entry.contributes || isIndexed {
      let version = RecordVersion(try spelled(body), identity, entry)
      try changeContributions(of: name, from: nil, to: version, isIndexed: isIndexed, &zone, changes)
    }
    addLiveBytes(Int(entry.place.byteCount), to: &zone, changes)
    if !image.append(entry, ofType: identity.type, zone: identity.zoneKey) {
      try changeJournal(entry, ofType: identity.type, &zone, changes)
    }
    setOpenZone(zone)
  }

  /// The tombstone of a record that no tree holds.
  private func deleteRecord(image body: ByteView, _ entry: RecordEntry, _ changes: StoreTransaction) throws(LogFault) {
    guard let identity = BodyIdentity.tombstone(body), NameKey.isName(identity.name) else { throw .operation }
    let name = NameKey.view(of: identity.name, in: nameKey)
    if image.waits(forOtherThan: identity.zoneKey) { try flush(changes) }
    try open(identity.zoneKey, changes)
    guard var zone = openZone, !zone.isDeleted else { throw .inconsistent }
    try putTombstone(name, entry, in: &zone, changes)
    addLiveBytes(Int(entry.place.byteCount), to: &zone, changes)
    if !image.append(entry, ofType: nil, zone: identity.zoneKey) {
      try changeJournal(entry, ofType: nil, &zone, changes)
    }
    setOpenZone(zone)
  }

  /// A zone as the old file had it, before any of its records.
  func saveZone(image payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard payload.count > 24 else { throw .operation }
    let zoneKey = payload.dropFirst(24)
    guard zoneKey.count <= TreeLimits.maximumKeyByteCount - 8 else { throw .operation }
    try flush(changes)
    try open(zoneKey, changes)
    // The default zone is there before it was ever written to.
    guard openZone == nil || openZone?.lastSequence == 0 else { throw .inconsistent }
    var zone = newZone(zoneKey)
    zone.epoch = payload.uint64(at: 0)
    zone.capabilities = payload.uint32(at: 8)
    zone.isDeleted = payload[12] != 0
    zone.deletionReason = payload[13]
    setOpenZone(zone)
    try touch(payload.uint64(at: 16), changes)
  }
}
