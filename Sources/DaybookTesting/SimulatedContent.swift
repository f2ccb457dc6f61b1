/// The bytes of one simulated file, twice: as programs see them, and as the disk would have them after power loss.
///
///     memory         what reads and mappings see (the page cache)
///     dirty          sectors that were written since the last sync: the disk has their old or their new bytes
///     lost           sectors that a failed sync gave up: clean in the cache, old on the disk, and no sync helps
///     saved          the old bytes of dirty, lost and cut-off sectors, where the disk ever had any
///
/// Copies are made only of sectors that are about to change. A dirty or lost sector without a saved copy was never
/// written: its old bytes are whatever lay there.
///
/// Always true: outside dirty, lost and saved sectors the disk has what memory has. Guarded by the lock of the disk.
import DaybookEngine

@safe final class SimulatedContent: @unchecked Sendable {
  let identity: FileIdentity
  let memory: SimulatedMemory
  let sectorByteCount: Int
  private(set) var byteCount = 0
  private(set) var durableByteCount = 0
  private var dirty = SectorSet()
  private var lost = SectorSet()
  private var saved = SavedSectors()
  /// Write-back errors so far; a description that has seen fewer has one to report.
  var writeBackErrorCount = 0
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
    memory.touch(through: end)
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
    guard newByteCount < oldByteCount else { return }
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
  }

  /// A sync that fails: the disk takes some sectors and gives up the others, which are no longer pending. Either the
  /// cache keeps their new bytes, as ext4 does, or it drops them and shows the old ones.
  func failSync(losingPages: Bool, _ generator: inout SeededGenerator) {
    writeBackErrorCount += 1
    let sectors = dirty.members
    let certain = sectors.randomElement(using: &generator)
    dirty.removeAll()
    for sector in sectors {
      if sector != certain && Bool.random(using: &generator) {
        saved.remove(sector)
      } else if losingPages {
        restoreOldBytes(of: sector, to: self, unwritten: RecycledSpace(kind: .zeros), &generator)
        saved.remove(sector)
      } else {
        lost.insert(sector)
      }
    }
  }

  // MARK: What power loss does

  /// A copy as it is found after a crash: nothing is pending any more.
  func crashed(
    identity: FileIdentity, memory: SimulatedMemory, policy: CrashPolicy, recycled: [UInt8], _ generator: inout SeededGenerator
  ) -> SimulatedContent {
    let pending = dirty.members
    let survivors = policy.survivors(of: pending, &generator)
    let torn = policy.tearsSector ? pending.randomElement(using: &generator) : nil
    let unwritten = policy.unwrittenSpace(hasRecycled: !recycled.isEmpty, &generator)
    let size = policy.byteCount(old: durableByteCount, new: byteCount, &generator)
    return crashed(
      identity: identity, memory: memory, survivors: survivors, torn: torn, byteCount: size,
      unwritten: RecycledSpace(kind: unwritten, blocks: recycled), &generator)
  }

  /// The same with everything decided: which pending sectors arrive, which one is torn, and the size.
  func crashed(
    identity: FileIdentity, memory: SimulatedMemory, survivors: SectorSet, torn: Int?, byteCount survivingByteCount: Int,
    unwritten: RecycledSpace, _ generator: inout SeededGenerator
  ) -> SimulatedContent {
    let image = SimulatedContent(identity: identity, memory: memory, sectorByteCount: sectorByteCount)
    image.copyMemory(of: self, byteCount: max(byteCount, durableByteCount))
    var fallen = SectorSet()
    for sector in dirty.members where sector != torn && !survivors.contains(sector) { fallen.insert(sector) }
    for sector in lost.members { fallen.insert(sector) }
    // What was cut off without being written again.
    for sector in saved.sectors where !dirty.contains(sector) { fallen.insert(sector) }
    for sector in fallen.members { restoreOldBytes(of: sector, to: image, unwritten: unwritten, &generator) }
    if let torn {
      restoreOldBytes(of: torn, to: image, unwritten: unwritten, &generator)
      image.tear(torn, with: self, &generator)
    }
    image.byteCount = max(byteCount, durableByteCount)
    image.clear(survivingByteCount..<max(survivingByteCount, sectors(in: image.byteCount) * sectorByteCount))
    image.byteCount = survivingByteCount
    image.durableByteCount = survivingByteCount
    return image
  }

  /// Pending sectors in runs that arrive as a whole or not at all: pages that were written whole, and single sectors.
  func pendingRuns(pageByteCount: Int) -> [Range<Int>] {
    let width = max(1, pageByteCount / sectorByteCount)
    let pending = dirty.members
    var runs: [Range<Int>] = []
    var index = 0
    while index < pending.count {
      let sector = pending[index]
      let isWhole = sector % width == 0 && index + width <= pending.count && pending[index + width - 1] == sector + width - 1
      runs.append(sector..<sector + (isWhole ? width : 1))
      index += isWhole ? width : 1
    }
    return runs
  }

  /// A number that tells contents apart, as programs see them.
  var fingerprint: UInt64 {
    // Safe: the first `byteCount` bytes are inside the range.
    XXH3.hash(unsafe ByteView(memory.base, count: byteCount), seed: UInt64(byteCount))
  }

  /// The disk says that it took a write and never does: the cache is right, and no sync helps.
  func lose(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    for sector in range.lowerBound / sectorByteCount...(range.upperBound - 1) / sectorByteCount where dirty.contains(sector) {
      dirty.remove(sector)
      lost.insert(sector)
    }
  }

  /// Bytes that belong elsewhere land here, in the cache and on the disk; what lies behind the end is left out.
  func overwriteSilently(_ bytes: ByteView, at offset: Int) {
    for index in 0..<max(0, min(bytes.count, byteCount - offset)) {
      // Safe: the loop ends with the file.
      let old = unsafe memory.base.load(fromByteOffset: offset + index, as: UInt8.self)
      rot(at: offset + index, mask: old ^ bytes[index])
    }
  }

  /// A copy with everything pending still pending: the process died, the system did not.
  func killed(identity: FileIdentity, memory: SimulatedMemory) -> SimulatedContent {
    let image = SimulatedContent(identity: identity, memory: memory, sectorByteCount: sectorByteCount)
    image.copyMemory(of: self, byteCount: byteCount)
    image.byteCount = byteCount
    image.durableByteCount = durableByteCount
    image.dirty = dirty
    image.lost = lost
    image.saved = saved
    return image
  }

  /// Changes bytes behind everybody's back, in the cache and on the disk.
  func rot(at offset: Int, mask: UInt8) {
    let sector = offset / sectorByteCount
    // Safe: the caller checked the offset against `byteCount`.
    unsafe (memory.base + offset).storeBytes(
      of: memory.base.load(fromByteOffset: offset, as: UInt8.self) ^ mask, as: UInt8.self)
    saved.flip(sector, at: offset % sectorByteCount, mask: mask)
  }

  // MARK: Sectors

  /// The number of sectors that the first `byteCount` bytes lie in.
  private func sectors(in byteCount: Int) -> Int { (byteCount + sectorByteCount - 1) / sectorByteCount }

  /// Keeps the disk's bytes of a sector that is about to change, unless that was done or the disk has none.
  private func saveIfNeeded(_ sector: Int) {
    let start = sector * sectorByteCount
    guard start < durableByteCount, !dirty.contains(sector), !lost.contains(sector), !saved.contains(sector) else {
      return
    }
    // Safe: the capacity is a multiple of the sector size, so the whole sector lies inside the range.
    unsafe saved.insert(sector, UnsafeRawBufferPointer(start: memory.base + start, count: sectorByteCount))
  }

  private func restoreOldBytes(
    of sector: Int, to target: SimulatedContent, unwritten: RecycledSpace, _ generator: inout SeededGenerator
  ) {
    let start = sector * sectorByteCount
    target.memory.touch(through: start + sectorByteCount)
    // Safe: `touch` checked the end, and all that is written below stays inside the sector.
    let place = unsafe target.memory.base + start
    if unsafe saved.copy(sector, to: place) { return }
    switch unwritten.kind {
    case .zeros:
      unsafe RawMemory.zero(place, byteCount: sectorByteCount)
    case .recycled:
      unsafe RawMemory.zero(place, byteCount: sectorByteCount)
      // Mostly the block of the same place, where everything but the salt is right; sometimes of another.
      let isElsewhere = Int.random(in: 0..<4, using: &generator) == 0
      let source = isElsewhere ? sector / 2 * sectorByteCount : start
      for index in 0..<max(0, min(sectorByteCount, unwritten.blocks.count - source)) {
        unsafe place.storeBytes(of: unwritten.blocks[source + index], toByteOffset: index, as: UInt8.self)
      }
    case .garbage:
      for offset in stride(from: 0, to: sectorByteCount, by: 8) {
        unsafe place.storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
      }
    }
  }

  /// Makes a sector that holds old bytes partly new: up to a place, from a place, or byte by byte.
  private func tear(_ sector: Int, with new: SimulatedContent, _ generator: inout SeededGenerator) {
    let start = sector * sectorByteCount
    let cut = Int.random(in: 0...sectorByteCount, using: &generator)
    let way = Int.random(in: 0..<3, using: &generator)
    for index in 0..<sectorByteCount {
      let isNew =
        switch way {
        case 0: index < cut
        case 1: index >= cut
        default: Bool.random(using: &generator)
        }
      guard isNew else { continue }
      // Safe: the sector lies inside both ranges.
      let byte = unsafe new.memory.base.load(fromByteOffset: start + index, as: UInt8.self)
      unsafe memory.base.storeBytes(of: byte, toByteOffset: start + index, as: UInt8.self)
    }
  }

  private func copyMemory(of source: SimulatedContent, byteCount: Int) {
    memory.touch(through: byteCount)
    // Safe: `touch` checked the end here, and the source is as large as it says.
    unsafe memory.base.copyMemory(from: source.memory.base, byteCount: byteCount)
  }

  private func clear(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    memory.touch(through: range.upperBound)
    // Safe: `touch` checked the end.
    unsafe RawMemory.clear(memory.base, range)
  }
}

/// What lies in space that was never written. Recycled: blocks of a file that was there before, `SimulatedDisk.recycle`.
package enum UnwrittenSpace: Sendable { case zeros, garbage, recycled }

struct RecycledSpace {
  let kind: UnwrittenSpace
  var blocks: [UInt8] = []
}

/// A set of sector numbers, one bit each.
struct SectorSet {
  private var words: [UInt64] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func contains(_ sector: Int) -> Bool {
    sector >> 6 < words.count && words[sector >> 6] & 1 << UInt64(sector & 63) != 0
  }

  mutating func insert(_ sector: Int) {
    guard !contains(sector) else { return }
    while words.count <= sector >> 6 { words.append(0) }
    words[sector >> 6] |= 1 << UInt64(sector & 63)
    count += 1
  }

  mutating func remove(_ sector: Int) {
    guard contains(sector) else { return }
    words[sector >> 6] &= ~(1 << UInt64(sector & 63))
    count -= 1
  }

  mutating func removeAll() {
    guard count > 0 else { return }
    words.removeAll(keepingCapacity: true)
    count = 0
  }

  mutating func removeAll(from first: Int) {
    guard count > 0 else { return }
    for sector in members where sector >= first { remove(sector) }
  }

  /// In ascending order.
  var members: [Int] {
    var result: [Int] = []
    result.reserveCapacity(count)
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        result.append(index << 6 + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
    return result
  }
}

/// The old bytes of some sectors, in one array.
private struct SavedSectors {
  private var places: [Int: Int] = [:]
  private var bytes: [UInt8] = []
  private var sectorByteCount = 0

  var count: Int { places.count }
  var sectors: [Int] { places.keys.sorted() }

  func contains(_ sector: Int) -> Bool { places[sector] != nil }

  mutating func insert(_ sector: Int, _ old: UnsafeRawBufferPointer) {
    places[sector] = bytes.count
    unsafe bytes.append(contentsOf: old)
    sectorByteCount = old.count
  }

  /// The place in the array stays taken until everything is removed; a run between two syncs is short.
  mutating func remove(_ sector: Int) {
    places[sector] = nil
  }

  mutating func removeAll(where isDone: (Int) -> Bool) {
    guard !places.isEmpty else { return }
    places = places.filter { !isDone($0.key) }
    if places.isEmpty { bytes.removeAll(keepingCapacity: true) }
  }

  mutating func flip(_ sector: Int, at offset: Int, mask: UInt8) {
    if let place = places[sector] { bytes[place + offset] ^= mask }
  }

  /// False when no bytes of that sector were saved.
  func copy(_ sector: Int, to target: UnsafeMutableRawPointer) -> Bool {
    guard let place = places[sector] else { return false }
    unsafe bytes.withUnsafeBytes { saved in
      // Safe: `insert` put a whole sector there, and the caller has room for one.
      unsafe target.copyMemory(from: saved.baseAddress.unsafelyUnwrapped + place, byteCount: sectorByteCount)
    }
    return true
  }
}
