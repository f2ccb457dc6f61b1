/// Fuzz targets for pages, trees and frames: they do everything that the engine does with these, and compare the answers of
/// different ways to the same result. They are here because pages and frames are not visible outside the engine.
extension Forgery {
  // MARK: frames

  /// Reads the log behind a header: every frame, the plan of recovery, its operations.
  package static func examineLog(_ image: [UInt8]) throws {
    try image.withView { (view: ByteView) throws -> Void in
      guard let header = try? FileHeader(view) else { return }
      let log = LogReader(view, salt: header.salt)
      try examineFrames(log)
      let plan = try log.plan()
      try examine(plan, log, "plan")
      try examine(try log.planFromStart(), log, "plan from the start")
      guard try log.plan().end == plan.end, try log.plan().lastSequence == plan.lastSequence else {
        throw Finding("two plans of one log differ")
      }
      if plan.checkpoint != nil { try examine(try log.plan(skipping: 1), log, "plan on the older checkpoint") }
      _ = log.contentEnd(from: plan.end.offset)
    }
  }

  private static func examineFrames(_ log: LogReader) throws {
    var offset = UInt64(FileHeader.byteCount)
    while let header = log.nextHeader(from: offset) {
      guard header.offset >= offset, header.next > header.offset else { throw Finding("frames do not go forward") }
      offset = header.offset + 8
      if log.isPayloadValid(header), let payload = log.payload(of: header) {
        try examineRoundTrip(header, payload, log)
        if header.kind == .checkpoint, let contents = CheckpointContents(payload, at: header.offset) {
          for root in contents.roots where root.reference >= header.offset { throw Finding("a root behind its checkpoint") }
        }
      }
    }
    if let last = log.lastHeader(), log.nextHeader(from: last.offset + 8) != nil {
      throw Finding("the last frame is not the last")
    }
  }

  /// A header that was read and written again must have the same bytes, unless it has bits that a writer does not know.
  private static func examineRoundTrip(_ header: FrameHeader, _ payload: ByteView, _ log: LogReader) throws {
    let original = log.bytes.slice(Int(header.offset)..<Int(header.offset) + FrameHeader.byteCount)
    guard original[5] <= 3, original.uint16(at: 6) == 0 else { return }
    let frame = FrameHeader.buffer(payloadByteCount: payload.count)
    frame.append(payload)
    var copy = header
    copy.seal(into: frame, salt: log.salt)
    guard compareKeys(frame.view.prefix(FrameHeader.byteCount), original) == 0 else {
      throw Finding("a frame header reads as another than was written")
    }
  }

  private static func examine(_ plan: RecoveryPlan, _ log: LogReader, _ name: String) throws {
    guard plan.end.offset >= UInt64(FileHeader.byteCount), plan.start.offset <= plan.end.offset,
      plan.start.sequence <= plan.lastSequence
    else {
      throw Finding("\(name): it ends before it starts")
    }
    if let last = plan.last, last.end > log.end { throw Finding("\(name): the last frame lies beyond the file") }
    var expected = plan.start.sequence
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        if commit.sequence != expected + 1, !(commit.isImage && expected == 0) { throw .inconsistent }
        expected = commit.sequence
        for index in 0..<operations.count { _ = Operation.kind(try operations.bytes(index)) }
      }
    } catch .inconsistent {
      throw Finding("\(name): commits out of order")
    } catch {
      return  // Malformed operations; an open would say so.
    }
    if expected != plan.lastSequence { throw Finding("\(name): commits up to \(expected), promised \(plan.lastSequence)") }
  }

  /// The operations of each commit of a valid image, without those that were rolled back.
  package static func operations(of image: [UInt8]) throws -> [[(kind: UInt8, payload: [UInt8])]] {
    try image.withView { (view: ByteView) throws in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var commits: [[(kind: UInt8, payload: [UInt8])]] = []
      try log.forEachCommit(of: try log.planFromStart()) { (_, operations) throws(LogFault) in
        var commit: [(kind: UInt8, payload: [UInt8])] = []
        for index in 0..<operations.count {
          let bytes = try operations.bytes(index)
          commit.append((Operation.kind(bytes), Operation.payload(bytes).array))
        }
        commits.append(commit)
      }
      return commits
    }
  }

  // MARK: pages

  /// Takes a run of pages as the first pages of a file. Every page that passes its check is searched, walked, changed, split
  /// and merged, as `steps` says.
  package static func examinePages(_ pages: [UInt8], steps: [UInt8]) throws {
    let pageCount = pages.count / Page.byteCount
    let byteCount = (pageCount + 1) * Page.byteCount
    guard pageCount > 0, let memory = unsafe RawMemory.reserveZeroed(byteCount: byteCount) else { return }
    defer { unsafe RawMemory.release(memory, byteCount: byteCount) }
    // Page 0 stands for the header of the file.
    // Safe: the memory has room for one page more.
    pages.withView { view in
      unsafe (memory + Page.byteCount).copyMemory(from: view.base, byteCount: pageCount * Page.byteCount)
    }
    let salt: UInt64 = 1
    let source = try unsafe PageSource(base: UnsafeRawPointer(memory), salt: salt, maximumByteCount: byteCount)
    for number in 1...pageCount {
      let reference = UInt64(number * Page.byteCount)
      unsafe Page(memory + number * Page.byteCount).sealChecksum(salt: salt, offset: reference)
    }
    let editor = TreeEditor(source: source)
    editor.end = UInt64(byteCount)
    for number in 1...pageCount {
      let reference = UInt64(number * Page.byteCount)
      guard let page = try? source.page(reference, end: editor.end) else { continue }
      try examine(page, pageLimit: pageCount)
      let start = editor.beginEdit()
      // A fault is a valid answer; the edit is rolled back.
      do throws(PageFault) { try use(editor, TreeRoot(reference: reference, count: 1), steps, pageLimit: pageCount) } catch {}
      editor.rollBack(to: start)
    }
  }

  private static func examine(_ page: Page, pageLimit: Int) throws {
    let key = ByteBuffer()
    for index in 0..<page.cellCount {
      key.truncate(to: 0)
      page.appendKey(index, to: key)
      let (found, isFound) = page.search(key.view)
      guard isFound, found == index else { throw Finding("a page does not find its own key \(index)") }
      if !page.isBranch { _ = page.value(index).array }
    }
  }

  /// Does what transactions do with a tree, in the order of the input: pairs of an operation and a key.
  private static func use(
    _ editor: TreeEditor, _ original: TreeRoot, _ steps: [UInt8], pageLimit: Int
  ) throws(PageFault) {
    var root = original
    var position = 0
    let key = ByteBuffer()
    var cursor = editor.reader.cursor(in: root)
    // Keys ascend from leaf to leaf, so no walk visits more leaves than the file has.
    var leafBound = pageLimit * Page.byteCount / 10
    while try cursor.next() {
      leafBound -= 1
      precondition(leafBound >= 0, "a walk visits more records than the file can hold")
      cursor.key(into: key)
    }
    while position + 3 <= steps.count {
      let step = steps[position]
      let number = Int(steps[position + 1]) | Int(steps[position + 2]) << 8
      position += 3
      let text = [UInt8](String(number, radix: 36).utf8)
      let bytes = step & 8 != 0 ? [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 1280) : text
      let value = [UInt8](repeating: step, count: step & 16 != 0 ? number % 513 : 24)
      try bytes.withView { (key) throws(PageFault) in
        switch step & 7 {
        case 0, 1, 2, 3:
          try value.withView { (value) throws(PageFault) in _ = try editor.put(key, value, in: &root) }
        case 4: _ = try editor.remove(key, from: &root)
        case 5: _ = try editor.reader.rank(of: key, in: root)
        case 6:
          var cursor = editor.reader.cursor(in: root)
          if try cursor.seek(key) {
            _ = cursor.value.count
            _ = try cursor.previous()
          }
        default: _ = try editor.removeRange(from: step & 32 != 0 ? nil : key, to: step & 64 != 0 ? nil : key, in: &root)
        }
      }
    }
  }
}
