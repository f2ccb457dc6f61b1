/// Reads of a file that is not mapped: how they differ from reads in place.
///
///     pages    PageSource ─► BlockCache ─► pread      a copy in memory of the thread, checked when it came into the cache
///     bodies   copyOperation ─► BlockCache ─► pread   straight to where the caller wants them, verified there
///     the log  LogReader ─► LogWindow ─► pread        past the cache: a walk looks at everything once
///
/// A mapped file may become such a file: where the process has no address space for all of it, what is not mapped is read
/// in this way (`PageSource.admit`). So a file that grows, or one file more, is never refused for want of addresses.
///
/// Always true: what a call returns was verified in memory that nobody else writes to. The cache holds nothing from behind the
/// verified end of the version that it was read for. A disk failure throws `.disk` and leaves nothing in the cache.
extension Store {
  /// The source of a store's pages.
  static func makeSource(
    _ file: any DiskFile, _ header: FileHeader, _ options: StoreOptions, _ cache: BlockCache.Shared
  ) throws(DiskFailure) -> PageSource {
    if options.access == .buffered { return try PageSource(reading: file, salt: header.salt, cache: cache) }
    return unsafe try PageSource(
      base: file.base, salt: header.salt, maximumByteCount: min(file.mappableByteCount, TestSetting.mappedByteCount),
      cache: cache)
  }

  /// Makes a file readable in place up to a byte, unless the options, or the address space that is left, do not allow it.
  private static func maps(
    _ file: any DiskFile, upTo end: Int, _ options: StoreOptions
  ) throws(DiskFailure) -> Bool {
    if options.access == .buffered { return false }
    if end > file.mappableByteCount { return false }
    try file.map(upTo: end)
    return true
  }

  /// The log as the file is now, for what others have appended. From here on all of it can be read through the source, too.
  func logOfOthers() throws(DiskFailure) -> LogReader {
    let byteCount = try file.byteCount()
    try admit(byteCount)
    return try Store.log(of: file, header, byteCount: byteCount, options)
  }

  /// Called before any version reaches so far.
  func admit(_ end: Int) throws(DiskFailure) { try source.admit(end, of: file) }

  /// A log up to a byte of the file.
  static func log(
    of file: any DiskFile, _ header: FileHeader, byteCount: Int, _ options: StoreOptions
  ) throws(DiskFailure) -> LogReader {
    guard try maps(file, upTo: byteCount, options) else {
      return LogReader(LogWindow(file, byteCount: byteCount), salt: header.salt)
    }
    // Safe: mapped on the line above.
    return LogReader(
      unsafe ByteView(file.base, count: byteCount), salt: header.salt, holes: LogHoles.ofLog(file, byteCount: byteCount))
  }

  /// The log of a pinned version. Everything below its end is immutable.
  func logReader(upTo end: UInt64) -> LogReader {
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
    guard try maps(file, upTo: FileHeader.byteCount, options) else {
      let page = ByteBuffer(capacity: FileHeader.byteCount)
      // Safe: the buffer has room for it.
      page.count = unsafe try file.read(into: page.base, count: FileHeader.byteCount, at: 0)
      guard page.count == FileHeader.byteCount else {
        throw DiskFailure.endOfFile(file.path, at: page.count, missing: FileHeader.byteCount - page.count)
      }
      return try body(page.view)
    }
    // Safe: mapped on the line above.
    return try body(unsafe ByteView(file.base, count: FileHeader.byteCount))
  }

  /// Reads an operation and checks it. `place` lies below `end`.
  @inline(never)
  func readOperation(at place: Place, end: UInt64, to target: UnsafeMutableRawPointer) throws(StoreError) {
    guard let file = source.buffered else { preconditionFailure("only called where the file is not mapped") }
    let byteCount = Int(place.byteCount)
    if Int(place.offset) + byteCount <= source.inPlaceEnd {
      // Safe: all below that is mapped; the caller has room for the operation.
      unsafe target.copyMemory(from: source.base + Int(place.offset), byteCount: byteCount)
      let copy = unsafe ByteView(UnsafeRawPointer(target), count: byteCount)
      guard Operation.isSound(copy, salt: header.salt, offset: place.offset) else { throw .operation(offset: place.offset) }
      return
    }
    // Safe: the caller has room for the operation.
    do { unsafe try file.read(byteCount, at: Int(place.offset), end: Int(end), to: target) } catch { throw .disk(error) }
    let copy = unsafe ByteView(UnsafeRawPointer(target), count: byteCount)
    guard Operation.isSound(copy, salt: header.salt, offset: place.offset) else {
      // The disk may return better bytes next time.
      file.evict(byteCount, at: Int(place.offset))
      throw .operation(offset: place.offset)
    }
  }

  /// Bytes that the page cache occupies now; nil where all of the file is mapped.
  package var pageCacheResidentByteCount: Int? { source.buffered?.cache.residentByteCount }
}
