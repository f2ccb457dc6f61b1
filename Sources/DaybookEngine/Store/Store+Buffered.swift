/// Reads of a file that is not mapped: how they differ from reads in place.
///
///     pages    PageSource ─► BlockCache ─► pread      a copy in memory of the thread, checked when it came into the cache
///     bodies   copyOperation ─► BlockCache ─► pread   straight to where the caller wants them, verified there
///     the log  LogReader ─► LogWindow ─► pread        past the cache: a walk looks at everything once
///
/// Always true: what a call returns was verified in memory that nobody else writes to. The cache holds nothing from behind the
/// verified end of the version that it was read for. A disk failure throws `.disk` and leaves nothing in the cache.
extension Store {
  /// The source of a store's pages.
  static func makeSource(
    _ file: any DiskFile, _ header: FileHeader, _ cache: BlockCache?
  ) throws(DiskFailure) -> PageSource {
    guard let cache else {
      return unsafe try PageSource(base: file.base, salt: header.salt, maximumByteCount: file.mappableByteCount)
    }
    return try PageSource(reading: BufferedFile(file, cache: cache), salt: header.salt)
  }

  /// The page cache of the database; nil where its files are mapped.
  static func makeCache(_ options: StoreOptions) throws(DiskFailure) -> BlockCache? {
    if options.access == .mapped { return nil }
    if let known = options.pageCache { return known }
    return try BlockCache(byteCount: options.pageCacheByteCount)
  }

  /// A log up to a byte of the file.
  static func log(
    of file: any DiskFile, _ header: FileHeader, byteCount: Int, _ options: StoreOptions
  ) throws(DiskFailure) -> LogReader {
    if options.access == .buffered { return LogReader(LogWindow(file, byteCount: byteCount), salt: header.salt) }
    try file.map(through: byteCount)
    // Safe: mapped on the line above.
    return LogReader(
      unsafe ByteView(file.base, count: byteCount), salt: header.salt, holes: LogHoles.ofLog(file, byteCount: byteCount))
  }

  /// The log of a pinned version. Everything below its end is immutable.
  func logReader(through end: UInt64) -> LogReader {
    if source.isBuffered {
      // Recovery accepts a file that ends with its last payload, and takes the end of the gap behind it as the end.
      return LogReader(LogWindow(file, byteCount: Int(end), gapByteCount: Page.byteCount - 1), salt: header.salt)
    }
    // Safe: everything below the end of a pinned version is mapped.
    return LogReader(
      unsafe ByteView(source.base, count: Int(end)), salt: header.salt, holes: LogHoles.ofLog(file, byteCount: Int(end)))
  }

  /// The first page of a file.
  static func withFirstPage<R>(
    of file: any DiskFile, _ options: StoreOptions, _ body: (ByteView) throws(FileHeader.Fault) -> R
  ) throws -> R {
    if options.access == .buffered {
      let page = ByteBuffer(capacity: FileHeader.byteCount)
      // Safe: the buffer has room for it.
      page.count = unsafe try file.read(into: page.base, count: FileHeader.byteCount, at: 0)
      guard page.count == FileHeader.byteCount else {
        throw DiskFailure.endOfFile(file.path, at: page.count, missing: FileHeader.byteCount - page.count)
      }
      return try body(page.view)
    }
    try file.map(through: FileHeader.byteCount)
    // Safe: mapped on the line above.
    return try body(unsafe ByteView(file.base, count: FileHeader.byteCount))
  }

  /// Reads an operation and checks it. `place` lies below `end`.
  @inline(never)
  func readOperation(at place: Place, end: UInt64, to target: UnsafeMutableRawPointer) throws(StoreError) {
    guard let file = source.buffered else { preconditionFailure("only called where the file is not mapped") }
    let byteCount = Int(place.byteCount)
    // Safe: the caller has room for the operation.
    do { unsafe try file.read(byteCount, at: Int(place.offset), end: Int(end), to: target) } catch { throw .disk(error) }
    let copy = unsafe ByteView(UnsafeRawPointer(target), count: byteCount)
    guard Operation.isSound(copy, salt: header.salt, offset: place.offset) else {
      // The disk may return better bytes next time.
      file.evict(byteCount, at: Int(place.offset))
      throw .operation(offset: place.offset)
    }
  }

  /// Bytes that the page cache occupies now; nil where the file is mapped.
  package var pageCacheResidentByteCount: Int? { source.buffered?.cache.residentByteCount }
}
