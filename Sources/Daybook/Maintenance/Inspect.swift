#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// A look inside, for the tool: the frames of the log, the pages of the trees, what lives and what is dead.
extension Database {
  /// Pins what readers see, for looking at trees directly; release it with `endRead`.
  package func pinned() throws(DatabaseError) -> (store: Store, pin: Store.Pin) {
    try engine(stores.beginRead())
  }

  /// One frame of the log.
  package struct FrameInfo: Sendable {
    package var offset: UInt64
    package var kind: String
    package var number: UInt64
    package var sequence: UInt64
    package var byteCount: UInt64
    package var durableThrough: UInt64
    /// Replaces all commits up to its own.
    package var isImage: Bool
    /// Of a commit: its date and origin, and what it did.
    package var date: Date?
    package var origin: String?
    package var savedCount = 0
    package var deletedCount = 0
    package var zoneOperationCount = 0
    package var metadataOperationCount = 0
  }

  /// A place between two frames, for going on there.
  package struct FramePosition: Sendable {
    fileprivate var salt: UInt64 = 0
    fileprivate var offset: UInt64 = 0
    package init() {}
    fileprivate init(salt: UInt64, offset: UInt64) {
      self.salt = salt
      self.offset = offset
    }
  }

  /// Calls `body` with each frame in the order of the log; false ends the walk.
  package func frames(_ body: (FrameInfo) throws -> Bool) throws {
    var position = FramePosition()
    try frames(from: &position, body)
  }

  /// The same from a place on, which moves along. A place in a file that a compaction has replaced is the new file's start.
  package func frames(from position: inout FramePosition, _ body: (FrameInfo) throws -> Bool) throws {
    let (store, pin) = try pinned()
    defer { store.endRead(pin) }
    if position.salt != store.header.salt { position = FramePosition(salt: store.header.salt, offset: 0) }
    do {
      try store.forEachFrame(pin, from: position.offset) { header, operations in
        position.offset = header.next
        var info = FrameInfo(
          offset: header.offset, kind: header.kind.name, number: header.number, sequence: header.sequence,
          byteCount: header.next - header.offset, durableThrough: header.durableThrough, isImage: header.isImage)
        try operations.forEach { kind, payload in
          // Kinds of a later version are not counted.
          guard let kind = OperationKind(rawValue: kind) else { return }
          switch kind {
          case .commitInfo:
            guard let payload, payload.count >= 8 else { return }
            info.date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: payload.uint64(at: 0)))
            if payload.count > 8 { info.origin = UTF8Order.string(payload.dropFirst(8), isValid: false) }
          case .saveRecord: info.savedCount += 1
          case .deleteRecord: info.deletedCount += 1
          case .saveZone, .deleteZone: info.zoneOperationCount += 1
          case .setMetadata, .deleteMetadata: info.metadataOperationCount += 1
          case .lineage, .raiseHorizon, .imageStamps, .imageZone, .declareFields, .declare, .requires, .defineIndex,
            .buildIndex,
            .dropIndex:
            break
          }
        }
        return try body(info)
      }
    } catch let error as StoreError { throw DatabaseError(error, path: path) }
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
      var visited: Set<UInt64> = []
      for (name, zone, root) in try view.treeRoots() {
        do throws(StoreError) {
          let levels = try view.store.levels(of: root, pin, visited: &visited)
          result.append(TreeInfo(name: name, zone: zone, count: root.count, levels: levels))
        } catch { throw DatabaseError(error, path: path) }
      }
      return result
    }
  }
}

extension Database {
  /// What of the file is needed, by where it lies.
  package struct LiveBytes: Sendable {
    /// Bodies and tombstones of records, metadata.
    package var log: Int
    /// Pages of the trees of all zones, by the trees' names; the last are those of the catalog and its neighbours.
    package var trees: [(name: String, byteCount: Int)]
  }

  /// - Complexity: one visit a zone.
  package func liveBytes() throws(DatabaseError) -> LiveBytes {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      var pageCounts = [UInt64](repeating: 0, count: ZoneTree.count)
      for zone in try view.zones() {
        guard let trees = try view.zone(zone.id) else { continue }
        for tree in trees.trees { pageCounts[tree.rawValue] &+= trees[tree].pageCount }
      }
      let pageByteCount = Int(view.store.header.pageByteCount)
      // A forged tree may claim any number.
      func byteCount(_ pageCount: UInt64) -> Int { Int(clamping: min(pageCount, 1 << 40)) * pageByteCount }
      let trees = ZoneTree.allCases.map { (name: $0.name, byteCount: byteCount(pageCounts[$0.rawValue])) }
      let others = pin.pageCount - min(pin.pageCount, pageCounts.reduce(0, &+))
      return LiveBytes(log: pin.operationByteCount, trees: trees + [("others", byteCount(others))])
    }
  }
}

extension ReadView {
  /// The roots of all trees that are not empty, with their names.
  func treeRoots() throws(DatabaseError) -> [(name: String, zone: Zone.ID?, root: TreeRoot)] {
    var result: [(name: String, zone: Zone.ID?, root: TreeRoot)] = [
      ("catalog", nil, root(Roots.catalog)), ("zones by sequence", nil, root(Roots.zonesBySequence)),
      ("metadata", nil, root(Roots.metadata)), ("lineages", nil, root(Roots.lineages)),
      ("settings", nil, root(Roots.settings)), ("schema", nil, root(Roots.schema)),
      ("declarations", nil, root(Roots.declarations)),
    ]
    for zone in try zones() {
      guard let trees = try self.zone(zone.id) else { continue }
      for tree in ZoneTree.allCases { result.append((tree.name, zone.id, trees[tree])) }
    }
    return result.filter { $0.root.reference != 0 }
  }

  /// Bytes of the operations that the trees refer to, counted one by one: what the store keeps count of.
  /// - Complexity: visits every record's entry, not its body.
  func countOperationBytes() throws(DatabaseError) -> Int {
    var total = 0
    for zone in try zones() {
      guard let trees = try self.zone(zone.id) else { continue }
      var sum = 0
      try forEachValue(in: trees.changeJournal) { if let entry = ChangeEntry($0) { sum += Int(entry.place.byteCount) } }
      if sum != trees.liveByteCount {
        throw DatabaseError(
          .corrupted, "A zone's count of live bytes does not match its trees.",
          facts: .init(zone: zone.id, expected: "\(trees.liveByteCount)", found: "\(sum)"))
      }
      total += sum
    }
    try forEachValue(in: root(Roots.metadata)) {
      if let place = Place($0) { total += Int(place.byteCount) }
    }
    return total
  }

  func forEachValue(in root: TreeRoot, _ body: (ByteView) -> Void) throws(DatabaseError) {
    try asDatabaseError { () throws(PageFault) in
      var cursor = reader.cursor(in: root)
      while try cursor.next() {
        body(cursor.value)
      }
    }
  }
}
