extension StoreSwitch {
  /// The rights and owners of the open file, even if its name leads elsewhere by now; nil when it is closed.
  package func fileAttributes() throws(DiskFailure) -> FileAttributes? {
    while true {
      let current = store
      do { return try current.file.attributes() } catch {
        guard error.kind == .closed else { throw error }
        if current === store { return nil }
      }
    }
  }
}

/// Inspection for tools: frames one by one, pages tree by tree, how many bytes live.
extension Store {
  /// The rights and owners for a copy of the file on a disk; nil where those of this disk mean nothing there.
  package func fileAttributes(for target: any Disk) throws(DiskFailure) -> FileAttributes? {
    disk is MemoryDisk && !(target is MemoryDisk) ? nil : try file.attributes()
  }

  package var identity: FileIdentity { file.identity }

  package func fileByteCount() throws(StoreError) -> Int {
    return try Store.onDisk(call: try file.byteCount())
  }

  /// How many names lead to the file.
  package func nameCount() throws(StoreError) -> Int {
    return try Store.onDisk(call: try file.linkCount())
  }

  /// Calls `body` with each frame up to the pinned end, and the operations of those that carry some; false ends the walk.
  /// - Parameter start: the start of a known frame; 0 for the first frame.
  package func forEachFrame(
    _ pin: Pin, from start: UInt64 = 0, _ body: (FrameHeader, FrameOperations) throws -> Bool
  ) throws {
    let log = logReader(upTo: pin.end)
    var offset = max(start, UInt64(FileHeader.byteCount))
    while offset < pin.end {
      guard let header = log.header(at: offset) else {
        // A damaged frame: go on at the next valid one.
        let next = log.nextHeader(from: offset + 8)
        try Store.onDisk(call: try log.checkRead())
        guard let next else { return }
        offset = next.offset
        continue
      }
      if try !body(header, FrameOperations(header: header, log: log)) { return }
      offset = header.next
    }
  }

  /// The operations of one frame, for inspection.
  package struct FrameOperations {
    fileprivate let header: FrameHeader
    fileprivate let log: LogReader

    /// Calls `body` with the kind of each operation, and its payload where it is short; up to the first operation that is
    /// none. Of one that does not match its checksum only the kind is told.
    package func forEach(limit: Int = 512, _ body: (UInt8, ByteView?) -> Void) throws(StoreError) {
      guard header.kind.carriesData else { return }
      do throws(LogFault) {
        try log.forEachOperation(of: header) { (place, kind) throws(LogFault) in
          let isShort = Int(place.byteCount) <= Operation.headerByteCount + limit
          do throws(LogFault) { body(kind, isShort ? Operation.payload(try log.operation(at: place)) : nil) } catch {
            guard case .operation = error else { throw error }
            body(kind, nil)
          }
          return true
        }
      } catch { if case .page(let fault) = error { throw StoreError(fault) } }
    }
  }

  /// The pages and cells of one level of a tree.
  package struct LevelCount: Sendable {
    package var level: Int
    package var pageCount = 0
    package var usedByteCount = 0
    package var cellCount = 0
  }

  /// Where in the file a page is that a tree refers to; nil of one in memory, and of a small tree, which is in its zone's cell.
  package static func offset(ofPage reference: UInt64) -> UInt64? {
    reference & PageSource.memoryTag != 0 || InlineTree.isInline(reference) ? nil : reference
  }

  /// Pages, fill and cells of a tree, root level first. Trees inside a catalog are not followed.
  /// - Parameter visited: the pages of all trees that were counted before. No two trees have a page in common, except in a
  ///   forged file, where many may share a large one.
  package func levels(of root: TreeRoot, _ pin: Pin, visited: inout Set<UInt64>) throws(StoreError) -> [LevelCount] {
    var levels: [Int: LevelCount] = [:]
    let copies = source.isBuffered ? PageCopies() : nil
    do { try count(root.reference, pin.end, depth: 0, copies, into: &levels, &visited) } catch { throw StoreError(error) }
    return levels.values.sorted { $0.level > $1.level }
  }

  private func count(
    _ reference: UInt64, _ end: UInt64, depth: Int, _ copies: PageCopies?, into levels: inout [Int: LevelCount],
    _ visited: inout Set<UInt64>
  ) throws(PageFault) {
    if reference == 0 { return }
    // Trees that reach a page twice are forged, and following all their paths could take forever.
    if depth >= TreeLimits.maximumDepth || !visited.insert(reference).inserted {
      throw PageFault(offset: reference, reason: .depth)
    }
    // A small tree is inside the catalog, and its bytes are counted there.
    if depth == 0, InlineTree.isInline(reference) { return }
    let found = try source.page(reference, end: end)
    let page = copies?.keep(found, as: depth) ?? found
    var level = levels[page.level] ?? LevelCount(level: page.level)
    level.pageCount += 1
    level.usedByteCount += page.usedByteCount
    level.cellCount += page.cellCount
    levels[page.level] = level
    guard page.isBranch else { return }
    for child in -1..<page.cellCount {
      try count(page.child(child), end, depth: depth + 1, copies, into: &levels, &visited)
    }
  }
}
