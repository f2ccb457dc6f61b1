#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Writes the live data of a database as one image: horizon, metadata, lineages, schema, then zone by zone the records and the
/// tombstones in the order of their names.
///
/// A record keeps the sequence and ordinal of the commit that made it, and loses the link to its older version, which stays
/// in the old file. Every body is verified in the copy that is written.
struct RecordRewriter: Rewriter {
  let options: Database.Options
  let assets: AssetStore
  let progress: ((_ done: Int, _ total: Int) -> Bool)?
  private let counts = Counts()
  /// Operations that share one operation of stamps.
  private static let groupCount = 128

  /// How many records are written, of how many.
  private final class Counts {
    var done = 0
    var total = 0
  }

  var isWanted: Bool { progress?(counts.done, counts.total) ?? true }

  func makeApplier() -> any Applier { RecordApplier(shapeMask: options.declarationMask) }

  func willReplace(by file: FileIdentity) throws(DiskFailure) { try assets.fileWillBeReplaced(by: file) }
  func didReplace() { assets.fileWasReplaced() }

  func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 {
    var copier = LogCopier(batch.target, options: options, .backup)
    try copier.copy(commit)
    return commit.sequence
  }

  func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
    counts.done = 0
    var image = Image(source: source, pin: pin, writer: writer, rewriter: self)
    try image.writeRequirements()
    try image.writeInfo(date: options.now())
    try image.writeSettings()
    try image.writeLineages()
    try image.writeSchema()
    if !isMutant("declare-after-bodies") { try image.writeDeclarations() }
    let zones = try image.zones()
    counts.total = zones.reduce(0) { $0 + Int(clamping: $1.trees.byName.count) }
    for zone in zones { try image.write(zone.trees, key: zone.key) }
    if isMutant("declare-after-bodies") { try image.writeDeclarations() }
  }

  /// One image being written.
  private struct Image {
    let source: Store
    let pin: Store.Pin
    let writer: ImageWriter
    let rewriter: RecordRewriter
    private let payload = ByteBuffer(capacity: 4096)
    private let operation = ByteBuffer(capacity: 4096)
    private let stamps = ByteBuffer(capacity: 4096)
    /// The last of the stamps.
    private var stamp = ImageStamp()
    private var group: [Place] = []
    /// The names of the records at the places of the group, one after the other, and where each ends.
    private let names = ByteBuffer(capacity: 4096)
    private var nameEnds: [Int] = []
    private let name = ByteBuffer(capacity: 512)
    /// The name of a packed body, and a body with another link.
    private let nameText = ByteBuffer(capacity: 64)
    private let relinked = ByteBuffer(capacity: 4096)
    /// Bytes of operations that may still be copied. Those of one file do not overlap; in a forged one they may lie in one
    /// another, and all of them together would be as long as the square of it.
    private var remaining: UInt64
    private var entries: EntryCopy

    init(source: Store, pin: Store.Pin, writer: ImageWriter, rewriter: RecordRewriter) {
      remaining = pin.end
      entries = EntryCopy(of: pin)
      self.source = source
      self.pin = pin
      self.writer = writer
      self.rewriter = rewriter
    }

    /// Calls `body` with a cursor on each record of a tree.
    private func forEach(in root: TreeRoot, _ body: (inout Cursor) throws(StoreError) -> Void) throws(StoreError) {
      var cursor = pin.reader.cursor(in: root)
      while try next(&cursor) { try body(&cursor) }
    }

    private func next(_ cursor: inout Cursor) throws(StoreError) -> Bool {
      do { return try cursor.next() } catch { throw StoreError(error) }
    }

    /// The operation that an entry of a tree leads to.
    private mutating func copyOperation(at place: Place) throws(StoreError) -> ByteView {
      guard UInt64(place.byteCount) <= remaining || isMutant("compact-nested-bodies") else {
        throw .operation(offset: place.offset)
      }
      remaining -= min(remaining, UInt64(place.byteCount))
      return try source.copyOperation(at: place, end: pin.end, into: operation)
    }

    /// Before anything else: a version that does not know a feature is told so, and meets nothing that it does not understand.
    mutating func writeRequirements() throws(StoreError) {
      name.truncate(to: 0)
      name.append(utf8: RequiredFeatures.settingsKey)
      let features: ByteView?
      do { features = try pin.reader.value(name.view, in: pin.root(Roots.settings)) } catch { throw StoreError(error) }
      guard let features else { return }
      payload.truncate(to: 0)
      payload.append(features)
      try writer.append(payload.view, kind: .requires)
    }

    mutating func writeInfo(date: Date) throws(StoreError) {
      payload.truncate(to: 0)
      payload.append(uint64: date.timeIntervalSinceReferenceDate.bitPattern)
      try writer.append(payload.view, kind: .commitInfo)
    }

    mutating func writeSettings() throws(StoreError) {
      try forEach(in: pin.root(Roots.settings)) { (cursor) throws(StoreError) in
        cursor.key(into: name)
        switch (UTF8Order.string(name.view, isValid: false), cursor.value.count) {
        // It was written first.
        case (RequiredFeatures.settingsKey, RequiredFeatures.byteCount): break
        case ("horizon", 8): try writer.append(cursor.value, kind: .raiseHorizon)
        default: throw .log(.inconsistent)
        }
      }
      var cursor = pin.reader.cursor(in: pin.root(Roots.metadata))
      while try next(&cursor) {
        guard let place = Place(cursor.value) else { throw .log(.inconsistent) }
        let bytes = try copyOperation(at: place)
        cursor.key(into: name)
        guard Operation.isOf(.setMetadata, bytes),
          let parts = MetadataPayload.parts(Operation.payload(bytes)), UTF8Order.equal(parts.key, name.view)
        else { throw .operation(offset: place.offset) }
        try writer.append(Operation.payload(bytes), kind: .setMetadata)
        try writer.pause()
      }
    }

    func writeLineages() throws(StoreError) {
      let key = ByteBuffer(capacity: 16)
      try forEach(in: pin.root(Roots.lineages)) { (cursor) throws(StoreError) in
        cursor.key(into: key)
        guard key.count == 8, cursor.value.count == 8 else { throw .log(.inconsistent) }
        stamps.truncate(to: 0)
        var stamp = ImageStamp()
        stamp.move(to: key.view.bigEndianUInt64(at: 0), 0, appendingTo: stamps)
        try writer.append(stamps.view, kind: .imageStamps)
        try writer.append(cursor.value, kind: .lineage)
      }
    }

    /// Fields that no record has any more are known on. Indexes are there before the records that they are of.
    mutating func writeSchema() throws(StoreError) {
      let key = ByteBuffer(capacity: 512)
      try forEach(in: pin.root(Roots.schema)) { (cursor) throws(StoreError) in
        cursor.key(into: key)
        if IndexDefinition.isKey(key.view) { return }
        guard let split = key.view.firstIndex(of: 0), cursor.value.count == 4 else {
          throw .log(.inconsistent)
        }
        payload.truncate(to: 0)
        SchemaTree.beginDeclaration(payload, type: key.view.prefix(split))
        let field = key.view.dropFirst(split + 1)
        if field.count > 0 {
          SchemaTree.append(field, KindBits(rawValue: cursor.value.uint32(at: 0)), to: payload)
        }
        try writer.append(payload.view, kind: .declareFields)
      }
      let indexes: DefinedIndexes
      if let facts = source.facts(of: pin) as? DeclaredFacts {
        indexes = facts.indexes
      } else {
        do { indexes = try source.records.decodedIndexes(in: pin.root(Roots.schema), pin.reader) } catch {
          throw StoreError(error)
        }
      }
      for index in indexes.byNumber {
        payload.truncate(to: 0)
        index.append(to: payload)
        try writer.append(payload.view, kind: .defineIndex)
      }
    }

    /// All of them, in the order in which they were made, before the first body: none is dropped, and none gets another number.
    func writeDeclarations() throws(StoreError) {
      var failure: StoreError?
      do throws(PageFault) {
        try DeclarationTree.forEach(in: pin.root(Roots.declarations), pin.reader) { declaration in
          if failure != nil { return }
          do throws(StoreError) { try writer.append(declaration, kind: .declare) } catch { failure = error }
        }
      } catch { throw StoreError(error) }
      if let failure { throw failure }
    }

    func zones() throws(StoreError) -> [(key: [UInt8], trees: ZoneTrees)] {
      var result: [(key: [UInt8], trees: ZoneTrees)] = []
      let key = ByteBuffer(capacity: 256)
      try forEach(in: pin.root(Roots.catalog)) { (cursor) throws(StoreError) in
        cursor.key(into: key)
        let value: CatalogValue
        do throws(PageFault) { value = try cursor.catalogValue } catch { throw StoreError(error) }
        guard let trees = ZoneTrees(value) else { throw .log(ZoneTrees.fault(of: value)) }
        result.append((key.view.array, trees))
      }
      return result
    }

    mutating func write(_ trees: ZoneTrees, key zoneKey: [UInt8]) throws(StoreError) {
      payload.truncate(to: 0)
      payload.append(uint64: trees.epoch)
      payload.append(uint32: trees.capabilities)
      payload.append(trees.isDeleted ? 1 : 0)
      payload.append(trees.deletionReason)
      payload.append(uint16: 0)
      payload.append(uint64: trees.lastSequence)
      zoneKey.withView { payload.append($0) }
      try writer.append(payload.view, kind: .imageZone)
      try writer.pause()
      try zoneKey.withView { (zoneKey) throws(StoreError) in
        try writeRecords(trees, zoneKey)
        try writeTombstones(trees, zoneKey)
      }
      try writer.flush()
    }

    private mutating func writeRecords(_ trees: ZoneTrees, _ zoneKey: ByteView) throws(StoreError) {
      let applier = writer.store.records
      let copiesEntries = entries.isSound(trees.indexes)
      applier.image.leavesEntries = copiesEntries
      var cursor = pin.reader.cursor(in: trees.byName)
      while try next(&cursor) {
        cursor.touchAhead(isPacked: true)
        guard let entry = RecordEntry(cursor.value) else { throw .log(.inconsistent) }
        cursor.key(into: name)
        try add(entry.place, entry.sequence, entry.ordinal, .saveRecord, zoneKey)
        rewriter.counts.done += 1
      }
      try writeGroup(.saveRecord, zoneKey)
      applier.image.leavesEntries = false
      if copiesEntries { try copyEntries(trees.indexes, zoneKey) } else { try putEntries(isLast: true) }
    }

    private mutating func writeTombstones(_ trees: ZoneTrees, _ zoneKey: ByteView) throws(StoreError) {
      let key = ByteBuffer(capacity: ChangeKey.tailByteCount)
      var cursor = pin.reader.cursor(in: trees.tombstones)
      while try next(&cursor) {
        guard let tombstone = TombstoneEntry(cursor.value) else { throw .page(pin.reader.fault(in: trees.tombstones)) }
        let place: Place
        do { place = try pin.reader.place(of: tombstone, in: trees, key) } catch { throw StoreError(error) }
        if !isMutant("compact-tombstones-away") {
          cursor.key(into: name)
          try add(place, tombstone.sequence, tombstone.ordinal, .deleteRecord, zoneKey)
        }
      }
      try writeGroup(.deleteRecord, zoneKey)
    }

    /// Takes the place that `name` leads to.
    private mutating func add(
      _ place: Place, _ sequence: UInt64, _ ordinal: UInt32, _ kind: OperationKind, _ zoneKey: ByteView
    ) throws(StoreError) {
      if group.isEmpty {
        stamps.truncate(to: 0)
        stamp = ImageStamp()
        names.truncate(to: 0)
        nameEnds.removeAll(keepingCapacity: true)
      }
      group.append(place)
      names.append(name.view)
      nameEnds.append(names.count)
      stamp.move(to: sequence, ordinal, appendingTo: stamps)
      if group.count == RecordRewriter.groupCount { try writeGroup(kind, zoneKey) }
    }

    private mutating func writeGroup(_ kind: OperationKind, _ zoneKey: ByteView) throws(StoreError) {
      if group.isEmpty { return }
      try writer.append(stamps.view, kind: .imageStamps)
      let isRecord = kind == .saveRecord
      // To ask after each record was a twentieth of a compaction (row: use-compact).
      let gathersEntries = isRecord && !writer.store.records.image.leavesEntries
      let linkOffset = isRecord ? RecordBody.previousOffset : Tombstone.previousOffset
      var nameStart = 0
      for (place, nameEnd) in zip(group, nameEnds) {
        let bytes = try copyOperation(at: place)
        let payload = Operation.payload(bytes)
        // Long enough for the link, too, which is before the identity.
        guard Operation.isOf(kind, bytes),
          let identity = isRecord
            ? BodyIdentity.stored(payload, source.records.shapes.table, nameText) : BodyIdentity.tombstone(payload),
          identity.isOf(key: names.view.slice(nameStart..<nameEnd), zone: zoneKey)
        else { throw .operation(offset: place.offset) }
        nameStart = nameEnd
        // The older version stays in the old file.
        if isRecord, PackedBody.isPacked(payload) {
          relinked.truncate(to: 0)
          guard PackedBody.append(payload, linkedTo: nil, to: relinked) else { throw .operation(offset: place.offset) }
          try writer.append(relinked.view, kind: kind)
          if gathersEntries { try putEntries() }
          continue
        }
        let link = operation.count - payload.count + linkOffset
        operation.set(uint64: 0, at: link)
        operation.set(uint32: 0, at: link + 8)
        try writer.append(Operation.payload(operation.view), kind: kind)
        if gathersEntries { try putEntries() }
      }
      group.removeAll(keepingCapacity: true)
      try writer.pause()
      try report()
    }

    private func report() throws(StoreError) {
      if !rewriter.isWanted { throw .refused(reason: "the compaction was cancelled") }
    }

    private func copyEntries(_ root: TreeRoot, _ zoneKey: ByteView) throws(StoreError) {
      guard var cursor = entries.cursor(in: root) else { return }
      var isMore = !isMutant("compact-without-entries")
      while isMore {
        do throws(LogFault) {
          isMore = try writer.store.records.copyEntries(&cursor, zone: zoneKey, writer.transaction)
        } catch { throw StoreError(error) }
        try writer.pause()
        try report()
      }
    }

    /// Puts the entries of indexes that wait into their tree, part by part, when they have taken their memory.
    private func putEntries(isLast: Bool = false) throws(StoreError) {
      let applier = writer.store.records
      guard isLast || applier.image.isFull(writer.transaction) else { return }
      var isMore = true
      while isMore {
        do throws(LogFault) {
          isMore = try applier.image.putEntries(writer.transaction, applier, all: false)
        } catch { throw StoreError(error) }
        try writer.pause()
        try report()
      }
    }
  }
}
