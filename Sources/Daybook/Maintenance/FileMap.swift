import DaybookEngine

extension Database {
  /// What lies where in the file, for a picture of it: frames by their kinds, and how many of their bytes are needed.
  package struct FileMap: Sendable {
    /// What a stretch of the file is: the header, a frame of some kind, or none.
    package struct Kind: Sendable {
      package let name: String
      /// 0 of what is no frame.
      package var frameCount = 0
      package var byteCount = 0
    }

    /// One of the pieces that the file is divided into, all of one length but the last.
    package struct Block: Sendable {
      /// By the number of the kind in `kinds`.
      package var byteCounts: [Int] = []
      /// The header, newest versions of records, tombstones, metadata, and pages that the trees reach.
      package var liveByteCount = 0
    }

    package static let header = "header"
    /// Bytes between two frames that are none.
    package static let unreadable = "unreadable"
    /// What comes after the last frame: zeros for the next commits, beside a writer also what it has written since.
    package static let prepared = "prepared"

    package internal(set) var fileByteCount: Int
    package internal(set) var blockByteCount: Int
    /// In the order in which the file has them first.
    package internal(set) var kinds: [Kind] = []
    package internal(set) var blocks: [Block]
    /// Why `liveByteCount` of the blocks says nothing; nil when it does.
    package internal(set) var liveFault: DatabaseError?

    /// - Parameter blockLimit: how many blocks there may be.
    init(fileByteCount: Int, blockLimit: Int) {
      self.fileByteCount = fileByteCount
      // Whole pages: a header is one, and so is each page of a tree.
      let page = FileHeader.byteCount
      let pages = (fileByteCount + page - 1) / page
      blockByteCount = max(1, (pages + blockLimit - 1) / blockLimit) * page
      blocks = Array(repeating: Block(), count: (fileByteCount + blockByteCount - 1) / blockByteCount)
    }

    mutating func add(_ name: String, at offset: UInt64, _ byteCount: UInt64, isFrame: Bool = true) {
      let kind = kinds.firstIndex { $0.name == name } ?? kinds.count
      if kind == kinds.count { kinds.append(Kind(name: name)) }
      if isFrame { kinds[kind].frameCount += 1 }
      kinds[kind].byteCount += Int(clamping: byteCount)
      forEachBlock(at: offset, byteCount) { block, count in
        while block.byteCounts.count <= kind { block.byteCounts.append(0) }
        block.byteCounts[kind] += count
      }
    }

    mutating func addLive(at offset: UInt64, _ byteCount: UInt64) {
      forEachBlock(at: offset, byteCount) { block, count in block.liveByteCount += count }
    }

    /// Calls `body` with each block that a stretch touches, and how many of its bytes. What lies beyond the file is passed over.
    private mutating func forEachBlock(at offset: UInt64, _ byteCount: UInt64, _ body: (inout Block, Int) -> Void) {
      var lower = Int(clamping: offset)
      let (sum, isTooLarge) = lower.addingReportingOverflow(Int(clamping: byteCount))
      let upper = isTooLarge ? fileByteCount : min(fileByteCount, sum)
      while lower < upper {
        let index = lower / blockByteCount
        let next = min(upper, (index + 1) * blockByteCount)
        body(&blocks[index], next - lower)
        lower = next
      }
    }
  }

  /// Divides the file into at most as many blocks as said, and tells what is in each.
  /// - Complexity: visits each frame, and each record's entry, not its body.
  package func fileMap(blockLimit: Int) throws(DatabaseError) -> FileMap {
    try reading { (view) throws(DatabaseError) in
      guard case .pin(let pin) = view.source else { preconditionFailure("reads outside a transaction have a pin") }
      let store = view.store
      do {
        // A writer elsewhere may have cut what it had prepared.
        let byteCount = try max(store.fileByteCount(), Int(clamping: pin.end))
        var map = FileMap(fileByteCount: byteCount, blockLimit: blockLimit)
        let first = UInt64(FileHeader.byteCount)
        map.add(FileMap.header, at: 0, first, isFrame: false)
        var end = first
        func close(_ next: UInt64) {
          if next > end { map.add(FileMap.unreadable, at: end, next - end, isFrame: false) }
        }
        try store.forEachFrame(pin) { header, _ in
          close(header.offset)
          map.add(header.kind.name, at: header.offset, header.next - header.offset)
          end = header.next
          return true
        }
        close(pin.end)
        let rest = UInt64(byteCount)
        if rest > pin.end { map.add(FileMap.prepared, at: pin.end, rest - pin.end, isFrame: false) }
        map.addLive(at: 0, first)
        do throws(DatabaseError) { try view.addLive(to: &map, pin) } catch { map.liveFault = error }
        return map
      } catch let error as StoreError {
        throw DatabaseError(error, path: path)
      } catch {
        throw error as? DatabaseError ?? DatabaseError(.internalError, facts: .init(path: path), cause: error)
      }
    }
  }
}

extension ReadView {
  fileprivate func addLive(to map: inout Database.FileMap, _ pin: Store.Pin) throws(DatabaseError) {
    var pages: Set<UInt64> = []
    for (_, _, root) in try treeRoots() {
      do throws(StoreError) { _ = try store.levels(of: root, pin, visited: &pages) } catch {
        throw DatabaseError(error, path: store.path)
      }
    }
    // No two places have a byte in common, except in a forged file, where many may lead to most of it.
    var remaining = pin.end
    var isForged = false
    func add(_ place: Place) {
      guard !isForged, UInt64(place.byteCount) <= remaining else { return isForged = true }
      remaining -= UInt64(place.byteCount)
      map.addLive(at: place.offset, UInt64(place.byteCount))
    }
    let pageByteCount = UInt64(store.header.pageByteCount)
    for case let offset? in pages.map({ Store.offset(ofPage: $0) }) { map.addLive(at: offset, pageByteCount) }
    for zone in try zones() {
      guard let trees = try self.zone(zone.id) else { continue }
      try forEachValue(in: trees.changeJournal) { value in
        if let entry = ChangeEntry(value) { add(entry.place) }
      }
    }
    try forEachValue(in: root(Roots.metadata)) { value in
      if let place = Place(value) { add(place) }
    }
    if isForged { throw failure(.operation(offset: pin.end)) }
  }
}
