/// What power loss, or the death of a process, leaves of one simulated file.
///
/// The bytes of a sector that did not arrive come from one place, `copyOldBytes` and `copyTornBytes`: the images that are
/// made and the fingerprints of images that are not (`CrashMoment`) draw the same random numbers there, in the same order.
///
/// Always true: the file that crashed does not change. Guarded by the lock of the disk.
import DaybookEngine

extension SimulatedContent {
  /// A copy as found after a crash: nothing is pending any more.
  func crashed(
    identity: FileIdentity, memory: SimulatedMemory, policy: CrashPolicy, recycled: [UInt8], _ generator: inout SeededGenerator
  ) -> SimulatedContent {
    let pending = dirty.members
    let survivors = policy.survivors(of: pending, &generator)
    let torn = policy.tearsSector ? pending.randomElement(using: &generator) : nil
    let unwritten = policy.unwrittenSpace(hasRecycled: !recycled.isEmpty, &generator)
    let size = arriving(policy.byteCount(old: durableByteCount, new: byteCount, &generator))
    return crashed(
      identity: identity, memory: memory, survivors: survivors, torn: torn, byteCount: size,
      unwritten: RecycledSpace(kind: unwritten, blocks: recycled), &generator)
  }

  /// The same with every choice made: which pending sectors arrive, which one is torn, and the size.
  func crashed(
    identity: FileIdentity, memory: SimulatedMemory, survivors: NumberSet, torn: Int?, byteCount survivingByteCount: Int,
    unwritten: RecycledSpace, _ generator: inout SeededGenerator
  ) -> SimulatedContent {
    let image = SimulatedContent(identity: identity, memory: memory, sectorByteCount: sectorByteCount)
    image.copyMemory(of: self, byteCount: max(byteCount, durableByteCount))
    for sector in uncertainSectors where sector != torn && !survivors.contains(sector) {
      image.restoreOldBytes(of: sector, from: self, unwritten: unwritten, &generator)
    }
    if let torn { image.restoreOldBytes(of: torn, from: self, isTorn: true, unwritten: unwritten, &generator) }
    image.byteCount = max(byteCount, durableByteCount)
    image.clear(survivingByteCount..<max(survivingByteCount, sectors(in: image.byteCount) * sectorByteCount))
    image.byteCount = survivingByteCount
    image.durableByteCount = survivingByteCount
    return image
  }

  /// A copy with everything pending still pending: the process died, the system did not.
  func killed(identity: FileIdentity, memory: SimulatedMemory) -> SimulatedContent {
    let image = SimulatedContent(identity: identity, memory: memory, sectorByteCount: sectorByteCount)
    image.copyMemory(of: self, byteCount: byteCount)
    image.byteCount = byteCount
    image.durableByteCount = durableByteCount
    image.growths = growths
    image.dirty = dirty
    image.lost = lost
    image.saved = saved
    return image
  }

  /// The size that arrives where this one was drawn: a truncate changes one number of the inode, in one step of the file system.
  func arriving(_ size: Int) -> Int { growths.first { $0.contains(size) && $0.lowerBound < size }?.upperBound ?? size }

  /// Sectors that the disk may have with other bytes than memory: the dirty ones, which may arrive, the lost ones, and
  /// those that were cut off without being written again, which do not.
  var uncertainSectors: NumberSet {
    var sectors = dirty
    for sector in lost { sectors.insert(sector) }
    for sector in saved.sectors { sectors.insert(sector) }
    return sectors
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

  // MARK: Bytes

  /// The disk's bytes of a sector that did not arrive. The caller has room for a sector at `place`.
  func copyOldBytes(
    of sector: Int, to place: UnsafeMutableRawPointer, unwritten: RecycledSpace, _ generator: inout SeededGenerator
  ) {
    // Safe: all that is written here and below stays inside the sector.
    if unsafe saved.copy(sector, to: place) { return }
    switch unwritten.kind {
    case .zeros:
      unsafe RawMemory.zero(place, byteCount: sectorByteCount)
    case .recycled:
      unsafe RawMemory.zero(place, byteCount: sectorByteCount)
      // Usually the block at the same place, where everything but the salt is right; sometimes another block.
      let isElsewhere = Int.random(in: 0..<4, using: &generator) == 0
      let source = isElsewhere ? sector / 2 * sectorByteCount : sector * sectorByteCount
      let count = min(sectorByteCount, unwritten.blocks.count - source)
      guard count > 0 else { return }
      unsafe unwritten.blocks.withUnsafeBytes { blocks in
        unsafe place.copyMemory(from: blocks.baseAddress.unsafelyUnwrapped + source, byteCount: count)
      }
    case .garbage:
      for offset in stride(from: 0, to: sectorByteCount, by: 8) {
        unsafe place.storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
      }
    }
  }

  /// The bytes of a sector as programs see it. The caller has room for a sector at `place`.
  func copyNewBytes(of sector: Int, to place: UnsafeMutableRawPointer) {
    precondition((sector + 1) * sectorByteCount <= capacity, "files end before their address space")
    // Safe: the line above.
    unsafe place.copyMemory(from: memory.base + sector * sectorByteCount, byteCount: sectorByteCount)
  }

  /// The bytes of a sector that arrived in part: the old ones, and new ones up to a place, from a place, or here and there.
  func copyTornBytes(
    of sector: Int, to place: UnsafeMutableRawPointer, unwritten: RecycledSpace, _ generator: inout SeededGenerator
  ) {
    // Safe: the caller has room for a sector, and memory has all of this one, as it was written.
    unsafe copyOldBytes(of: sector, to: place, unwritten: unwritten, &generator)
    let new = unsafe memory.base + sector * sectorByteCount
    let cut = Int.random(in: 0...sectorByteCount, using: &generator)
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: unsafe place.copyMemory(from: new, byteCount: cut)
    case 1: unsafe (place + cut).copyMemory(from: new + cut, byteCount: sectorByteCount - cut)
    default:
      for offset in 0..<sectorByteCount where Bool.random(using: &generator) {
        unsafe place.storeBytes(of: new.load(fromByteOffset: offset, as: UInt8.self), toByteOffset: offset, as: UInt8.self)
      }
    }
  }
}

/// What unwritten space holds. Recycled: blocks of a former file, `SimulatedDisk.recycle`.
package enum UnwrittenSpace: Sendable { case zeros, garbage, recycled }

struct RecycledSpace {
  let kind: UnwrittenSpace
  var blocks: [UInt8] = []
}
