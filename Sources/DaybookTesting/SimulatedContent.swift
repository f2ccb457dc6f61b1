/// The bytes of one simulated file in two forms: as programs see them, and as the disk would have them after power loss.
///
///     memory         what reads and mappings see (the page cache)
///     dirty          sectors that were written since the last sync: the disk has their old or their new bytes
///     lost           sectors that a failed sync gave up: clean in the cache, old on the disk, and no sync helps
///     saved          the old bytes of dirty, lost and cut-off sectors, where the disk ever had any
///
/// Copies are made only of sectors that are about to change. A dirty or lost sector without a saved copy was never
/// written: its old bytes are whatever lay there. What a crash leaves of them is in `SimulatedContent+Crash`.
///
/// Always true: outside dirty, lost and saved sectors, the disk has the same bytes as memory. A kept hash is that of the bytes
/// in memory, because every change of memory drops it. Guarded by the lock of the disk.
import DaybookEngine

@safe final class SimulatedContent: @unchecked Sendable {
  let identity: FileIdentity
  let memory: SimulatedMemory
  let sectorByteCount: Int
  var byteCount = 0
  var durableByteCount = 0
  /// From which size to which a truncate has made the file longer since the last sync: such a size arrives whole or not at all.
  var growths: [Range<Int>] = []
  var dirty = NumberSet()
  var lost = NumberSet()
  var saved = SavedSectors()
  private var hashes = SectorHashes()
  /// Write-back errors so far; a description that has seen fewer has one to report.
  var writeBackErrorCount = 0
  /// A crash does not affect them: a file has them before it has bytes.
  var attributes = FileAttributes.ofNewFile
  var locks = LockTable()

  init(identity: FileIdentity, memory: SimulatedMemory, sectorByteCount: Int) {
    self.identity = identity
    self.memory = memory
    self.sectorByteCount = sectorByteCount
  }

  var capacity: Int { memory.capacity }
  var pendingSectorCount: Int { dirty.count }
  var hasPendingChanges: Bool { !dirty.isEmpty || byteCount != durableByteCount || saved.count > 0 }

  // MARK: What programs do

  /// The caller checked the range against `capacity`.
  func write(_ bytes: ByteView, at offset: Int) {
    guard bytes.count > 0 else { return }
    let end = offset + bytes.count
    for sector in offset / sectorByteCount...(end - 1) / sectorByteCount where !dirty.contains(sector) {
      saveIfNeeded(sector)
      lost.remove(sector)
      dirty.insert(sector)
    }
    memory.touch(upTo: end)
    hashes.invalidate(offset / sectorByteCount...(end - 1) / sectorByteCount)
    // Safe: `touch` checked the end.
    unsafe (memory.base + offset).copyMemory(from: bytes.base, byteCount: bytes.count)
    byteCount = max(byteCount, end)
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) -> Int {
    let received = min(count, max(0, byteCount - offset))
    // Safe: `received` bytes lie inside the file, and the caller owns `count` bytes at `target`.
    if received > 0 { unsafe target.copyMemory(from: memory.base + offset, byteCount: received) }
    return received
  }

  func truncate(to newByteCount: Int) {
    let oldByteCount = byteCount
    byteCount = newByteCount
    if newByteCount > oldByteCount { growths.append(oldByteCount..<newByteCount) }
    guard newByteCount < oldByteCount else { return }
    growths = growths.compactMap { $0.lowerBound < newByteCount ? $0.clamped(to: 0..<newByteCount) : nil }
    // The disk keeps what is cut off until the new size arrives there.
    let firstCut = newByteCount / sectorByteCount
    for sector in firstCut..<sectors(in: max(newByteCount, min(oldByteCount, durableByteCount))) {
      saveIfNeeded(sector)
    }
    let firstGone = sectors(in: newByteCount)
    dirty.removeAll(from: firstGone)
    lost.removeAll(from: firstGone)
    clear(newByteCount..<oldByteCount)
  }

  func sync() {
    dirty.removeAll()
    saved.removeAll { sector in !lost.contains(sector) }
    durableByteCount = byteCount
    growths.removeAll()
  }

  /// A sync that fails: the disk takes some sectors and gives up the others, which are no longer pending. Either the
  /// cache keeps their new bytes, as ext4 does, or it drops them and shows the old ones.
  func failSync(losingPages: Bool, tellsEveryDescription: Bool = true, _ generator: inout SeededGenerator) {
    if tellsEveryDescription { writeBackErrorCount += 1 }
    let sectors = dirty.members
    let certain = sectors.randomElement(using: &generator)
    dirty.removeAll()
    for sector in sectors {
      if sector != certain && Bool.random(using: &generator) {
        saved.remove(sector)
      } else if losingPages {
        restoreOldBytes(of: sector, from: self, unwritten: RecycledSpace(kind: .zeros), &generator)
        saved.remove(sector)
      } else {
        lost.insert(sector)
      }
    }
  }

  /// The disk reports a write as done and never does it: the cache is right, and no sync helps.
  func lose(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    for sector in range.lowerBound / sectorByteCount...(range.upperBound - 1) / sectorByteCount where dirty.contains(sector) {
      dirty.remove(sector)
      lost.insert(sector)
    }
  }

  /// Bytes that belong elsewhere are written here, in the cache and on the disk; the part behind the end is left out.
  func overwriteSilently(_ bytes: ByteView, at offset: Int) {
    for index in 0..<max(0, min(bytes.count, byteCount - offset)) {
      // Safe: the loop ends with the file.
      let old = unsafe memory.base.load(fromByteOffset: offset + index, as: UInt8.self)
      corrupt(at: offset + index, mask: old ^ bytes[index])
    }
  }

  /// Changes a byte silently, in the cache and on the disk.
  func corrupt(at offset: Int, mask: UInt8) {
    let sector = offset / sectorByteCount
    hashes.invalidate(sector...sector)
    // Safe: the caller checked the offset against `byteCount`.
    unsafe (memory.base + offset).storeBytes(
      of: memory.base.load(fromByteOffset: offset, as: UInt8.self) ^ mask, as: UInt8.self)
    saved.flip(sector, at: offset % sectorByteCount, mask: mask)
  }

  // MARK: Sectors

  /// Keeps the disk's bytes of a sector that is about to change, unless that was done or the disk has none.
  private func saveIfNeeded(_ sector: Int) {
    let start = sector * sectorByteCount
    guard start < durableByteCount, !dirty.contains(sector), !lost.contains(sector), !saved.contains(sector) else {
      return
    }
    // Safe: the capacity is a multiple of the sector size, so the whole sector lies inside the range.
    unsafe saved.insert(sector, UnsafeRawBufferPointer(start: memory.base + start, count: sectorByteCount))
  }

  /// Copies the bytes of another file, and what is known about them.
  func copyMemory(of source: SimulatedContent, byteCount: Int) {
    memory.touch(upTo: byteCount)
    // Safe: `touch` checked the end here, and the source is as large as it says.
    unsafe memory.base.copyMemory(from: source.memory.base, byteCount: byteCount)
    hashes = source.hashes
    // The rest of the last sector was not copied.
    if byteCount % sectorByteCount != 0 { hashes.invalidate(byteCount / sectorByteCount...byteCount / sectorByteCount) }
  }

  /// Makes bytes zero.
  func clear(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    hashes.invalidate(range.lowerBound / sectorByteCount...(range.upperBound - 1) / sectorByteCount)
    memory.clear(range)
  }

  /// Copies what the disk of `origin` has of a sector that did not arrive there, or arrived in part.
  func restoreOldBytes(
    of sector: Int, from origin: SimulatedContent, isTorn: Bool = false, unwritten: RecycledSpace,
    _ generator: inout SeededGenerator
  ) {
    memory.touch(upTo: (sector + 1) * sectorByteCount)
    hashes.invalidate(sector...sector)
    // Safe: `touch` checked the end, and a sector is all that is written there.
    let place = unsafe memory.base + sector * sectorByteCount
    if isTorn {
      unsafe origin.copyTornBytes(of: sector, to: place, unwritten: unwritten, &generator)
    } else {
      unsafe origin.copyOldBytes(of: sector, to: place, unwritten: unwritten, &generator)
    }
  }

  /// The hash of a whole sector as programs see it, of what lies behind the end too.
  func hash(of sector: Int) -> UInt64 {
    if let known = hashes[sector] { return known }
    precondition((sector + 1) * sectorByteCount <= capacity, "files end before their address space")
    // Safe: the line above.
    let hash = unsafe XXH3.hash(
      ByteView(memory.base + sector * sectorByteCount, count: sectorByteCount), seed: UInt64(sector))
    hashes.keep(hash, of: sector)
    return hash
  }

  /// The number of sectors that the first `byteCount` bytes lie in.
  func sectors(in byteCount: Int) -> Int { (byteCount + sectorByteCount - 1) / sectorByteCount }
}

/// Hashes of sectors, computed on demand since the sectors changed.
struct SectorHashes {
  private var hashes: [UInt64] = []
  private var known = NumberSet()

  subscript(sector: Int) -> UInt64? { known.contains(sector) ? hashes[sector] : nil }

  mutating func keep(_ hash: UInt64, of sector: Int) {
    while hashes.count <= sector { hashes.append(0) }
    hashes[sector] = hash
    known.insert(sector)
  }

  mutating func invalidate(_ sectors: ClosedRange<Int>) {
    guard !known.isEmpty else { return }
    if sectors.count > hashes.count { return known.removeAll(from: sectors.lowerBound) }
    for sector in sectors { known.remove(sector) }
  }
}
