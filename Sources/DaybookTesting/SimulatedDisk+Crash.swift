/// What is left of a simulated disk after the power failed, or after a process was killed.
///
/// Only this is assumed of a real disk: in a sector that is being written at power loss, each byte is old or new; any subset of
/// the sectors that no sync covered has arrived; a size or a name that no sync covered is old or new; unwritten space holds
/// anything.
import DaybookEngine

/// How much of what was pending arrives.
package struct CrashPolicy: Sendable {
  package enum Choice: Sendable { case none, all, random }

  /// Which pending sectors arrive.
  package var sectors: Choice
  /// Whether sizes are the old or the new ones; `random` also picks sizes between.
  package var sizes: Choice
  /// Which pending creations, renames and removals arrive.
  package var names: Choice
  /// Whether one pending sector of each file is torn within.
  package var tearsSector: Bool
  /// What fills space that was allocated but not written; nil leaves it to the seed.
  package var unwritten: UnwrittenSpace?

  package init(
    sectors: Choice, sizes: Choice, names: Choice, tearsSector: Bool = false, unwritten: UnwrittenSpace? = nil
  ) {
    self.sectors = sectors
    self.sizes = sizes
    self.names = names
    self.tearsSector = tearsSector
    self.unwritten = unwritten
  }

  /// Only what was synced.
  package static let none = CrashPolicy(sectors: .none, sizes: .none, names: .none, unwritten: .zeros)
  /// Everything that was written.
  package static let all = CrashPolicy(sectors: .all, sizes: .all, names: .all, unwritten: .zeros)
  /// Anything that may happen.
  package static let random = CrashPolicy(sectors: .random, sizes: .random, names: .random, tearsSector: true)

  func survivors(of pending: some Collection<Int>, _ generator: inout SeededGenerator) -> NumberSet {
    var survivors = NumberSet()
    guard !pending.isEmpty else { return survivors }
    switch sectors {
    case .none: break
    case .all:
      for sector in pending { survivors.insert(sector) }
    case .random:
      // Independent random choices would almost never leave out exactly one sector of a large write, or keep exactly its front,
      // and those cases find mistakes.
      let way = Int.random(in: 0..<8, using: &generator)
      let cut = Int.random(in: 0..<pending.count, using: &generator)
      let oddsOfEight = [1, 4, 7].randomElement(using: &generator) ?? 4
      for (index, sector) in pending.enumerated() {
        let survives =
          switch way {
          case 0: false
          case 1: true
          case 2: index < cut
          case 3: index > cut
          case 4: index != cut
          case 5: index == cut
          default: Int.random(in: 0..<8, using: &generator) < oddsOfEight
          }
        if survives { survivors.insert(sector) }
      }
    }
    return survivors
  }

  func byteCount(old: Int, new: Int, _ generator: inout SeededGenerator) -> Int {
    switch sizes {
    case .none: return old
    case .all: return new
    case .random:
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: return old
      case 1: return Int.random(in: min(old, new)...max(old, new), using: &generator)
      default: return new
      }
    }
  }

  func unwrittenSpace(hasRecycled: Bool, _ generator: inout SeededGenerator) -> UnwrittenSpace {
    let choices: [UnwrittenSpace] = hasRecycled ? [.zeros, .garbage, .recycled] : [.zeros, .garbage]
    return unwritten ?? choices.randomElement(using: &generator) ?? .zeros
  }
}

extension SimulatedDisk {
  /// The disk as found after power loss now. This disk does not change; the image has no pending changes, no locks, no faults
  /// and a call count of zero.
  package func crashed(seed: UInt64, policy: CrashPolicy = .random) -> SimulatedDisk {
    let image = emptyImage(seed: seed)
    var generator = SeededGenerator(seed: seed)
    state.withLock { state in
      var names = state.durableNames
      var directories = state.durableDirectories
      for change in state.pendingChanges {
        let arrives =
          switch policy.names {
          case .none: false
          case .all: true
          case .random: Bool.random(using: &generator)
          }
        if arrives { change.apply(to: &names, &directories) }
      }
      (names, directories) = state.reachable(names, directories)
      var copies = ContentCopies(device: image.device)
      // In the order of the paths, because a dictionary has another order in each process.
      for path in names.keys.sorted() {
        guard let content = names[path] else { continue }
        names[path] = copies.copy(of: content) { (identity, memory) in
          content.crashed(
            identity: identity, memory: memory, policy: policy, recycled: state.recycledBlocks, &generator)
        }
      }
      image.recycle(state.recycledBlocks)
      image.adopt(
        names: names, durableNames: names, pendingChanges: [], directories: directories, durableDirectories: directories,
        inodeCount: state.inodeCount)
    }
    return image
  }

  /// The disk as the next process finds it after this one was killed: the system still has everything that was written, and
  /// pending changes are still pending.
  package func killed() -> SimulatedDisk {
    let image = emptyImage(seed: seed &+ 1)
    state.withLock { state in
      image.recycle(state.recycledBlocks)
      var copies = ContentCopies(device: image.device)
      func killedCopy(of content: SimulatedContent) -> SimulatedContent {
        copies.copy(of: content) { (identity, memory) in content.killed(identity: identity, memory: memory) }
      }
      image.adopt(
        names: state.names.mapValues(killedCopy),
        durableNames: state.durableNames.mapValues(killedCopy),
        pendingChanges: state.pendingChanges.map { change in
          NameChange(
            directories: change.directories, names: change.names.map { ($0.path, $0.content.map(killedCopy)) },
            made: change.made, gone: change.gone)
        },
        directories: state.directories, durableDirectories: state.durableDirectories,
        inodeCount: state.inodeCount)
    }
    return image
  }
}

/// One copy for each file, also when several names lead to it.
struct ContentCopies {
  let device: UInt64
  private var copies: [UInt64: SimulatedContent] = [:]

  init(device: UInt64) { self.device = device }

  mutating func copy(
    of content: SimulatedContent, _ make: (FileIdentity, SimulatedMemory) -> SimulatedContent
  ) -> SimulatedContent {
    let inode = content.identity.inode
    if let known = copies[inode] { return known }
    let made = make(FileIdentity(device: device, inode: inode), SimulatedMemory(capacity: content.capacity))
    made.attributes = content.attributes
    copies[inode] = made
    return made
  }
}
