#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A look inside, for the tool: the frames of the log, the pages of the trees, what lives and what is dead.
extension Database {
  /// One frame of the log.
  package struct FrameInfo: Sendable {
    package var offset: UInt64
    package var kind: String
    package var number: UInt64
    package var sequence: UInt64
    package var byteCount: UInt64
    package var durableThrough: UInt64
    /// Of a commit: its date and origin, and what it did.
    package var date: Date?
    package var origin: String?
    package var savedCount = 0
    package var deletedCount = 0
    package var zoneOperationCount = 0
    package var metadataOperationCount = 0
  }

  /// Calls `body` with each frame in the order of the log; false ends the walk.
  package func frames(_ body: (FrameInfo) throws -> Bool) throws {
    let pin: Store.Pin
    do { pin = try store.beginRead() } catch { throw DatabaseError(error, path: path) }
    defer { store.endRead(pin) }
    try store.forEachFrame(pin) { header, operations in
      var info = FrameInfo(
        offset: header.offset, kind: header.kind.name, number: header.number, sequence: header.sequence,
        byteCount: header.next - header.offset, durableThrough: header.durableThrough)
      for operation in operations {
        let payload = Operation.payload(operation)
        switch Operation.kind(operation) {
        case OperationKind.commitInfo where payload.count >= 8:
          info.date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: payload.uint64(at: 0)))
          if payload.count > 8 { info.origin = UTF8Order.string(payload.dropFirst(8), isValid: false) }
        case OperationKind.saveRecord: info.savedCount += 1
        case OperationKind.deleteRecord: info.deletedCount += 1
        case OperationKind.saveZone, OperationKind.deleteZone: info.zoneOperationCount += 1
        case OperationKind.setMetadata, OperationKind.deleteMetadata: info.metadataOperationCount += 1
        default: break
        }
      }
      return try body(info)
    }
  }

  /// One tree: its name, its records, its levels from the root down.
  package struct TreeInfo: Sendable {
    package var name: String
    package var zone: Zone.ID?
    package var count: UInt64
    package var levels: [Store.LevelCount]
  }

  /// Every tree of the database that is not empty.
  package func trees() throws(DatabaseError) -> [TreeInfo] {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      var result: [TreeInfo] = []
      func add(_ name: String, _ zone: Zone.ID?, _ root: TreeRoot) throws(DatabaseError) {
        guard root.reference != 0 else { return }
        do throws(StoreError) {
          result.append(TreeInfo(name: name, zone: zone, count: root.count, levels: try store.levels(of: root, pin)))
        } catch { throw DatabaseError(error, path: path) }
      }
      try add("catalog", nil, view.root(Roots.catalog))
      try add("zones by sequence", nil, view.root(Roots.zonesBySequence))
      try add("metadata", nil, view.root(Roots.metadata))
      try add("lineages", nil, view.root(Roots.lineages))
      try add("settings", nil, view.root(Roots.settings))
      for zone in try view.zones() {
        guard let trees = try view.zone(zone.id) else { continue }
        try add("by name", zone.id, trees.byName)
        try add("journal", zone.id, trees.journal)
        try add("by type", zone.id, trees.byType)
        try add("tombstones", zone.id, trees.tombstones)
        try add("assets", zone.id, trees.assets)
      }
      return result
    }
  }

  /// How many bytes of the file are needed: header, pages of the trees, bodies that trees name.
  /// - Complexity: visits every record's entry, not its body.
  package func liveByteCount() throws(DatabaseError) -> Int {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      var total = FileHeader.byteCount + Int(clamping: pin.pageCount) * 4096
      for zone in try view.zones() {
        guard let trees = try view.zone(zone.id) else { continue }
        total += try view.mapped { () throws(PageFault) in
          var sum = 0
          var cursor = view.reader.cursor(in: trees.journal)
          var isValid = try cursor.first()
          while isValid {
            if let entry = JournalEntry(cursor.value) { sum += Int(entry.place.byteCount) }
            isValid = try cursor.next()
          }
          return sum
        }
      }
      total += try view.mapped { () throws(PageFault) in
        var sum = 0
        var cursor = view.reader.cursor(in: view.root(Roots.metadata))
        var isValid = try cursor.first()
        while isValid {
          if cursor.value.count == Place.encodedByteCount { sum += Int(cursor.value.uint32(at: 8)) }
          isValid = try cursor.next()
        }
        return sum
      }
      return total
    }
  }
}
