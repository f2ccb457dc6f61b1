#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// One version of the database, as everything that reads looks at it: a snapshot's, or a transaction's own. Hidden from
/// applications: what a ``RecordReader`` reads through.
///
/// Valid as long as the pin or the transaction that it was made from. All it hands out is copied.
@_spi(Daybook) public struct ReadView {
  enum Source {
    case pin(Store.Pin)
    case transaction(StoreTransaction, RecordApplier)
  }

  /// A tree beside those of the zones, which a transaction changes with each operation. The catalog is none of them: see
  /// `catalog`.
  enum Tree: Int {
    case zonesBySequence = 1, metadata, lineages, settings, schema, declarations
  }

  let database: Database
  let store: Store
  let source: Source

  var services: RecordServices { database.services }
  var path: String { database.path }

  var reader: TreeReader {
    switch source {
    case .pin(let pin): pin.reader
    case .transaction(let transaction, _): transaction.reader
    }
  }

  func root(_ tree: Tree) -> TreeRoot {
    switch source {
    case .pin(let pin): pin.root(tree.rawValue)
    case .transaction(let transaction, _): transaction.roots[tree.rawValue]
    }
  }

  /// Any tree of a pinned version, by its number.
  func root(_ index: Int) -> TreeRoot {
    guard case .pin(let pin) = source else { preconditionFailure("trees are numbered in pinned versions") }
    return pin.root(index)
  }

  /// The tree of zones. A transaction's applier keeps the zone that it worked on last in memory, so that is put into the tree
  /// first.
  func catalog() throws(DatabaseError) -> TreeRoot {
    switch source {
    case .pin(let pin): return pin.root(Roots.catalog)
    case .transaction(let transaction, _):
      do { try transaction.flush() } catch { throw failure(error) }
      return transaction.roots[Roots.catalog]
    }
  }

  /// The last commit in this version; inside a transaction the sequence that its commit will have.
  var sequence: UInt64 {
    switch source {
    case .pin(let pin): pin.sequence
    case .transaction(let transaction, _): transaction.sequence
    }
  }

  func failure(_ error: StoreError) -> DatabaseError { DatabaseError(error, path: path) }

  func failure(_ error: LogFault) -> DatabaseError { failure(StoreError(error)) }
  func failure(_ error: PageFault) -> DatabaseError { failure(StoreError(error)) }

  func asDatabaseError<R>(_ body: () throws(PageFault) -> R) throws(DatabaseError) -> R {
    do { return try body() } catch { throw failure(error) }
  }

  /// Moves a cursor before the first record whose key is not below `key`; `next` moves to that one.
  @inline(__always)
  func start(_ cursor: inout Cursor, at key: ByteView) throws(DatabaseError) {
    do { try cursor.start(at: key) } catch { throw failure(error) }
  }

  /// Moves a cursor to the next record; false after the last.
  @inline(__always)
  func next(_ cursor: inout Cursor) throws(DatabaseError) -> Bool {
    do { return try cursor.next() } catch { throw failure(error) }
  }

  // MARK: zones

  /// The trees of a zone; nil when there is none. The default zone is always there.
  @inline(__always)
  func zone(_ id: Zone.ID) throws(DatabaseError) -> ZoneTrees? {
    do throws(LogFault) {
      return try id.withKeyView { (key) throws(LogFault) in try zone(key: key) }
    } catch { throw failure(error) }
  }

  @inline(__always)
  func zone(key: ByteView) throws(LogFault) -> ZoneTrees? {
    if case .transaction(let transaction, let applier) = source { return try applier.zone(key, transaction) }
    let value: CatalogValue?
    do { value = try reader.catalogValue(key, in: root(Roots.catalog)) } catch { throw .page(error) }
    guard let value else { return Zone.ID.isDefault(key: key) ? ZoneTrees() : nil }
    guard let zone = ZoneTrees(value) else { throw ZoneTrees.fault(of: value) }
    return zone.isDeleted ? nil : zone
  }

  func existingZone(_ id: Zone.ID) throws(DatabaseError) -> ZoneTrees {
    if let zone = try zone(id) { return zone }
    throw try missingZone(id)
  }

  func existingZone(key: ByteView) throws(DatabaseError) -> ZoneTrees {
    let zone: ZoneTrees?
    do { zone = try self.zone(key: key) } catch { throw failure(error) }
    if let zone { return zone }
    let id: Zone.ID
    do { id = try Zone.ID(key: key) } catch { throw DatabaseError(error) }
    throw try missingZone(id)
  }

  /// Why a zone is not there. One that the user deleted in the system's settings (purged) must not be made again.
  func missingZone(_ id: Zone.ID) throws(DatabaseError) -> DatabaseError {
    let catalog = try catalog()
    let reason = try asDatabaseError { () throws(PageFault) in
      try id.withKeyView { (key) throws(PageFault) in
        try reader.catalogValue(key, in: catalog).flatMap { ZoneTrees($0)?.deletionReason }
      }
    }
    let reasons = DatabaseChanges.DeletedZone.Reason.allCases
    let isPurged = reason.map { Int($0) } == reasons.firstIndex(of: .purged)
    return DatabaseError(isPurged ? .userDeletedZone : .zoneNotFound, facts: .init(zone: id))
  }

  /// All zones that exist, by name; the default zone among them.
  func zones() throws(DatabaseError) -> [Zone] {
    let catalog = try catalog()
    var zones: [Zone] = []
    // What a forged file says of their number is no reason to take memory.
    zones.reserveCapacity(Int(clamping: min(catalog.count, 100_000)) + 1)
    var hasDefault = false
    var newer: LogFault?
    let key = ByteBuffer(capacity: 256)
    do throws(PageFault) {
      var cursor = reader.cursor(in: catalog)
      while try cursor.next() {
        cursor.key(into: key)
        let cell = try cursor.catalogValue
        if cell.rootCount > ZoneTree.count {
          newer = ZoneTrees.fault(of: cell)
          break
        }
        guard let capabilities = ZoneTrees.capabilities(of: cell), let id = try? Zone.ID(key: key.view) else { continue }
        let isDefault = Zone.ID.isDefault(key: key.view)
        zones.append(Zone(id, capabilities: isDefault ? [] : Zone.Capabilities(rawValue: Int(capabilities))))
        hasDefault = hasDefault || isDefault
      }
    } catch { throw failure(error) }
    if let newer { throw failure(newer) }
    if !hasDefault {
      let position = zones.firstIndex { Zone.ID.default < $0.id } ?? zones.count
      zones.insert(Zone(.default), at: position)
    }
    return zones
  }

  // MARK: records

  /// Where a record's body is; nil when the zone does not hold it.
  @inline(__always)
  func entry(_ name: String, in zone: ZoneTrees) throws(DatabaseError) -> RecordEntry? {
    try name.withKeyView { (name) throws(DatabaseError) in try entry(utf8: name, in: zone) }
  }

  @inline(__always)
  func entry(utf8 name: ByteView, in zone: ZoneTrees) throws(DatabaseError) -> RecordEntry? {
    do throws(PageFault) {
      return try NameKey.withView(of: name) { (key) throws(PageFault) -> RecordEntry? in
        guard let value = try reader.value(key, in: zone.byName) else { return nil }
        guard let entry = RecordEntry(value) else { throw reader.fault(in: zone.byName) }
        return entry
      }
    } catch { throw failure(error) }
  }

  /// A record's body, copied out of the log and verified in the copy.
  @inline(__always)
  func body(at place: Place) throws(DatabaseError) -> RecordBody {
    switch source {
    case .pin(let pin):
      do throws(StoreError) {
        var batch = RecordBodyBatch(count: 1, store.records.shapes.table, services: services)
        return try batch.read(place, from: store, end: pin.end)
      } catch { throw failure(error) }
    case .transaction(let transaction, _):
      do throws(StoreError) {
        var batch = RecordBodyBatch(count: 1, store.records.shapes.table, services: services)
        return try batch.read(place, from: transaction)
      } catch { throw failure(error) }
    }
  }

  /// For bodies that are read one after the other.
  func batch(count: Int) -> RecordBodyBatch { RecordBodyBatch(count: count, store.records.shapes.table, services: services) }

  /// The body of a save, one of several; nil where a short operation is none.
  func savedBody(at place: Place, _ batch: inout RecordBodyBatch) throws(DatabaseError) -> RecordBody? {
    do throws(StoreError) {
      switch source {
      case .pin(let pin): return try batch.readSaved(place, from: store, end: pin.end)
      case .transaction(let transaction, _): return try batch.readSaved(place, from: transaction)
      }
    } catch { throw failure(error) }
  }

  /// The body that the entry of a record leads to; one of another record is thrown about.
  @inline(__always)
  func body(of id: Record.ID, at place: Place) throws(DatabaseError) -> RecordBody {
    let body = try body(at: place)
    guard body.isOf(id) else { throw misplaced(place, id.zone, id.name) }
    return body
  }

  /// An entry of a tree leads to another record's operation: no database writes that.
  /// - Parameter name: of the record that was asked for, if one was.
  @inline(never)
  func misplaced(_ place: Place, _ zone: Zone.ID, _ name: String? = nil) -> DatabaseError {
    DatabaseError(
      .corrupted, "The trees of the file lead to another record.",
      facts: .init(path: path, offset: Int(clamping: place.offset), zone: zone, name: name),
      cause: StoreError.operation(offset: place.offset))
  }

  /// A verified copy of an operation, for work that is not in a hurry. After a few more it is overwritten.
  func operation(at place: Place) throws(DatabaseError) -> ByteView {
    do throws(StoreError) {
      switch source {
      case .pin(let pin): return try store.verifiedOperation(at: place, end: pin.end)
      case .transaction(let transaction, _): return try transaction.operation(at: place)
      }
    } catch { throw failure(error) }
  }

  @inline(__always)
  func record(_ id: Record.ID) throws(DatabaseError) -> Record? {
    guard let zone = try zone(id.zone), let entry = try entry(id.name, in: zone) else { return nil }
    return Record(stored: try body(of: id, at: entry.place))
  }

  /// Where the log of this version ends. Bodies do not overlap, so no more bytes than this can be read as records of one
  /// page; in a forged file they may, and lead a small file to huge answers.
  var logEnd: UInt64 {
    switch source {
    case .pin(let pin): pin.end
    case .transaction(let transaction, _): transaction.logEnd
    }
  }

  // MARK: metadata of the application

  func metadata(forKey key: String) throws(DatabaseError) -> Data? {
    guard let place = try metadataPlace(forKey: key) else { return nil }
    return try metadata(at: place, key: key)
  }

  /// Where a key's value is; nil when there is none.
  func metadataPlace(forKey key: String) throws(DatabaseError) -> Place? {
    try asDatabaseError { () throws(PageFault) in
      try key.withKeyView { (key) throws(PageFault) -> Place? in
        guard let value = try reader.value(key, in: root(.metadata)) else { return nil }
        return try metadataPlace(value)
      }
    }
  }

  /// The first keys that begin with these bytes, and where their values are.
  /// - Parameter last: only those after this key; nil for the first.
  func metadataPlaces(
    withPrefix prefix: [UInt8], after last: [UInt8]? = nil, limit: Int
  ) throws(DatabaseError) -> [(key: [UInt8], place: Place)] {
    try asDatabaseError { () throws(PageFault) in
      var places: [(key: [UInt8], place: Place)] = []
      var cursor = reader.cursor(in: root(.metadata))
      // The least key that is greater ends with one byte 0 more.
      let start = last.map { $0 + [0] } ?? prefix
      try start.withView { (start) throws(PageFault) in try cursor.start(at: start) }
      let key = ByteBuffer(capacity: 256)
      while places.count < limit, try cursor.next() {
        cursor.key(into: key)
        let bytes = key.view.array
        guard bytes.starts(with: prefix) else { break }
        places.append((bytes, try metadataPlace(cursor.value)))
      }
      return places
    }
  }

  private func metadataPlace(_ value: ByteView) throws(PageFault) -> Place {
    guard let place = Place(value) else { throw reader.fault(in: root(.metadata)) }
    return place
  }

  func metadata(at place: Place, key: String) throws(DatabaseError) -> Data {
    let operation = try operation(at: place)
    // A forged tree may lead to another key's value, or to a record.
    let payload = Operation.payload(operation)
    guard Operation.isOf(.setMetadata, operation),
      let value = MetadataPayload.value(payload, ofKey: key)
    else { throw failure(.operation(offset: place.offset)) }
    return Data(value.array)
  }
}
