import DaybookEngine

extension Database {
  /// How much a check looks at.
  public enum CheckDepth: Sendable {
    /// Frames, pages, counts, that all trees hold the same records, and that the file of each asset is there with its size.
    case structure
    /// Also every record body, the whole log replayed and compared with the trees, and every asset's file hashed.
    case deep
  }

  /// What a check found.
  public struct CheckReport: Sendable {
    /// One thing that is wrong.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
      /// Where in the file; nil when it is not in one place.
      public let offset: Int?
      /// What is wrong.
      public let message: String
      /// The place, if there is one, and what is wrong.
      public var description: String { offset.map { "byte \($0): \(message)" } ?? message }
    }
    /// Frames of the log that were looked at.
    public var frameCount = 0
    /// Commits among them.
    public var commitCount = 0
    /// Operations in them.
    public var operationCount = 0
    /// Pages of the trees.
    public var pageCount = 0
    /// Records in all zones.
    public var recordCount = 0
    /// Zones that exist.
    public var zoneCount = 0
    /// Asset files that records refer to.
    public var assetCount = 0
    /// Whether records, subscriptions and assets were looked at, which takes a log and trees without damage.
    package var looksAtRecords = false
    /// Everything that is wrong, of a damaged log the first 100 places; empty when all is well.
    public var findings: [Finding] = []
    /// Whether nothing is wrong.
    public var isClean: Bool { findings.isEmpty }

    mutating func add(_ message: String, at offset: UInt64? = nil) {
      findings.append(Finding(offset: offset.map { Int(clamping: $0) }, message: message))
    }

    /// What a read throws is a finding, unless the disk gave no answer, or the file is a newer version's: that says nothing of
    /// whether it is sound.
    mutating func add(
      _ error: DatabaseError, as message: String? = nil, at offset: UInt64? = nil
    ) throws(DatabaseError) {
      if error.code == .ioFailed || error.code == .formatTooNew { throw error }
      add(message ?? error.description, at: offset)
    }
  }

  /// Looks at the whole file and says what is wrong. Changes nothing; writes may go on meanwhile.
  /// - Parameter progress: called with the parts done and all parts, first of the log, then of the assets' bytes; false stops
  ///   the check with `operationCancelled`.
  public func check(
    _ depth: CheckDepth = .structure, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> CheckReport {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      var report = CheckReport()
      let store = view.store
      if let lost = store.recovery.lostSequences {
        let verb = lost.lowerBound == lost.upperBound ? "was" : "were"
        report.add("\(RecoveryReport.text(of: lost)) damaged, and \(verb) acknowledged", at: pin.end)
      }
      if store.recovery.missingByteCount > 0 {
        report.add("the file was cut short: \(store.recovery.missingByteCount) bytes are missing at its end", at: pin.end)
      }
      do throws(StoreError) {
        let engine = try store.check(pin) { done, total in progress?(Int(clamping: done), Int(clamping: total)) ?? true }
        report.frameCount = engine.frameCount
        report.commitCount = engine.commitCount
        report.operationCount = engine.operationCount
        report.pageCount = engine.pageCount
        for finding in engine.findings { report.add(finding.message, at: finding.offset) }
      } catch {
        switch error {
        // A disk that does not answer says nothing of what is in the file.
        case .refused, .disk: throw DatabaseError(error, path: path)
        default: break
        }
        report.add(DatabaseError(error, path: path).description)
      }
      // Trees that are damaged cannot be compared; the engine's findings say so already.
      guard report.isClean else { return report }
      report.looksAtRecords = true
      var checker = RecordChecker(view: view, depth: depth)
      try checker.run(&report)
      try checkSubscriptions(view, &report)
      try compareLiveBytes(view, pin, &report)
      if depth == .deep, report.isClean { try compareWithLog(store, pin, treeCounts: checker.treeCounts, &report) }
      try checkAssets(of: view, depth, progress, &report)
      return report
    }
  }

  /// Rebuilds every tree from the log, writes them with a checkpoint, and checks the result in depth.
  ///
  /// For a file whose pages are damaged and whose log is not. Where commits are damaged nothing is written.
  /// - Throws: what `open` throws; `corrupted` when acknowledged commits are damaged.
  package static func rebuild(
    at path: String, options: Options = Options(), disk: any Disk = SystemDisk(),
    progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
  ) throws(DatabaseError) -> CheckReport {
    var options = options
    options.rebuildsTrees = true
    // The checkpoint belongs to this hold of the lock.
    options.lock = .whileOpen
    let database = try open(at: path, options: options, disk: disk)
    try database.engine(database.store.checkpoint())
    let report = try database.check(.deep, progress: progress)
    try database.close()
    return report
  }

  private func checkSubscriptions(_ view: ReadView, _ report: inout CheckReport) throws(DatabaseError) {
    do throws(DatabaseError) {
      for entry in try StoredSubscriptions(view).entries where entry.stored == nil {
        report.add(
          "subscription \(entry.id) cannot be read: a later version saved it, or it is damaged",
          at: entry.place.offset)
      }
      if try StoredSubscriptions.hasTooMany(view) {
        report.add("there are more subscriptions than the \(StoredSubscriptions.maximumCount) that are read")
      }
    } catch { try report.add(error) }
  }

  private func compareLiveBytes(
    _ view: ReadView, _ pin: Store.Pin, _ report: inout CheckReport
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      let counted = try view.countOperationBytes()
      if counted == pin.operationByteCount { return }
      report.add("the trees name \(counted) bytes of the log, the store counts \(pin.operationByteCount)")
    } catch { try report.add(error) }
  }

  /// Replays the log into trees of its own and compares them with the live ones.
  private func compareWithLog(
    _ store: Store, _ pin: Store.Pin, treeCounts: [[UInt8]: Int], _ report: inout CheckReport
  ) throws(DatabaseError) {
    let names = [
      Roots.catalog: "the catalog", Roots.zonesBySequence: "the zones by sequence", Roots.metadata: "the metadata",
      Roots.lineages: "the lineages", Roots.settings: "the settings", Roots.schema: "the schema",
      Roots.declarations: "the declarations",
    ]
    var differences: [String] = []
    do throws(StoreError) {
      let applier = RecordApplier(treeCounts: treeCounts, shapeMask: store.records.shapes.mask)
      try store.rebuiltRoots(for: pin, applier: applier) { (roots, reader) throws(StoreError) in
        for (index, name) in names.sorted(by: { $0.key < $1.key }) {
          do throws(PageFault) {
            let difference = try Store.firstDifference(pin.root(index), pin.reader, roots[index], reader)
            if let difference { differences.append("\(name) and the log differ: \(difference)") }
          } catch { throw StoreError(error) }
        }
      }
    } catch {
      let error = DatabaseError(error, path: path)
      if error.code == .ioFailed || error.code == .formatTooNew { throw error }
      differences.append("the log cannot be replayed: \(error)")
    }
    for difference in differences { report.add(difference) }
  }
}

/// Checks that the trees of each zone agree.
private struct RecordChecker {
  let view: ReadView
  let depth: Database.CheckDepth
  /// Of zones with fewer trees than the list.
  private(set) var treeCounts: [[UInt8]: Int] = [:]
  private let shapes = Locked(KnownShapes())
  private let indexes = IndexList()
  private let key = ByteBuffer(capacity: ChangeKey.maximumByteCount)
  private let spelledBody = ByteBuffer(capacity: 4096)

  init(view: ReadView, depth: Database.CheckDepth) {
    self.view = view
    self.depth = depth
  }

  mutating func run(_ report: inout Database.CheckReport) throws(DatabaseError) {
    do {
      indexes.replace(try view.facts().indexes)
      let cells = try zones(&report)
      for cell in cells where cell.trees.treeCount < ZoneTree.count { treeCounts[cell.key] = cell.trees.treeCount }
      report.zoneCount = cells.filter { !$0.trees.isDeleted }.count
      for cell in cells where !cell.trees.isDeleted { try check(cell.key, cell.trees, &report) }
      if view.root(Roots.zonesBySequence).count != UInt64(cells.count) {
        report.add("\(cells.count) zones, but \(view.root(Roots.zonesBySequence).count) in the order of changes")
      }
      try checkZoneOrder(cells, &report)
    } catch let error as DatabaseError {
      try report.add(error)
    } catch let fault as PageFault where fault.failure != nil {
      throw view.failure(fault)
    } catch { report.add("\(error)") }
  }

  private func zones(_ report: inout Database.CheckReport) throws -> [(key: [UInt8], trees: ZoneTrees)] {
    var result: [([UInt8], ZoneTrees)] = []
    var cursor = view.reader.cursor(in: view.root(Roots.catalog))
    let key = ByteBuffer(capacity: 256)
    while try cursor.next() {
      cursor.key(into: key)
      let cell = try cursor.catalogValue
      if cell.rootCount > ZoneTree.count { throw view.failure(ZoneTrees.fault(of: cell)) }
      if let trees = ZoneTrees(cell), (try? Zone.ID(key: key.view)) != nil {
        result.append((key.view.array, trees))
      } else {
        report.add("a zone of the catalog is malformed")
      }
    }
    return result
  }

  private func checkZoneOrder(
    _ cells: [(key: [UInt8], trees: ZoneTrees)], _ report: inout Database.CheckReport
  ) throws {
    let key = ByteBuffer(capacity: 256)
    for cell in cells {
      key.truncate(to: 0)
      key.append(uint64: cell.trees.lastSequence.byteSwapped)
      key.append(cell.key)
      if try view.reader.value(key.view, in: view.root(Roots.zonesBySequence)) == nil {
        report.add("a zone is missing in the order of changes")
      }
    }
  }

  private func check(_ zoneKey: [UInt8], _ trees: ZoneTrees, _ report: inout Database.CheckReport) throws {
    let name = String(decoding: zoneKey.prefix { $0 != 0 }, as: UTF8.self)
    if trees.byName.count + trees.tombstones.count != trees.changeJournal.count {
      report.add(
        "zone \(name): \(trees.byName.count) records and \(trees.tombstones.count) tombstones, "
          + "but \(trees.changeJournal.count) in the change journal")
    }
    let recordName = ByteBuffer(capacity: 256)
    var contributions = ContributionCheck(of: trees, view.reader, indexes, zoneName: name)
    var cursor = view.reader.cursor(in: trees.byName)
    while try cursor.next() {
      cursor.key(into: recordName)
      report.recordCount += 1
      guard let entry = RecordEntry(cursor.value) else {
        report.add("zone \(name): a record's entry is malformed")
        return
      }
      try checkBody(entry, zoneKey, recordName.view, trees, name, &contributions, &report)
    }
    try contributions.finish(&report)
    try checkTombstones(zoneKey, trees, name, &report)
  }

  private func checkBody(
    _ entry: RecordEntry, _ zoneKey: [UInt8], _ recordName: ByteView, _ trees: ZoneTrees, _ name: String,
    _ contributions: inout ContributionCheck, _ report: inout Database.CheckReport
  ) throws {
    let operation: ByteView
    do { operation = try view.operation(at: entry.place) } catch {
      try report.add(error, as: "zone \(name): a record's body is damaged", at: entry.place.offset)
      return
    }
    guard Operation.isOf(.saveRecord, operation),
      let payload = try? view.store.records.shapes.spelled(Operation.payload(operation), in: spelledBody),
      let identity = BodyIdentity.body(payload)
    else {
      report.add("zone \(name): a record's place holds something else", at: entry.place.offset)
      return
    }
    if !NameKey.matches(recordName, identity.name) || !zoneKey.withView({ UTF8Order.equal(identity.zoneKey, $0) }) {
      report.add("zone \(name): a record's place holds another record", at: entry.place.offset)
    }
    ChangeKey.set(key, type: identity.type, sequence: entry.sequence, ordinal: entry.ordinal)
    let change = try view.reader.value(key.view, in: trees.changeJournal).flatMap { ChangeEntry($0) }
    if change?.place != entry.place || change?.isDeleted != false {
      report.add("zone \(name): a record is not in the change journal where its entry and its type say", at: entry.place.offset)
    }
    if depth == .deep {
      do {
        if try !RecordBody(copying: payload).hasContentsOfItsDigests {
          report.add("zone \(name): a content in its record is not what its SHA-256 says", at: entry.place.offset)
        }
      } catch {
        report.add("zone \(name): a record's body is malformed: \(error)", at: entry.place.offset)
      }
    }
    try checkShape(entry, payload, name, &report)
    try contributions.add(payload, identity, entry, &report)
    // Last: it reads other bodies, which overwrite the one above.
    if depth == .deep { try checkLinks(behind: entry.place, recordName, zoneKey, name, &report) }
  }

  private func checkLinks(
    behind place: Place, _ recordName: ByteView, _ zoneKey: [UInt8], _ name: String,
    _ report: inout Database.CheckReport
  ) throws(DatabaseError) {
    if let broken = try view.brokenLink(behind: place, of: recordName, zone: zoneKey) {
      report.add("zone \(name): a link to an older version leads to something else", at: broken.offset)
    }
  }

  /// The schema has every field. Each shape is looked up once.
  private func checkShape(
    _ entry: RecordEntry, _ body: ByteView, _ name: String, _ report: inout Database.CheckReport
  ) throws {
    guard let layout = try? RecordBody.layout(of: body) else { return }
    let shape = KnownShapes.shape(of: body, layout)
    if shapes.withLock({ $0.contains(shape) }) { return }
    let missing = ByteBuffer(capacity: 256)
    if try SchemaTree.appendMissing(of: body, layout, view.reader, view.root(Roots.schema), to: missing) {
      report.add("zone \(name): the schema lacks a field of a record", at: entry.place.offset)
    }
    shapes.withLock { $0.insert(shape) }
  }

  private func checkTombstones(
    _ zoneKey: [UInt8], _ trees: ZoneTrees, _ name: String, _ report: inout Database.CheckReport
  ) throws {
    let recordName = ByteBuffer(capacity: 256)
    let key = ByteBuffer(capacity: 16)
    var cursor = view.reader.cursor(in: trees.tombstones)
    while try cursor.next() {
      cursor.key(into: recordName)
      guard let tombstone = TombstoneEntry(cursor.value) else {
        report.add("zone \(name): a tombstone is malformed")
        return
      }
      if let place = try self.place(of: tombstone, trees, key) {
        let tombstone = try view.tombstone(at: place)
        if !UTF8Order.withView(of: tombstone.id.name, { NameKey.matches(recordName.view, $0) }) {
          report.add("zone \(name): a tombstone's place holds another record's", at: place.offset)
        }
        if depth == .deep { try checkLinks(behind: place, recordName.view, zoneKey, name, &report) }
      } else {
        report.add("zone \(name): a tombstone is not in the change journal where its entry says")
      }
      if try view.reader.value(recordName.view, in: trees.byName) != nil {
        report.add("zone \(name): a record lives and is deleted at once")
      }
    }
  }

  /// Where a deletion is; nil where the change journal has none there, which is a finding. A damaged page ends the check of the zone.
  private func place(
    of tombstone: TombstoneEntry, _ trees: ZoneTrees, _ key: ByteBuffer
  ) throws(PageFault) -> Place? {
    do { return try view.reader.place(of: tombstone, in: trees, key) } catch {
      if error.reason == .value { return nil }
      throw error
    }
  }
}
