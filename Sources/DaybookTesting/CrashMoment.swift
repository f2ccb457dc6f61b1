/// One moment of a simulated disk, prepared for many crashes.
///
/// A search tries thousands of power failures at the same call, and nearly all of them leave an image that was seen before.
/// What they have in common is computed once: pending units, old and new hashes of their sectors, the names. The fingerprint of
/// an image is then added up without making the image:
///
///     file     sum of the hashes of all its sectors as programs see them
///              − new + old for each sector that does not arrive, that is torn, or that the size cuts
///     disk     sum over the names of (hash of the name, file), and over the directories
///
/// Always true: the fingerprint of a choice is that of the image that the choice makes, because both draw the same random
/// numbers in the same order. Valid until the next call of the disk; for one thread.
import DaybookEngine

@safe package final class CrashMoment {
  package let pending: PendingChanges
  private let disk: SimulatedDisk
  private let contents: [ContentMoment]
  /// What arrives for the last choice of names, which a search seldom changes.
  private var arrival: Arrival?
  /// The fingerprints of the files for the present choice, and which of them a choice can change.
  private var fingerprints: [UInt64]
  private let unsettled: [Int]
  /// Room for two sectors.
  private let scratch: ByteBuffer

  private struct Arrival {
    let choice: NumberSet
    var names: [(path: String, hash: UInt64, content: Int)] = []
    var directories: Set<String>
    var directoryFingerprint: UInt64 = 0
  }

  package init(_ disk: SimulatedDisk) {
    self.disk = disk
    var pending = PendingChanges()
    var contents: [ContentMoment] = []
    disk.state.withLock { state in
      pending.nameCount = state.pendingChanges.count
      for content in state.reachableContents {
        let moment = ContentMoment(content, firstUnit: pending.unitCount)
        pending.unitCount += moment.runs.count
        if content.byteCount != content.durableByteCount { pending.hasSizes = true }
        contents.append(moment)
      }
    }
    self.pending = pending
    self.contents = contents
    fingerprints = contents.map { $0.settledFingerprint ?? 0 }
    unsettled = contents.indices.filter { contents[$0].settledFingerprint == nil }
    scratch = ByteBuffer(capacity: 2 * disk.sectorByteCount)
  }

  /// The fingerprint of the image that this choice makes.
  package func fingerprint(of choice: CrashChoice) -> UInt64 {
    if choice.isKill { return disk.fingerprint }
    var generator = SeededGenerator(seed: choice.seed)
    return disk.state.withLock { state in
      let unwritten = RecycledSpace(kind: choice.unwritten, blocks: state.recycledBlocks)
      for index in unsettled {
        fingerprints[index] = contents[index].fingerprint(choice, unwritten, scratch, &generator)
      }
      let arrival = arrival(of: choice.names, state)
      var sum = arrival.directoryFingerprint
      for name in arrival.names { sum &+= Fingerprint.mixed(name.hash, fingerprints[name.content]) }
      return sum
    }
  }

  /// The disk as this choice leaves it.
  package func image(of choice: CrashChoice) -> SimulatedDisk {
    if choice.isKill { return disk.killed() }
    let image = disk.emptyImage(seed: choice.seed)
    var generator = SeededGenerator(seed: choice.seed)
    disk.state.withLock { state in
      let unwritten = RecycledSpace(kind: choice.unwritten, blocks: state.recycledBlocks)
      let images = contents.map { $0.image(choice, unwritten, device: image.device, &generator) }
      let arrival = arrival(of: choice.names, state)
      var names: [String: SimulatedContent] = [:]
      for name in arrival.names { names[name.path] = images[name.content] }
      image.recycle(state.recycledBlocks)
      image.adopt(
        names: names, durableNames: names, pendingChanges: [], directories: arrival.directories,
        durableDirectories: arrival.directories, inodeCount: state.inodeCount)
    }
    return image
  }

  private func arrival(of choice: NumberSet, _ state: SimulatedDisk.State) -> Arrival {
    if let arrival, arrival.choice == choice { return arrival }
    var names = state.durableNames
    var directories = state.durableDirectories
    for (index, change) in state.pendingChanges.enumerated() where choice.contains(index) {
      change.apply(to: &names, &directories)
    }
    (names, directories) = state.reachable(names, directories)
    var arrival = Arrival(choice: choice, directories: directories)
    for (path, content) in names {
      guard let index = contents.firstIndex(where: { $0.content.identity.inode == content.identity.inode }) else {
        preconditionFailure("a name that may arrive leads to a file that is reachable")
      }
      arrival.names.append((path, Fingerprint.hash(ofFile: path), index))
    }
    for path in directories { arrival.directoryFingerprint &+= Fingerprint.hash(ofDirectory: path) }
    self.arrival = arrival
    return arrival
  }
}

/// One file of such a moment.
private final class ContentMoment {
  /// A sector that the disk may have with other bytes.
  struct Sector {
    let number: Int
    /// The unit that it arrives with; nil when it cannot arrive.
    let unit: Int?
    let newHash: UInt64
    /// The hash of the saved bytes, or of zeros if none were saved.
    let oldHash: UInt64
    let wasWritten: Bool
  }

  let content: SimulatedContent
  let firstUnit: Int
  let runs: [Range<Int>]
  private let uncertain: [Sector]
  /// Sums of the hashes of all sectors before a number.
  private let sums: [UInt64]
  /// The fingerprint of a file that no choice changes; no random numbers are drawn for it.
  let settledFingerprint: UInt64?

  init(_ content: SimulatedContent, firstUnit: Int) {
    self.content = content
    self.firstUnit = firstUnit
    runs = content.pendingRuns(pageByteCount: SimulatedDisk.pageByteCount)
    let sectors = content.uncertainSectors
    guard !sectors.isEmpty || content.byteCount != content.durableByteCount else {
      uncertain = []
      sums = []
      settledFingerprint = content.fingerprint
      return
    }
    settledFingerprint = nil
    let sectorCount = content.sectors(in: max(content.byteCount, content.durableByteCount))
    var sums: [UInt64] = [0]
    sums.reserveCapacity(sectorCount + 1)
    for sector in 0..<sectorCount { sums.append(sums[sector] &+ content.hash(of: sector)) }
    self.sums = sums
    var uncertain: [Sector] = []
    let old = ByteBuffer(capacity: content.sectorByteCount)
    var run = 0
    // Without garbage no random numbers are drawn.
    var generator = SeededGenerator(seed: 0)
    for number in sectors {
      while run < runs.count, runs[run].upperBound <= number { run += 1 }
      let isDirty = run < runs.count && runs[run].contains(number)
      // Safe: the buffer has room for a sector.
      unsafe content.copyOldBytes(of: number, to: old.base, unwritten: RecycledSpace(kind: .zeros), &generator)
      uncertain.append(
        Sector(
          number: number, unit: isDirty ? firstUnit + run : nil, newHash: content.hash(of: number),
          oldHash: unsafe XXH3.hash(ByteView(old.base, count: content.sectorByteCount), seed: UInt64(number)),
          wasWritten: content.saved.contains(number)))
    }
    self.uncertain = uncertain
  }

  func image(
    _ choice: CrashChoice, _ unwritten: RecycledSpace, device: UInt64, _ generator: inout SeededGenerator
  ) -> SimulatedContent {
    let torn = tornSector(choice, &generator)
    var survivors = NumberSet()
    for (index, run) in runs.enumerated() where choice.units.contains(firstUnit + index) {
      for sector in run { survivors.insert(sector) }
    }
    return content.crashed(
      identity: FileIdentity(device: device, inode: content.identity.inode),
      memory: SimulatedMemory(capacity: content.capacity), survivors: survivors, torn: torn,
      byteCount: byteCount(choice.size), unwritten: unwritten, &generator)
  }

  /// The fingerprint of the image. Random numbers are drawn in the same order: for sectors that do not arrive, then for the
  /// torn one.
  func fingerprint(
    _ choice: CrashChoice, _ unwritten: RecycledSpace, _ scratch: ByteBuffer, _ generator: inout SeededGenerator
  ) -> UInt64 {
    let torn = tornSector(choice, &generator)
    let sectorByteCount = content.sectorByteCount
    let byteCount = byteCount(choice.size)
    let (wholeCount, rest) = byteCount.quotientAndRemainder(dividingBy: sectorByteCount)
    var sum = sums[wholeCount]
    // Safe: here and below, the scratch has room for two sectors; what the size cuts goes into the second one.
    let (place, cut) = unsafe (scratch.base, scratch.base + sectorByteCount)
    if rest > 0 { unsafe content.copyNewBytes(of: wholeCount, to: cut) }
    for sector in uncertain where sector.number != torn {
      if let unit = sector.unit, choice.units.contains(unit) { continue }
      let isKnown = sector.wasWritten || unwritten.kind == .zeros
      if isKnown, sector.number != wholeCount {
        if sector.number < wholeCount { sum &+= sector.oldHash &- sector.newHash }
        continue
      }
      unsafe content.copyOldBytes(of: sector.number, to: place, unwritten: unwritten, &generator)
      if sector.number < wholeCount {
        sum &+= unsafe hash(place, of: sector.number) &- sector.newHash
      } else if sector.number == wholeCount {
        unsafe cut.copyMemory(from: place, byteCount: sectorByteCount)
      }
    }
    if let torn {
      unsafe content.copyTornBytes(of: torn, to: place, unwritten: unwritten, &generator)
      if torn < wholeCount {
        sum &+= unsafe hash(place, of: torn) &- (sums[torn + 1] &- sums[torn])
      } else if torn == wholeCount {
        unsafe cut.copyMemory(from: place, byteCount: sectorByteCount)
      }
    }
    if rest > 0 {
      unsafe RawMemory.zero(cut + rest, byteCount: sectorByteCount - rest)
      sum &+= unsafe hash(cut, of: wholeCount)
    }
    return Fingerprint.mixed(sum, UInt64(byteCount))
  }

  private func hash(_ sector: UnsafeMutableRawPointer, of number: Int) -> UInt64 {
    // Safe: the caller has a sector there.
    unsafe XXH3.hash(ByteView(sector, count: content.sectorByteCount), seed: UInt64(number))
  }

  private func tornSector(_ choice: CrashChoice, _ generator: inout SeededGenerator) -> Int? {
    guard let unit = choice.torn, unit >= firstUnit, unit - firstUnit < runs.count else { return nil }
    return runs[unit - firstUnit].randomElement(using: &generator)
  }

  private func byteCount(_ size: CrashChoice.Size) -> Int {
    let (old, new) = (content.durableByteCount, content.byteCount)
    return switch size {
    case .old: old
    case .new: new
    case .between(let eighths): content.arriving(old + (new - old) * eighths / 8)
    }
  }
}

/// How the fingerprint of a disk is put together. A sum over the names, because a dictionary has no order.
enum Fingerprint {
  static func hash(ofFile path: String) -> UInt64 { hash(path, seed: 0xF1) }

  static func hash(ofDirectory path: String) -> UInt64 { hash(path, seed: 0xD1) }

  private static func hash(_ path: String, seed: UInt64) -> UInt64 {
    [UInt8](path.utf8).withView { XXH3.hash($0, seed: seed) }
  }

  static func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
    // Two rounds of a bijection, so that no value of one side swallows the other.
    var generator = SeededGenerator(seed: right)
    generator = SeededGenerator(seed: left ^ generator.next())
    return generator.next()
  }
}

extension SimulatedContent {
  /// A number for the content as programs see it: the sum of the hashes of its sectors, the last one padded with zeros, mixed
  /// with its size.
  var fingerprint: UInt64 {
    let (wholeCount, rest) = byteCount.quotientAndRemainder(dividingBy: sectorByteCount)
    var sum: UInt64 = 0
    for sector in 0..<wholeCount { sum &+= hash(of: sector) }
    if rest > 0 {
      let cut = ByteBuffer(capacity: sectorByteCount)
      // Safe: the buffer has room for a sector.
      unsafe copyNewBytes(of: wholeCount, to: cut.base)
      unsafe RawMemory.zero(cut.base + rest, byteCount: sectorByteCount - rest)
      sum &+= unsafe XXH3.hash(ByteView(cut.base, count: sectorByteCount), seed: UInt64(wholeCount))
    }
    return Fingerprint.mixed(sum, UInt64(byteCount))
  }
}
