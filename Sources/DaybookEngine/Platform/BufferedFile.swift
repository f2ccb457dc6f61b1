/// Reads a file with `pread` through a `BlockCache`, for volumes that may go away: there, touching a mapped page would end the
/// process; here the call throws.
///
/// Every read names the verified end of its version. Nothing behind that end is kept, because those bytes may still change. A
/// file shorter than its verified end was truncated by someone; that counts as a failed read.
///
/// Always true: what a failed read left in memory is neither returned nor kept; no lock is held during a disk call.
@safe final class BufferedFile: @unchecked Sendable {
  let cache: BlockCache
  private let file: any DiskFile
  private let number: UInt64
  private let process = processID()

  /// Longer reads bypass the cache: they would evict blocks in use, and one call reads them anyway.
  private static let longestCachedByteCount = 64 << 10

  init(_ file: any DiskFile, cache: BlockCache) {
    self.file = file
    self.cache = cache
    number = cache.addFile()
  }

  // A child after `fork` has the cache to itself, and its locks as they were.
  deinit { if process == processID() { evict() } }

  private func key(_ offset: Int) -> BlockCache.Key {
    BlockCache.Key(file: number, block: UInt64(offset / BlockCache.blockByteCount))
  }

  /// Reads a page that lies below the verified end.
  /// - Returns: whether it passed its check before.
  func readPage(at offset: Int, to target: UnsafeMutableRawPointer) throws(DiskFailure) -> Bool {
    if let isChecked = unsafe cache.copyPage(key(offset), to: target) { return isChecked }
    unsafe try readExactly(BlockCache.blockByteCount, at: offset, to: target)
    return false
  }

  /// Keeps a page that has passed its check.
  func keepPage(_ page: UnsafeRawPointer, at offset: Int) {
    unsafe cache.keep(key(offset), page, count: BlockCache.blockByteCount, isPage: true)
  }

  /// Reads `count` bytes, all of them below the verified end.
  func read(_ count: Int, at offset: Int, end: Int, to target: UnsafeMutableRawPointer) throws(DiskFailure) {
    if count > BufferedFile.longestCachedByteCount { return unsafe try readExactly(count, at: offset, to: target) }
    let block = BlockCache.blockByteCount
    var done = 0
    while done < count {
      let start = (offset + done) % block
      let piece = min(block - start, count - done)
      guard unsafe cache.copy(key(offset + done), from: start, count: piece, to: target + done) else { break }
      done += piece
    }
    if done < count {
      // Safe: `count - done` bytes at `target + done` are the caller's.
      unsafe try readBlocks(count - done, at: offset + done, end: end, to: target + done)
    }
  }

  /// One call reads all blocks from the first missing one on.
  private func readBlocks(_ count: Int, at offset: Int, end: Int, to target: UnsafeMutableRawPointer) throws(DiskFailure) {
    let block = BlockCache.blockByteCount
    let first = offset / block * block
    let last = min((offset + count + block - 1) / block * block, end)
    let buffer = ThreadScratch.current.blocks
    buffer.removeAll(keeping: 128 << 10)
    buffer.reserve(last - first)
    // Safe: the line above made room; the rest stays within what was read.
    let received = unsafe try file.read(into: buffer.base, count: last - first, at: first)
    // The file may end within the gap behind its last frame, and so before the verified end.
    let needed = offset + count - first
    guard received >= needed else {
      throw .endOfFile(file.path, at: first + received, missing: needed - received)
    }
    unsafe target.copyMemory(from: buffer.base + (offset - first), byteCount: count)
    var position = first
    while position < first + received {
      unsafe cache.keep(
        key(position), buffer.base + (position - first), count: min(block, first + received - position), isPage: false)
      position += block
    }
  }

  private func readExactly(_ count: Int, at offset: Int, to target: UnsafeMutableRawPointer) throws(DiskFailure) {
    let received = unsafe try file.read(into: target, count: count, at: offset)
    guard received == count else { throw .endOfFile(file.path, at: offset + received, missing: count - received) }
  }

  /// Drops these bytes, so that the next read asks the disk.
  func evict(_ count: Int, at offset: Int) {
    let block = BlockCache.blockByteCount
    for index in offset / block...(offset + max(count, 1) - 1) / block { cache.evict(key(index * block)) }
  }

  /// Drops everything of this file.
  func evict() { cache.evict(file: number) }
}

extension DiskFailure {
  /// The failure when the file ends before bytes that were verified.
  static func endOfFile(_ path: String, at offset: Int, missing byteCount: Int) -> DiskFailure {
    DiskFailure(.read, path: path, code: ErrorNumber.inputOutput, offset: offset, byteCount: byteCount)
  }
}
