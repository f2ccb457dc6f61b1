/// What is left of a simulated disk after the power failed, or after a process was killed.
///
/// Only this is assumed of a real disk: in a sector that is being written at power loss, each byte is old or new; any subset of
/// the sectors that no sync covered has arrived; a size or a name that no sync covered is old or new; unwritten space holds
/// anything.
import DaybookEngine

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
