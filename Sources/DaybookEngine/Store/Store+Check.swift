extension Store {
  /// Walks the log and the trees of a pinned version.
  package func check(
    _ pin: Pin, progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws(StoreError) -> StoreCheck {
    var result = StoreCheck()
    try checkFrames(pin, progress: progress, into: &result)
    source.clearChecks(below: pin.end)
    if source.isBuffered { result.copies = PageCopies() }
    for index in 0..<RootSet.count {
      checkTree(pin.root(index), end: pin.end, name: "tree \(index)", into: &result)
    }
    if let failure = result.diskFailure { throw .disk(failure) }
    result.copies = nil
    if result.isClean, UInt64(result.pageCount) != pin.pageCount {
      result.findings.append(
        .init(offset: nil, message: "the trees have \(result.pageCount) pages, the store counts \(pin.pageCount)"))
    }
    return result
  }

  private func checkFrames(
    _ pin: Pin, progress: ((UInt64, UInt64) -> Bool)?, into result: inout StoreCheck
  ) throws(StoreError) {
    let log = logReader(upTo: pin.end)
    let plan = try Store.onDisk(call: try log.planFromStart())
    var isCutOff = true
    if case .corrupt(let lost) = plan.ending {
      result.findings.append(
        .init(offset: plan.end.offset, message: "\(RecoveryReport.text(of: lost)) damaged"))
    } else if plan.end.offset != pin.end {
      result.findings.append(.init(offset: plan.end.offset, message: "the log ends before its last commit"))
    } else {
      isCutOff = false
    }
    try checkLengths(&result)
    for skip in plan.skips.keys.sorted() {
      result.remarks.append(.init(offset: skip, message: "a frame without data is damaged"))
    }
    var offset = plan.start.offset
    while offset < plan.end.offset {
      if let target = plan.skips[offset] {
        offset = target
        continue
      }
      guard let header = log.header(at: offset) else { break }
      result.frameCount += 1
      if header.kind == .commit { result.commitCount += 1 }
      if header.kind == .pages, !log.isPayloadValid(header) {
        // Pages in use are checked one by one.
        result.remarks.append(.init(offset: offset, message: "the payload of a pages frame does not match its checksum"))
      }
      if log.hasContent(in: min(header.end, log.end)..<min(header.next, log.end)) {
        result.remarks.append(.init(offset: header.end, message: "the gap behind a frame is not zero"))
      }
      if header.kind.carriesData { try checkOperations(header, log, into: &result) }
      try Store.onDisk(call: try log.checkRead())
      offset = header.next
      if let progress, !progress(offset, pin.end) { throw .refused(reason: "the check was cancelled") }
    }
    try Store.onDisk(call: try log.checkRead())
    if isCutOff || recovery.lostSequences != nil {
      try checkDamagedRest(from: plan.end, pin, progress: progress, into: &result)
    }
    result.addUnnamedDamage()
  }

  func checkOperations(
    _ header: FrameHeader, _ log: LogReader, into result: inout StoreCheck
  ) throws(StoreError) {
    do throws(LogFault) {
      try log.forEachOperation(of: header) { (place, _) throws(LogFault) in
        result.operationCount += 1
        guard let sum = log.view(Int(place.offset)..<Int(place.offset) + 8)?.uint64(at: 0) else { return false }
        let seed = FrameHeader.seed(salt: log.salt, offset: place.offset)
        if log.checksum(of: place.offset + 8..<place.offset + UInt64(place.byteCount), seed: seed) != sum {
          result.addDamage("an operation's checksum does not match", at: place.offset)
        }
        return true
      }
    } catch {
      if case .page(let fault) = error { throw StoreError(fault) }
      result.addDamage("the operations of a frame are malformed", at: header.offset)
    }
  }

  /// Checks the pages of one tree, and of the trees in it if it is a catalog.
  private func checkTree(
    _ root: TreeRoot, end: UInt64, name: String, isInCatalog: Bool = false, into result: inout StoreCheck
  ) {
    if root.reference == 0 {
      if root.count != 0 { result.findings.append(.init(offset: nil, message: "\(name) is empty but counts records")) }
      return
    }
    // Numbers only: a copy of the result would be a copy of all pages visited so far, for each tree.
    let (pagesBefore, nestedBefore) = (result.pageCount, result.nestedPageCount)
    let found = checkPage(
      root.reference, level: nil, lower: nil, upper: nil, end: end, name: name, depth: 0, isInCatalog: isInCatalog,
      into: &result)
    if let found, found != root.count {
      result.findings.append(
        .init(offset: nil, message: "\(name) holds \(found) records, its root says \(root.count)"))
    }
    let own = result.pageCount - pagesBefore - (result.nestedPageCount - nestedBefore)
    if isInCatalog { result.nestedPageCount += own }
    if found != nil, UInt64(own) != root.pageCount {
      result.findings.append(.init(offset: nil, message: "\(name) has \(own) pages, its root says \(root.pageCount)"))
    }
  }

  /// The number of records below a page; nil when it cannot be determined.
  private func checkPage(
    _ reference: UInt64, level: Int?, lower: [UInt8]?, upper: [UInt8]?, end: UInt64, name: String, depth: Int,
    isInCatalog: Bool, into result: inout StoreCheck
  ) -> UInt64? {
    guard result.visited.insert(reference).inserted else {
      result.findings.append(.init(offset: reference, message: "\(name): a page stands in two places"))
      return nil
    }
    let page: Page
    do {
      let found = try level == nil ? source.rootPage(reference, end: end) : source.page(reference, end: end)
      // A small tree is one leaf, and no other page is asked for while it is checked.
      page = result.copies?.keep(found, as: result.copyCount) ?? found
    } catch {
      if let failure = error.failure {
        result.diskFailure = result.diskFailure ?? failure
        return nil
      }
      result.findings.append(.init(offset: error.offset, message: "\(name): \(error.reason.rawValue)"))
      return nil
    }
    result.copyCount += 1
    defer { result.copyCount -= 1 }
    let isInline = InlineTree.isInline(reference)
    if !isInline { result.pageCount += 1 }
    let offset = reference & PageSource.memoryTag == 0 && !isInline ? reference : nil
    func find(_ message: String) { result.findings.append(.init(offset: offset, message: "\(name): \(message)")) }
    if let reason = page.verifyStructure() {
      find(reason.rawValue)
      return nil
    }
    if let level, page.level != level { find(PageFault.Reason.level.rawValue) }
    if depth >= TreeLimits.maximumDepth {
      find(PageFault.Reason.depth.rawValue)
      return nil
    }
    let key = ByteBuffer()
    for index in [0, page.cellCount - 1] where index >= 0 && index < page.cellCount {
      key.truncate(to: 0)
      page.appendKey(index, to: key)
      if let lower, !lower.withView({ compareKeys($0, key.view) <= 0 }) { find("a key lies below its separator") }
      if let upper, !upper.withView({ compareKeys(key.view, $0) < 0 }) { find("a key lies above its separator") }
    }
    guard page.isBranch else {
      result.keyCount += UInt64(page.cellCount)
      if page.kind == Page.Kind.catalogLeaf {
        if isInCatalog {
          find("a catalog stands inside a catalog")
        } else {
          checkCatalog(page, reference, end: end, name: name, into: &result)
        }
      }
      return UInt64(page.cellCount)
    }
    var total: UInt64 = 0
    for index in -1..<page.cellCount {
      let childLower = index < 0 ? lower : page.keyArray(index)
      let childUpper = index + 1 < page.cellCount ? page.keyArray(index + 1) : upper
      guard
        let count = checkPage(
          page.child(index), level: page.level - 1, lower: childLower, upper: childUpper, end: end, name: name,
          depth: depth + 1, isInCatalog: isInCatalog, into: &result)
      else { return nil }
      if count != page.childCount(index) { find(PageFault.Reason.count.rawValue) }
      total += count
    }
    return total
  }

  private func checkCatalog(
    _ page: Page, _ reference: UInt64, end: UInt64, name: String, into result: inout StoreCheck
  ) {
    let reader = TreeReader(source: source, end: end)
    for index in 0..<page.cellCount {
      let value = reader.catalogValue(page.value(index), on: page, reference)
      for root in 0..<value.rootCount {
        checkTree(
          value.root(root), end: end, name: "\(name), cell \(index), tree \(root)", isInCatalog: true, into: &result)
      }
    }
  }

  /// Replays the whole log into a store in memory; the caller compares.
  /// - Returns: a pin on trees that were built from the log alone, for the commits up to `pin`.
  package func rebuiltRoots(
    for pin: Pin, applier: any Applier, _ body: (RootSet, TreeReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    let log = logReader(upTo: pin.end)
    let plan = try Store.onDisk(call: try log.planFromStart())
    var readOnly = options
    readOnly.isReadOnly = true
    readOnly.hasBackgroundThread = false
    readOnly.onPublish = nil
    readOnly.onOthers = nil
    let copy = try Store(
      path: path, header: header, options: readOnly, disk: disk, file: file, backgroundFile: backgroundFile,
      applier: applier, plan: plan)
    // The files belong to this store; the copy must not close them.
    copy.life.isClosed.store(true, ordering: .releasing)
    try copy.replay(plan, log: log, through: pin.sequence)
    try body(copy.head.roots, TreeReader(source: copy.source, end: plan.readableEnd))
  }

  /// Compares two trees key by key and value by value. Of the roots in catalog values it compares the trees, not the places.
  package static func firstDifference(
    _ left: TreeRoot, _ leftReader: TreeReader, _ right: TreeRoot, _ rightReader: TreeReader
  ) throws(PageFault) -> String? {
    if left.count != right.count { return "\(left.count) keys against \(right.count)" }
    var a = leftReader.cursor(in: left)
    var b = rightReader.cursor(in: right)
    let key = ByteBuffer()
    var hasA = try a.first()
    var hasB = try b.first()
    var position: UInt64 = 0
    while hasA && hasB {
      a.key(into: key)
      if b.compareKey(with: key.view) != 0 { return "keys differ at position \(position)" }
      if a.isInCatalog != b.isInCatalog { return "kinds differ at position \(position)" }
      if a.isInCatalog {
        let leftValue = try a.catalogValue
        let rightValue = try b.catalogValue
        if leftValue.rootCount != rightValue.rootCount || compareKeys(leftValue.ownerBytes, rightValue.ownerBytes) != 0 {
          return "catalog values differ at position \(position)"
        }
        for index in 0..<leftValue.rootCount {
          if let difference = try firstDifference(
            leftValue.root(index), leftReader, rightValue.root(index), rightReader)
          {
            return "cell \(position), tree \(index): \(difference)"
          }
        }
      } else if compareKeys(a.value, b.value) != 0 {
        return "values differ at position \(position)"
      }
      hasA = try a.next()
      hasB = try b.next()
      position += 1
    }
    return hasA == hasB ? nil : "one tree ends at position \(position)"
  }
}

extension Page {
  func keyArray(_ index: Int) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 256)
    appendKey(index, to: buffer)
    return buffer.view.array
  }
}
