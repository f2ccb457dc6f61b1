/// What tools look at: frames one by one, pages tree by tree, how many bytes live.
extension Store {
  package func fileByteCount() throws(StoreError) -> Int {
    do { return try file.byteCount() } catch { throw .disk(error) }
  }

  /// Calls `body` with each frame up to the pinned end, and the operations of those that carry some; false ends the walk.
  /// - Parameter start: where a frame begins that is known from before; 0 for the first.
  package func forEachFrame(
    _ pin: Pin, from start: UInt64 = 0, _ body: (FrameHeader, [ByteView]) throws -> Bool
  ) throws {
    // Safe: everything below the pinned end is mapped.
    let log = LogReader(unsafe ByteView(source.base, count: Int(pin.end)), salt: header.salt)
    var offset = max(start, UInt64(FileHeader.byteCount))
    while offset < pin.end {
      guard let header = log.header(at: offset) else {
        // A damaged frame: go on at the next that holds.
        guard let next = log.nextHeader(from: offset + 8) else { return }
        offset = next.offset
        continue
      }
      var operations: [ByteView] = []
      if header.kind == .commit || header.kind == .part, let payload = log.payload(of: header) {
        var position = header.hasParts ? PartList.encodedByteCount : 0
        while position <= payload.count, let operation = try? Operation.next(in: payload, at: &position) {
          operations.append(operation)
        }
      }
      if try !body(header, operations) { return }
      offset = header.next
    }
  }

  /// What one level of a tree is made of.
  package struct LevelCount: Sendable {
    package var level: Int
    package var pageCount = 0
    package var usedByteCount = 0
    package var cellCount = 0
  }

  /// Pages, fill and cells of a tree, root level first. Trees inside a catalog are not followed.
  package func levels(of root: TreeRoot, _ pin: Pin) throws(StoreError) -> [LevelCount] {
    var levels: [Int: LevelCount] = [:]
    var visited: Set<UInt64> = []
    do { try count(root.reference, pin.end, depth: 0, into: &levels, &visited) } catch { throw .page(error) }
    return levels.values.sorted { $0.level > $1.level }
  }

  private func count(
    _ reference: UInt64, _ end: UInt64, depth: Int, into levels: inout [Int: LevelCount],
    _ visited: inout Set<UInt64>
  ) throws(PageFault) {
    if reference == 0 { return }
    // Twice the same page is a forged tree, and following all ways through one has no end.
    if depth >= TreeLimits.maximumDepth || !visited.insert(reference).inserted {
      throw PageFault(offset: reference, reason: .depth)
    }
    let page = try source.page(reference, end: end)
    var level = levels[page.level] ?? LevelCount(level: page.level)
    level.pageCount += 1
    level.usedByteCount += page.usedByteCount
    level.cellCount += page.cellCount
    levels[page.level] = level
    guard page.isBranch else { return }
    for child in -1..<page.cellCount { try count(page.child(child), end, depth: depth + 1, into: &levels, &visited) }
  }
}
