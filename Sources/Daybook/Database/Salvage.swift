import DaybookEngine

/// Copying what still holds of a damaged file into a new one.
extension Database {
  /// What a salvage brought over, and what it could not.
  public struct SalvageReport: Sendable, Equatable {
    /// Commits that were copied whole.
    public var commitCount = 0
    /// Records and zones in the new file; the default zone counts when it holds records.
    public var recordCount = 0
    /// Zones in the new file, the default zone among them.
    public var zoneCount = 0
    /// Commits of the damaged file of which something is missing, by their sequence there.
    public var lostSequences: [ClosedRange<Int>] = []
    /// Those of them of which a part was copied.
    public var partialSequences: [Int] = []
    /// Zones that were made again, without their capabilities, because the commit that made them is lost.
    public var remadeZones: [Zone.ID] = []
    /// Operations that made no sense any more: deletions of what is not there, bodies that cannot be read.
    public var skippedOperationCount = 0
    /// Bytes of the damaged file that belong to nothing that holds.
    public var damagedByteCount = 0
    /// The first page was damaged; a copy of it served.
    public var usedHeaderCopy = false
    /// An unfinished write at the end was left out, as opening would.
    public var hasTornTail = false
    /// Whether nothing acknowledged is missing.
    public var isComplete: Bool { lostSequences.isEmpty && skippedOperationCount == 0 }
  }

  /// Copies everything that still holds of a damaged database into a new file; the damaged one stays as it is.
  ///
  /// The new file has an identity of its own, so tokens of the old one expire. Records keep their change tags, dates and
  /// history; commits are numbered anew where some are lost. A record whose last change is lost comes over as it was
  /// before, and one whose deletion is lost is there: the report names the commits to think of.
  /// - Parameters:
  ///   - target: a path where nothing is. It names a database only when all is done.
  ///   - progress: called with the bytes read and all bytes; false stops with `operationCancelled`.
  /// - Throws: `notADatabase` when neither the first page nor a checkpoint says how to read the file; `locked` while it
  ///   is open for writing; `ioFailed`, `diskFull`.
  @discardableResult
  public static func salvage(
    from source: String, to target: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> SalvageReport {
    try salvage(from: source, to: target, options: Options(), disk: SystemDisk(), progress: progress)
  }

  package static func salvage(
    from source: String, to target: String, options: Options, disk: any Disk,
    progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> SalvageReport {
    let reader: SalvageReader
    do { reader = try SalvageReader(source, disk: disk) } catch { throw DatabaseError(error, path: source) }
    do throws(DiskFailure) {
      if try disk.exists(target) { throw DiskFailure(.create, path: target, kind: .exists, code: 17) }
    } catch { throw DatabaseError(error) }
    let temporary = "\(target).salvage-\(options.random())"
    var newOptions = options
    newOptions.isReadOnly = false
    newOptions.durability = .relaxed
    let database = try open(at: temporary, options: newOptions, disk: disk)
    do {
      var copier = SalvageCopier(database)
      do throws(StoreError) {
        try reader.forEachCommit { done in
          progress?(Int(clamping: done), Int(clamping: reader.byteCount)) ?? true
        } _: { (commit) throws(StoreError) in
          try copier.copy(commit)
        }
      } catch { throw DatabaseError(error, path: source) }
      try copier.finish(reader.losses)
      try database.close()
      do throws(DiskFailure) {
        try disk.renameWithoutReplacing(temporary, to: target)
        try disk.syncDirectory(holding: target)
      } catch { throw DatabaseError(error) }
      return copier.report
    } catch {
      try? database.close()
      try? disk.remove(temporary)
      throw error as? DatabaseError ?? DatabaseError(.internalError, facts: .init(path: source), cause: error)
    }
  }
}

/// Writes salvaged operations into a new database, each only where it still makes sense there.
private struct SalvageCopier {
  private let database: Database
  private let payload = ByteBuffer(capacity: 4096)
  private var hasLineage = false
  var report = Database.SalvageReport()

  init(_ database: Database) { self.database = database }

  private var store: Store { database.store }

  mutating func copy(_ commit: SalvageReader.Commit) throws(StoreError) {
    let transaction = try store.beginTransaction()
    do throws(StoreError) {
      try copyInfo(of: commit, transaction)
      for operation in commit.operations {
        let kind = Operation.kind(operation)
        let bytes = Operation.payload(operation)
        let isCopied: Bool
        switch kind {
        case OperationKind.saveRecord: isCopied = try copyRecord(bytes, transaction)
        case OperationKind.deleteRecord: isCopied = try copyTombstone(bytes, transaction)
        case OperationKind.saveZone: isCopied = try copyZone(bytes, transaction)
        case OperationKind.deleteZone: isCopied = try copyZoneDeletion(bytes, transaction)
        case OperationKind.setMetadata, OperationKind.deleteMetadata:
          isCopied = try copyMetadata(bytes, kind, transaction)
        // Of this file's history: the new one has its own.
        case OperationKind.commitInfo, OperationKind.lineage, OperationKind.raiseHorizon: isCopied = true
        default: isCopied = false
        }
        if !isCopied { report.skippedOperationCount += 1 }
      }
    } catch {
      store.abort(transaction)
      throw error
    }
    _ = try store.commit(transaction)
    if commit.isWhole { report.commitCount += 1 }
  }

  mutating func finish(_ losses: SalvageReader.Losses) throws(DatabaseError) {
    report.lostSequences = losses.sequences.map { Int(clamping: $0.lowerBound)...Int(clamping: $0.upperBound) }
    report.partialSequences = losses.partialSequences.map { Int(clamping: $0) }
    report.damagedByteCount = Int(clamping: losses.damagedByteCount)
    report.usedHeaderCopy = losses.usedHeaderCopy
    report.hasTornTail = losses.hasTornTail
    let zones = try database.zones()
    report.zoneCount = zones.count
    for zone in zones { report.recordCount += try database.recordCount(in: zone.id) }
  }

  // MARK: operations

  private func append(_ bytes: ByteView, _ kind: UInt8, _ transaction: StoreTransaction) throws(StoreError) {
    let start = transaction.beginOperation()
    transaction.payload.append(bytes)
    if OperationKind.addsData(kind) { transaction.addsData = true }
    try transaction.endOperation(start, kind: kind)
  }

  /// Date and origin of the commit, first as in every commit; the first one of the file also draws its lineage.
  private mutating func copyInfo(of commit: SalvageReader.Commit, _ transaction: StoreTransaction) throws(StoreError) {
    payload.truncate(to: 0)
    if let info = commit.operations.first, Operation.kind(info) == OperationKind.commitInfo, info.count >= 24 {
      payload.append(Operation.payload(info))
    } else {
      payload.append(uint64: database.options.now().timeIntervalSinceReferenceDate.bitPattern)
    }
    try append(payload.view, OperationKind.commitInfo, transaction)
    if hasLineage { return }
    hasLineage = true
    payload.truncate(to: 0)
    payload.append(uint64: database.options.random() | 1)
    try append(payload.view, OperationKind.lineage, transaction)
  }

  private func zone(_ key: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> ZoneTrees? {
    do { return try database.applier.zone(key, transaction) } catch { throw .log(error) }
  }

  private func place(of name: ByteView, in zone: ZoneTrees, _ transaction: StoreTransaction) throws(StoreError) -> Place? {
    let value: ByteView?
    do { value = try transaction.value(name, in: zone.byName) } catch { throw .log(error) }
    return value.flatMap { RecordEntry($0)?.place }
  }

  private mutating func copyRecord(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard let identity = BodyIdentity.body(bytes), let body = try? RecordBody(copying: bytes) else { return false }
    var trees = try zone(identity.zoneKey, transaction)
    if trees == nil {
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
    payload.truncate(to: 0)
    payload.append(bytes)
    link(to: previous, at: RecordBody.previousOffset)
    try append(payload.view, OperationKind.saveRecord, transaction)
    return true
  }

  private func copyTombstone(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard let identity = BodyIdentity.tombstone(bytes), (try? Tombstone(bytes)) != nil,
      let trees = try zone(identity.zoneKey, transaction),
      let previous = try place(of: identity.name, in: trees, transaction),
      try isOfType(identity.type, at: previous, transaction)
    else { return false }
    payload.truncate(to: 0)
    payload.append(bytes)
    link(to: previous, at: Tombstone.previousOffset)
    try append(payload.view, OperationKind.deleteRecord, transaction)
    return true
  }

  private func copyZone(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard bytes.count > 20, (try? Zone.ID(key: bytes.dropFirst(20))) != nil else { return false }
    try append(bytes, OperationKind.saveZone, transaction)
    return true
  }

  private func copyZoneDeletion(_ bytes: ByteView, _ transaction: StoreTransaction) throws(StoreError) -> Bool {
    guard bytes.count > 9, try zone(bytes.dropFirst(9), transaction) != nil else { return false }
    try append(bytes, OperationKind.deleteZone, transaction)
    return true
  }

  private func copyMetadata(
    _ bytes: ByteView, _ kind: UInt8, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    let limit = TreeLimits.maximumKeyByteCount
    let isSound =
      kind == OperationKind.deleteMetadata
      ? bytes.count <= limit
      : bytes.count >= 2 && Int(bytes.uint16(at: 0)) <= min(limit, bytes.count - 2)
    if isSound { try append(bytes, kind, transaction) }
    return isSound
  }

  // MARK: what is missing

  private mutating func makeZone(_ key: ByteView, _ id: Zone.ID, _ transaction: StoreTransaction) throws(StoreError) {
    payload.truncate(to: 0)
    payload.append(uint64: database.options.random())
    payload.append(uint32: UInt32(truncatingIfNeeded: Zone(id).capabilities.rawValue))
    payload.append(uint64: database.options.now().timeIntervalSinceReferenceDate.bitPattern)
    payload.append(key)
    try append(payload.view, OperationKind.saveZone, transaction)
    if !report.remadeZones.contains(id) { report.remadeZones.append(id) }
  }

  private func makeTombstone(
    _ body: RecordBody, previous: Place, _ transaction: StoreTransaction
  ) throws(StoreError) {
    let operation = try transaction.operation(at: previous)
    guard let old = try? RecordBody(copying: Operation.payload(operation)) else { return }
    let tombstone = Tombstone(
      id: body.id, type: old.type, tag: old.tag, date: database.options.now(), previousOffset: previous.offset,
      previousByteCount: previous.byteCount)
    let start = transaction.beginOperation()
    tombstone.append(to: transaction.payload)
    try transaction.endOperation(start, kind: OperationKind.deleteRecord)
  }

  private func isOfType(
    _ type: ByteView, at place: Place, _ transaction: StoreTransaction
  ) throws(StoreError) -> Bool {
    let operation = try transaction.operation(at: place)
    guard let identity = BodyIdentity.body(Operation.payload(operation)) else { return false }
    return UTF8Order.equal(identity.type, type)
  }

  private func link(to previous: Place?, at offset: Int) {
    payload.set(uint64: previous?.offset ?? 0, at: offset)
    payload.set(uint32: previous?.byteCount ?? 0, at: offset + 8)
  }
}
