#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Writes the operations of one log into another database, commit by commit, and links each version to the one before
/// it in the new file.
///
/// A backup whose frames cannot be copied as they are (`FrameCopier`) copies everything, so that sequences, lineages and tokens
/// stay what they are, and anything that does not fit is damage. A salvage copies what can still be applied where commits are missing, into a database with a history of its own.
struct LogCopier {
  enum Purpose { case backup, salvage }

  private let store: Store
  private let options: Database.Options
  private let purpose: Purpose
  private let payload = ByteBuffer(capacity: 4096)
  private let nameKey = ByteBuffer(capacity: 32)
  private var hasLineage = false
  private var shapes = KnownShapes()
  /// What the bodies of a damaged log mean: everything that its declarations say, wherever they are.
  private let gathered: ShapeDictionary?
  private let packer = BodyPacker()
  private let spelledBody = ByteBuffer(capacity: 4096)
  /// The name of the body that is copied, where it is a UUID.
  private let nameText = ByteBuffer(capacity: 64)
  /// The same of the version before it.
  private let formerText = ByteBuffer(capacity: 64)
  var report = Database.SalvageReport()
  /// The same as in the report, as a set: a crafted file may have as many as it has bytes for.
  private var remadeZones: Set<Zone.ID> = []

  init(_ store: Store, options: Database.Options, _ purpose: Purpose, gathered: ShapeDictionary? = nil) {
    self.store = store
    self.gathered = gathered
    self.options = options
    self.purpose = purpose
  }

  /// Copies one commit of a sound log. Its sequence is the same in the copy.
  mutating func copy(_ commit: CommitReader) throws(StoreError) {
    if commit.isImage { return try copyImage(commit) }
    let transaction = try store.beginTransaction()
    transaction.isCopy = true
    do throws(StoreError) {
      for index in 0..<commit.count {
        let (number, payload) = try commit.operation(index)
        let known: OperationKind?
        do { known = try OperationKind(number: number) } catch { throw .log(error) }
        guard let kind = known else {
          try append(payload, number, transaction)
          continue
        }
        guard try copy(payload, kind, transaction) else { throw .log(.inconsistent) }
      }
    } catch {
      store.abandon(transaction)
      throw error
    }
    guard try store.commit(transaction).sequence == commit.sequence else { throw .log(.inconsistent) }
  }

  /// An image may be larger than the memory of a transaction. It has no links, and its applier checks it.
  private func copyImage(_ commit: CommitReader) throws(StoreError) {
    let writer = try ImageWriter(store, sequence: commit.sequence, pace: Pace(bytesPerSecond: nil) { true })
    do throws(StoreError) {
      for index in 0..<commit.count {
        let (kind, payload) = try commit.operation(index)
        if kind == OperationKind.imageZone.rawValue { try writer.flush() }
        if kind == OperationKind.imageStamps.rawValue { try writer.pause() }
        try writer.append(payload, kind: kind)
      }
      try writer.flush()
    } catch {
      writer.abort()
      throw error
    }
    try writer.finish()
  }

  /// Copies what can be applied of a commit of a damaged log.
  mutating func copy(_ commit: SalvageReader.Commit) throws(StoreError) {
    let transaction = try store.beginTransaction()
    transaction.isCopy = true
    do throws(StoreError) {
      try copyInfo(of: commit, transaction)
      for index in 0..<commit.count {
        // An operation of a later version's kind is skipped like a damaged one; if it may be passed over, it is no loss.
        guard let operation = commit.operation(index), let kind = OperationKind(rawValue: Operation.kind(operation)) else {
          let mayBeSkipped = commit.operation(index).map { OperationKind.skippable.contains(Operation.kind($0)) } ?? false
          if !mayBeSkipped { report.skippedOperationCount += 1 }
          continue
        }
        // A tombstone of an image would delete what is not there; the new file's tokens do not reach back so far.
        if commit.isImage, kind == .deleteRecord { continue }
        let isCopied = try copy(Operation.payload(operation), kind, transaction)
        if isCopied { continue }
        report.skippedOperationCount += 1
        // What is needed of it is asked for again: copying may have used the memory of the reader.
        if kind == .saveRecord, let operation = commit.operation(index), let gathered,
          let unreadable = Database.UnreadableRecord(Operation.payload(operation), at: commit.place(index), gathered)
        {
          report.unreadableRecords.append(unreadable)
        }
      }
    } catch {
      store.abandon(transaction)
      throw error
    }
    _ = try store.commit(transaction)
    if commit.isWhole { report.commitCount += 1 }
  }

  /// Copies one operation; false when it cannot be applied.
  private mutating func copy(
    _ bytes: ByteView, _ kind: OperationKind, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    switch kind {
    case .saveRecord: return try copyRecord(bytes, transaction)
    case .deleteRecord: return try copyTombstone(bytes, transaction)
    case .saveZone: return try copyZone(bytes, transaction)
    case .deleteZone: return try copyZoneDeletion(bytes, transaction)
    case .setMetadata, .deleteMetadata: return try copyMetadata(bytes, kind, transaction)
    case .commitInfo, .lineage, .raiseHorizon:
      // Of the old file's history: what was salvaged has one of its own.
      if purpose == .backup { try append(bytes, kind, transaction) }
      return true
    case .requires:
      // The new file of a salvage has only what this version writes.
      if purpose == .backup { try append(bytes, kind, transaction) } else { note(RequiredFeatures(bytes)) }
      return true
    case .declareFields: return try copyDeclaration(bytes, transaction)
    case .declare:
      // A salvage packs its bodies again, and declares what they need.
      if purpose == .backup { try append(bytes, kind, transaction) }
      return true
    case .defineIndex: return try copyIndex(bytes, transaction)
    case .buildIndex:
      // A salvage builds its indexes when it has all records.
      if purpose == .backup { try append(bytes, kind, transaction) }
      return true
    case .dropIndex:
      if purpose == .salvage {
        // The index itself may be lost.
        guard try isIndex(bytes, transaction) else { return true }
      }
      try append(bytes, kind, transaction)
      return true
    case .imageStamps: return purpose == .salvage
    case .imageZone: return purpose == .salvage ? try copyImageZone(bytes, transaction) : false
    }
  }

  private mutating func note(_ features: RequiredFeatures?) {
    guard let unknown = features?.unknown else { return }
    report.unknownFeatures |= unknown.reading | unknown.writing
  }

  // MARK: operations

  private func append(_ bytes: ByteView, _ kind: OperationKind, _ transaction: StoreTransaction) throws(StoreError) {
    try append(bytes, kind.rawValue, transaction)
  }

  private func append(_ bytes: ByteView, _ kind: UInt8, _ transaction: StoreTransaction) throws(StoreError) {
    let start = transaction.beginOperation()
    transaction.payload.append(bytes)
    if OperationKind(rawValue: kind)?.addsData ?? true { transaction.addsData = true }
    try transaction.endOperation(start, kind: kind)
  }

  /// Date and origin of the commit, first as in every commit; the first one of the file also draws its lineage.
  private mutating func copyInfo(of commit: SalvageReader.Commit, _ transaction: StoreTransaction) throws(StoreError) {
    payload.truncate(to: 0)
    if commit.count > 0, let info = commit.operation(0), Operation.isOf(.commitInfo, info), Operation.payload(info).count >= 8 {
      payload.append(Operation.payload(info))
    } else {
      payload.append(uint64: options.now().timeIntervalSinceReferenceDate.bitPattern)
    }
    try append(payload.view, .commitInfo, transaction)
    if hasLineage { return }
    hasLineage = true
    payload.truncate(to: 0)
    payload.append(uint64: options.random() | 1)
    try append(payload.view, .lineage, transaction)
  }

  private func zone(_ key: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> ZoneTrees? {
    do { return try store.records.zone(key, transaction) } catch { throw StoreError(error) }
  }

  private func place(of name: ByteView, in zone: ZoneTrees, _ transaction: StoreTransaction) throws(StoreError) -> Place? {
    let value: ByteView?
    do { value = try transaction.value(NameKey.view(of: name, in: nameKey), in: zone.byName) } catch { throw StoreError(error) }
    return value.flatMap { RecordEntry($0)?.place }
  }

  /// A record that comes back links to the tombstone of its former life.
  private func tombstonePlace(
    of name: ByteView, in zone: ZoneTrees, _ transaction: StoreTransaction
  ) throws(StoreError) -> Place? {
    if zone.tombstones.count == 0 { return nil }
    let key = ByteBuffer(capacity: ChangeKey.tailByteCount)
    do throws(PageFault) {
      return try transaction.reader.deletion(ofName: NameKey.view(of: name, in: nameKey), in: zone, key)?.place
    } catch { throw StoreError(error) }
  }

  /// A backup's packed body: nothing of it changes but the link. Its checksum was verified and says that its values are what was
  /// saved, so they are not spelled out and decoded (row: use-backup).
  private func copyPacked(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    let shapes = store.records.shapes
    guard PackedBody.isSound(bytes, in: shapes), let identity = BodyIdentity.stored(bytes, shapes.table, nameText),
      let trees = try zone(identity.zoneKey, transaction)
    else { return false }
    var previous = try place(of: identity.name, in: trees, transaction)
    if let known = previous {
      guard try isOfType(identity.type, at: known, transaction) else { return false }
    } else {
      previous = try tombstonePlace(of: identity.name, in: trees, transaction)
    }
    payload.truncate(to: 0)
    guard PackedBody.append(bytes, linkedTo: previous, to: payload) else { return false }
    try append(payload.view, .saveRecord, transaction)
    return true
  }

  private mutating func copyRecord(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    if purpose == .backup, PackedBody.isPacked(bytes) { return try copyPacked(bytes, transaction) }
    guard let spelled = try? (gathered ?? store.records.shapes).spelled(bytes, in: spelledBody),
      let identity = BodyIdentity.body(spelled), let body = try? RecordBody(copying: spelled)
    else { return false }
    var trees = try zone(identity.zoneKey, transaction)
    if trees == nil, purpose == .salvage {
      try makeZone(identity.zoneKey, body.zoneID, transaction)
      trees = try zone(identity.zoneKey, transaction)
    }
    guard let trees else { return false }
    var previous = try place(of: identity.name, in: trees, transaction)
    if let known = previous, try !isOfType(identity.type, at: known, transaction) {
      // Its deletion is lost, and it came back as something else.
      try makeTombstone(body, previous: known, transaction)
      previous = nil
    }
    if previous == nil { previous = try tombstonePlace(of: identity.name, in: trees, transaction) }
    if purpose == .salvage { try declareMissing(body, transaction) }
    payload.truncate(to: 0)
    payload.append(spelled)
    link(to: previous, at: RecordBody.previousOffset)
    if purpose == .salvage {
      // Else a few bytes that name long keys would become all of them.
      packer.largestByteCount = PackedBody.isPacked(bytes) ? .max : BodyPacking.largestByteCount
      return try appendPacked(body.layout, epoch: trees.epoch, transaction)
    }
    try append(payload.view, .saveRecord, transaction)
    return true
  }

  /// Packs the body that is in `payload`, and writes it.
  private func appendPacked(
    _ layout: RecordBody.Layout, epoch: UInt64, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    let target = store.records.shapes
    let shape = KnownShapes.shape(of: payload.view, layout)
    var packing = packer.packing(of: payload.view, layout, shape: shape, epoch: epoch, in: target)
    if packing.isUndeclared {
      try packer.declare(
        for: payload.view, layout, shape: shape, epoch: epoch, in: target
      ) { (declaration) throws(StoreError) in try append(declaration, .declare, transaction) }
      packing = packer.packing(of: payload.view, layout, shape: shape, epoch: epoch, in: target)
    }
    transaction.addsData = true
    let start = transaction.beginOperation()
    var isPacked = false
    if case .packed(let packing) = packing { isPacked = packing.append(payload.view, layout, to: transaction.payload) }
    if !isPacked { transaction.payload.append(payload.view) }
    try transaction.endOperation(start, kind: .saveRecord)
    return true
  }

  private func copyTombstone(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard let identity = BodyIdentity.tombstone(bytes), (try? Tombstone(bytes)) != nil,
      let trees = try zone(identity.zoneKey, transaction),
      let previous = try place(of: identity.name, in: trees, transaction),
      try isOfType(identity.type, at: previous, transaction)
    else { return false }
    try append(bytes, linkedTo: previous, at: Tombstone.previousOffset, .deleteRecord, transaction)
    return true
  }

  private func copyZone(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard bytes.count > 20, (try? Zone.ID(key: bytes.dropFirst(20))) != nil else { return false }
    try append(bytes, .saveZone, transaction)
    return true
  }

  /// A zone of an image becomes one that was saved; one that was deleted before is left out.
  private func copyImageZone(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard bytes.count > 24, (try? Zone.ID(key: bytes.dropFirst(24))) != nil else { return false }
    if bytes[12] != 0 { return true }
    payload.truncate(to: 0)
    payload.append(bytes.prefix(12))
    payload.append(uint64: options.now().timeIntervalSinceReferenceDate.bitPattern)
    payload.append(bytes.dropFirst(24))
    try append(payload.view, .saveZone, transaction)
    return true
  }

  private func copyZoneDeletion(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard bytes.count > 9, try zone(bytes.dropFirst(9), transaction) != nil else { return false }
    try append(bytes, .deleteZone, transaction)
    return true
  }

  private func copyMetadata(
    _ bytes: ByteView, _ kind: OperationKind, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    let limit = TreeLimits.maximumKeyByteCount
    let key = kind == .setMetadata ? MetadataPayload.parts(bytes)?.key : bytes
    let isSound = key.map { $0.count <= limit } ?? false
    if isSound { try append(bytes, kind, transaction) }
    return isSound
  }

  private func copyDeclaration(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    do throws(LogFault) { try SchemaTree.forEachField(of: bytes) { (_, _, _) in } } catch { return false }
    try append(bytes, .declareFields, transaction)
    return true
  }

  private func indexes(_ transaction: StoreTransaction) throws(StoreError) -> DefinedIndexes {
    do { return try store.records.declaredFacts(transaction).indexes } catch { throw StoreError(error) }
  }

  private func isIndex(_ number: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    let known = try indexes(transaction)
    return number.count == 2 && known.contains(number.uint16(at: 0))
  }

  /// In a salvage an index begins again, because sequences are others there and there may be records that should be gone.
  private func copyIndex(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    if purpose == .backup {
      try append(bytes, .defineIndex, transaction)
      return true
    }
    guard var definition = IndexDefinition(bytes), definition.kind != nil else { return false }
    for known in try indexes(transaction).byNumber where known.isSame(as: definition) || known.number == definition.number {
      // That it was dropped is lost.
      payload.truncate(to: 0)
      payload.append(uint16: known.number)
      try append(payload.view, .dropIndex, transaction)
    }
    definition.isComplete = false
    definition.hasGaps = false
    definition.zoneKey = []
    definition.sequence = 0
    definition.ordinal = 0
    definition.sinceSequence = transaction.sequence
    definition.sinceOrdinal = transaction.ordinal
    payload.truncate(to: 0)
    definition.append(to: payload)
    try append(payload.view, .defineIndex, transaction)
    return true
  }

  // MARK: what is missing

  /// The declaration of the record's fields may be lost.
  private mutating func declareMissing(_ body: RecordBody, _ transaction: StoreTransaction) throws(StoreError) {
    let shape = body.withBytes { KnownShapes.shape(of: $0, body.layout) }
    if shapes.contains(shape) { return }
    payload.truncate(to: 0)
    let isMissing: Bool
    do throws(PageFault) {
      isMissing = try body.withBytes { (bytes) throws(PageFault) in
        try SchemaTree.appendMissing(
          of: bytes, body.layout, transaction.reader, transaction.roots[Roots.schema], to: payload)
      }
    } catch { throw .page(error) }
    if isMissing { try append(payload.view, .declareFields, transaction) }
    shapes.insert(shape)
  }

  private mutating func makeZone(_ key: ByteView, _ id: Zone.ID, _ transaction: StoreTransaction) throws(StoreError) {
    payload.truncate(to: 0)
    payload.append(uint64: options.random())
    payload.append(uint32: UInt32(truncatingIfNeeded: Zone(id).capabilities.rawValue))
    payload.append(uint64: options.now().timeIntervalSinceReferenceDate.bitPattern)
    payload.append(key)
    try append(payload.view, .saveZone, transaction)
    if remadeZones.insert(id).inserted { report.remadeZones.append(id) }
  }

  private func makeTombstone(
    _ body: RecordBody, previous: Place, _ transaction: StoreTransaction
  ) throws(StoreError) {
    let operation = try transaction.operation(at: previous)
    guard let old = try? RecordBody(stored: Operation.payload(operation), store.records.shapes) else { return }
    let tombstone = Tombstone(
      id: body.id, type: old.type, tag: old.tag, date: options.now(), previousOffset: previous.offset,
      previousByteCount: previous.byteCount)
    let start = transaction.beginOperation()
    tombstone.append(to: transaction.payload)
    try transaction.endOperation(start, kind: .deleteRecord)
  }

  private func isOfType(
    _ type: ByteView, at place: Place, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    let operation = try transaction.operation(at: place)
    let payload = Operation.payload(operation)
    guard let identity = BodyIdentity.stored(payload, store.records.shapes.table, formerText) else { return false }
    return UTF8Order.equal(identity.type, type)
  }

  /// Appends a body or a tombstone, with the link to the version before it in this file.
  private func append(
    _ bytes: ByteView, linkedTo previous: Place?, at offset: Int, _ kind: OperationKind, _ transaction: StoreTransaction
  ) throws(StoreError) {
    payload.truncate(to: 0)
    payload.append(bytes)
    link(to: previous, at: offset)
    try append(payload.view, kind, transaction)
  }

  private func link(to previous: Place?, at offset: Int) {
    payload.set(uint64: previous?.offset ?? 0, at: offset)
    payload.set(uint32: previous?.byteCount ?? 0, at: offset + 8)
  }
}
